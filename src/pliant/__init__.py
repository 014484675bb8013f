"""pliant: collision detection and response for deformable bodies."""

import importlib
import logging
from typing import TYPE_CHECKING, Any

from . import renamed

if TYPE_CHECKING:  # the same names as below, for type checkers and editors
    from . import contacts as contacts
    from . import geometry as geometry
    from . import shapes as shapes
    from .audit.check import check as check
    from .audit.compare import compare as compare
    from .audit.fix import fix as fix
    from .binding.bind import bind as bind
    from .detect import detector as detector
    from .detect import find_contacts as find_contacts
    from .detect import register as register
    from .detect import unregister as unregister
    from .detect.choose import choose_method as choose_method
    from .detect.detectors.continuous import collision_free_step as collision_free_step
    from .detect.fields.field import DistanceField as DistanceField
    from .detect.fields.height_grid import HeightGrid as HeightGrid
    from .detect.fields.height_grids import HeightGrids as HeightGrids
    from .detect.fields.height_sequence import HeightSequence as HeightSequence
    from .detect.queries.closest_point import ClosestPoints as ClosestPoints
    from .detect.queries.closest_point import closest_point as closest_point
    from .detect.queries.intersections import Intersections as Intersections
    from .detect.queries.intersections import intersections as intersections
    from .detect.queries.overlap import Overlaps as Overlaps
    from .detect.queries.overlap import overlap as overlap
    from .detect.queries.penetration import DeformingClosestPoints as DeformingClosestPoints
    from .errors import MeshFileError as MeshFileError
    from .fill import fill_with_tets as fill_with_tets
    from .gradients.contact_batches import find_contact_batch as find_contact_batch
    from .gradients.drape import DifferentiableDrape as DifferentiableDrape
    from .io import load as load
    from .io import load_character as load_character
    from .io import save as save
    from .io import save_animation as save_animation
    from .io import save_character as save_character
    from .io.animation import load_clip as load_clip
    from .io.height_map import load_heights as load_heights
    from .materials import Cloth as Cloth
    from .materials import Solid as Solid
    from .materials import Strands as Strands
    from .mesh import Mesh as Mesh
    from .mesh.selection import select as select
    from .mesh.stitches import Stitches as Stitches
    from .motion.character import Character as Character
    from .motion.clip import Clip as Clip
    from .motion.deforming import Attached as Attached
    from .motion.deforming import Recorded as Recorded
    from .motion.deforming import Skinned as Skinned
    from .motion.rigid import Motion as Motion
    from .proxies.proxy import proxy as proxy
    from .proxies.wrap import Wrap as Wrap
    from .scene import Body as Body
    from .scene import Grip as Grip
    from .scene import Scene as Scene
    from .scenes.dressing import dress_scene as dress_scene
    from .scenes.recorded_body import recorded_scene as recorded_scene
    from .simulation import Simulation as Simulation
    from .simulation.cutting import cut as cut
    from .simulation.drape import drape as drape
    from .simulation.record import record as record

# public name -> its module, imported at first use, so that `import pliant` takes milliseconds and does not load Numba
_MODULE_OF = {
    "Attached": "motion.deforming",
    "Body": "scene",
    "Character": "motion.character",
    "Clip": "motion.clip",
    "ClosestPoints": "detect.queries.closest_point",
    "Cloth": "materials",
    "DeformingClosestPoints": "detect.queries.penetration",
    "DifferentiableDrape": "gradients.drape",
    "DistanceField": "detect.fields.field",
    "Grip": "scene",
    "HeightGrid": "detect.fields.height_grid",
    "HeightGrids": "detect.fields.height_grids",
    "HeightSequence": "detect.fields.height_sequence",
    "Intersections": "detect.queries.intersections",
    "Mesh": "mesh",
    "MeshFileError": "errors",
    "Motion": "motion.rigid",
    "Overlaps": "detect.queries.overlap",
    "Recorded": "motion.deforming",
    "Scene": "scene",
    "Simulation": "simulation",
    "Skinned": "motion.deforming",
    "Solid": "materials",
    "Stitches": "mesh.stitches",
    "Strands": "materials",
    "Wrap": "proxies.wrap",
    "bind": "binding.bind",
    "check": "audit.check",
    "choose_method": "detect.choose",
    "closest_point": "detect.queries.closest_point",
    "collision_free_step": "detect.detectors.continuous",
    "compare": "audit.compare",
    "contacts": "contacts",
    "cut": "simulation.cutting",
    "detector": "detect",
    "drape": "simulation.drape",
    "dress_scene": "scenes.dressing",
    "fill_with_tets": "fill",
    "find_contact_batch": "gradients.contact_batches",
    "find_contacts": "detect",
    "fix": "audit.fix",
    "geometry": "geometry",
    "intersections": "detect.queries.intersections",
    "load": "io",
    "load_character": "io",
    "load_clip": "io.animation",
    "load_heights": "io.height_map",
    "overlap": "detect.queries.overlap",
    "proxy": "proxies.proxy",
    "record": "simulation.record",
    "recorded_scene": "scenes.recorded_body",
    "register": "detect",
    "save": "io",
    "save_animation": "io",
    "save_character": "io",
    "select": "mesh.selection",
    "shapes": "shapes",
    "unregister": "detect",
}

_SUBPACKAGES = ("detect", "gradients", "proxies", "simulation")  # of the dotted names of docs/api.md

_MEANT = {  # what other libraries call it -> what to call here
    "closest_points": "closest_point(body, points), which takes any number of points",
    "collide": "find_contacts(a, b, within=0.002)",
    "distance": "closest_point(body, points), or find_contacts(a, b, within=0.002)",
    "penetration_depth": "contacts.nearest(find_contacts(a, b)), or closest_point(body, points)",
    "self_contacts": "find_contacts(mesh)",
    "self_intersections": "intersections(mesh)",
    "signed_distance": "closest_point(body, points)",
}

__version__: str  # loaded on first use, like the names above
__all__ = ["__version__", *_MODULE_OF]

logging.getLogger(__name__).addHandler(logging.NullHandler())
renamed.register()


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from ._version import __version__

        return __version__
    if name in _SUBPACKAGES:
        return importlib.import_module(f".{name}", __name__)
    if name not in _MODULE_OF:
        hint = f"; what it may mean: {_MEANT[name]}" if name in _MEANT else ""
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}{hint}")
    module = importlib.import_module(f".{_MODULE_OF[name]}", __name__)
    # cache the value, so that the next use is an ordinary attribute access
    value = module if name == _MODULE_OF[name] else getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

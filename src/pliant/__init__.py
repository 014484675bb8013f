"""pliant: collision detection and response for deformable bodies."""

import importlib
import logging
from typing import TYPE_CHECKING, Any

from ._version import __version__

if TYPE_CHECKING:  # the same names as below, for type checkers and editors
    from . import contacts as contacts
    from . import geometry as geometry
    from . import shapes as shapes
    from .audit.check import check as check
    from .audit.compare import compare as compare
    from .audit.fix import fix as fix
    from .character import Character as Character
    from .clip import Clip as Clip
    from .cutting import cut as cut
    from .deforming import Attached as Attached
    from .deforming import Recorded as Recorded
    from .deforming import Skinned as Skinned
    from .detect import detector as detector
    from .detect import find_contacts as find_contacts
    from .detect.choose import choose_method as choose_method
    from .detect.continuous import collision_free_step as collision_free_step
    from .detect.distance_field import DistanceField as DistanceField
    from .detect.height_grid import HeightGrid as HeightGrid
    from .detect.height_grid import HeightGrids as HeightGrids
    from .detect.height_grid import HeightSequence as HeightSequence
    from .detect.image_space import overlap as overlap
    from .detect.surface import closest_point as closest_point
    from .detect.tree.crossings import intersections as intersections
    from .errors import MeshFileError as MeshFileError
    from .fill import fill_with_tets as fill_with_tets
    from .io import load as load
    from .io import load_character as load_character
    from .io import save as save
    from .io import save_animation as save_animation
    from .io import save_character as save_character
    from .io.footage import load_clip as load_clip
    from .io.height_map import load_heights as load_heights
    from .mesh import Mesh as Mesh
    from .motion import Motion as Motion
    from .report.result import drape as drape
    from .scene import Body as Body
    from .scene import Cloth as Cloth
    from .scene import Grip as Grip
    from .scene import Scene as Scene
    from .scene import Solid as Solid
    from .simulation import Simulation as Simulation

# public name -> its module, imported at first use, so that `import pliant` takes milliseconds and does not load Numba
_HOME = {
    "Attached": "deforming",
    "Body": "scene",
    "Character": "character",
    "Clip": "clip",
    "Cloth": "scene",
    "DistanceField": "detect.distance_field",
    "Grip": "scene",
    "HeightGrid": "detect.height_grid",
    "HeightGrids": "detect.height_grid",
    "HeightSequence": "detect.height_grid",
    "Mesh": "mesh",
    "MeshFileError": "errors",
    "Motion": "motion",
    "Recorded": "deforming",
    "Scene": "scene",
    "Simulation": "simulation",
    "Skinned": "deforming",
    "Solid": "scene",
    "check": "audit.check",
    "choose_method": "detect.choose",
    "closest_point": "detect.surface",
    "collision_free_step": "detect.continuous",
    "compare": "audit.compare",
    "contacts": "contacts",
    "cut": "cutting",
    "detector": "detect",
    "drape": "report.result",
    "fill_with_tets": "fill",
    "find_contacts": "detect",
    "fix": "audit.fix",
    "geometry": "geometry",
    "intersections": "detect.tree.crossings",
    "load": "io",
    "load_character": "io",
    "load_clip": "io.footage",
    "load_heights": "io.height_map",
    "overlap": "detect.image_space",
    "save": "io",
    "save_animation": "io",
    "save_character": "io",
    "shapes": "shapes",
}

__all__ = ["__version__", *_HOME]

logging.getLogger(__name__).addHandler(logging.NullHandler())


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = importlib.import_module(f".{_HOME[name]}", __name__)
    # cache the value, so that the next use is an ordinary attribute access
    value = module if name == _HOME[name] else getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})

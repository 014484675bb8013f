"""Names of earlier versions: each still works for one version and warns with the new name.

A finder at the end of `sys.meta_path` resolves old module paths. Python asks it only for modules that no other
finder knows, so current imports do not pay for it.
"""

import importlib
import importlib.util
import sys
import types
import warnings
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from typing import Any

# keyword arguments of public functions and classes
KEYWORDS = {
    "crossings": "count_intersections",
    "elasticity": "restitution",
    "fixed": "obstacle",
    "rigid": "obstacle",
    "soft": "deformable",
}

# modules, relative to `pliant`; the entry of a package also covers submodules that have no entry of their own
MODULES = {
    "animation": "pliant.motion.animation",
    "audit.between": "pliant.audit.face_depth",
    "audit.clear": "pliant.respond.project_out",
    "audit.compared": "pliant.audit.comparison",
    "audit.compared_page": "pliant.audit.comparison_page_data",
    "audit.comparison_page": "pliant.audit.comparison_page_data",
    "audit.fixed": "pliant.audit.fix_result",
    "audit.footage": "pliant.audit.compared_states",
    "audit.judge": "pliant.audit.evaluate",
    "audit.project_out": "pliant.respond.project_out",
    "audit.questions": "pliant.audit.queries",
    "audit.rulings": "pliant.audit.verdicts",
    "audit.shown": "pliant.audit.views",
    "audit.truth": "pliant.audit.reference_contacts",
    "bench": "pliant_bench",
    "character": "pliant.motion.character",
    "checkpoint": "pliant.simulation.checkpoint",
    "cli.complaints": "pliant.cli.run_warnings",
    "cli.diagnostics": "pliant.cli.run_warnings",
    "cli.writing": "pliant.cli.output_paths",
    "clip": "pliant.motion.clip",
    "clock": "pliant.simulation.clock",
    "cutting": "pliant.simulation.cutting",
    "deforming": "pliant.motion.deforming",
    "detect.blocks": "pliant.detect.bvh.wide",
    "detect.bone_boxes": "pliant.detect.detectors.bone_boxes",
    "detect.brute_force": "pliant.detect.detectors.brute_force",
    "detect.consistent_depth": "pliant.detect.queries.consistent_depth",
    "detect.continuous": "pliant.detect.detectors.continuous",
    "detect.distance_field": "pliant.detect.fields",
    "detect.distance_field.bone_fields": "pliant.detect.detectors.bone_fields",
    "detect.distance_field.detector": "pliant.detect.detectors.distance_field",
    "detect.distance_field.parts": "pliant.detect.detectors.rigid_parts",
    "detect.distance_field.truth": "pliant.detect.fields.exact",
    "detect.features": "pliant.detect.queries.contact_records",
    "detect.fields.archive": "pliant.detect.fields.npz_arrays",
    "detect.height_grid": "pliant.detect.fields",
    "detect.height_grid.detector": "pliant.detect.detectors.height_grid",
    "detect.height_grid.grid": "pliant.detect.fields.height_grid",
    "detect.height_grid.grids": "pliant.detect.fields.height_grids",
    "detect.height_grid.sequence": "pliant.detect.fields.height_sequence",
    "detect.image_space": "pliant.detect.queries",
    "detect.image_space.detector": "pliant.detect.detectors.image_space",
    "detect.image_space.layers": "pliant.detect.queries.depth_image",
    "detect.image_space.points": "pliant.detect.queries.points_inside",
    "detect.image_space.standing": "pliant.detect.queries.static_depth_image",
    "detect.image_space.volume": "pliant.detect.queries.overlap",
    "detect.lifted": "pliant.detect.detectors.offset",
    "detect.plain": "pliant.detect.queries.plain",
    "detect.queries.solid": "pliant.detect.queries.solid_boundary",
    "detect.seams": "pliant.detect.queries.welding",
    "detect.solid": "pliant.detect.queries.solid_boundary",
    "detect.spatial_hash": "pliant.detect.detectors.spatial_hash",
    "detect.sphere_surface": "pliant.detect.detectors.sphere_surface",
    "detect.stochastic": "pliant.detect.detectors.stochastic",
    "detect.stochastic.tree": "pliant.detect.detectors.stochastic.bvh",
    "detect.surface": "pliant.detect.queries.closest_point",
    "detect.tet_hash": "pliant.detect.queries.tet_hash",
    "detect.tree": "pliant.detect.bvh",
    "detect.tree.cover": "pliant.detect.bvh.leaf_mesh",
    "detect.tree.crossings": "pliant.detect.queries.intersections",
    "detect.tree.deform": "pliant.detect.bvh.blend",
    "detect.tree.depth": "pliant.detect.queries.penetration",
    "detect.tree.detector": "pliant.detect.detectors.bvh",
    "detect.tree.near": "pliant.detect.queries.proximity",
    "detect.tree.transversal": "pliant.detect.queries.transversal",
    "detect.winding": "pliant.detect.queries.winding",
    "door": "pliant.arguments",
    "dynamics.soft": "pliant.dynamics.deformable",
    "dynamics.xpbd": "pliant.dynamics.cloth",
    "guard": "pliant.simulation.guard",
    "guard.crossings": "pliant.simulation.measure.intersection_count",
    "hand": "pliant.simulation.drag",
    "io.footage": "pliant.io.animation",
    "io.source": "pliant.io.loaded_file",
    "io.tet_writing": "pliant.io.gmsh",
    "io.writing": "pliant.io.obj_write",
    "issues": "pliant.mesh.issues",
    "last_look": "pliant.simulation.final_projection",
    "report.audited": "pliant.report.check_view",
    "report.causes": "pliant.simulation.measure.causes",
    "report.crossings": "pliant.simulation.measure.intersection_statistics",
    "report.referee": "pliant.simulation.measure.referee",
    "report.result": "pliant.simulation.result",
    "report.shared": "pliant.report.intersection_volume",
    "scenes.attachment": "pliant.scenes.snug_loops",
    "scenes.pace": "pliant.scenes.defaults",
    "scenes.piles": "pliant.scenes.self_contact",
    "scenes.reliefs": "pliant.scenes.height_fields",
    "scenes.snug": "pliant.scenes.snug_loops",
    "shapes.figure": "pliant.shapes.body_parts",
    "simulation.measure.intersections": "pliant.simulation.measure.intersection_statistics",
    "simulation.self_contact": "pliant.simulation.self_contact_interface",
    "soft_contact": "pliant.simulation.deformable_contact",
    "sweep.apart": "pliant.sweep.worker",
    "sweep.tiles": "pliant.sweep.bakes",
    "topology": "pliant.mesh.topology",
    "view.answers": "pliant.view.http_responses",
    "view.ear": "pliant.view.log_relay",
    "view.face": "pliant.view.session_interface",
    "view.gate": "pliant.view.access",
    "view.listening": "pliant.view.listening_socket",
    "view.looks": "pliant.view.overlays",
    "view.memory": "pliant.view.heap",
    "view.page": "pliant.view.static_files",
    "view.stage": "pliant.view.interactive_run",
    "view.tempo": "pliant.view.frame_statistics",
    "view.wire": "pliant.view.frame_encoding",
    "view.world": "pliant.view.scene_description",
}

_FIELDS, _QUERIES, _DETECTORS = "pliant.detect.fields", "pliant.detect.queries", "pliant.detect.detectors"

# names of these modules that have another name, or are in another module than the one above
NAMES = {
    "audit.fixed": {"Fixed": "pliant.audit.fix_result.FixResult"},
    "audit.footage": {"Footage": "pliant.audit.compared_states.ComparedStates"},
    "audit.judge": {"judge": "pliant.audit.evaluate.evaluate"},
    "audit.rulings": {"Ruling": "pliant.audit.verdicts.Verdict"},
    "cli.writing": {
        "check_place": "pliant.cli.output_paths.check_output",
        "check_targets": "pliant.cli.output_paths.check_outputs",
    },
    "deforming": {"sewn": "pliant.motion.deforming.welds"},
    "detect.distance_field": {
        "AdaptiveField": f"{_FIELDS}.octree.AdaptiveField",
        "DistanceField": f"{_FIELDS}.field.DistanceField",
        "DistanceFieldDetector": f"{_DETECTORS}.distance_field.DistanceFieldDetector",
        "FilledField": f"{_FIELDS}.fill.FilledField",
        "PlanarField": f"{_FIELDS}.bsp.PlanarField",
        "baked": f"{_FIELDS}.cache.baked",
        "compare_fields": f"{_FIELDS}.survey.compare_fields",
        "filled": f"{_FIELDS}.fill.filled",
    },
    "detect.distance_field.truth": {"Truth": f"{_FIELDS}.exact.ExactDistances"},
    "detect.height_grid": {
        "DIRECTIONS": f"{_FIELDS}.height_grid.DIRECTIONS",
        "HeightGrid": f"{_FIELDS}.height_grid.HeightGrid",
        "HeightGridDetector": f"{_DETECTORS}.height_grid.HeightGridDetector",
        "HeightGrids": f"{_FIELDS}.height_grids.HeightGrids",
        "HeightSequence": f"{_FIELDS}.height_sequence.HeightSequence",
    },
    "detect.image_space": {
        "DepthCamera": f"{_QUERIES}.depth_image.DepthCamera",
        "ImageSpaceDetector": f"{_DETECTORS}.image_space.ImageSpaceDetector",
        "Layers": f"{_QUERIES}.depth_image.LayeredDepthImage",
        "Overlap": f"{_QUERIES}.overlap.Overlap",
        "Overlaps": f"{_QUERIES}.overlap.Overlaps",
        "PointsInside": f"{_QUERIES}.ray_winding.RayWinding",
        "StandingCamera": f"{_QUERIES}.static_depth_image.StaticDepthCamera",
        "layered_depth_image": f"{_QUERIES}.depth_image.layered_depth_image",
        "overlap": f"{_QUERIES}.overlap.overlap",
        "points_inside": f"{_QUERIES}.points_inside.points_inside",
    },
    "detect.image_space.layers": {"Layers": f"{_QUERIES}.depth_image.LayeredDepthImage"},
    "detect.image_space.standing": {"StandingCamera": f"{_QUERIES}.static_depth_image.StaticDepthCamera"},
    "detect.lifted": {
        "Lifted": f"{_DETECTORS}.offset.OffsetDetector",
        "raised": f"{_DETECTORS}.offset.offset",
    },
    "detect.stochastic": {"StochasticTreeDetector": f"{_DETECTORS}.stochastic.StochasticBvhDetector"},
    "detect.stochastic.tree": {"StochasticTreeDetector": f"{_DETECTORS}.stochastic.bvh.StochasticBvhDetector"},
    "detect.tree.cover": {"Cover": "pliant.detect.bvh.leaf_mesh.LeafMesh"},
    "detect.tree.build": {"ALONG": "pliant.detect.bvh.build.SPLIT_AXES"},
    "detect.tree.crossings": {
        "Crossings": f"{_QUERIES}.intersections.Intersections",
        "crossings_between": f"{_QUERIES}.intersections.intersecting_pairs",
    },
    "detect.tree.depth": {
        "Depths": f"{_QUERIES}.penetration.DeformingClosestPoints",
        "SkinQueries": f"{_QUERIES}.penetration.SurfaceQueries",
    },
    "detect.tree.detector": {"TreeDetector": f"{_DETECTORS}.bvh.BvhDetector"},
    "door": {"door": "pliant.arguments.check_arguments"},
    "guard": {"CrossingCount": "pliant.simulation.measure.intersection_count.IntersectionCount"},
    "guard.crossings": {"CrossingCount": "pliant.simulation.measure.intersection_count.IntersectionCount"},
    "hand": {"Hand": "pliant.simulation.drag.DragConstraint"},
    "io.tet_writing": {
        "write_gmsh": "pliant.io.gmsh.write_mesh",
        "write_medit": "pliant.io.medit.write_mesh",
        "write_vtk": "pliant.io.vtk.write_mesh",
    },
    "io.writing": {
        "write_clips_npz": "pliant.io.npz.write_clips",
        "write_npz": "pliant.io.npz.write_mesh",
        "write_obj": "pliant.io.obj_write.write_mesh",
        "write_obj_sequence": "pliant.io.obj_write.write_clips",
        "write_off": "pliant.io.off.write_mesh",
        "write_pc2": "pliant.io.pc2.write_clips",
        "write_ply": "pliant.io.ply_write.write_mesh",
        "write_rows": "pliant.io.rows.write_rows",
        "write_stl": "pliant.io.stl.write_mesh",
    },
    "last_look": {"LastLook": "pliant.simulation.final_projection.FinalProjection"},
    "report.audited": {"Audited": "pliant.report.check_view.CheckView"},
    "report.crossings": {"CrossingCount": "pliant.simulation.measure.intersection_statistics.IntersectionStatistics"},
    "report.result": {
        "Meeting": "pliant.simulation.result.IntersectingBodies",
        "Referee": "pliant.simulation.measure.referee.Referee",
        "drape": "pliant.simulation.drape.drape",
        "record": "pliant.simulation.record.record",
    },
    "report.shared": {"SharedVolume": "pliant.report.intersection_volume.IntersectionVolume"},
    "scenes.pace": {
        "Pace": "pliant.scenes.defaults.RunLength",
        "pace_of": "pliant.scenes.defaults.default_run_length",
    },
    "soft_contact": {"SoftContact": "pliant.simulation.deformable_contact.DeformableContact"},
    "view.memory": {"give_back": "pliant.view.heap.trim_heap"},
    "sweep.apart": {"Apart": "pliant.sweep.worker.WorkerProcess"},
    "sweep.tiles": {
        "bake_tile": "pliant.sweep.bakes.bake_slab",
        "forget_tiles": "pliant.sweep.bakes.delete_slabs",
        "join_run": "pliant.sweep.bakes.bake_run",
        "tile_jobs": "pliant.sweep.bakes.slab_jobs",
    },
    "view.gate": {
        "Gate": "pliant.view.access.AccessRules",
        "listen_at": "pliant.view.listening_socket.listen_at",
    },
    "view.page": {
        "Page": "pliant.view.static_files.StaticFile",
        "table": "pliant.view.static_files.static_files",
    },
    "view.stage": {
        "Choice": "pliant.view.interactive_run.StartOptions",
        "Stage": "pliant.view.interactive_run.InteractiveRun",
    },
    "view.world": {"World": "pliant.view.scene_description.SceneDescription"},
}


def warn(old: str, new: str, level: int = 3) -> None:
    """Emit the DeprecationWarning for a renamed name, at the caller of the code that uses it."""
    warnings.warn(f"{old} is now {new}; the old name will be removed", DeprecationWarning, stacklevel=level)


def attribute(old: str, new: str) -> Any:
    """Return a property under an old name that reads and writes the attribute `new`."""

    def get(self: Any) -> Any:
        warn(f"{type(self).__name__}.{old}", new)
        return getattr(self, new)

    def put(self: Any, value: Any) -> None:
        warn(f"{type(self).__name__}.{old}", new)
        setattr(self, new, value)

    return property(get, put, doc=f"Deprecated: use `{new}`.")


class ClassAttribute:
    """A descriptor under an old name that reads and writes `new`, on a class and on its instances."""

    def __init__(self, old: str, new: str) -> None:
        self.old, self.new = old, new

    def __get__(self, instance: Any, owner: type) -> Any:
        warn(f"{owner.__name__}.{self.old}", self.new)
        return getattr(owner if instance is None else instance, self.new)

    def __set__(self, instance: Any, value: Any) -> None:
        warn(f"{type(instance).__name__}.{self.old}", self.new)
        setattr(instance, self.new, value)


def adopt(cls: type, old: str, new: str) -> None:
    """Set `new` on a class if it, or one of its bases, was written with the attribute `old`."""
    for kind in cls.__mro__:
        if new in vars(kind):
            return
        if old in vars(kind):
            warn(f"{cls.__name__}.{old}", new, 4)
            setattr(cls, new, vars(kind)[old])
            return


def former(written: Any, old: str, new: str, default: Any) -> Any:
    """Return the attribute `new` of an object, or `old` of one written for an earlier version."""
    if hasattr(written, new) or not hasattr(written, old):
        return getattr(written, new, default)
    warn(f"{type(written).__name__}.{old}", new, 4)
    return getattr(written, old)


def module(name: str, moved: dict[str, str]) -> Callable[[str], Any]:
    """Return a module `__getattr__` for the module `name`: each name in `moved` is found in the module it maps to,
    under the same name, or under another one as `module:name`."""

    def get(wanted: str) -> Any:
        if wanted not in moved:
            raise AttributeError(f"module {name!r} has no attribute {wanted!r}")
        home, _, new = moved[wanted].partition(":")
        warn(f"{name}.{wanted}", f"{home}.{new or wanted}")
        return getattr(importlib.import_module(home), new or wanted)

    return get


def state(old: str, put_by: str = "restore(state) or reset()") -> Any:
    """Return a property under an old name that reads and writes an object's state by `state` and `restore`."""

    def get(self: Any) -> Any:
        warn(f"{type(self).__name__}.{old}", "state()")
        return self.state()

    def put(self: Any, value: Any) -> None:
        warn(f"{type(self).__name__}.{old}", put_by)
        self.restore(value)

    return property(get, put, doc=f"Deprecated: use `state()` and {put_by}.")


def keywords(named: dict[str, Any], known: frozenset[str], open_ended: bool) -> dict[str, Any]:
    """Return keyword arguments with old names replaced by the new ones.

    known: the names that the function has; open_ended: it passes others on.
    """
    for old in [name for name in named if name in KEYWORDS and name not in known]:
        if KEYWORDS[old] not in known and not open_ended:
            continue
        warn(old, KEYWORDS[old], 4)
        named[KEYWORDS[old]] = named.pop(old)
    return named


def module_now(old: str) -> str | None:
    """Return the module that replaces `old` (relative to `pliant`), or None if there was no such module."""
    package, _, rest = old.rpartition(".")
    if old in MODULES:
        return MODULES[old]
    above = module_now(package) if package else None
    return f"{above}.{rest}" if above else None


class Finder:
    """A finder and loader of modules under their old paths; the values are those of the new modules."""

    @staticmethod
    def find_spec(fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """Return the spec of a module of `MODULES`, and None for everything else."""
        root, _, old = fullname.partition(".")
        new = module_now(old) if root == "pliant" else None
        if new is None or (old not in MODULES and importlib.util.find_spec(new) is None):
            return None
        return ModuleSpec(fullname, Finder, origin=new, is_package=True)  # type: ignore[arg-type]

    @staticmethod
    def create_module(spec: ModuleSpec) -> None:
        """Let the import system create the module."""

    @staticmethod
    def exec_module(module: types.ModuleType) -> None:
        """Give the module a `__getattr__` that warns and returns the attribute of the new module."""
        old, new = module.__name__.partition(".")[2], str(module.__spec__ and module.__spec__.origin)
        if importlib.util.find_spec(new.partition(".")[0]) is None:
            raise ModuleNotFoundError(f"{module.__name__} is now {new}, which is not installed", name=new)

        def value(name: str) -> Any:
            if name.startswith("__"):
                raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}")
            home, _, known = NAMES.get(old, {}).get(name, f"{new}.{name}").rpartition(".")
            found = getattr(importlib.import_module(home), known)
            warn(f"{module.__name__}.{name}", f"{home}.{known}")
            return found

        module.__doc__ = f"Deprecated: use `{new}`."
        module.__getattr__ = value  # type: ignore[method-assign]


def register() -> None:
    """Let Python find modules under their old paths."""
    if Finder not in sys.meta_path:
        sys.meta_path.append(Finder)

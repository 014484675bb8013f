"""Names of earlier versions still work and warn with the new name."""

import importlib
import subprocess
import sys
import warnings

import pytest

import pliant
from pliant import renamed
from pliant.detect.base import BaseDetector, Side, class_with_defaults, with_defaults
from pliant.detect.detectors.height_grid import HeightGridDetector
from pliant.detect.queries.ray_winding import RayWinding
from time_limit import PATIENCE

# the imports that the documentation of the version before the rooms showed: (old module, name, where it is now)
SHOWN = [
    ("pliant.detect.continuous", "Sweep", "pliant.detect.detectors.continuous"),
    ("pliant.detect.distance_field", "AdaptiveField", "pliant.detect.fields.octree"),
    ("pliant.detect.distance_field", "PlanarField", "pliant.detect.fields.bsp"),
    ("pliant.detect.distance_field", "baked", "pliant.detect.fields.cache"),
    ("pliant.detect.distance_field", "filled", "pliant.detect.fields.fill"),
    ("pliant.detect.distance_field.reconstruct", "fidelity", "pliant.detect.fields.reconstruct"),
    ("pliant.detect.distance_field.reconstruct", "reconstruct", "pliant.detect.fields.reconstruct"),
    ("pliant.detect.image_space", "Overlaps", "pliant.detect.queries.overlap"),
    ("pliant.detect.image_space", "StandingCamera", "pliant.detect.queries.static_depth_image"),
    ("pliant.detect.image_space", "layered_depth_image", "pliant.detect.queries.depth_image"),
    ("pliant.detect.image_space", "points_inside", "pliant.detect.queries.points_inside"),
    ("pliant.detect.stochastic", "measured_recall", "pliant.detect.detectors.stochastic"),
    ("pliant.detect.surface", "ClosestPoints", "pliant.detect.queries.closest_point"),
    ("pliant.detect.tet_hash", "TetHash", "pliant.detect.queries.tet_hash"),
    ("pliant.detect.tree.crossings", "Crossings", "pliant.detect.queries.intersections"),
    ("pliant.detect.tree.deform", "BlendTree", "pliant.detect.bvh.blend"),
    ("pliant.detect.tree.depth", "Depths", "pliant.detect.queries.penetration"),
    ("pliant.detect.tree.tree", "find_pairs", "pliant.detect.bvh.tree"),
    ("pliant.detect.tree.tree", "refit", "pliant.detect.bvh.tree"),
    ("pliant.detect.tree.tree", "tree_of", "pliant.detect.bvh.tree"),
    ("pliant.detect.tree.update", "MovingTree", "pliant.detect.bvh.update"),
]
# and those that did not move
KEPT = [
    ("pliant.detect", "METHODS"),
    ("pliant.detect.base", "Finds"),
    ("pliant.motion", "Motion"),
    ("pliant.mesh", "Mesh"),
    ("pliant.report.camera", "Camera"),
    ("pliant.report.picture", "render"),
    ("pliant.report.replay", "write_replay"),
    ("pliant.report.result", "drape"),
    ("pliant.report.result", "record"),
    ("pliant.report.sheet", "contact_sheet"),
    ("pliant.scenes", "SCENES"),
    ("pliant.scenes.dressing", "dress_scene"),
    ("pliant.simulation", "Simulation"),
]


@pytest.mark.parametrize(("module", "name", "home"), SHOWN, ids=lambda text: text)
def test_an_import_that_the_documentation_showed_works_and_names_the_new_place(
    module: str, name: str, home: str
) -> None:
    with pytest.warns(DeprecationWarning, match=rf"{module}\.{name} is now {home}\.") as told:
        exec(f"from {module} import {name}", names := {})
    assert {warning.filename for warning in told} == {"<string>"}  # the place that imports, not pliant
    now = renamed.NAMES.get(module.removeprefix("pliant."), {}).get(name, f"{home}.{name}").rpartition(".")
    assert names[name] is getattr(importlib.import_module(now[0]), now[2])


@pytest.mark.parametrize(("module", "name"), KEPT, ids=lambda text: text)
def test_a_path_that_the_documentation_showed_is_still_there(module: str, name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        assert getattr(importlib.import_module(module), name) is not None


@pytest.mark.parametrize("old", renamed.MODULES)
def test_an_old_module_has_every_name_of_the_table_and_of_the_new_module(old: str) -> None:
    new = importlib.import_module(renamed.MODULES[old])
    former = importlib.import_module(f"pliant.{old}")
    own = [name for name, value in vars(new).items() if getattr(value, "__module__", "") == new.__name__]
    for name in [*own, *renamed.NAMES.get(old, {})]:
        if not name.startswith("_"):
            with pytest.warns(DeprecationWarning, match=rf"pliant\.{old}\.{name} is now "):
                assert getattr(former, name) is not None


def test_every_renamed_name_belongs_to_a_module_that_moved() -> None:
    assert [old for old in renamed.NAMES if renamed.module_now(old) is None] == []


def test_a_submodule_of_a_moved_package_is_found_and_one_that_never_was_is_not() -> None:
    with pytest.warns(DeprecationWarning, match="detectors.bone_boxes.boxes"):
        from pliant.detect.bone_boxes.boxes import BoneBoxes  # type: ignore[import-not-found] # noqa: F401
    with pytest.raises(ModuleNotFoundError, match=r"pliant\.detect\.bone_boxes\.never"):
        importlib.import_module("pliant.detect.bone_boxes.never")
    with pytest.raises(ModuleNotFoundError, match=r"pliant\.never"):
        importlib.import_module("pliant.never")
    with pytest.raises(ImportError, match="never"):
        exec("from pliant.detect.surface import never")


def test_old_paths_of_the_benchmarks_without_them_say_what_is_missing() -> None:
    code = "import sys; sys.modules['pliant_bench'] = None; import pliant.bench.suite"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE)
    assert result.stderr.splitlines()[-1].endswith("pliant.bench is now pliant_bench, which is not installed")


@pytest.mark.parametrize(
    ("module", "old", "new"),
    [
        ("pliant.contacts", "join", "concatenate_unsorted"),
        ("pliant.audit.findings", "Place", "Location"),
        ("pliant.detect.base", "complete", "with_defaults"),
        ("pliant.detect.base", "completed_class", "class_with_defaults"),
        ("pliant.detect.choose", "Chosen", "MethodChoice"),
        ("pliant.detect.choose", "method_for", "choose_method_for_scene"),
        ("pliant.detect.choose", "resolve_method", "resolve_method_for_scene"),
        ("pliant.detect.queries.intersections", "crossings_of", "self_intersections_of"),
        ("pliant.fill", "Loss", "FillLoss"),
        ("pliant.scenes.defaults", "Pace", "RunLength"),
        ("pliant.view.server", "USUAL", "DEFAULT_LIMITS"),
        ("pliant.view.session_interface", "SessionProtocol", "SessionInterface"),
        ("pliant.scenes.defaults", "pace_of", "default_run_length"),
        ("pliant.fill", "filled", "fill_and_measure"),
        ("pliant.fill", "measured", "measure_loss"),
    ],
)
def test_a_name_that_changed_within_its_module_works_and_warns(module: str, old: str, new: str) -> None:
    home = importlib.import_module(module)
    with pytest.warns(DeprecationWarning, match=rf"{module}\.{old} is now {module}\.{new}"):
        assert getattr(home, old) is getattr(home, new)
    with pytest.raises(AttributeError, match="no attribute 'never'"):
        _ = home.never


@pytest.mark.parametrize("module", ["winding", "points_inside"])
def test_a_class_that_moved_to_a_module_of_its_own_works_and_warns(module: str) -> None:
    home = importlib.import_module(f"pliant.detect.queries.{module}")
    with pytest.warns(
        DeprecationWarning, match=r"PointsInside is now pliant\.detect\.queries\.ray_winding\.RayWinding"
    ):
        assert home.PointsInside is RayWinding
    if module == "winding":
        with pytest.warns(DeprecationWarning, match=r"winding\.RayWinding is now pliant\.detect\.queries\.ray_winding"):
            assert home.RayWinding is RayWinding


@pytest.mark.parametrize(
    ("module", "kind", "old", "new"),
    [
        ("pliant.audit.comparison", "Row", "asked", "query_counts"),
        ("pliant.detect.detectors.bone_boxes", "BoneBoxesDetector", "looked", "visited"),
        ("pliant.detect.detectors.stochastic", "StochasticBvhDetector", "opened", "enqueued"),
        ("pliant.detect.detectors.stochastic", "ActivePairsDetector", "looked", "n_tested"),
        ("pliant.detect.detectors.distance_field", "DistanceFieldDetector", "rigid", "obstacle"),
        ("pliant.detect.detectors.height_grid", "HeightGridDetector", "rigid", "obstacle"),
        ("pliant.detect.queries.closest_point", "ClosestPoints", "before", "query_by_nearest_face"),
        ("pliant.detect.queries.closest_point", "ClosestPoints", "sides", "signs"),
        ("pliant.detect.queries.consistent_depth", "ConsistentDepth", "go_on", "accept_as_reference"),
        ("pliant.detect.queries.depth_image", "DepthCamera", "doubts", "uncertain_intervals"),
        ("pliant.detect.queries.depth_image", "DepthCamera", "string", "build_strips"),
        ("pliant.detect.fields.sampled", "Sampled", "sure", "sign_reliable_beyond"),
        ("pliant.detect.queries.penetration", "DeformingClosestPoints", "told", "signed_distances"),
        ("pliant.fill", "FillLoss", "far", "far_vertices"),
        ("pliant.fill", "FillLoss", "share", "lost_share"),
        ("pliant.fill", "FillLoss", "words", "warning"),
        ("pliant.mesh.topology", "Topology", "flow", "orientation_sum"),
        ("pliant.mesh.topology", "Topology", "use", "n_faces_at_edge"),
        ("pliant.motion.animation", "Skeleton", "place", "world_matrices"),
        ("pliant.motion.character", "Character", "carry", "skin_matrices"),
        ("pliant.scene", "Scene", "lift", "layer_offset"),
        ("pliant.respond.base", "Response", "pushed", "normal_correction"),
        ("pliant.respond.base", "Response", "rubbed", "friction_correction"),
        ("pliant.respond.surface_tag", "SurfaceTag", "stiffness", "stiffness_per_mass"),
        ("pliant.simulation", "Simulation", "responds", "response_name"),
        ("pliant.simulation.guard", "Guard", "responds", "response_name"),
        ("pliant.simulation.guard", "Guard", "follow", "redetect_if_needed"),
        ("pliant.simulation.guard", "Guard", "touching", "obstacle_contacts"),
    ],
)
def test_an_attribute_that_changed_its_name_works_and_warns(module: str, kind: str, old: str, new: str) -> None:
    made = type(kind, (), {new: 3, old: vars_of(getattr(importlib.import_module(module), kind))[old]})()
    with pytest.warns(DeprecationWarning, match=rf"{kind}\.{old} is now {new}"):
        assert getattr(made, old) == 3


def test_a_detector_written_with_the_earlier_attribute_keeps_its_value() -> None:
    with pytest.warns(DeprecationWarning, match="Rigid.follows is now obstacle_may_deform"):

        class Rigid(BaseDetector):
            follows = False  # type: ignore[assignment]

    assert not Rigid.obstacle_may_deform
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not type("Lower", (Rigid,), {}).obstacle_may_deform  # the base has the new name by now
    plain = type("Plain", (), {"follows": False})
    with pytest.warns(DeprecationWarning, match="Plain.follows is now obstacle_may_deform"):
        assert not class_with_defaults(plain).obstacle_may_deform
    with pytest.warns(DeprecationWarning, match="Plain.follows is now obstacle_may_deform"):
        assert not with_defaults(plain()).obstacle_may_deform


def test_the_earlier_attribute_of_a_detector_is_read_and_written_on_class_and_instance() -> None:
    made = BaseDetector.__new__(BaseDetector)
    with pytest.warns(DeprecationWarning, match="follows is now obstacle_may_deform") as told:
        assert BaseDetector.follows is made.follows is True
    assert len(told) == 2
    with pytest.warns(DeprecationWarning, match="follows is now obstacle_may_deform"):
        made.follows = False
    assert made.obstacle_may_deform is False
    assert BaseDetector.obstacle_may_deform is True


def test_earlier_keywords_of_detectors_are_accepted() -> None:
    one, other = Side(pliant.shapes.cloth(0.1, 0.1, 2)), Side(pliant.shapes.ball(0.1, 1))
    with pytest.warns(DeprecationWarning, match="is now") as told:
        made = HeightGridDetector(soft=one, rigid=other, within=0.01)
    assert {str(each.message).split(";")[0] for each in told} == {"soft is now deformable", "rigid is now obstacle"}
    assert (made.deformable, made.obstacle) == (one, other)


def vars_of(kind: type) -> dict[str, object]:
    """The attributes of a class and of its bases, without calling any."""
    return {name: value for above in reversed(kind.__mro__) for name, value in vars(above).items()}

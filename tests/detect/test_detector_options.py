"""The options of detectors: each value has its effect, or is refused; no kernel gets arrays made for others."""

import subprocess
import sys

import numpy as np
import pytest

import pliant
from conftest import cases
from pliant.detect.bvh.build import ARITIES, BUILDS, VOLUMES
from pliant.detect.bvh.tree_options import UPDATES
from pliant.detect.fields.bsp import PlanarField
from pliant.detect.fields.fill import filled
from pliant.detect.fields.octree import AdaptiveField
from time_limit import PATIENCE

CLOTH = pliant.shapes.cloth(1.0, 1.0, 6)
BALL = pliant.shapes.ball(0.3, 1)


def test_options_of_a_tree_that_would_have_no_effect_are_refused():
    for method in ("bvh", "continuous"):
        with pytest.raises(ValueError, match=r"margin = 0\.1 is for update 'lazy', not 'hybrid'"):
            pliant.detector(method, CLOTH, BALL, update="hybrid", margin=0.1)
        with pytest.raises(ValueError, match="worse = 2 is for updates 'bottom-up' and 'lazy', not 'rebuild'"):
            pliant.detector(method, CLOTH, BALL, update="rebuild", worse=2.0)
    with pytest.raises(ValueError, match=r"cell = 0\.1 applies to tets, and there are none in: cloth, ball"):
        pliant.detector("spatial-hash", CLOTH, BALL, cell=0.1)
    with pytest.raises(ValueError, match=r"share = 0\.5 is for a skinned obstacle"):
        pliant.detector("distance-field", CLOTH, BALL, share=0.5)
    for method, name in (("sphere-surface", "volume"), ("stochastic-bvh", "leaf"), ("bvh", "faces")):
        with pytest.raises(TypeError, match=f"method '{method}' has no option '{name}'"):
            pliant.detector(method, CLOTH, BALL, **{name: 2})


def test_the_script_of_the_defect_ends_with_contacts_and_not_in_the_system():
    code = """
import pliant
a, b = pliant.shapes.cloth(1.0, 1.0, 4), pliant.shapes.ball(0.3, 0)
for method in ("tree", "continuous"):
    for volume in ("sphere", "oriented", "26-dop"):
        print(len(pliant.detector(method, a, b, volume=volume).update(a.vertices, b.vertices).find()))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    assert len(set(done.stdout.split())) == 1
    assert len(done.stdout.split()) == 6


def random_pair(rng: np.random.Generator) -> tuple[pliant.Mesh, pliant.Mesh]:
    scale, offset = 10.0 ** rng.uniform(-3, 3), rng.normal(size=3)
    turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    turn *= np.sign(np.linalg.det(turn))
    a = pliant.Mesh(
        scale * (CLOTH.vertices @ turn.T + 0.05 * rng.normal(size=CLOTH.vertices.shape) + offset), CLOTH.faces
    )
    return a, pliant.Mesh(scale * (BALL.vertices + offset), BALL.faces)


def same(one: np.ndarray, two: np.ndarray) -> None:
    for name in one.dtype.names:
        np.testing.assert_array_equal(one[name], two[name], err_msg=name)


def _shapes_of_trees(rng: np.random.Generator, count: int) -> None:
    for _ in range(count):
        a, b = random_pair(rng)
        within, arity, split = 0.05 * a.size, int(rng.choice(ARITIES)), str(rng.choice(BUILDS))
        more = {"volume": str(rng.choice(list(VOLUMES))), "leaf": int(rng.integers(1, 9))}
        more["update"] = str(rng.choice(UPDATES))
        for other in (b, None):
            plain = pliant.detector("brute-force", a, other, within=within).find()
            same(pliant.detector("bvh", a, other, within=within, arity=arity, split=split, **more).find(), plain)
            same(pliant.detector("continuous", a, other, within=within, arity=arity, split=split, **more).find(), plain)
            ball = pliant.detector("sphere-surface", a, other, within=within).find()
            same(pliant.detector("sphere-surface", a, other, within=within, arity=arity, split=split).find(), ball)


def test_a_tree_of_any_kind_finds_what_brute_force_finds(rng):
    _shapes_of_trees(rng, min(cases(4), 4))


@pytest.mark.long
@pytest.mark.compiled
def test_a_tree_of_any_kind_finds_what_brute_force_finds_for_long(rng):
    _shapes_of_trees(rng, cases(200))


@pytest.mark.compiled
def test_a_field_of_any_kind_is_a_field_of_the_detector(rng):
    """The judge: how far a point is behind every plane of a convex body, which is its depth, by NumPy alone."""
    field = pliant.DistanceField.bake(BALL, 24, band=6)
    dense = pliant.DistanceField.bake(BALL, 24, band=6, storage="dense")
    kinds = [field, dense, AdaptiveField.bake(BALL), PlanarField.bake(BALL), filled(field)]
    a, b, c = (BALL.vertices[BALL.faces[:, k]] for k in range(3))
    n = np.cross(b - a, c - a)
    n /= np.linalg.norm(n, axis=1)[:, None]
    ends, count = CLOTH.topology.edges, 0
    for used in kinds:
        detector = pliant.detector("distance-field", CLOTH, BALL, within=0.02, field=used)
        planar = isinstance(used, PlanarField)
        assert detector._detector.guarantee == ("C" if planar else "B")
        bound = (
            used.sign_reliable_beyond if isinstance(used, pliant.DistanceField) else 0.03
        )  # the others coarsen away from the surface
        deepest = 5.0 * used.spacing if isinstance(used, pliant.DistanceField) else np.inf
        for _ in range(cases(5)):
            x = CLOTH.vertices + 0.1 * rng.normal(size=CLOTH.vertices.shape)
            points = np.concatenate([x, 0.5 * (x[ends[:, 0]] + x[ends[:, 1]])])
            depth = -((points[:, None] - a) * n).sum(2).max(1)
            said = np.full(len(points), np.nan)
            found = detector.update(x).find()
            middle = np.array(
                [np.flatnonzero((ends == pair).all(1))[0] for pair in found["vertices"][:, :2] if pair[1] >= 0]
            )
            said[found["vertices"][found["kind"] == 2, 0]] = found["distance"][found["kind"] == 2]
            said[len(x) + middle.astype(int)] = found["distance"][found["kind"] == 3]
            inside = (depth > bound) & (depth < deepest)
            # an edge with both ends deeper than the field knows has a midpoint that is not asked about
            asked = inside & np.concatenate([np.ones(len(x), bool), (depth[: len(x)][ends] < deepest).any(1)])
            assert (np.abs(said + depth)[asked] <= bound).all(), type(used).__name__
            count += int(asked.sum())
    assert count > 0


def test_a_field_of_another_body_is_refused():
    other = pliant.Mesh(BALL.vertices + 0.2, BALL.faces, name="elsewhere")
    for field in (pliant.DistanceField.bake(other, 12), AdaptiveField.bake(other, 0.02)):
        with pytest.raises(ValueError, match=r"^field was baked from mesh 'elsewhere', .* bake a field of that mesh"):
            pliant.detector("distance-field", CLOTH, BALL, field=field)


def test_positions_of_a_second_mesh_are_refused_where_there_is_none():
    alone = pliant.detector("continuous", CLOTH)
    for name in ("x_b", "start_b"):
        with pytest.raises(ValueError, match=rf"^{name} was given, but this detector finds self-contact"):
            alone.update(CLOTH.vertices, **{name: CLOTH.vertices})

"""`bind`: weights of a garment from the body, by cases in which they are known."""

import dataclasses

import numpy as np
import pytest

import pliant
from characters import _tube, post, sleeve
from pliant import Mesh
from pliant.binding.bound import INPAINTED, MATCHED, RIGID
from pliant.motion.animation import Skeleton

pytestmark = pytest.mark.compiled


def dense(character):
    """(n,b) weights."""
    out = np.zeros((character.mesh.n_vertices, len(character.names)))
    for joint, weight in zip(character.joints.T, character.weights.T):
        np.add.at(out, (np.arange(len(out)), joint), weight)
    return out


def joined(*meshes, name="garment"):
    start = np.cumsum([0, *(m.n_vertices for m in meshes)])
    faces = np.concatenate([m.faces + s for m, s in zip(meshes, start)])
    return Mesh(np.concatenate([m.vertices for m in meshes]), faces, name=name)


def shifted(mesh, *by):
    return mesh.moved(mesh.vertices + np.array(by))


def two_limbs(gap=0.04):
    """A trunk of radius 0.15 on bone 0, and beside it an arm of radius 0.04 on bone 1, both along y."""
    trunk = _tube(np.linspace(0.0, 1.0, 21), np.full(21, 0.15), 32, closed=True, name="trunk")
    arm = _tube(np.linspace(0.0, 1.0, 21), np.full(21, 0.04), 16, closed=True, name="arm")
    mesh = joined(trunk, shifted(arm, 0.19 + gap, 0.0, 0.0), name="limbs")
    joints = np.repeat([0, 1], [trunk.n_vertices, arm.n_vertices])[:, None]
    skeleton = Skeleton.of_heads([-1, 0], [(0.0, 0.0, 0.0), (0.19 + gap, 0.0, 0.0)])
    inverse = np.tile(np.eye(3, 4), (2, 1, 1))
    inverse[1, 0, 3] = -(0.19 + gap)
    return pliant.Character(
        mesh, ("trunk", "arm"), [-1, 0], joints, np.ones((len(joints), 1)), {}, skeleton, [0, 1], inverse
    )


def test_a_copy_of_the_body_has_the_weights_of_the_body():
    body = post()
    bound = pliant.bind(body.mesh, body)
    assert (bound.kind == MATCHED).all()
    np.testing.assert_allclose(dense(bound.garment), dense(body), atol=1e-12)
    assert bound.distance.max() < 1e-12


def test_a_copy_that_is_a_little_larger_has_nearly_the_weights_of_the_body():
    body = post(rings=40, around=24)
    wider = body.mesh.moved(body.mesh.vertices * [1.1, 1.0, 1.1])
    bound = pliant.bind(wider, body)
    np.testing.assert_allclose(dense(bound.garment), dense(body), atol=1e-6)
    assert 0.005 < bound.distance.max() < 0.011


def test_a_tube_that_bulges_between_its_ends_has_weights_that_rise_smoothly_between_theirs():
    body = post(rings=40, around=24)
    at = np.linspace(0.2, 0.8, 31)
    bulge = _tube(at, 0.105 + 0.2 * np.sin(np.pi * (at - 0.2) / 0.6) ** 2, 24, closed=False, name="bulge")
    bound = pliant.bind(bulge, body)
    upper = dense(bound.garment)[:, 1].reshape(31, 24)
    middle = (bound.kind == INPAINTED).reshape(31, 24).all(1)
    assert middle[15]
    assert not middle[[0, 30]].any()
    rise = np.diff(upper.mean(1))
    assert rise.min() > -0.01
    assert rise.max() < 0.12  # 30 equal steps would be 0.033; a jump of nearest points, up to 1
    assert upper.max() <= 1.0
    assert upper.min() >= 0.0
    np.testing.assert_allclose(upper, upper.mean(1, keepdims=True) + np.zeros(24), atol=1e-6)


def arm_sleeve(radius=0.065, around=24):
    """A sleeve around the arm of `two_limbs`, nearer to the trunk than to the arm where it faces the trunk."""
    tube = _tube(np.linspace(0.1, 0.9, 25), np.full(25, radius), around, closed=False, name="sleeve")
    return shifted(tube, 0.23, 0.0, 0.0)


def nearer_to_trunk(mesh):
    x = mesh.vertices
    trunk = np.hypot(x[:, 0], x[:, 2]) - 0.15
    return np.abs(trunk) < np.abs(np.hypot(x[:, 0] - 0.23, x[:, 2]) - 0.04)


def reversed_faces(mesh):
    return dataclasses.replace(mesh, faces=mesh.faces[:, ::-1])


def lined_sleeve():
    """Two layers 4 mm apart, joined by rims at both ends."""
    outer, inner = arm_sleeve(0.065), arm_sleeve(0.061)
    n, around = outer.n_vertices, 24
    k = np.arange(around)
    after, last = (k + 1) % around, n - around
    low = [np.stack([k, after, n + k], 1), np.stack([after, n + after, n + k], 1)]
    high = [
        np.stack([last + after, last + k, last + n + k], 1),
        np.stack([last + n + after, last + after, last + n + k], 1),
    ]
    faces = np.concatenate([outer.faces, inner.faces[:, ::-1] + n, *low, *high])
    return Mesh(np.concatenate([outer.vertices, inner.vertices]), faces, name="lined")


@pytest.mark.parametrize("made", [arm_sleeve, lambda: reversed_faces(arm_sleeve()), lined_sleeve])
def test_a_sleeve_beside_the_trunk_belongs_to_the_arm(made):
    garment = made()
    assert nearer_to_trunk(garment).sum() > 20  # where the nearest point alone would be wrong
    bound = pliant.bind(garment, two_limbs(), max_distance=0.05)
    np.testing.assert_allclose(dense(bound.garment)[:, 1], 1.0, atol=1e-9)


def test_the_inner_layer_of_a_lined_garment_is_matched():
    bound = pliant.bind(lined_sleeve(), two_limbs(), max_distance=0.05)
    inner = bound.kind[len(bound.kind) // 2 :]
    assert (inner == MATCHED).mean() > 0.5


def test_order_place_and_scale_do_not_matter(rng):
    body, garment = post(), sleeve(bottom=0.3)
    first = pliant.bind(garment, body)
    expected = dense(first.garment)
    assert (first.kind == INPAINTED).any()
    order = rng.permutation(garment.n_vertices)
    rank = np.argsort(order)
    mixed = Mesh(garment.vertices[order], rank[garment.faces][rng.permutation(garment.n_faces)])
    np.testing.assert_allclose(dense(pliant.bind(mixed, body).garment), expected[order], atol=1e-8)

    def moved(mesh, scale, by):
        return mesh.moved(scale * mesh.vertices + by)

    for scale, by in ((1.0, np.array([3.0, -2.0, 1.0])), (100.0, np.zeros(3)), (0.001, np.array([0.1, 0.0, 0.0]))):
        other = dataclasses.replace(body, mesh=moved(body.mesh, scale, by))
        found = pliant.bind(moved(garment, scale, by), other)
        np.testing.assert_allclose(dense(found.garment), expected, atol=1e-7)


def test_vertices_at_one_place_have_the_same_weights_to_the_bit(rng):
    garment = sleeve(bottom=0.3)
    faces = np.arange(3 * garment.n_faces).reshape(-1, 3)
    soup = Mesh(garment.vertices[garment.faces].reshape(-1, 3), faces)
    bound = pliant.bind(soup, post())
    for k in (bound.garment.joints, bound.garment.weights):
        first = np.unique(soup.weld_index, return_index=True)[1][soup.weld_index]
        np.testing.assert_array_equal(k, k[first])
    expected = dense(pliant.bind(garment, post()).garment)
    np.testing.assert_allclose(dense(bound.garment), expected[garment.faces.ravel()], atol=1e-9)


def test_weights_are_positive_and_sum_to_one_with_every_number_of_influences(rng):
    body = post()
    bones = 12
    joints = rng.permuted(np.tile(np.arange(bones), (body.mesh.n_vertices, 1)), axis=1)[:, :8]
    body = dataclasses.replace(
        body,
        names=tuple(f"bone {k}" for k in range(bones)),
        parents=np.arange(bones) - 1,
        nodes=np.arange(bones) % 2,
        inverse=np.tile(np.eye(3, 4), (bones, 1, 1)),
        joints=joints,
        weights=rng.dirichlet(np.ones(8), body.mesh.n_vertices),
    )
    for count, steps in ((1, 0), (4, 5), (8, 0)):
        bound = pliant.bind(sleeve(bottom=0.3), body, influences=count, smooth=steps)
        assert bound.n_influences > 8
        assert bound.garment.weights.min() >= 0.0
        np.testing.assert_allclose(bound.garment.weights.sum(1), 1.0, atol=1e-12)
        assert bound.garment.joints.shape[1] <= count


def test_a_button_off_the_body_follows_the_nearest_piece_rigidly():
    body, garment = post(), sleeve()
    button = pliant.shapes.ball(0.004, 1, centre=(0.3, 0.52, 0.0))
    bound = pliant.bind(joined(garment, button), body)
    rigid = bound.kind == RIGID
    assert bound.n_pieces == 2
    assert bound.n_rigid_pieces == 1
    np.testing.assert_array_equal(rigid, np.arange(len(rigid)) >= garment.n_vertices)
    weights = dense(bound.garment)
    assert (weights[rigid] == weights[rigid][0]).all()
    row = np.argmin(np.linalg.norm(garment.vertices - [0.296, 0.52, 0.0], axis=1))
    np.testing.assert_allclose(weights[rigid][0], weights[row], atol=0.1)


@pytest.mark.parametrize("pose", [{"pose": "rest"}, {"clip": "sway", "time": 0.1}])
def test_a_garment_modelled_in_a_pose_is_where_it_was_in_that_pose(pose):
    body = post()
    clip, time = pose.get("clip"), pose.get("time", 0.0)
    there = body.mesh.moved(body.shape(clip, time))
    bound = pliant.bind(there, body, **pose)
    np.testing.assert_allclose(dense(bound.garment), dense(body), atol=1e-9)
    np.testing.assert_allclose(bound.garment.shape(clip, time), there.vertices, atol=1e-12)
    np.testing.assert_allclose(bound.garment.mesh.vertices, body.mesh.vertices, atol=1e-9)


@pytest.mark.parametrize("defect", ["degenerate", "non-manifold", "loose vertex", "duplicate faces"])
def test_garments_with_defects_are_bound(defect, rng):
    garment = sleeve()
    x, faces = garment.vertices, garment.faces
    if defect == "degenerate":
        faces = np.concatenate([faces, [[0, 0, 1], [2, 2, 2]], [[0, 1, 1]]])
        x = x.copy()
        x[40] = x[41]
    elif defect == "non-manifold":
        x = np.concatenate([x, [[0.3, 0.5, 0.0]]])
        faces = np.concatenate([faces, [[0, 16, len(x) - 1], [16, 0, len(x) - 1], [0, 1, 60]]])
    elif defect == "loose vertex":
        x = np.concatenate([x, [[0.3, 0.5, 0.0]]])
    else:
        faces = np.concatenate([faces, faces[:20]])
    bound = pliant.bind(Mesh(x, faces), post())
    assert np.isfinite(bound.garment.weights).all()
    np.testing.assert_allclose(bound.garment.weights.sum(1), 1.0, atol=1e-12)
    assert bound.n_rigid_pieces == 0


@pytest.mark.parametrize(
    ("garment", "options", "said"),
    [
        (Mesh([[0.0, 0, 0]], np.zeros((0, 3), int)), {}, "has no faces"),
        (Mesh(np.ones((3, 3)), [[0, 1, 2]]), {}, "at one point"),
        (sleeve(2.0, 3.0), {}, "does not lie on 'post': its nearest vertex is"),
        (sleeve(), {"influences": 5}, "influences is 5; expected 1 to 4, or 8"),
        (sleeve(), {"pose": "T"}, "pose"),
        (sleeve(), {"clip": "run"}, "clip"),
        (sleeve(), {"clip": "sway", "pose": "rest"}, "give one of them"),
        (sleeve(), {"time": 1.0}, "there is no clip"),
        (sleeve(), {"max_distance": -1.0}, "max_distance"),
        (sleeve(), {"max_angle": 0.0}, "max_angle"),
    ],
)
def test_what_cannot_be_bound_is_refused(garment, options, said):
    with pytest.raises(ValueError, match=said):
        pliant.bind(garment, post(), **options)


def test_the_binding_of_the_humans_skirt_strains_it_less_than_nearest_points_do(data):
    from characters import human

    body, stored = human(data / "human"), np.load(data / "human" / "skirt.npz")
    skirt = Mesh(stored["V_rest"], stored["F"])
    ends = skirt.topology.edges.T

    def strain(**options):
        bound = pliant.bind(skirt, body, **options).garment
        lengths = [np.linalg.norm(x[ends[0]] - x[ends[1]], axis=1) for x in (skirt.vertices, bound.shape("walk", 0.5))]
        return float(np.quantile(np.abs(lengths[1] / lengths[0] - 1.0), 0.99))

    assert strain() < 0.5 * strain(max_distance=10.0, max_angle=90.0)

"""Where nobody names a method, one rule picks it, says why, and misses nothing."""

import numpy as np
import pytest

import pliant
from pliant import Mesh, shapes
from pliant.detect.choose import choose_method_for_scene
from pliant.scenes import SCENES, tablecloth_scene

BALL = shapes.ball(0.1, 2)


def sheet(height: float) -> Mesh:
    return shapes.cloth(0.24, 0.24, 9, centre=(0.0, height, 0.0))


@pytest.mark.parametrize(
    ("a", "b", "name"),
    [
        (sheet(0.1), BALL, "bvh"),
        (sheet(0.1), None, "bvh"),
        (Mesh([[0.0, 0.0, 0.0]], np.zeros((0, 3), int)), BALL, "bvh"),
    ],
)
def test_auto_says_what_it_picks_and_why(a, b, name):
    chosen = pliant.choose_method(a, b, 0.01)
    assert chosen.name == name
    assert "exact" in chosen.why


@pytest.mark.compiled
def test_auto_finds_what_the_referee_finds():
    found = pliant.find_contacts(sheet(0.09), BALL, within=0.012)
    exact = pliant.find_contacts(sheet(0.09), BALL, within=0.012, method="brute-force")
    assert found.tobytes() == exact.tobytes()
    assert pliant.detector("auto", sheet(0.09), BALL).chosen.name == "bvh"


@pytest.mark.compiled
@pytest.mark.parametrize("which", ["first", "second", "both", "itself", "no faces"])
def test_auto_finds_contacts_of_vertices_that_belong_to_no_face(which):
    dots = 0.1 * np.random.default_rng(3).normal(size=(40, 3))

    def dotted(mesh: Mesh) -> Mesh:
        return Mesh(np.concatenate([mesh.vertices, dots]), mesh.faces)

    a, b = {
        "first": (dotted(sheet(0.1)), BALL),
        "second": (sheet(0.1), dotted(BALL)),
        "both": (dotted(sheet(0.1)), dotted(BALL)),
        "itself": (dotted(sheet(0.1)), None),
        "no faces": (Mesh(dots, np.zeros((0, 3), int)), BALL),
    }[which]
    found = pliant.find_contacts(a, b, within=0.02)
    exact = pliant.find_contacts(a, b, within=0.02, method="brute-force")
    loose = {"first": {0}, "second": {1}, "both": {0, 1}, "itself": {0}, "no faces": {0}}[which]
    sizes = np.cumsum([0, a.n_vertices, 0 if b is None else b.n_vertices])
    for side in loose:  # some of the vertices without a face are in contact
        assert np.isin(exact["vertices"][:, 0], np.arange(sizes[side + 1] - len(dots), sizes[side + 1])).any()
    assert found.tobytes() == exact.tobytes()


@pytest.mark.compiled
def test_auto_picks_by_what_the_bodies_do():
    cloth = pliant.Body(sheet(0.2))
    moved = pliant.Recorded([0.0, 1.0], np.stack([BALL.vertices, BALL.vertices * 1.1]))
    still, bends = pliant.Body(BALL, obstacle=True), pliant.Body(BALL, obstacle=True, motion=moved)
    assert choose_method_for_scene(pliant.Scene([cloth, still])).name == "distance-field"
    assert choose_method_for_scene(pliant.Scene([cloth, still], eps=1e-4)).name == "bvh"
    assert choose_method_for_scene(pliant.Scene([cloth, still, bends])).name == "bvh"
    assert choose_method_for_scene(SCENES["walking-skirt"](resolution=12, eps=None)).name == "bone-boxes"


@pytest.mark.compiled
@pytest.mark.parametrize("size", [1.0, 100.0])
def test_the_floor_under_a_tablecloth_is_fine_enough_for_a_field(size):
    assert choose_method_for_scene(tablecloth_scene(shapes.ball(size, 2), resolution=4)).name == "distance-field"


def character_of(mesh: Mesh, bones: int, morphs: bool = False) -> pliant.Character:
    """A body whose vertices, in the order of their height, are held by so many bones."""
    from pliant.motion.animation import Animation, Skeleton, Track
    from pliant.motion.character import Morph

    n, heads = mesh.n_vertices, np.zeros((bones, 3))
    rank = np.argsort(np.argsort(mesh.vertices[:, 1], kind="stable"), kind="stable")
    skeleton = Skeleton.of_heads(np.full(bones, -1), heads)
    if morphs:
        skeleton = Skeleton(skeleton.parents, np.append(skeleton.rest, 0.0), skeleton.matrices, np.zeros(bones, bool))
    clip = Animation((Track(0, np.array([0.0, 1.0]), np.array([[0.0, 0.0, 0.0], [0.1, 0.0, 0.0]])),))
    told = (Morph(0, 0.1 * mesh.vertex_normals[None], 0),) if morphs else ()
    return pliant.Character(
        mesh,
        tuple(f"bone {k}" for k in range(bones)),
        np.full(bones, -1),
        (rank * bones // n).astype(np.int32)[:, None],
        np.ones((n, 1)),
        {"clip": clip},
        skeleton,
        np.arange(bones),
        np.tile(np.eye(3, 4), (bones, 1, 1)),
        told,
    )


@pytest.mark.parametrize(
    ("bones", "morphs", "name", "why"),
    [
        (1, False, "bvh", "1 bone moves a body alone"),
        (2, False, "bvh", "2 bones move a body"),
        (6, False, "bvh", "6 bones move a body"),
        (20, False, "bone-boxes", "a body is skinned; exact, with bone-attached bounding boxes"),
        (20, True, "bvh", "morph targets deform a body"),
        (1, True, "bvh", "morph targets deform a body"),
    ],
)
def test_auto_takes_boxes_on_bones_only_where_bones_part_the_body(bones, morphs, name, why):
    body = shapes.ball(0.3, 4)
    motion = pliant.Skinned(character_of(body, bones, morphs), "clip")
    scene = pliant.Scene([pliant.Body(sheet(0.5)), pliant.Body(body, obstacle=True, motion=motion)])
    chosen = choose_method_for_scene(scene)
    assert chosen.name == name
    assert why in chosen.why


def test_auto_takes_no_boxes_on_bones_for_a_large_body_without_bones_beside_one_with_them():
    body = shapes.ball(0.3, 4)
    walker = pliant.Body(body, obstacle=True, motion=pliant.Skinned(character_of(body, 20), "clip"))
    cloth, floor = pliant.Body(sheet(0.5)), pliant.Body(shapes.box((3.0, 0.1, 3.0), 1), obstacle=True)
    rock = pliant.Body(body.moved(body.vertices + np.array([2.0, 0.0, 0.0])), obstacle=True)
    assert choose_method_for_scene(pliant.Scene([cloth, walker, floor])).name == "bone-boxes"
    assert choose_method_for_scene(pliant.Scene([cloth, walker, rock])).name == "bvh"
    assert "a body has no bones" in choose_method_for_scene(pliant.Scene([cloth, walker, rock])).why

"""Contacts on the card are those of threads: the same records in the same order, none missing."""

import numpy as np
import pytest

import pliant
from pliant import shapes
from pliant.detect.bvh.boxes_on_card import levels_of, parents_of
from pliant.kernels import device

RESOLUTION = 5 if device.SIMULATED else 250


def folded(rng: np.random.Generator) -> tuple[pliant.Mesh, np.ndarray]:
    """A sheet folded onto itself, crumpled in places: pairs at all distances, and some that intersect."""
    cloth = shapes.cloth(1.0, 1.0, resolution=RESOLUTION)
    x = cloth.vertices.copy()
    x[:, 0] = np.abs(x[:, 0] - x[:, 0].mean())
    crumpled = rng.random(len(x)) > 0.4
    x[crumpled] += rng.normal(size=(crumpled.sum(), 3)) * 0.3 / RESOLUTION
    return cloth, x


@pytest.mark.parametrize("within", [0.0, 0.4])
def test_self_contacts_are_the_records_of_threads(rng, within: float) -> None:
    cloth, x = folded(rng)
    detector = pliant.detector("bvh", cloth, within=within / RESOLUTION).update(x)
    expected, there = detector.find(), detector.to("cuda").update(device.upload(x))
    found = there.find()
    assert len(expected) > 10
    assert found.copy_to_host().tobytes() == expected.tobytes()
    np.testing.assert_array_equal(found["normal"].copy_to_host(), expected["normal"])
    np.testing.assert_array_equal(
        there.update(device.upload(x)).find()["elements"].copy_to_host(), expected["elements"]
    )


def test_contacts_of_two_sheets_are_the_records_of_threads(rng) -> None:
    cloth, x = folded(rng)
    other = shapes.cloth(0.7, 0.9, resolution=max(RESOLUTION // 2, 3))
    y = other.vertices + [0.2, 0.0, 0.0] + rng.normal(size=other.vertices.shape) * 0.2 / RESOLUTION
    detector = pliant.detector("bvh", cloth, other, within=0.3 / RESOLUTION, arity=2).update(x, y)
    expected, found = detector.find(), detector.to("cuda").update(device.upload(x), device.upload(y)).find()
    assert {0, 1} == set(expected["kind"].tolist())
    assert found.copy_to_host().tobytes() == expected.tobytes()


@pytest.mark.parametrize("reverse", [False, True])
def test_contacts_of_cloth_with_a_closed_body_are_the_records_of_threads(rng, reverse: bool) -> None:
    """Vertices of either mesh inside the other at any depth, and edges through it."""
    body = shapes.ball(0.3, 1 if device.SIMULATED else 4)
    cloth = shapes.cloth(1.0, 1.0, resolution=RESOLUTION)
    x = cloth.vertices - cloth.vertices.mean(0) + rng.normal(size=cloth.vertices.shape) * 0.1 / RESOLUTION
    meshes, places = (body, cloth) if reverse else (cloth, body), (None, x) if reverse else (x, None)
    detector = pliant.detector("bvh", *meshes, within=0.02).update(*places)
    expected = detector.find()
    there = detector.to("cuda").update(*(None if p is None else device.upload(p) for p in places))
    assert (expected["distance"][expected["kind"] == 0] < -0.02).any()
    assert (expected["distance"][expected["kind"] == 1] < 0.0).any()
    assert there.find().copy_to_host().tobytes() == expected.tobytes()
    with pytest.raises(ValueError, match=r"the closed mesh .* has moved"):
        there.update(**{"x_a" if reverse else "x_b": device.upload(body.vertices + 0.1)})


def test_more_pairs_than_there_was_room_for_are_all_found(rng) -> None:
    cloth, x = folded(rng)
    detector = pliant.detector("bvh", cloth, within=0.4 / RESOLUTION).update(x)
    there = detector.to("cuda").update(device.upload(x))
    there._inner._near._overlaps.pairs = device.empty((3, 2), np.int32)
    assert there.find().copy_to_host().tobytes() == detector.find().tobytes()


def test_a_detector_for_which_there_was_too_little_memory_finds_all_when_there_is_more(rng, monkeypatch) -> None:
    cloth, x = folded(rng)
    detector = pliant.detector("bvh", cloth, within=0.4 / RESOLUTION).update(x)
    there = detector.to("cuda").update(device.upload(x))
    there._inner._near._overlaps.pairs = device.empty((3, 2), np.int32)
    empty = device.empty

    def small(shape, dtype=np.float64):
        if np.prod(shape) > 10:
            raise MemoryError("the graphics card has 0 GiB free; 1 GiB are needed")
        return empty(shape, dtype)

    with monkeypatch.context() as full:
        full.setattr(device, "empty", small)
        with pytest.raises(MemoryError, match="1 GiB are needed"):
            there.find()
    assert there.find().copy_to_host().tobytes() == detector.find().tobytes()


def test_sheets_far_apart_have_no_contacts() -> None:
    one, two = shapes.cloth(1.0, 1.0, resolution=3), shapes.cloth(1.0, 1.0, resolution=3)
    there = pliant.detector("bvh", one, two, within=0.01).to("cuda")
    found = there.update(x_b=device.upload(two.vertices + np.array([0.0, 9.0, 9.0]))).find()
    assert len(found) == 0
    assert len(found.copy_to_host()) == 0


def test_what_does_not_run_there_is_refused_by_name() -> None:
    cloth = shapes.cloth(1.0, 1.0, resolution=3)
    with pytest.raises(ValueError, match="method 'brute-force' does not run on a graphics card; use 'bvh' or"):
        pliant.detector("brute-force", cloth).to("cuda")
    with pytest.raises(ValueError, match="the options volume, leaf, update and worse of 'bvh'"):
        pliant.detector("bvh", cloth, volume="sphere").to("cuda")
    there = pliant.detector("bvh", cloth).to("cuda")
    with pytest.raises(ValueError, match=r"x_a has shape \(2, 3\)"):
        there.update(device.upload(np.zeros((2, 3))))
    with pytest.raises(ValueError, match="finds self-contact of one mesh"):
        there.update(x_b=device.upload(cloth.vertices))
    with pytest.raises(KeyError, match="no field 'place'; one of: kind"):
        there.find()["place"]


@pytest.mark.parametrize("field", ["bricks", "dense"])
def test_contacts_with_a_distance_field_are_the_records_of_threads(rng, field: str) -> None:
    body = shapes.ball(0.3, 1 if device.SIMULATED else 4)
    cloth = shapes.cloth(1.0, 1.0, resolution=RESOLUTION)
    detector = pliant.detector("distance-field", cloth, body, within=0.05, field=field, spacing=0.04, cache=False)
    there = detector.to("cuda")
    for height, kinds in ((0.25, {2, 3}), (0.05, {2, 3}), (2.0, set())):
        x = 0.6 * (cloth.vertices - cloth.vertices.mean(0)) + [0.0, height, 0.0]
        x += rng.normal(size=x.shape) * 0.1 / RESOLUTION
        expected, found = detector.update(x).find(), there.update(device.upload(x)).find()
        assert set(expected["kind"].tolist()) == kinds
        assert found.copy_to_host().tobytes() == expected.tobytes()
    there.update(x_b=device.upload(body.vertices))
    with pytest.raises(ValueError, match=r"the mesh .* has moved; on a graphics card its field is not baked again"):
        there.update(x_b=device.upload(body.vertices + 0.01))


def test_contacts_on_the_medial_axis_of_a_field_have_the_normals_of_threads() -> None:
    body, cloth = shapes.ball(0.3, 1), shapes.cloth(0.2, 0.2, resolution=3)
    detector = pliant.detector("distance-field", cloth, body, within=0.05, field="dense", spacing=0.05, cache=False)
    x = np.zeros_like(cloth.vertices)  # all of it at the centre
    expected, found = detector.update(x).find(), detector.to("cuda").update(device.upload(x)).find()
    assert len(expected)
    assert found.copy_to_host().tobytes() == expected.tobytes()


def test_fields_that_do_not_run_there_are_refused_by_name() -> None:
    body, cloth = shapes.ball(0.3, 1), shapes.cloth(0.2, 0.2, resolution=3)
    detector = pliant.detector("distance-field", cloth, body, within=0.05, field="adaptive", cache=False)
    with pytest.raises(ValueError, match="a field of class AdaptiveField does not run on a graphics card"):
        detector.to("cuda")


def test_a_seam_that_opens_is_an_error() -> None:
    sheet = shapes.cloth(1.0, 1.0, resolution=2)
    faces = sheet.faces.copy()
    faces[0][faces[0] == 0] = sheet.n_vertices  # a copy of vertex 0, at the same place
    split = pliant.Mesh(np.concatenate([sheet.vertices, sheet.vertices[:1]]), faces)
    there = pliant.detector("bvh", split).to("cuda")
    opened = split.vertices.copy()
    opened[-1] += 0.1
    with pytest.raises(ValueError, match=r"copies of a vertex of mesh .* have separated"):
        there.update(device.upload(opened))


def test_children_are_fitted_before_their_parents() -> None:
    skip = np.array([9, 5, 3, 4, 5, 9, 7, 8, 9])
    assert parents_of(skip).tolist() == [-1, 0, 1, 1, 1, 0, 5, 5, 5]
    assert [level.tolist() for level in levels_of(skip)] == [[1, 5], [0]]

"""Image space by layered depth images: what they can miss, what they cannot, and that the resolution decides it."""

import numpy as np
import pytest

import pliant
from detect.made import octahedron, sheet
from detect.test_image_space import pincers, shifted, torus, turned
from pliant import Mesh
from pliant.audit import reference_contacts
from pliant.audit.compare import compare
from pliant.kernels import jit

pytestmark = pytest.mark.compiled


def in_another(mesh, x):
    """Exact winding numbers by solid angles."""
    return np.rint(reference_contacts.winding(x, mesh.vertices, mesh.faces)).astype(int)


@pytest.mark.parametrize("resolution", [8, 24, 96])
def test_no_vertex_deeper_than_half_a_diagonal_of_a_pixel_is_missed_and_none_outside_is_found(resolution, rng):
    missed = 0
    for k in range(8):
        a, b = turned(octahedron(3), rng, 0.4), turned(torus() if k % 2 else octahedron(2), rng, 0.3)
        b = b if k % 4 < 2 else sheet(12, 1.6, 0.1, 0.05, rng)
        detector = pliant.detector("image-space", a, b, resolution=resolution)
        hits, exact = detector.find(), pliant.detector("image-space", a, b, test="rays").find()
        bound = detector._detector.bounds[0]
        found = np.isin(exact[["bodies", "elements"]], hits[["bodies", "elements"]])
        assert hits.tobytes() == exact[found].tobytes()
        assert (exact["distance"][~found] >= -bound).all()
        volume = np.minimum(a.bounds[1], b.bounds[1]) - np.maximum(a.bounds[0], b.bounds[0])
        assert bound < 1.1 * np.sort(volume)[-1] / resolution
        missed += int((~found).sum())
    assert missed > 0 or resolution > 8


def test_more_pixels_find_more_until_nothing_is_missed(rng):
    a, b = turned(octahedron(4), rng), turned(octahedron(4), rng, 0.2)
    counts = [len(pliant.detector("image-space", a, b, resolution=n).find()) for n in (2, 8, 1024)]
    assert counts[0] < counts[1] < counts[2]
    assert counts[2] == len(pliant.detector("image-space", a, b).find())


@pytest.mark.parametrize("resolution", [16, 64, 512])
def test_a_body_in_itself_is_found_by_entries_before_exits(resolution):
    bar = pincers(-0.6)
    assert len(pliant.detector("image-space", pincers(0.2), resolution=resolution).find()) == 0
    detector = pliant.detector("image-space", bar, resolution=resolution)
    hits, exact = detector.find(), pliant.detector("image-space", bar).find()
    found = np.isin(exact["elements"][:, 0], hits["elements"][:, 0])
    assert hits.tobytes() == exact[found].tobytes()
    bound = detector._detector.bounds[0]
    lost = exact["elements"][~found, 0]
    centre = bar.vertices[lost] - np.sqrt(2.0) * bound * bar.vertex_normals[lost]
    free = np.ones(len(lost), bool)
    free[reference_contacts.near_faces(centre, bar.vertices, bar.faces, bound).pairs[:, 0]] = False
    assert (in_another(bar, centre[free]) < 2).all()
    assert len(hits) > 10 or resolution == 16
    if resolution == 512:
        assert found.all()


def test_the_image_of_the_detector_counts_entries_and_exits():
    bar = pincers(-0.6)
    detector = pliant.detector("image-space", bar, resolution=64)
    detector.find()
    (image,) = detector._detector.images
    assert max(image.screen.width, image.screen.height) == 64
    assert len(image.self_overlap()) > 10
    rays = pliant.detector("image-space", bar)
    rays.find()
    assert rays._detector.images == []


def test_bodies_whose_boxes_are_apart_are_not_drawn(rng):
    a, b = octahedron(2), octahedron(2)
    detector = pliant.detector("image-space", a, b.moved(b.vertices + 5.0), test="layers")
    assert (len(detector.find()), detector._detector.images, detector._detector.bounds) == (0, [], (0.0, 0.0))


def test_compare_judges_the_exact_rays_as_class_a_and_the_layers_as_class_b():
    a, b = octahedron(4), octahedron(4)
    b = shifted(b, 0.5, 0.4, 0.3)
    found = compare(a, b, methods=["image-space"])
    rays, layers = found.row("image-space"), found.row("image-space:resolution=64")
    assert (rays.guarantee, rays.bound, rays.missed, rays.extra) == ("A", 0.0, 0, 0)
    assert (layers.guarantee, layers.extra, layers.beyond) == ("B", 0, 0)
    assert 0.0 < layers.bound < 0.02
    assert layers.missed > 0
    both = Mesh(np.concatenate([a.vertices, b.vertices]), np.concatenate([a.faces, b.faces + a.n_vertices]))
    own = compare(both, methods=["image-space"])
    assert own.broken == []
    assert own.row("image-space").found >= own.row("image-space:resolution=64").found > 100


def test_contacts_by_layers_have_the_same_bits_on_one_thread_and_on_two(rng):
    a, b = octahedron(6), octahedron(6)
    b = shifted(b, 0.5, 0.4, 0.3)
    before, results = jit.threads(), []
    for count in (1, 2):
        jit.set_threads(count)
        both = [pliant.detector("image-space", *given, resolution=48) for given in ((a, b), (pincers(-0.6),))]
        results.append(b"".join(detector.find().tobytes() for detector in both))
    jit.set_threads(before)
    assert results[0] == results[1]


def test_wrong_options_are_refused_with_what_to_do():
    ball = octahedron(1)
    with pytest.raises(ValueError, match="resolution = 64 with test='rays', which uses no image; leave one"):
        pliant.detector("image-space", ball, test="rays", resolution=64)
    with pytest.raises(ValueError, match="test"):
        pliant.detector("image-space", ball, test="pixels")
    for wrong in (0, 5000, -3):
        with pytest.raises(ValueError, match="resolution"):
            pliant.detector("image-space", ball, resolution=wrong)

"""Random garments on random characters: weights, the pose of the garment and the written file are always consistent."""

import numpy as np
import pytest

import pliant
from characters import made_character, post, sleeve
from conftest import SEED, cases
from pliant import Mesh

pytestmark = pytest.mark.compiled


def random_garment(rng, y, faces):
    """The body itself moved a little, a soup of triangles at its vertices, a sleeve, or the body on a coarse grid."""
    kind = rng.integers(4)
    if kind == 0:
        chosen = rng.random(len(faces)) < rng.uniform(0.1, 1.0)
        chosen[0] = True
        return Mesh(y + rng.choice([0.0, 1e-6, 1e-2, 0.3]) * rng.normal(size=y.shape), faces[chosen])
    if kind == 1:
        x = y[rng.integers(0, len(y), int(rng.integers(1, 60)))]
        soup = rng.integers(0, len(x), (int(rng.integers(1, 80)), 3))
        return Mesh(x + 0.05 * rng.normal(size=x.shape), soup)
    if kind == 2:
        return sleeve(rings=int(rng.integers(2, 9)), around=int(rng.integers(3, 20)), bottom=rng.uniform(0.08, 0.6))
    return Mesh(y.round(int(rng.integers(0, 3))), faces)


def test_random_garments_are_bound_consistently_or_refused(tmp_path):
    bound_cases, refused = 0, []
    for case in range(cases(12)):
        rng = np.random.default_rng((SEED, case))
        body = post(rings=int(rng.integers(3, 9)), around=int(rng.integers(4, 10)))
        if rng.random() < 0.5:
            body = pliant.load_character(made_character(rng).save(tmp_path / "made.gltf"))
        clip = next(iter(body.clips))
        pose = [{}, {"pose": "rest"}, {"clip": clip, "time": float(rng.uniform(-1.0, 3.0))}][int(rng.integers(3))]
        where = pose.get("clip"), pose.get("time", 0.0)
        y = body.shape(*where) if pose else body.mesh.vertices
        garment = random_garment(rng, y, body.mesh.faces)
        options = {"max_distance": float(rng.choice([0.01, 0.3, 100.0])), "max_angle": float(rng.choice([5, 30, 90]))}
        try:
            bound = pliant.bind(garment, body, **pose, **options, influences=int(rng.choice([1, 4, 8])))
        except ValueError as error:
            refused.append(str(error))
            continue
        bound_cases += 1
        weights = bound.garment.weights
        assert weights.min() >= 0.0
        np.testing.assert_allclose(weights.sum(1), 1.0, atol=1e-9)
        if pose:
            scale = 1.0 + np.abs(garment.vertices).max()
            np.testing.assert_allclose(bound.garment.shape(*where), garment.vertices, atol=1e-6 * scale)
        name = bound.save(tmp_path / "out.glb", alone=bool(rng.random() < 0.5))
        expected = bound.garment.shape(clip, 0.4)
        scale = 1.0 + np.abs(expected).max() + np.abs(bound.garment.mesh.vertices).max()
        again = pliant.load_character(tmp_path / "out.glb", part=name).shape(clip, 0.4)
        np.testing.assert_allclose(again, expected, atol=1e-4 * scale, err_msg=f"case {case}")
    assert bound_cases
    known = ("does not lie on", "at one point", "scaled to zero")
    assert not [text for text in refused if not any(words in text for words in known)]

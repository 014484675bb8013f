"""The rotation in a deformation, of any matrix: flat, inside out, squeezed to a line or a point."""

import numpy as np
import pytest

from conftest import cases
from naive import tuples
from pliant.kernels.geometry.polar import rotation

COUNT = cases(400)
KINDS = ("any", "near a rotation", "flat", "a line", "mirrored", "large", "small")


def matrix(rng: np.random.Generator, kind: str) -> np.ndarray:
    f, turn = rng.normal(size=(3, 3)), np.linalg.qr(rng.normal(size=(3, 3)))[0]
    turn *= np.sign(np.linalg.det(turn))
    return {
        "any": f,
        "near a rotation": turn + 0.1 * f,
        "flat": f @ np.diag([1.0, 0.0, 1.0]) @ turn,
        "a line": np.outer(f[0], f[1]),
        "mirrored": turn @ np.diag([1.0, -1.0, 1.0]) @ turn.T,
        "large": 1e6 * f,
        "small": 1e-6 * f,
    }[kind]


@pytest.mark.parametrize("kind", KINDS)
def test_the_rotation_is_the_nearest_one_to_any_matrix(rng, kind):
    for _ in range(COUNT):
        f = matrix(rng, kind)
        r = np.array(rotation(*tuples(f.T))).T
        assert np.abs(r.T @ r - np.eye(3)).max() < 1e-13
        assert np.linalg.det(r) > 0.0
        # the nearest has the largest trace of R^T F: the sum of singular values, the least with the sign of det F
        u, s, vt = np.linalg.svd(f)
        most = s[0] + s[1] + np.sign(np.linalg.det(u @ vt)) * s[2]
        assert np.trace(r.T @ f) == pytest.approx(most, abs=1e-9 * s[0])


def test_nothing_at_all_has_a_rotation_too():
    zero = (0.0, 0.0, 0.0)
    r = np.array(rotation(zero, zero, zero))
    assert np.abs(r.T @ r - np.eye(3)).max() < 1e-13

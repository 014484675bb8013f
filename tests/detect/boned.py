"""Bodies on bones, points around them, and what exact distances say of a detector's answer."""

import numpy as np

from pliant.detect.base import Side
from pliant.detect.detectors.bone_boxes import BoneBoxesDetector
from pliant.detect.queries.closest_point import ClosestPoints
from pliant.mesh import Mesh
from pliant.state import State

TURN = np.linalg.qr(np.random.default_rng(5).normal(size=(3, 3)))[0]
TURN *= np.linalg.det(TURN)
STRAIGHT = np.eye(3)


class Tube:
    """A closed tube of radius 0.1 along x from -0.5 to 0.5, held by two bones that meet at 0; the second one bends.

    `turn` and `scale` move the whole; `flat` scales the second bone to nothing.
    """

    duration = 1.0

    def __init__(self, rings=15, around=10, turn=STRAIGHT, scale=1.0, angle=1.2, flat=False):
        x, a = np.linspace(-0.5, 0.5, rings), 2 * np.pi * np.arange(around) / around
        wall = np.stack(np.broadcast_arrays(x[:, None], 0.1 * np.cos(a), 0.1 * np.sin(a)), 2).reshape(-1, 3)
        self.rest = np.concatenate([wall, [[-0.5, 0, 0], [0.5, 0, 0]]])
        k, j = np.meshgrid(np.arange(rings - 1), np.arange(around), indexing="ij")
        p, q = k * around + j, k * around + (j + 1) % around
        quads = np.stack([p, q, p + around, q, q + around, p + around], 2).reshape(-1, 3)
        ring, after = np.arange(around), (np.arange(around) + 1) % around
        last = (rings - 1) * around
        caps = [np.stack([np.full(around, len(wall)), after, ring], 1)]
        caps.append(np.stack([np.full(around, len(wall) + 1), last + ring, last + after], 1))
        self.mesh = Mesh(scale * self.rest @ turn.T, np.concatenate([quads, *caps]), name="tube")
        share = np.clip(0.5 + self.rest[:, 0] / 0.3, 0.0, 1.0)
        self.weights, self.joints = np.stack([1.0 - share, share], 1), np.tile(np.arange(2), (len(share), 1))
        self._turn, self._scale, self._angle, self._flat = turn, scale, angle, flat
        self.bind = self.rest

    def sample(self, times):
        out = np.tile(np.eye(3, 4), (len(times), 2, 1, 1))
        c, s = np.cos(self._angle * np.asarray(times)), np.sin(self._angle * np.asarray(times))
        out[:, 1, 0, 0], out[:, 1, 0, 1], out[:, 1, 1, 0], out[:, 1, 1, 1] = c, -s, s, c
        if self._flat:
            out[:, 1, :, :3] *= 1.0 - np.asarray(times)[:, None, None]
        return self._scale * (self._turn @ out)

    def shape(self, sample):
        each = np.einsum("bij,nj->nbi", sample, np.concatenate([self.rest, np.ones((len(self.rest), 1))], 1))
        return np.einsum("nb,nbi->ni", self.weights, each)


def around(body: Mesh, within: float, count: int, rng: np.random.Generator) -> np.ndarray:
    """Points on, near, over and under a surface, and some far from it and deep inside."""
    f = rng.integers(body.n_faces, size=count)
    on = np.einsum("ij,ijk->ik", rng.dirichlet(np.ones(3), count), body.vertices[body.faces[f]])
    away = rng.normal(size=(count, 3))
    away *= within * rng.choice([0.3, 1.0, 3.0, 30.0], (count, 1)) / np.linalg.norm(away, axis=1, keepdims=True)
    return np.concatenate([on[::7], on + away, body.vertices[body.faces[f[::9], 0]]])


def cloud(points: np.ndarray) -> Mesh:
    return Mesh(points, np.zeros((0, 3), np.int32), name="cloud")


def posed(points: np.ndarray, motion, when: float, *, by_bones: bool = False) -> State:
    sample = motion.sample(np.array([when]))[0]
    state = State.at(np.concatenate([points, motion.shape(sample)]))
    state.bones = {1: sample}
    state.posed = frozenset([1]) if by_bones else frozenset()
    return state


def made(points: np.ndarray, mesh: Mesh, motion, within: float, **options) -> BoneBoxesDetector:
    soft = points if isinstance(points, Mesh) else cloud(points)
    return BoneBoxesDetector(Side(soft, 0, 0), Side(mesh, soft.n_vertices, 1, motion), within=within, **options)


def assert_as_the_surface_says(hits, points, body: Mesh, within: float) -> int:
    """The same vertices as exact distances, at the same distance; how many."""
    truth = ClosestPoints(body).query(points)[0]
    near = (truth if body.issues.closed and not body.issues.inward else np.abs(truth)) <= within
    np.testing.assert_array_equal(hits["elements"][:, 0], np.flatnonzero(near))
    np.testing.assert_allclose(np.abs(hits["distance"]), np.abs(truth[near]), rtol=0, atol=1e-14 * body.size)
    wrong = np.sign(hits["distance"]) != np.sign(truth[near])
    assert not (wrong & (np.abs(truth[near]) > 1e-12 * body.size)).any()
    return int(near.sum())

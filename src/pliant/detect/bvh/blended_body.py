"""The BVH of an obstacle whose vertices are weighted sums: of frames, or of the products of its skin with the entries
of bone matrices and morph weights. It needs no refit: volumes follow from the weights where a traversal reaches them.

Linear blend skinning is x = sum over bones b of w_b M_b p: a bounded deformation, whose coordinates are the entries of
the matrices M_b, each with the displacement mode w_b p along one axis; a morph target adds such modes of its own.
"""

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ... import validate
from ...kernels.bvh import fit as _fit
from ...kernels.bvh.traversal import TraversedBvh
from ...motion.deforming import Deforming, Recorded, Skinned
from .blend import BlendTree
from .build import VOLUMES
from .tree import Floats, Ints

_EPS = 2.0**-50  # times the size of a shape: rounding error of its vertices, by the motion and as a sum
_NODES = 2.5  # nodes and elements per element, about


class Mode(NamedTuple):
    """A displacement mode of a skin, and the entry of the pose that scales it."""

    bone: int
    row: int  # of the bone's matrix
    column: int
    target: int  # morph target, or -1 for the bind shape


class BlendedBody:
    """A BVH over elements (m,3) of an obstacle with this motion, for `MovingTree.pairs` with it."""

    def __init__(
        self, motion: Deforming | None, elements: Ints, count: int, max_bytes: float | None, **options: Any
    ) -> None:
        """count: of the vertices; options: volume, arity, leaf, split."""
        if not isinstance(motion, (Recorded, Skinned)):
            raise ValueError(
                "update 'blend' is for an obstacle of a scene that is skinned, has morph targets or recorded frames"
            )
        self.motion = motion
        self._modes = _modes_of(motion) if isinstance(motion, Skinned) else []
        n_parts = len(self._modes) or len(motion.frames)  # type: ignore[union-attr]
        each = 24.0 * count + 8.0 * VOLUMES[options["volume"]] * _NODES * len(elements)
        validate.budget(f"a BVH of {n_parts} blended parts", n_parts * each, "use another update", max_bytes)
        parts = _parts_of(motion, self._modes) if isinstance(motion, Skinned) else motion.frames
        if parts.shape[1] != count:
            raise ValueError(f"the motion has {parts.shape[1]} vertices, the mesh of the obstacle {count}")
        self._tree = BlendTree(parts, elements, rest=self._weights(motion.sample(np.zeros(1))[0]), **options)
        self.moved, self.builds, self.fits = 0.0, 1, 0

    def follow(self, x: Floats, sample: Floats | None, start: Floats | None = None) -> Self:
        """Set the weights to those of a sample of the motion; positions x (n,3) may differ from its shape, which
        enlarges the distance of queries. So does a motion from `start` (n,3) to x: all that it sweeps is as near."""
        if sample is None:
            raise ValueError("update 'blend' needs the pose of the obstacle in State.bones, as in a scene")
        weights = self._weights(sample)
        self._tree.set(weights)
        shape = self.motion.shape(sample)
        size = float(np.abs(shape).max(initial=0.0)) + float(np.abs(weights).sum()) * self._largest
        ends = [np.ascontiguousarray(end) for end in (x, start) if end is not None]
        self.moved = max(float(_fit.farthest(end, shape)) for end in ends) + _EPS * size
        return self

    def traversed(self) -> TraversedBvh:
        return self._tree.traversed()

    @property
    def tree(self) -> Any:
        return self._tree.tree

    @property
    def reached(self) -> int:
        """The number of nodes whose volumes were computed since the last update."""
        return self._tree.reached

    @property
    def _largest(self) -> float:
        return float(np.abs(self._tree.parts).max(initial=0.0))

    def _weights(self, sample: Floats) -> Floats:
        if isinstance(self.motion, Recorded):
            times, weights = self.motion.times, np.zeros(len(self.motion.times))
            t = float(np.clip(sample[0, 0, 3], times[0], times[-1]))
            k = int(np.clip(np.searchsorted(times, t, side="right") - 1, 0, max(len(times) - 2, 0)))
            share = (t - times[k]) / (times[k + 1] - times[k]) if len(times) > 1 else 0.0
            weights[k] = 1.0 - share
            weights[min(k + 1, len(times) - 1)] += share
            return weights
        character = self.motion.character
        bone, row, column, target = (np.array(each) for each in zip(*self._modes, strict=True))
        extra = np.ones(1)  # the bind shape; then morph targets
        if character.morphs:
            rest = character.skeleton.weights(character.skeleton.rest[None])[0]
            given = sample[len(character.names) :].reshape(-1)[: len(rest)] - rest
            extra = np.concatenate([extra, *(given[m.column : m.column + len(m.targets)] for m in character.morphs)])
        return np.asarray(sample[bone, row, column] * extra[target + 1])


def _modes_of(motion: Skinned) -> list[Mode]:
    """Return the modes: one per entry of the matrix of each bone that moves anything, and morph target."""
    used = np.unique(motion.joints[motion.weights != 0.0])
    targets = sum(len(m.targets) for m in motion.character.morphs)
    entries = [(int(b), i, j) for b in used for i in range(3) for j in range(4)]
    return [Mode(b, i, j, t) for t in range(-1, targets) for b, i, j in entries if j < 3 or t < 0]


def _parts_of(motion: Skinned, modes: list[Mode]) -> Floats:
    """Return the displacements (t,n,3) of the modes."""
    character, rows = motion.character, slice(None) if motion.rows is None else motion.rows
    share = np.zeros((len(character.names), len(motion.joints)))
    vertex = np.repeat(np.arange(len(motion.joints)), motion.joints.shape[1])
    np.add.at(share, (motion.joints.ravel(), vertex), motion.weights.ravel())
    shapes: list[NDArray[np.float64]] = [character.mesh.vertices[rows]]
    for m in character.morphs:
        moves = np.zeros((len(m.targets), character.mesh.n_vertices, 3))
        moves[:, m.start : m.start + m.targets.shape[1]] = m.targets
        shapes += list(moves[:, rows])
    parts = np.zeros((len(modes), len(shapes[0]), 3))
    for part, (bone, row, column, target) in zip(parts, modes, strict=True):
        part[:, row] = share[bone] * (shapes[target + 1][:, column] if column < 3 else 1.0)
    return parts

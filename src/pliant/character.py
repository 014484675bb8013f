"""Character: a mesh held by bones, and the clips that move them (linear blend skinning; morph targets)."""

import dataclasses
import functools
import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np

from . import validate
from .animation import Animation, Skeleton
from .kernels import animation as kernels
from .kernels import skinning
from .mesh import Mesh
from .validate import Floats, Ints

MOST_WEIGHTS = 8  # bones that may hold one vertex


@dataclasses.dataclass(frozen=True, eq=False)
class Morph:
    """Shapes to blend in: targets (m,k,3) metres, added to the vertices start..start+k-1, each times its weight.

    The weights are the morph weights column..column+m-1 of a pose.
    """

    start: int
    targets: Floats
    column: int


@dataclasses.dataclass(frozen=True, eq=False)
class Character:
    """A mesh (its bind shape: what skinning starts from, morphs at their defaults) and what moves it.

    names (b) of the bones and parents (b,) int32, -1 for a root; joints (n,k) int32 and weights (n,k) float64 say which
    bones hold a vertex, k <= 8: rows sum to 1 and fall, what is unused is zero. clips by name. Bone j is node nodes[j]
    of the skeleton, and inverse[j] (3,4) takes the bind shape to that node's coordinates. The arrays are copies,
    checked and read-only.
    """

    mesh: Mesh
    names: tuple[str, ...]
    parents: Ints
    joints: Ints
    weights: Floats
    clips: Mapping[str, Animation]
    skeleton: Skeleton
    nodes: Ints
    inverse: Floats
    morphs: tuple[Morph, ...] = ()

    def __post_init__(self) -> None:
        count, n = len(self.names), self.mesh.n_vertices
        put = functools.partial(object.__setattr__, self)
        parents = np.array(self.parents, np.int32).reshape(-1)
        if len(parents) != count or (parents < -1).any() or (parents >= count).any():
            raise ValueError(f"parents must be {count} rows of bones, or -1")
        width = np.asarray(self.joints).shape[-1] if np.ndim(self.joints) == 2 else 0
        if not 1 <= width <= MOST_WEIGHTS:
            raise ValueError(f"joints has shape {np.shape(self.joints)}; expected ({n}, 1 to {MOST_WEIGHTS})")
        joints = validate.indices("joints", self.joints, width, count, "bones")
        weights = validate.floats("weights", self.weights, (n, width))
        if len(joints) != n:
            raise ValueError(f"joints has {len(joints)} rows; expected {n}, one a vertex")
        joints, weights = _tidied(joints, weights)
        for clip in self.clips.values():
            if clip.columns > len(self.skeleton.rest):
                raise ValueError(f"a clip drives {clip.columns} numbers; a pose has {len(self.skeleton.rest)}")
        for m in self.morphs:
            shapes, stop = len(m.targets), m.start + m.targets.shape[1]
            if not 0 <= m.start <= stop <= n:
                raise ValueError(f"a morph moves the vertices {m.start}..{stop - 1}, but there are {n}")
            if not 0 <= m.column <= m.column + shapes <= self.skeleton.n_weights:
                have = self.skeleton.n_weights
                raise ValueError(f"a morph has {shapes} targets from weight {m.column}, but a pose has {have}")
        put("clips", dict(self.clips))
        put("names", tuple(self.names))
        put("inverse", validate.floats("inverse", self.inverse, (count, 3, 4)))
        put("nodes", validate.rows("nodes", self.nodes, len(self.skeleton.parents), "nodes"))
        put("parents", parents)
        put("joints", joints)
        put("weights", weights)
        for array in (self.inverse, self.nodes, self.parents, self.joints, self.weights):
            array.flags.writeable = False

    def bones(self, clip: str | None, times: Any) -> Floats:
        """(t,b,3,4) skin matrices M at `times` (t,) seconds: x = sum_j w_j M_j [mesh.vertices, 1].

        `clip` None is the pose the nodes stand in. Before its first key and after its last a clip holds still.
        """
        return self.carry(self._poses(clip, times))

    def carry(self, poses: Floats) -> Floats:
        """(t,b,3,4) skin matrices in poses (t,p) of the skeleton."""
        world = self.skeleton.place(poses)
        out = np.empty((len(world), len(self.names), 3, 4))
        kernels.bring_back(world, self.nodes, self.inverse, out)
        if not np.abs(out).max(initial=0.0) <= validate.LARGEST:
            raise ValueError(f"a clip takes bones beyond {validate.LARGEST:g} m, or to where numbers end")
        return out

    def morph(self, clip: str | None, time: float, out: Floats | None = None) -> Floats:
        """(n,3) the bind shape with its morph targets at their weights."""
        return self.blended(self.skeleton.weights(self._poses(clip, [time]))[0], out)

    def blended(self, weights: Floats, out: Floats | None = None) -> Floats:
        """(n,3) the bind shape with its morph targets at `weights` (m,)."""
        x = np.empty_like(self.mesh.vertices) if out is None else out
        x[:] = self.mesh.vertices
        if self.morphs:
            rest = self.skeleton.weights(self.skeleton.rest[None])[0]
            extra = weights[: len(rest)] - rest
            for m in self.morphs:
                # one after the other: the bits must not depend on how a library sums
                for weight, target in zip(extra[m.column : m.column + len(m.targets)], m.targets):
                    if weight:
                        x[m.start : m.start + len(target)] += weight * target
        return x

    def skin(self, matrices: Floats, out: Floats | None = None, vertices: Floats | None = None) -> Floats:
        """(n,3) positions under skin matrices (b,3,4), from `vertices` instead of the bind shape where given."""
        x = self.mesh.vertices if vertices is None else vertices
        out = np.empty(self.mesh.vertices.shape) if out is None else out
        if matrices.shape != (len(self.names), 3, 4):
            raise ValueError(f"matrices has shape {matrices.shape}; expected ({len(self.names)}, 3, 4)")
        if x.shape != self.mesh.vertices.shape or out.shape != x.shape:
            raise ValueError(
                f"vertices and out have shapes {x.shape} and {out.shape}; expected ({len(self.joints)}, 3)"
            )
        skinning.skin(_read_only(x), self.joints, self.weights, _read_only(matrices), out)
        return out

    def shape(self, clip: str | None, time: float, out: Floats | None = None) -> Floats:
        """(n,3) positions at `time` seconds of a clip; None: the pose the nodes stand in."""
        vertices = self.morph(clip, time) if self.morphs else None
        return self.skin(self.bones(clip, [time])[0], out, vertices)

    def _poses(self, clip: str | None, times: Any) -> Floats:
        t = validate.floats("times", times, (None,))
        if clip is None:
            return self.skeleton.poses(None, t)
        validate.choice("clip", clip, tuple(self.clips))
        return self.skeleton.poses(self.clips[clip], t)


def _read_only(array: Floats) -> Floats:
    """A view that kernels know by one type, whether or not others may write to the array."""
    view = np.ascontiguousarray(array, np.float64).view()
    view.flags.writeable = False
    return view


def _tidied(joints: Ints, weights: Floats) -> tuple[Ints, Floats]:
    """Rows that fall and sum to 1, no bone in one twice, as narrow as the vertex with the most bones allows."""
    if (weights < 0.0).any():
        raise ValueError(f"weights[{validate.first_index(weights < 0.0)}] is negative")
    total = weights.sum(1)
    bad = ~(np.abs(total - 1.0) <= 1e-6)
    if bad.any():
        i = int(np.argmax(bad))
        raise ValueError(f"weights[{i}] sum to {total[i]:g}; expected 1")
    weights = weights.copy()
    for a, b in itertools.combinations(range(weights.shape[1]), 2):
        twice = (joints[:, a] == joints[:, b]) & (weights[:, b] > 0.0)
        weights[twice, a] += weights[twice, b]
        weights[twice, b] = 0.0
    order = np.argsort(-weights, 1, kind="stable")
    weights = np.take_along_axis(weights, order, 1) / total[:, None]
    width = max(1, int((weights > 0.0).sum(1).max()))
    weights = np.ascontiguousarray(weights[:, :width])
    joints = np.where(weights > 0.0, np.take_along_axis(joints, order, 1)[:, :width], 0)
    return np.ascontiguousarray(joints, np.int32), weights

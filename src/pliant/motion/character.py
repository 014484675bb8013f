"""Character: a skinned mesh with its bones and clips (linear blend skinning, morph targets)."""

import dataclasses
import functools
import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np

from .. import renamed, validate
from ..brief import brief
from ..kernels.motion import animation as kernels
from ..kernels.motion import skinning
from ..mesh import Mesh
from ..validate import Floats, Ints
from .animation import Animation, Skeleton

MOST_WEIGHTS = 8  # largest number of bones per vertex


@dataclasses.dataclass(frozen=True, eq=False)
class Morph:
    """Morph targets: displacements (m,k,3) in metres, scaled by their weights and added to vertices start..start+k-1.

    The weights are the morph weights column..column+m-1 of a pose.
    """

    start: int
    targets: Floats
    column: int


@dataclasses.dataclass(frozen=True, eq=False)
class Character:
    """A mesh in its bind shape (morph targets at their default weights) with its skeleton, skin weights and clips.

    names (b) of the bones and parents (b,) int32, -1 for a root; joints (n,k) int32 and weights (n,k) float64: bones
    and weights of each vertex, k <= 8, rows sorted in descending order and summing to 1, unused entries zero. clips by
    name. Bone j is node nodes[j] of the skeleton; inverse[j] (3,4) is its inverse bind matrix. The arrays are
    validated, read-only copies.
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

    __repr__ = brief

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
            raise ValueError(f"joints has {len(joints)} rows; expected {n}, one per vertex")
        joints, weights = _tidied(joints, weights)
        for clip in self.clips.values():
            if clip.columns > len(self.skeleton.rest):
                raise ValueError(f"a clip drives {clip.columns} numbers; a pose has {len(self.skeleton.rest)}")
        for m in self.morphs:
            shapes, stop = len(m.targets), m.start + m.targets.shape[1]
            if not 0 <= m.start <= stop <= n:
                raise ValueError(f"a morph moves vertices {m.start}..{stop - 1}, but there are {n}")
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

    def skin_matrices_at(self, clip: str | None, times: Any) -> Floats:
        """Return skin matrices M (t,b,3,4) at `times` (t,) seconds: x = sum_j w_j M_j [mesh.vertices, 1].

        `clip` None: the default pose of the nodes. Before its first and after its last keyframe a clip is constant.
        """
        return self.skin_matrices(self._poses(clip, times))

    def skin_matrices(self, poses: Floats) -> Floats:
        """Return skin matrices (t,b,3,4) for poses (t,p) of the skeleton."""
        world = self.skeleton.world_matrices(poses)
        out = np.empty((len(world), len(self.names), 3, 4))
        kernels.skin_matrices(world, self.nodes, self.inverse, out)
        if not np.abs(out).max(initial=0.0) <= validate.LARGEST:
            raise ValueError(f"a clip moves bones beyond {validate.LARGEST:g} m, or to positions that are not finite")
        return out

    carry = renamed.attribute("carry", "skin_matrices")
    bones = renamed.attribute("bones", "skin_matrices_at")

    def morph(self, clip: str | None, time: float, out: Floats | None = None) -> Floats:
        """Return the bind shape (n,3) with its morph targets at `time` seconds of a clip."""
        return self.blended(self.skeleton.weights(self._poses(clip, [time]))[0], out)

    def blended(self, weights: Floats, out: Floats | None = None) -> Floats:
        """Return the bind shape (n,3) with its morph targets at `weights` (m,)."""
        x = np.empty_like(self.mesh.vertices) if out is None else out
        x[:] = self.mesh.vertices
        if self.morphs:
            rest = self.skeleton.weights(self.skeleton.rest[None])[0]
            extra = weights[: len(rest)] - rest
            for m in self.morphs:
                # sequential sum, so that results do not depend on the summation order of a library
                for weight, target in zip(extra[m.column : m.column + len(m.targets)], m.targets):
                    if weight:
                        x[m.start : m.start + len(target)] += weight * target
        return x

    def skin(self, matrices: Floats, out: Floats | None = None, vertices: Floats | None = None) -> Floats:
        """Return positions (n,3) for skin matrices (b,3,4), starting from `vertices`. Default: the bind shape."""
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
        """Return positions (n,3) at `time` seconds of a clip; None: the default pose of the nodes."""
        vertices = self.morph(clip, time) if self.morphs else None
        return self.skin(self.skin_matrices_at(clip, [time])[0], out, vertices)

    def _poses(self, clip: str | None, times: Any) -> Floats:
        t = validate.floats("times", times, (None,))
        if clip is None:
            return self.skeleton.poses(None, t)
        validate.choice("clip", clip, tuple(self.clips))
        return self.skeleton.poses(self.clips[clip], t)


def _read_only(array: Floats) -> Floats:
    """Return a read-only view, so that kernels are compiled for one array type only."""
    view = np.ascontiguousarray(array, np.float64).view()
    view.flags.writeable = False
    return view


def _tidied(joints: Ints, weights: Floats) -> tuple[Ints, Floats]:
    """Sort rows in descending order, merge duplicate bones, normalise, and drop columns that no vertex uses."""
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

"""Bound: the result of `bind`, a garment on the skeleton of a character."""

import dataclasses
import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import validate
from ..brief import brief
from ..motion.character import Character
from ..motion.clip import Clip
from ..validate import Floats
from .easing import eased

MATCHED, INPAINTED, RIGID = 0, 1, 2
MOST_EASE = 0.15  # largest growth of a garment that follows the skin
POSES_OF_A_CLIP = 24  # in which the stretch of the skin below a garment is measured
SPREAD = 0.02  # of the size of the body: distance over which the ease of a garment varies


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class Bound:
    """A garment bound to the skeleton of `character`.

    garment: a character with the same bones and clips; its mesh is the garment in the bind shape. kind: (n,) how the
    weights of each vertex were found, MATCHED, INPAINTED or RIGID. distance: (n,) from the body, metres. n_pieces:
    connected pieces; n_rigid_pieces of them follow another piece rigidly. n_influences: largest number of bones of a
    vertex before pruning; lost: (n,) sum of the weights that were pruned. max_distance: of a match, metres. to_pose:
    (n,3,4) maps the bind shape to the pose in which the garment was bound; None if it was the bind shape itself.
    """

    garment: Character
    character: Character
    to_pose: Floats | None
    kind: NDArray[np.int8]
    distance: Floats
    n_pieces: int
    n_rigid_pieces: int
    n_influences: int
    lost: Floats
    max_distance: float

    __repr__ = brief

    def frames(self, clip: str | None, times: Any) -> tuple[Clip, Clip]:
        """Return garment and body at `times` (t,) seconds of a clip, None for the default pose: the input of `check`
        and `fix`."""
        pair = []
        for figure in (self.garment, self.character):
            x = np.stack([figure.shape(clip, float(t)) for t in times])
            pair.append(Clip(dataclasses.replace(figure.mesh, vertices=x[0], source=None), x))
        return pair[0], pair[1]

    def ease(self, clip: str | None = None, *, most: float = MOST_EASE, times: Any = None) -> Floats:
        """Return by what factor (n,) the garment has to grow around each vertex so that it can follow the skin in a
        clip, the first unless named: a `rest_scale` of `Body`. See docs/bind.md.

        most: the largest growth. times (t,): seconds of the clip; default: `POSES_OF_A_CLIP` of them, evenly spaced.
        """
        most, clips = validate.number("most", most, low=0.0, high=1.0), self.garment.clips
        clip = next(iter(clips), None) if clip is None else validate.choice("clip", clip, tuple(clips))
        if times is None:
            times = np.linspace(0.0, clips[clip].duration, POSES_OF_A_CLIP) if clip is not None else ()
        rest = self._to_pose(self.garment.mesh.vertices)
        shapes = (self.garment.shape(clip, float(t)) for t in validate.floats("times", times, (None,)))
        size = float(np.linalg.norm(np.ptp(self.character.shape(None, 0.0), axis=0)))
        return eased(self.garment.mesh, rest, shapes, most, SPREAD * size)

    def _to_pose(self, x: Floats) -> Floats:
        """Return the bind shape x (n,3) in the pose in which the garment was bound."""
        if self.to_pose is None:
            return x
        return np.asarray((self.to_pose[:, :, :3] @ x[:, :, None])[:, :, 0] + self.to_pose[:, :, 3])

    def save(self, path: str | os.PathLike[str], *, alone: bool = False) -> str:
        """Write a GLB of the character with the garment as another skinned mesh, or with `alone` of the garment on the
        skeleton without the body; materials, textures and clips are kept. Returns the garment's name in the file."""
        from ..io.gltf_bound_write import write_bound

        return write_bound(path, self.character, self.garment, self.to_pose, alone=alone)

    @property
    def facts(self) -> dict[str, str]:
        """The results as readable text, by row heading."""
        n, mesh = len(self.kind), self.garment.mesh
        count = [int(np.count_nonzero(self.kind == kind)) for kind in (MATCHED, INPAINTED, RIGID)]
        width = self.garment.joints.shape[1]
        out = {
            "garment": f"{mesh.name}: {n:,} vertices, {mesh.n_faces:,} triangles, {_many(self.n_pieces, 'piece')}",
            "matched": f"{count[0]:,} vertices ({count[0] / n:.1%})",
            "inpainted": f"{count[1]:,} vertices ({count[1] / n:.1%})",
            "rigid": f"{_many(self.n_rigid_pieces, 'piece')}, {count[2]:,} vertices" if count[2] else "none",
            "bones": f"{len(np.unique(self.garment.joints[self.garment.weights > 0.0]))} of {len(self.garment.names)}",
            "bones per vertex": f"at most {width}; {self.n_influences} before pruning",
        }
        if self.n_influences > width:
            out["bones per vertex"] += f", which removed at most {self.lost.max():.1%} of the weight of a vertex"
        out["distance from body"] = (
            f"mean {1e3 * self.distance.mean():.3g} mm, largest {1e3 * self.distance.max():.3g} mm; "
            f"matched up to {1e3 * self.max_distance:.3g} mm"
        )
        return out

    def to_json(self) -> dict[str, Any]:
        """The figures."""
        matched, inpainted, rigid = (int(np.count_nonzero(self.kind == k)) for k in (MATCHED, INPAINTED, RIGID))
        return {
            "vertices": len(self.kind),
            "matched": matched,
            "inpainted": inpainted,
            "rigid": rigid,
            "pieces": self.n_pieces,
            "rigid_pieces": self.n_rigid_pieces,
            "bones": len(np.unique(self.garment.joints[self.garment.weights > 0.0])),
            "influences_before_pruning": self.n_influences,
            "influences": self.garment.joints.shape[1],
            "largest_weight_lost": float(self.lost.max()),
            "distance_mean_m": float(self.distance.mean()),
            "distance_largest_m": float(self.distance.max()),
            "max_distance_m": self.max_distance,
        }


def _many(count: int, what: str) -> str:
    return f"{count:,} {what}{'s' * (count != 1)}"

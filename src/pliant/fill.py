"""Tets inside a closed surface: isosurface stuffing of its exact signed distance, and how much that loses."""

import dataclasses
import itertools
import logging
from collections.abc import Callable
from typing import Any

import numpy as np

from . import validate
from .detect.surface import ClosestPoints
from .detect.tree.crossings import intersections
from .door import door
from .errors import TooBigError
from .mesh import Mesh
from .shapes.stuffing import NothingInsideError, stuffed
from .validate import Floats

_log = logging.getLogger(__name__)
TETS, MOST_TETS = 8_000, 200_000  # tried without a size: about as many first, and at the most
_STEP = 1.36  # sizes between are this much smaller: two and a half times as many tets


@dataclasses.dataclass(frozen=True)
class Loss:
    """What filling a surface left out; lengths in metres."""

    size: float
    volume: float  # of the surface
    filled: float  # of the tets
    farthest: float  # from a vertex of the surface to the tets' surface
    far: int  # vertices of the surface that are more than two cells away from that
    vertices: int  # of the surface
    pieces: int  # of the surface
    filled_pieces: int

    @property
    def share(self) -> float:
        """The part of the volume that is missing; negative where there is more."""
        return 1.0 - self.filled / self.volume

    @property
    def words(self) -> str:
        """What is worth a warning; empty where nothing is."""
        said = []
        if self.share > 0.05:
            said.append(f"{self.share:.1%} of the volume is lost")
        if self.far:
            away = f"{2e3 * self.size:.3g} mm"
            said.append(f"{self.far} of {self.vertices} vertices of the surface are more than two cells ({away}) off")
        if self.pieces != self.filled_pieces:
            said.append(f"{self.pieces} connected pieces have become {self.filled_pieces}")
        return ", ".join(said)


@door
def fill_with_tets(
    surface: Mesh,
    size: Any = None,
    *,
    max_bytes: float | None = None,
    progress: Callable[[int], None] | None = None,
) -> Mesh:
    """Positive tets with edges about `size` (metres, or words such as "5mm") inside a closed surface.

    Vertices on the outside lie on the surface, dihedral angles are those of `shapes.stuffed`; edges and corners of the
    surface are cut off, and parts thinner than a cell are lost; the log warns where that is much, and says how much.
    Without `size`, as few of 8 000 to 200 000 tets as need no warning. `max_bytes` bounds the memory; `progress` is
    told how many more points have been looked at.
    """
    return filled(surface, size, max_bytes=max_bytes, progress=progress)[0]


def filled(
    surface: Mesh,
    size: Any = None,
    *,
    max_bytes: float | None = None,
    progress: Callable[[int], None] | None = None,
) -> tuple[Mesh, Loss]:
    """What `fill_with_tets` makes, and what is lost; which is logged, too, where it is worth a warning."""
    body = _closed(surface)
    nearest = ClosestPoints(body)

    def distance(points: Floats) -> Floats:
        if progress is not None:
            progress(len(points))
        return nearest.query(points)[0]

    found: tuple[Mesh, Loss] | None = None
    sizes = _sizes(body) if size is None else [validate.length("size", size)]
    for h in sizes:
        h = validate.number("size", h, above=0.0, high=10.0 * body.size)
        try:
            mesh = stuffed(
                distance, body.bounds[0], body.bounds[1], h, slope=1.0, name=surface.name, max_bytes=max_bytes
            )
        except NothingInsideError:
            continue
        except TooBigError:
            if found is None:
                raise
            break  # a smaller size would be better, but there is one
        found = mesh, measured(body, mesh, h)
        if not found[1].words:
            break
    if found is None:
        raise _too_thin(body, sizes[-1])
    if found[1].words:
        _log.warning("%s: %s; use a smaller size", surface.name, found[1].words)
    return found


def _sizes(surface: Mesh) -> list[float]:
    """From that of about 8 000 tets, of which 12 fill a cell, to that of 200 000."""
    first, last = ((12.0 * surface.volume / count) ** (1 / 3) for count in (TETS, MOST_TETS))
    between = []
    while first > _STEP * last:
        between.append(first)
        first /= _STEP
    return [*between, last]


def _too_thin(surface: Mesh, size: float) -> ValueError:
    thick = 2.0 * surface.volume / float(surface.face_areas.sum())
    what = f"{surface.name!r} is thinner than a cell of {size:.3g} m everywhere (about {thick:.3g} m)"
    return ValueError(f"{what}; use a smaller size")


def measured(surface: Mesh, mesh: Mesh, size: float) -> Loss:
    """How far the tets are from filling the surface."""
    used = np.unique(surface.faces)
    off = np.abs(ClosestPoints(mesh.surface).query(surface.vertices[used])[0])
    return Loss(
        size=size,
        volume=surface.volume,
        filled=float(mesh.tet_volumes.sum()),
        farthest=float(off.max()),
        far=int((off > 2.0 * size).sum()),
        vertices=len(used),
        pieces=surface.issues.components,
        filled_pieces=mesh.issues.components,
    )


def dihedral_angles(mesh: Mesh) -> Floats:
    """(k,6) degrees between the sides of each tet."""
    p = mesh.vertices[mesh.tets]
    sides = []
    for a, b, c in ((1, 2, 3), (0, 3, 2), (0, 1, 3), (0, 2, 1)):
        n = np.cross(p[:, b] - p[:, a], p[:, c] - p[:, a])
        sides.append(n / np.linalg.norm(n, axis=1)[:, None])
    between = [np.einsum("ij,ij->i", a, b) for a, b in itertools.combinations(sides, 2)]
    return 180.0 - np.degrees(np.arccos(np.clip(np.stack(between, 1), -1.0, 1.0)))


def _closed(surface: Mesh) -> Mesh:
    """The welded surface, or an error that says why it has no inside."""
    name = surface.name
    if not surface.n_faces:
        raise ValueError(f"mesh {name!r} has no faces; expected a closed surface")
    issues = surface.issues
    if not issues.closed:
        raise ValueError(f"mesh {name!r} is not closed ({issues}); close its holes and mend its edges first")
    if issues.inward or surface.volume <= 0.0:
        raise ValueError(f"mesh {name!r} is inside out (its volume is {surface.volume:g} m3); turn its faces around")
    body = surface.surface if len(surface.tets) else surface.welded
    crossing = len(intersections(body))
    if crossing:
        _log.warning("%s: %d pairs of its faces cross; near them, the inside is not well defined", name, crossing)
    return body

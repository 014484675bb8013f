"""Tets inside a closed surface: isosurface stuffing of its exact signed distance, and a measure of the loss."""

import dataclasses
import itertools
import logging
from collections.abc import Callable
from typing import Any

import numpy as np

from . import renamed, validate
from .arguments import check_arguments
from .detect.queries.closest_point import ClosestPoints
from .detect.queries.intersections import intersections
from .errors import TooBigError
from .mesh import Mesh
from .shapes.stuffing import NothingInsideError, stuffed
from .validate import Floats

_log = logging.getLogger(__name__)
TETS, MOST_TETS = 8_000, 200_000  # approximate number of tets of the first and the last size tried by default
_STEP = 1.36  # ratio of consecutive sizes: 2.5 times as many tets


@dataclasses.dataclass(frozen=True)
class FillLoss:
    """The parts of a surface that the tets do not fill; lengths in metres."""

    size: float
    volume: float  # of the surface
    filled: float  # of the tets
    farthest: float  # largest distance of a surface vertex from the tets' surface
    far_vertices: int  # surface vertices more than two cells away from the tets' surface
    vertices: int  # of the surface
    pieces: int  # of the surface
    filled_pieces: int

    far = renamed.attribute("far", "far_vertices")
    share = renamed.attribute("share", "lost_share")
    words = renamed.attribute("words", "warning")

    @property
    def lost_share(self) -> float:
        """The missing share of the volume; negative if the tets have more."""
        return 1.0 - self.filled / self.volume

    @property
    def warning(self) -> str:
        """The text of a warning, empty if the loss is small."""
        messages = []
        if self.lost_share > 0.05:
            messages.append(f"{self.lost_share:.1%} of the volume is lost")
        if self.far_vertices:
            away = f"{2e3 * self.size:.3g} mm"
            messages.append(
                f"{self.far_vertices} of {self.vertices} vertices of the surface are more than two cells ({away}) away"
            )
        if self.pieces != self.filled_pieces:
            messages.append(f"{self.pieces} connected pieces have become {self.filled_pieces}")
        return ", ".join(messages)


@check_arguments
def fill_with_tets(
    surface: Mesh,
    size: Any = None,
    *,
    max_bytes: float | None = None,
    progress: Callable[[int], None] | None = None,
) -> Mesh:
    """Fill a closed surface with positive tets with edges of about `size` (metres, or a string such as "5mm").

    Surface vertices of the tets lie on the surface; dihedral angles are those of `shapes.stuffed`. Sharp edges and
    corners are cut off, and parts thinner than a cell are lost; a warning is logged if the loss is large. Default
    `size`: the largest one, from about 8 000 to 200 000 tets, that causes no warning. `max_bytes` bounds the memory;
    `progress` is called with the number of points evaluated since the last call.
    """
    return fill_and_measure(surface, size, max_bytes=max_bytes, progress=progress)[0]


def fill_and_measure(
    surface: Mesh,
    size: Any = None,
    *,
    max_bytes: float | None = None,
    progress: Callable[[int], None] | None = None,
) -> tuple[Mesh, FillLoss]:
    """The result of `fill_with_tets`, and its loss, which is also logged if it is large."""
    body = _closed_surface(surface)
    nearest = ClosestPoints(body)

    def distance(points: Floats) -> Floats:
        if progress is not None:
            progress(len(points))
        return nearest.query(points)[0]

    found: tuple[Mesh, FillLoss] | None = None
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
            break  # keep the best size that fits in memory
        found = mesh, measure_loss(body, mesh, h)
        if not found[1].warning:
            break
    if found is None:
        raise _too_thin_error(body, sizes[-1])
    if found[1].warning:
        _log.warning("%s: %s; use a smaller size", surface.name, found[1].warning)
    return found


def _sizes(surface: Mesh) -> list[float]:
    """Sizes from about 8 000 to 200 000 tets, at 12 tets per cell."""
    first, last = ((12.0 * surface.volume / count) ** (1 / 3) for count in (TETS, MOST_TETS))
    between = []
    while first > _STEP * last:
        between.append(first)
        first /= _STEP
    return [*between, last]


def _too_thin_error(surface: Mesh, size: float) -> ValueError:
    thick = 2.0 * surface.volume / float(surface.face_areas.sum())
    what = f"{surface.name!r} is thinner than a cell of {size:.3g} m everywhere (about {thick:.3g} m)"
    return ValueError(f"{what}; use a smaller size")


def measure_loss(surface: Mesh, mesh: Mesh, size: float) -> FillLoss:
    """Measure how far the tets are from filling the surface."""
    used = np.unique(surface.faces)
    off = np.abs(ClosestPoints(mesh.surface).query(surface.vertices[used])[0])
    return FillLoss(
        size=size,
        volume=surface.volume,
        filled=float(mesh.tet_volumes.sum()),
        farthest=float(off.max()),
        far_vertices=int((off > 2.0 * size).sum()),
        vertices=len(used),
        pieces=surface.issues.components,
        filled_pieces=mesh.issues.components,
    )


def dihedral_angles(mesh: Mesh) -> Floats:
    """(k,6) dihedral angles of each tet, degrees."""
    p = mesh.vertices[mesh.tets]
    sides = []
    for a, b, c in ((1, 2, 3), (0, 3, 2), (0, 1, 3), (0, 2, 1)):
        n = np.cross(p[:, b] - p[:, a], p[:, c] - p[:, a])
        sides.append(n / np.linalg.norm(n, axis=1)[:, None])
    between = [np.einsum("ij,ij->i", a, b) for a, b in itertools.combinations(sides, 2)]
    return 180.0 - np.degrees(np.arccos(np.clip(np.stack(between, 1), -1.0, 1.0)))


def _closed_surface(surface: Mesh) -> Mesh:
    """The welded surface; raises an error with the reason if it has no interior."""
    name = surface.name
    if not surface.n_faces:
        raise ValueError(f"mesh {name!r} has no faces; expected a closed surface")
    issues = surface.issues
    if not issues.closed:
        raise ValueError(f"mesh {name!r} is not closed ({issues}); close its holes and repair its edges first")
    if issues.inward or surface.volume <= 0.0:
        raise ValueError(f"mesh {name!r} is inside out (its volume is {surface.volume:g} m3); reverse its faces")
    body = surface.surface if len(surface.tets) else surface.welded
    crossing = len(intersections(body))
    if crossing:
        _log.warning("%s: %d pairs of its faces intersect; near them, the inside is not well defined", name, crossing)
    return body


__getattr__ = renamed.module(
    __name__,
    {
        "Loss": f"{__name__}:FillLoss",
        "filled": f"{__name__}:fill_and_measure",
        "measured": f"{__name__}:measure_loss",
    },
)

"""Make a proxy of a garment: a clean sheet of triangles of about equal size on its middle surface.

The garment is cut into manifold sheets, shells with thickness are reduced to their middle surface, small and narrow
shells (buttons, zips, trims) are left out, and what remains is remeshed isotropically, with its boundaries.
"""

import dataclasses
import functools
from typing import NamedTuple

import numpy as np

from .. import validate
from ..arguments import check_arguments
from ..brief import brief
from ..detect.queries.closest_point import ClosestPoints
from ..detect.queries.intersections import Intersections
from ..mesh import Mesh
from ..respond.project_out import Projector
from ..validate import Floats, Ints
from .coarsen import coarsened
from .middle import middle_surface
from .outline import Outline
from .remesh import remeshed
from .sheets import Sheet, manifold_sheets
from .transfer import marks, texture_coordinates
from .wrap import Wrap

VERTICES = 5000
FEWEST, MOST = 20, 1_000_000
SMALL = 3.0  # edges of the proxy: shells of this diameter and smaller are left out
MINOR = 0.05  # of the area of the largest shell: smaller ones that lie on others are left out
FLAP = 0.5  # the same, for those that were cut off others: flaps and ruffles
HOLE = 3.0  # edges of the proxy: holes of this circumference and smaller are closed
ROUNDS, MORE_ROUNDS = 8, 3  # of remeshing: at first, and for another edge length
CLEARANCE = 0.0005  # of the size of the body: distance that a worn proxy keeps from it
ACROSS = 0.2  # share of vertices inside the body above which a garment lies across it, instead of being worn
WITHIN = 0.06  # relative deviation of the number of vertices that is accepted


@dataclasses.dataclass(frozen=True, eq=False)
class Proxy:
    """A garment and the mesh that is simulated in its place; `wrap` carries the garment with it.

    thickness: mean distance of the two layers of shells modelled with thickness, metres, 0 without any; merged: number
    of such shells; left_out: number of shells that the mesh leaves out and that are carried on it. A garment with no
    more vertices than were asked for is its own proxy.
    """

    garment: Mesh
    mesh: Mesh
    thickness: float = 0.0
    merged: int = 0
    left_out: int = 0

    __repr__ = brief

    @functools.cached_property
    def wrap(self) -> Wrap:
        return Wrap(self.garment, self.mesh)

    @property
    def is_garment(self) -> bool:
        """True if the garment itself is simulated."""
        return self.mesh is self.garment

    @functools.cached_property
    def intersecting_pairs(self) -> int:
        """Number of pairs of triangles of the mesh that intersect."""
        return Intersections(self.mesh).count

    def __str__(self) -> str:
        if self.is_garment:
            return f"{self.garment.name} itself: it has {self.garment.welded.n_vertices:,} vertices"
        mesh, given = self.mesh, self.garment
        text = f"{mesh.n_vertices:,} vertices and {mesh.n_faces:,} triangles for {given.welded.n_vertices:,} and "
        text += f"{given.n_faces:,} of {given.name}, edges of {1e3 * mesh.median_edge:.3g} mm"
        if self.merged:
            text += f"; two layers {1e3 * self.thickness:.3g} mm apart merged in {_shells(self.merged)}"
        if self.left_out:
            text += f"; {_shells(self.left_out)} carried on it"
        return text


class _Parts(NamedTuple):
    """The sheets that are remeshed, and what was merged and left out."""

    sheets: list[Sheet]
    length: float  # of edges, metres
    thickness: float
    merged: int
    left_out: int


@check_arguments
def proxy(garment: Mesh, vertices: int = VERTICES, *, body: Mesh | None = None) -> Proxy:
    """Return a proxy of about this number of vertices for a garment of any density.

    Shells modelled with thickness (two layers and a rim) become one sheet, duplicate faces are dropped, surfaces are
    cut where more than two faces meet, and small shells such as buttons, and flaps that are cut off, are left out: the
    `wrap` of the proxy carries them. Openings are kept, except holes smaller than a triangle of the proxy. Groups,
    attributes, colours and texture coordinates are taken over from the garment. `body`: the proxy of a garment that is
    worn is kept outside of it, where the coarser triangles would cut into it.

    >>> coat = pliant.proxy(garment, 5000)
    >>> coat.wrap.place(x)  # the garment where the vertices of coat.mesh are at x
    """
    count = validate.whole("vertices", vertices, low=FEWEST, high=MOST)
    if len(garment.tets) or not garment.n_faces:
        raise ValueError(f"garment {garment.name!r} is not a surface of triangles; expected cloth")
    if garment.welded.n_vertices <= count:
        return Proxy(garment, garment)
    parts = _parts(garment, count)
    total = sum(sheet.area for sheet in parts.sheets)
    found = [_remeshed(sheet, count * sheet.area / total, parts.length) for sheet in parts.sheets]
    first = np.cumsum([0, *(len(x) for x, _ in found)])
    faces = np.concatenate([each + at for (_, each), at in zip(found, first)])
    mesh = Mesh(np.concatenate([x for x, _ in found]), faces, name=garment.name)
    if body is not None:
        mesh = _outside(mesh, garment, body)
    mesh = dataclasses.replace(mesh, uv=texture_coordinates(garment, mesh), marks=marks(garment, mesh))
    return Proxy(garment, mesh, parts.thickness, parts.merged, parts.left_out)


def _outside(mesh: Mesh, garment: Mesh, body: Mesh) -> Mesh:
    """The mesh projected out of the body, or unchanged if the garment is not worn but lies across the body."""
    surface = ClosestPoints(body)

    def separation(points: Floats) -> tuple[Floats, Floats]:
        distance, _, _, direction = surface.query(points)
        return distance, direction

    if (separation(garment.welded.vertices)[0] < 0.0).mean() > ACROSS:
        return mesh
    required = np.full(mesh.n_vertices, CLEARANCE * body.size)
    return mesh.moved(mesh.vertices + Projector(mesh).project(mesh.vertices, required, separation))


def _parts(garment: Mesh, count: int) -> _Parts:
    """The parts of the garment that are simulated: middle surfaces and sheets, without small and minor ones."""
    sheets = manifold_sheets(garment)
    length = _length(sum(sheet.area for sheet in sheets), count)
    kept = [sheet for k, sheet in enumerate(sheets) if not k or sheet.diameter > SMALL * length]
    left_out = len(sheets) - len(kept)
    main: list[Sheet] = []
    weight, thickness, merged = 0.0, 0.0, 0
    largest, whole = kept[0].area, np.zeros(garment.welded.n_vertices, np.bool_)
    for sheet in kept:
        flap = sheet.area < FLAP * largest and int(whole[sheet.origin].sum()) > 1
        if flap or (main and sheet.area < MINOR * largest and _lies_on(sheet, main, 2.0 * length)):
            left_out += 1
            continue
        whole[sheet.origin] = True
        middle = middle_surface(sheet)
        if middle is None:
            main.append(sheet)
            continue
        area = sum(each.area for each in middle.sheets)
        main += [each for k, each in enumerate(middle.sheets) if not k or each.diameter > SMALL * length]
        weight, thickness, merged = weight + area, thickness + area * middle.thickness, merged + 1
    length = _length(sum(sheet.area for sheet in main), count)
    return _Parts(main, length, thickness / weight if weight else 0.0, merged, left_out)


def _length(area: float, count: float) -> float:
    """The edge of equilateral triangles that cover an area with this number of vertices, metres."""
    if not area > 0.0:
        raise ValueError("the garment has no area; expected a surface")
    return float(np.sqrt(2.0 / np.sqrt(3.0) * area / count))


def _lies_on(sheet: Sheet, others: list[Sheet], near: float) -> bool:
    """Whether most vertices of a sheet are within `near` metres of other ones."""
    away = np.full(len(sheet.x), np.inf)
    for other in others:
        distance = ClosestPoints(Mesh(other.x, other.faces)).query_by_nearest_face(sheet.x)[0]
        away = np.minimum(away, np.abs(distance))
    return bool(np.median(away) <= near)


def _remeshed(sheet: Sheet, count: float, length: float) -> tuple[Floats, Ints]:
    """Vertices and faces of the sheet with about `count` vertices."""
    sheet = sheet.filled(HOLE * length)
    outline = Outline(sheet, length)
    coarse = coarsened(sheet.x, sheet.faces, outline.loop, length)
    length = _length(Sheet(*coarse[:2]).area, count)  # fine folds are gone, and with them some area
    found = remeshed(*coarse, length, outline.project, ROUNDS)
    best = found
    for _ in range(3):
        ratio = len(found[0]) / count
        if abs(ratio - 1.0) < WITHIN:
            break
        length *= ratio**0.6
        found = remeshed(*found, length, outline.project, MORE_ROUNDS)
        best = min(best, found, key=lambda made: abs(len(made[0]) / count - 1.0))
    return best[0], best[1]


def _shells(count: int) -> str:
    return f"{count:,} shell{'s' * (count != 1)}"

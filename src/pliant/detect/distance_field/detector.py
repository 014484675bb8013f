"""Vertices and edge midpoints of something soft against the baked field of something rigid."""

from collections.abc import Callable
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from ... import contacts as _contacts
from ... import validate
from ...contacts import MIDPOINT_FIELD, VERTEX_FIELD, Contacts
from ...state import State
from ..base import Finds, Side
from .field import DistanceField

_FEWEST_CELLS, _MOST_CELLS = 32, 512  # along the longest side, when the spacing is chosen here


class DistanceFieldDetector:
    """Contacts wherever a vertex, or the middle of an edge near the body, is closer than `within` (metres).

    Without a `field` one is baked whose cells are no larger than `within`: the field's error is below 0.866 cells,
    so what stays `within` away by the field is outside by the truth. Deeper than the field's band nothing is found.
    `midpoints=False` leaves out section 4.3.
    """

    name: ClassVar[str] = "distance-field"
    finds: ClassVar[Finds] = Finds.OBSTACLE
    guarantee: ClassVar[str] = "B"
    needs: ClassVar[str] = "an oriented, rigid obstacle; open or closed"
    gives: ClassVar[str] = "signed distance, normal"
    source: ClassVar[str] = "Fuhrmann, Sobottka, Gross 2003"
    follows: ClassVar[bool] = False

    def __init__(
        self,
        soft: Side,
        rigid: Side,
        *,
        within: float,
        field: DistanceField | None = None,
        midpoints: bool = True,
        max_bytes: float | None = None,
        progress: Callable[[float], None] | None = None,
    ) -> None:
        self.soft, self.rigid = soft, rigid
        self.within = validate.number("within", within, low=0.0, high=validate.LARGEST)
        self.edges = soft.mesh.topology.edges if midpoints else np.zeros((0, 2), np.int32)
        ends = soft.mesh.vertices[self.edges]
        self._half = 0.5 * np.linalg.norm(ends[:, 0] - ends[:, 1], axis=1)
        self.field = field if field is not None else _field_for(soft, rigid, within, max_bytes, progress)
        self._points = np.empty((soft.mesh.n_vertices + len(self.edges), 3))
        self._distance = np.empty(len(self._points))
        self._gradient = np.empty((len(self._points), 3))

    def update(self, state: State) -> Self:
        """The field stands still; nothing to follow."""
        return self

    def find(self, state: State) -> Contacts:
        """Contacts in canonical order: vertices first, then midpoints."""
        n, p, d, g = self.soft.mesh.n_vertices, self._points, self._distance, self._gradient
        x = state.x[self.soft.rows]
        p[:n] = x
        self.field.probe(p[:n], d[:n], g[:n])
        with np.errstate(invalid="ignore"):
            touching = np.flatnonzero(d[:n] <= self.within)
            # a midpoint is at most half an edge nearer than an end; stretched cloth gets a margin
            close = np.minimum(_or_far(d[self.edges[:, 0]]), _or_far(d[self.edges[:, 1]]))
            edges = np.flatnonzero(close <= self.within + 1.5 * self._half)
        m = len(edges)
        ends = self.edges[edges]
        middle = slice(n, n + m)
        p[middle] = 0.5 * (x[ends[:, 0]] + x[ends[:, 1]])
        self.field.probe(p[middle], d[middle], g[middle])
        with np.errstate(invalid="ignore"):
            pressing = np.flatnonzero(d[middle] <= self.within)
        rows = np.concatenate([touching, n + pressing])
        out = self._records(p[rows], d[rows], g[rows])
        split = len(touching)
        out["kind"][:split], out["kind"][split:] = VERTEX_FIELD, MIDPOINT_FIELD
        out["elements"][:split, 0], out["elements"][split:, 0] = touching, edges[pressing]
        out["vertices"][:split, 0] = touching + self.soft.first
        out["vertices"][split:, :2] = ends[pressing] + self.soft.first
        out["weights"][:split, 0], out["weights"][split:, :2] = 1.0, 0.5
        return out

    def _records(self, p: NDArray[np.float64], d: NDArray[np.float64], g: NDArray[np.float64]) -> Contacts:
        out = _contacts.empty(len(p))
        self.field.straighten(p, g)
        out["normal"] = g
        out["distance"] = d
        out["anchor"] = p - d[:, None] * g
        out["bodies"] = self.soft.body, self.rigid.body
        return out


def _or_far(d: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.where(np.isnan(d), np.inf, d)


def _field_for(
    soft: Side, rigid: Side, within: float, max_bytes: float | None, progress: Callable[[float], None] | None
) -> DistanceField:
    """Cells no larger than `within`, and a band that half an edge of the cloth cannot jump."""
    longest = float((rigid.mesh.bounds[1] - rigid.mesh.bounds[0]).max())
    ends = soft.mesh.vertices[soft.mesh.topology.edges]
    half = 0.5 * float(np.linalg.norm(ends[:, 0] - ends[:, 1], axis=1).max(initial=0.0))
    reach = within + 1.5 * half
    # a body smaller than `within` still gets cells that show its shape, as far as the grid allows
    spacing = max(min(within, longest / _FEWEST_CELLS), (longest + 2.0 * reach) / _MOST_CELLS)
    band = max(4.0, reach / spacing + 2.0)
    return DistanceField.bake(rigid.mesh, spacing=spacing, band=band, max_bytes=max_bytes)

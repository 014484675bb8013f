"""Vertices and edge midpoints of a deformable body against height grids of an obstacle."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import NDArray

from ... import contacts as _contacts
from ... import renamed, validate
from ...arguments import check_arguments
from ...contacts import MIDPOINT_FIELD, VERTEX_FIELD, Contacts
from ...kernels.fields import dense as _records
from ...kernels.fields import height_grid as _kernels
from ...kernels.motion import rigid as _rigid
from ...state import State
from ..base import BaseDetector, Finds, MaxBytes, Reports, Side
from ..fields.height_grid import Floats, HeightGrid, blank, query_columns
from ..fields.height_grids import HeightGrids
from ..fields.height_sequence import HeightSequence
from .distance_field import joined

if TYPE_CHECKING:
    from ..structure import Structure

_EVERY = np.zeros(0, np.int64)
_FEWEST_NODES, _MOST_NODES = 32, 2048  # along the longest side, if no resolution is given


@check_arguments
class HeightGridDetector(BaseDetector):
    """Contacts of vertices and edge midpoints that are below the surface, or less than `within` (metres) above it.

    An obstacle that is a height image is its own grid. Without `grids`, they are rendered from any other along
    `directions`, with `resolution` nodes along the longest side, or by default with a cell diagonal of at most
    `within`, as far as 2 048 nodes along the longest side allow.
    They move with a rigid obstacle and are rendered again for a deforming one; a HeightSequence is set to the state's
    time. Contacts contain the surface velocity. `midpoints=False` tests vertices only.
    """

    name = "height-grid"
    finds = Finds.OBSTACLE
    guarantee = "B"
    needs = "an obstacle whose surface is visible from outside along the axes"
    gives = "signed distance, normal"
    source = "Neal 2003"
    obstacle_may_deform = True
    reports = Reports.POINTS
    signed_if_open = True

    def __init__(
        self,
        deformable: Side,
        obstacle: Side,
        *,
        within: float,
        grids: HeightGrid | HeightGrids | None = None,
        directions: Sequence[str] | None = None,
        resolution: int | None = None,
        midpoints: bool = True,
        max_bytes: MaxBytes = None,
    ) -> None:
        self.deformable, self.obstacle = deformable, obstacle
        self.within = validate.number("within", within, low=0.0, high=validate.LARGEST)
        if grids is None and obstacle.heights is not None and directions is None and resolution is None:
            grids = HeightGrid.of_image(obstacle.heights)
        if grids is None:
            spacing = _spacing(obstacle, self.within) if resolution is None else None
            count = 2 if resolution is None else resolution
            grids = HeightGrids.around(
                obstacle.mesh, directions, resolution=count, spacing=spacing, max_bytes=max_bytes
            )
        self.grids = grids if isinstance(grids, HeightGrids) else HeightGrids([grids])
        self.views = tuple((grid.axis, grid.sign) for grid in self.grids.grids)
        self._rendered = any(grid.faces is not None for grid in self.grids.grids)
        self._animated = any(isinstance(grid, HeightSequence) for grid in self.grids.grids)
        self._columns = self.grids.columns(self.within)
        self._shape, self._speed = obstacle.mesh.vertices, np.zeros_like(obstacle.mesh.vertices)
        self.reports = Reports.POINTS if midpoints else Reports.VERTICES
        self.edges = deformable.mesh.topology.edges if midpoints else np.zeros((0, 2), np.int32)
        self._points = np.arange(deformable.mesh.n_vertices, dtype=np.int32)[:, None]
        self._x, self._middle = np.empty((deformable.mesh.n_vertices, 3)), np.empty((len(self.edges), 3))
        self._answers = blank(max(deformable.mesh.n_vertices, len(self.edges)))
        self._rows = np.empty(len(self._answers.which), np.int64)

    rigid = renamed.attribute("rigid", "obstacle")

    def update(self, state: State) -> Self:
        """Set sequences to the state's time, and render again if the obstacle's shape changed."""
        changed = False
        if self._animated:
            before = [grid.heights for grid in self.grids.grids]
            self.grids.seek(state.time)
            changed = any(grid.heights is not old for grid, old in zip(self.grids.grids, before, strict=True))
        if not self._has_moved_rigidly(state):
            x, v = state.x[self.obstacle.rows], state.v[self.obstacle.rows]
            if not (np.array_equal(x, self._shape) and np.array_equal(v, self._speed)):
                self._render(x, v)
                changed = True
        if changed:
            self._columns = self.grids.columns(self.within)
        return self

    @property
    def bounds(self) -> tuple[float, float]:
        """Error bound of the heights, metres. Points farther inside are found; their distances are estimates."""
        return float(self.grids.bound), float(self.grids.bound)

    def find(self, state: State) -> Contacts:
        """Return contacts in canonical order: vertices first, then edge midpoints."""
        x, moved, body = state.x[self.deformable.rows], self._has_moved_rigidly(state), self.obstacle.body
        if moved:
            _rigid.to_body(x, state.pose[body], self._x)
            x = self._x
        found = [self._touching(x, self._points, VERTEX_FIELD)]
        if len(self.edges):
            _kernels.edge_midpoints(self.edges, x, self._middle)
            found.append(self._touching(self._middle, self.edges, MIDPOINT_FIELD))
        if moved:
            for part in found:
                own = part["anchor_velocity"] @ state.pose[body, :, :3].T
                _rigid.to_world(part, state.pose[body], state.pose_start[body], state.lapse)
                part["anchor_velocity"] += own
        return joined(found)

    def structure(self, state: State, level: int | None = None) -> "Structure":
        from .structures.images import structure_of_heights

        pose = state.pose[self.obstacle.body] if self._has_moved_rigidly(state) else None
        return structure_of_heights(self.grids.grids, pose, level)

    def _has_moved_rigidly(self, state: State) -> bool:
        """Whether the obstacle has moved rigidly from its rest pose."""
        body = self.obstacle.body
        if body >= len(state.pose):
            return False
        return not (_rigid.is_identity(state.pose[body]) and _rigid.is_identity(state.pose_start[body]))

    def _render(self, x: Floats, v: Floats) -> None:
        if self._rendered:
            self.grids.update(x, v)
        elif not self._animated and not np.array_equal(x, self._shape):
            raise ValueError(
                "the obstacle deforms, but its height grids were not rendered from a mesh; "
                "pass HeightGrids.around(mesh), or a HeightSequence"
            )
        self._shape, self._speed = x.copy(), v.copy()

    def _touching(self, p: Floats, ends: NDArray[np.int32], kind: int) -> Contacts:
        """Return the contacts of the points `p` (n,3) within reach; point i is the mean of vertices `ends[i]`."""
        answers = query_columns(self._columns, p, self._answers, self.grids.bound)
        distance, normal, which = answers.distance, answers.normal, answers.which
        out = _contacts.uninitialised(_records.collect(distance, self.within, self._rows))
        probes, bodies = _records.Probes(p, distance, normal), (self.deformable.body, self.obstacle.body)
        _records.fill_contacts(out, self._rows, probes, _EVERY, ends, self.deformable.first, kind, bodies)
        for number, grid in enumerate(self._columns):
            if grid.velocity.size:
                _kernels.set_anchor_velocity(grid, number, which, self._rows, p, out)
        return out


def _spacing(obstacle: Side, within: float) -> float:
    """Return the spacing of cells with diagonal `within`, limited by the smallest and largest number of nodes."""
    longest = float(np.ptp(obstacle.mesh.bounds, axis=0).max())
    return max(min(within / np.sqrt(2.0), longest / _FEWEST_NODES), longest / _MOST_NODES, 1e-12)

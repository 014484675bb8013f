"""Vertices and edge midpoints of a deformable body against the baked field of an obstacle."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Self, cast

import numpy as np
from numpy.typing import NDArray

from ... import contacts as _contacts
from ... import renamed, validate
from ...arguments import OneOf, Range, check_arguments
from ...contacts import CONTACT, MIDPOINT_FIELD, VERTEX_FIELD, Contacts
from ...kernels.detectors import rigid_parts as _parts
from ...kernels.fields import dense as _kernels
from ...kernels.fields import edges as _edges
from ...kernels.motion import rigid as _rigid
from ...mesh import Mesh
from ...motion.deforming import Deforming, Skinned
from ...state import State
from ..base import BaseDetector, Finds, MaxBytes, Reports, Side
from ..fields.bsp import PlanarField
from ..fields.by_name import GRIDS, TOLERANCE, Accuracy, bake_kind
from ..fields.cell_size import WIDEST_BAND, cell_sizes
from ..fields.field import DistanceField
from ..fields.octree import AdaptiveField
from ..fields.sampled import CELL, KINDS, Sampled

if TYPE_CHECKING:
    from ..structure import Structure

Floats = NDArray[np.float64]
_EVERY = np.zeros(0, np.int64)
OTHER = 0.05  # of the size: largest difference between the bounds of a field's mesh and of the body it is used for
_OUTWARD = np.array([[-1.0], [1.0]])
_WORTH_THREADS = 60_000  # edges
_LEAST_BAND = 8.0  # cells; a point that gets deeper in one substep is not found


@check_arguments
class DistanceFieldDetector(BaseDetector):
    """Contacts of vertices, and of edge midpoints near the body, that are closer than `within` (metres).

    `field`: the kind of field to bake, "bricks", "dense", "filled", "adaptive" or "planar" (guarantee C), or one that
    was baked before. Default: bricks. Its cells are no larger than `within` where the limits on its size and work allow
    it (`fields/cell_size.py`), or of `spacing` metres; trees are as accurate, or of `tolerance` metres. The error is at
    most 0.866 cells, so with such cells a point at the field distance `within` is outside the exact surface. Points
    deeper than a grid's narrow band are not found; "filled", "adaptive" and "planar" find them. `midpoints=False` tests
    vertices only (without section 4.3 of the paper); `cache=False` bypasses the disk cache (`cache.baked`). For a
    moving body the cloth is transformed into the body's coordinates (`State.pose`), where the field is static; for a
    deforming one see `against`.
    """

    name = "distance-field"
    finds = Finds.OBSTACLE
    guarantee = "B"
    other_guarantees = (("field", "planar", "C"),)
    skinned_guarantee = "C"  # of bone-attached fields
    needs = "an oriented obstacle, open or closed"
    gives = "signed distance, normal"
    source = "Fuhrmann, Sobottka, Gross 2003"
    obstacle_may_deform = False
    reports = Reports.POINTS
    signed_if_open = True

    def __init__(
        self,
        deformable: Side,
        obstacle: Side,
        *,
        within: float,
        field: Sampled | Annotated[str, OneOf(KINDS)] | None = None,
        spacing: Annotated[float, Range(above=0.0)] | None = None,
        tolerance: Annotated[float, Range(above=0.0)] | None = None,
        midpoints: bool = True,
        cache: bool = True,
        max_bytes: MaxBytes = None,
        progress: Callable[[float], None] | None = None,
        share: Annotated[float, Range(above=0.0, high=1.0)] | None = None,
    ) -> None:
        if share is not None:  # an option of `BoneFieldsDetector`
            raise ValueError(f"share = {share:g} is for a skinned obstacle; {obstacle.mesh.name!r} has no bones")
        self.deformable, self.obstacle = deformable, obstacle
        self.within = validate.number("within", within, low=0.0, high=validate.LARGEST)
        self.reports = Reports.POINTS if midpoints else Reports.VERTICES
        self.edges = deformable.mesh.topology.edges if midpoints else np.zeros((0, 2), np.int32)
        self.kind = validate.choice("field", field, KINDS) if isinstance(field, str) else KINDS[0]
        if isinstance(field, Sampled):
            _reject_accuracy("of a field that was baked before", spacing, tolerance)
            _same_body(field, obstacle)
            self.field = field
        else:
            accuracy = self._accuracy(_spacing_of(self.kind, spacing, tolerance))
            options = {"cache": cache, "max_bytes": max_bytes, "progress": progress}
            self.field = bake_kind(self.kind, obstacle.mesh, accuracy, **options)  # type: ignore[arg-type]
        self._known, self._slack, self.box = reach_of(self.field, obstacle.mesh, self.within)
        if isinstance(self.field, PlanarField):
            self.guarantee = "C"
        self._points = np.arange(deformable.mesh.n_vertices, dtype=np.int32)[:, None]
        self._bodies, self._placement = np.array([obstacle.body]), np.zeros(1, np.int64)
        self._x = np.empty((deformable.mesh.n_vertices, 3))
        self._near = np.empty(len(self.edges), np.int64)
        self._middle = np.empty((len(self.edges), 3))
        most = max(deformable.mesh.n_vertices, len(self.edges))
        self._rows, self._distance, self._gradient = np.empty(most, np.int64), np.empty(most), np.empty((most, 3))

    @classmethod
    def against(cls, motion: Deforming | None) -> type[BaseDetector]:
        """Return `BoneFieldsDetector` for an obstacle with bones: one field per bone; `DeformingFieldDetector` for one
        that deforms without bones: its field is baked again."""
        if motion is None:
            return cls
        if isinstance(motion, Skinned) and not (motion.character.morphs and len(motion.character.names) <= 1):
            from .bone_fields import BoneFieldsDetector

            return BoneFieldsDetector
        return cls.for_moving_vertices()

    @classmethod
    def for_moving_vertices(cls) -> type[BaseDetector]:
        from .deforming_field import DeformingFieldDetector

        return DeformingFieldDetector

    def _accuracy(self, spacing: float | None) -> Accuracy:
        """Return cells of `spacing`, by default no larger than `within`, and a band wider than half an edge of the
        cloth, if feasible."""
        return accuracy_for(self.deformable, self.obstacle.mesh, self.within, spacing)

    @property
    def bounds(self) -> tuple[float, float]:
        """Largest errors of distances up to `within`, metres: 0.866 cells of a grid, that of its leaves for an octree;
        a planar field states none."""
        bound = float(self.bound_at(np.array([self.within]))[0])
        return bound, bound

    def bound_at(self, distance: Floats) -> Floats:
        bound: Floats = self.field.bound_at(distance)
        return bound

    def covers(self, distance: Floats) -> NDArray[np.bool_]:
        far = np.abs(distance)
        if isinstance(self.field, AdaptiveField):
            return far <= self.field.band
        if not isinstance(self.field, DistanceField):
            return super().covers(distance)
        return far < (self.field.band - 2.0 * CELL) * self.field.spacing

    rigid = renamed.attribute("rigid", "obstacle")

    def structure(self, state: State, level: int | None = None) -> "Structure":
        from .structures.fields import structure_of_field

        body = self.obstacle.body
        return structure_of_field(self.field, state.pose[body] if body < len(state.pose) else None, level)

    def update(self, state: State) -> Self:
        """Do nothing: no data is kept between queries."""
        return self

    def find(self, state: State) -> Contacts:
        """Return contacts in canonical order: vertices first, then edge midpoints."""
        x, (low, high) = state.x[self.deformable.rows], self.box
        longest = longest_edge(self.edges, x)
        margin = 0.5 * longest  # the end of an edge is at most that much farther away than its midpoint
        poses = state.pose, state.pose_start
        _parts.classify_fields(x, margin, low[None], high[None], *poses, self._bodies, self._placement)
        return joined(self.contacts_of_points(state, int(self._placement[0]), longest))

    def contacts_of_points(self, state: State, placement: int, longest: float) -> tuple[Contacts, Contacts]:
        """Return the contacts of vertices and of midpoints; `placement` is the class of the field by
        `kernels.detectors.rigid_parts.classify_fields`, `longest` the present length of the longest edge."""
        if placement == _parts.FAR:
            return _contacts.empty(), _contacts.empty()
        x, body = state.x[self.deformable.rows], self.obstacle.body
        if placement == _parts.MOVED:
            _rigid.to_body(x, state.pose[body], self._x)
            x = self._x
        vertices = self._contacts_at(x, _EVERY, self._points, VERTEX_FIELD)
        d, reach = self._distance[: len(x)], _edges.Reach(self.within, self._slack, self._known, longest)
        in_reach = _edges.in_reach_parallel if len(self.edges) >= _WORTH_THREADS else _edges.in_reach_serial
        m = in_reach(self.edges, x, d, reach, self._near, self._middle)
        midpoints = (
            self._contacts_at(self._middle[:m], self._near, self.edges, MIDPOINT_FIELD) if m else _contacts.empty()
        )
        if placement == _parts.MOVED:
            for found in (vertices, midpoints):
                _rigid.to_world(found, state.pose[body], state.pose_start[body], state.lapse)
        return vertices, midpoints

    def _contacts_at(self, p: Floats, elements: NDArray[np.int64], ends: NDArray[np.int32], kind: int) -> Contacts:
        """Return the contacts of the points `p` (n,3) within reach; point i is the mean of `ends[elements[i]]`."""
        d, g, rows = self._distance[: len(p)], self._gradient[: len(p)], self._rows
        self.field.probe(p, d, g)
        out = _contacts.uninitialised(_kernels.collect(d, self.within, rows))
        probes, first = _kernels.Probes(p, d, g), self.deformable.first
        bodies = self.deformable.body, self.obstacle.body
        vanished = _kernels.fill_contacts(out, rows, probes, elements, ends, first, kind, bodies)
        if vanished:
            c = np.flatnonzero(~out["normal"].any(1))
            at = p[rows[c]]
            out["normal"][c] = self.field.exact.query(at)[3]
            out["anchor"][c] = at - out["distance"][c, None] * out["normal"][c]
        return out


def longest_edge(edges: NDArray[np.int32], x: Floats) -> float:
    """Return the length of the longest of `edges` (m,2) at x (n,3), metres."""
    longest = _edges.longest_parallel if len(edges) >= _WORTH_THREADS else _edges.longest_serial
    return float(longest(edges, x))


def joined(parts: Sequence[Contacts]) -> Contacts:
    """Concatenate `parts` as bytes: NumPy copies records field by field, 20 us instead of 3 for a hundred."""
    return cast("Contacts", np.concatenate([part.view(np.uint8) for part in parts]).view(CONTACT))


def _same_body(field: Sampled, obstacle: Side) -> None:
    """Raise ValueError if the mesh of a field differs in position or size from the body it is used for."""
    mesh: Mesh | None = getattr(field, "mesh", None)
    if mesh is None or not obstacle.mesh.n_vertices:
        return
    off = float(np.abs(mesh.bounds - obstacle.mesh.bounds).max())
    if off > OTHER * max(obstacle.mesh.size, mesh.size):
        raise ValueError(
            f"field was baked from mesh {mesh.name!r}, whose bounds differ by up to {off:.3g} m from those of "
            f"{obstacle.mesh.name!r}; bake a field of that mesh"
        )


def _reject_accuracy(of: str, spacing: float | None, tolerance: float | None) -> None:
    """Raise ValueError if a spacing or tolerance is given where neither applies."""
    for name, value in (("spacing", spacing), ("tolerance", tolerance)):
        if value is not None:
            raise ValueError(f"{name} = {value!r} is no option {of}; leave it out, or name a kind of field")


def _spacing_of(kind: str, spacing: float | None, tolerance: float | None) -> float | None:
    """Return the cells that an explicit accuracy of a `kind` of field stands for, metres; None: none was given."""
    name, value, other = ("spacing", spacing, tolerance) if kind in GRIDS else ("tolerance", tolerance, spacing)
    if other is not None:
        wrong = "tolerance" if name == "spacing" else "spacing"
        raise ValueError(f"{wrong} = {other!r} is no option of the field {kind!r}; its accuracy is given by {name}")
    if value is None:
        return None
    value = validate.number(name, value, above=0.0, high=validate.LARGEST)
    return value if kind in GRIDS else value / TOLERANCE


def reach_of(field: Sampled, body: Mesh, within: float) -> tuple[float, float, Floats]:
    """Return what distances at the ends of an edge imply for its midpoint, as `known` and `slack` of
    `kernels.fields.edges`, and the box (2,3) that contains all contacts with a field of `body`."""
    solid = body.issues.closed and not body.issues.inward
    if not isinstance(field, DistanceField):  # cells of any size: the ends imply nothing
        box, slack = np.stack([field.low, field.high]), float(field.bound_at(np.array([within]))[0])
        if solid and slack < np.inf:
            near = field.mesh.bounds + (within + slack) * _OUTWARD
            box = np.stack([np.maximum(box[0], near[0]), np.minimum(box[1], near[1])])
        return -np.inf, np.inf, box
    known, slack = (field.band - 1.75) * field.spacing, field.spacing
    if field.grid.jump.size:
        # the ends imply nothing: nan may be close to the surface, and the inside next to distant cells
        known, slack = -np.inf, np.inf
    # a cell has a nan corner only where it extends beyond the band; all contacts lie in the body or at most this far
    # from it, behind an open sheet up to the width of the band
    margin = (field.band + 1.0) * field.spacing
    if solid:
        margin = min(margin, within + field.spacing)
    return known, slack, field.mesh.bounds + margin * _OUTWARD


def accuracy_for(deformable: Side, body: Mesh, within: float, spacing: float | None) -> Accuracy:
    """Return cells of `spacing` (None: no larger than `within`) and a band wider than half an edge of the cloth, if
    feasible."""
    (spacing,) = cell_sizes([body], within) if spacing is None else (spacing,)
    return Accuracy(spacing, min(max(_LEAST_BAND, _reach(deformable, within) / spacing + 2.0), WIDEST_BAND))


def _reach(deformable: Side, within: float) -> float:
    """Return the largest distance, metres, of an edge's ends from a surface that its midpoint touches; edges may
    stretch by half."""
    ends = deformable.mesh.vertices[deformable.mesh.topology.edges]
    return within + 0.75 * float(np.linalg.norm(ends[:, 0] - ends[:, 1], axis=1).max(initial=0.0))

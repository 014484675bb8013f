"""Vertices and edge midpoints of cloth against a skinned body, by bone-attached bounding boxes."""

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from .... import renamed, validate
from ....arguments import check_arguments
from ....contacts import Contacts, Pool
from ....kernels.detectors.bone_boxes import boxes as _boxes
from ....kernels.detectors.bone_boxes import coherence as _coherence
from ....kernels.detectors.bone_boxes import lookup as _lookup
from ....kernels.detectors.bone_boxes import query as _query
from ....kernels.detectors.bone_boxes.boxes import Skin
from ....kernels.detectors.bone_boxes.query import Query
from ....kernels.queries import contact_records as _records
from ....kernels.queries import pair_geometry as _geometry
from ....motion.rigid import IDENTITY_POSE
from ....state import State
from ...base import BaseDetector, Finds, Inside, InsideQuery, Reports, Side
from ...queries.contact_records import with_rounding_margin
from ...queries.penetration import NOTHING, SurfaceQueries
from ...queries.solid_boundary import SIDE_OFFSET
from .boxes import SLABS, BoneBoxes
from .probes import Probes, Touching, query_inside

if TYPE_CHECKING:
    from ...structure import Structure

Floats = NDArray[np.float64]
EVERY = 1.0 / 60.0  # s between the sampled poses of a clip
MOST = 240  # sampled poses of a clip
_CORNERS = np.array([[a, b, c] for a in (0, 1) for b in (0, 1) for c in (0, 1)])


@check_arguments
class BoneBoxesDetector(BaseDetector):
    """The nearest triangle of each vertex of cloth that is closer than `within` (metres) to a skin, or inside it.

    The body is skinned (`Side.motion` is a `Skinned`); any other body is treated as a single bone. `slabs` divide each
    box along its main axis. `midpoints` also tests edge midpoints. With `deep=False`, points inside are found only down
    to a depth of `within`; otherwise, in a closed skin, at any depth. `every`: seconds between the sampled poses of the
    clip; at most 240 poses are sampled. `exact=False` uses the paper's test, in which the projection of the point onto
    the triangle's plane must lie in the triangle, so that points nearest to edges and corners are missed (`guarantee`
    is then C).

    boxes: `BoneBoxes`, with `tolerances` and `widened`. visited, measured: the numbers of triangles visited in lists
    and of distances computed at the last update; `spared`: the fraction of pairs of point and triangle not visited.
    """

    name = "bone-boxes"
    finds = Finds.OBSTACLE
    guarantee = "A"
    other_guarantees = (("exact", "false", "C"),)
    needs = "an obstacle, best with bones; slow if it deforms without"
    gives = "signed distance, normal, depth (closed obstacle)"
    source = "Pelechano, Bull, Slater"
    obstacle_may_deform = True
    reports = Reports.POINTS

    def __init__(
        self,
        deformable: Side,
        body: Side,
        *,
        within: float,
        slabs: int = SLABS,
        midpoints: bool = True,
        exact: bool = True,
        deep: bool = True,
        every: float = EVERY,
    ) -> None:
        self.deformable, self.body = deformable, body
        self.within = validate.number("within", within, low=0.0, high=validate.LARGEST)
        self.exact = bool(exact)
        self.guarantee = "A" if exact else "C"
        mesh = body.mesh
        if not mesh.n_faces:
            raise ValueError(f"mesh {mesh.name!r} has no faces; expected a surface")
        self._skin = SurfaceQueries(mesh)
        self._rows = self._skin.rows
        self._sided = self.exact and mesh.issues.encloses and not mesh.issues.inward
        self._deep, self._shallow = deep and self._sided, not deep
        every = validate.number("every", every, above=0.0)
        self.boxes = self._build(validate.whole("slabs", slabs, low=1, high=1000), every)
        self._matrices = np.full((1, 3, 4), np.nan)
        # the bones alone determine the positions of the skin, and did so at the last update; a copy of it is up to date
        in_order = np.array_equal(self._rows, np.arange(mesh.n_vertices))
        self._by_bones, self._known, self._synced = self.boxes.bone_pairs is not None and in_order, False, True
        self._x = self._skin.surface.x
        x, edges = deformable.mesh.vertices, deformable.mesh.topology.edges
        self.reports = Reports.POINTS if midpoints else Reports.VERTICES
        self.edges = edges if midpoints else edges[:0]
        self._vertices, self._midpoints = Probes(x), Probes(x[self.edges].mean(1))
        self._middle = np.empty((len(self.edges), 3))
        self._skin.cast = self._wind
        self._pool, self._ignored = Pool(), np.zeros(0, np.bool_)
        rows, bodies = (deformable.first, body.first), (deformable.body, body.body)
        self._owners = _records.Owners(np.array(rows, np.int32), np.array(bodies, np.int32))
        self.visited = self.measured = self._queried = 0

    looked = renamed.attribute("looked", "visited")

    @property
    def spared(self) -> float:
        """Fraction of the point-triangle pairs that were not visited."""
        return 1.0 - self.visited / max(self._queried * self.body.mesh.n_faces, 1)

    def ignore(self, which: NDArray[np.bool_] | None) -> None:
        self._ignored = np.zeros(0, np.bool_) if which is None else which[self.deformable.rows, self.body.body]

    def covers(self, distance: Floats) -> NDArray[np.bool_]:
        """All points; with `deep=False` those down to a depth of `within`."""
        return distance >= -self.within if self._shallow else super().covers(distance)

    def update(self, state: State) -> Self:
        """Move the boxes with their bones, widen the range of skin vertices that left theirs, and query all points."""
        self._follow(state)
        near = self.within * (1.0 + 1e-12) + self.boxes.slack
        axis = _boxes.shortest_side(self.boxes.placed.world)
        beyond = SIDE_OFFSET * self.boxes.largest
        posed, query = self._posed(), Query(near, self._sided, self._deep, axis, self.within, beyond)
        one, two = self._vertices, self._midpoints
        one.follow(state.x[self.deformable.rows], self.boxes, posed, self._ignored)
        one.select(near)
        self._find(one, posed, query)
        self.visited, self.measured, self._queried = one.visited, one.measured, len(one.points)
        if len(self.edges):
            _coherence.midpoints(self.edges, one.points, self._middle)
            beside = np.asarray(self._ignored[self.edges].any(1)) if len(self._ignored) else self._ignored
            two.follow(self._middle, self.boxes, posed, beside)
            if self.exact:
                _coherence.propagate_clearance(self.edges, one.arrays, two.arrays, near)
            two.select(near)
            self._find(two, posed, query)
            self.visited, self.measured = one.visited + two.visited, one.measured + two.measured
            self._queried += two.queried
        return self

    def _follow(self, state: State) -> None:
        """Move the boxes with the skin: by the bones alone where they determine it, else vertex by vertex."""
        x, matrices = state.x[self.body.rows], self._bones(state)
        known, before = self._by_bones and self.body.body in state.posed, self._known
        self._known, self._x = known, validate.read_only(x)
        if known and before:
            self._synced = False
            if np.array_equal(matrices, self._matrices):
                self.boxes.rest()
                return
            self.boxes.follow_bones(matrices, x)
        else:
            moved = _boxes.keep(x, self._rows, self._skin.x)
            self._synced = True
            if not (moved or before) and np.array_equal(matrices, self._matrices):
                self.boxes.rest()
                return
            self.boxes.follow(matrices, self._skin.x)
            if before:  # where vertices were in their boxes is not known
                self.boxes.moved.stray[:] = self.boxes.moved.travel[:] = np.inf
        self._matrices = matrices.copy()
        self._skin.moved()

    def _sync(self) -> SurfaceQueries:
        """Return the skin at the present positions."""
        if not self._synced:
            _boxes.keep(self._x, self._rows, self._skin.x)
            self._synced = True
        return self._skin

    def _find(self, probes: Probes, posed: Skin, query: Query) -> None:
        if self.exact:
            probes.query(posed, self._skin.surface._replace(x=posed.x), query, self._sync)
        else:
            probes.project(posed, self.boxes.reach, query, self._sync)

    def _posed(self) -> Skin:
        x = self._x if self._known else self._skin.surface.x
        return Skin(self.boxes.boxes, self.boxes.placed, x, self.boxes.slack)

    def _wind(self, axis: int, points: Floats) -> Floats:
        """Return the winding numbers (n,) of points (n,3) by rays along the axis."""
        found = np.empty(len(points))
        _query.wind(self._posed(), axis, points, found)
        return found

    def find(self, state: State) -> Contacts:
        """Return contacts in canonical order: vertices first, then edge midpoints."""
        n, m = self._vertices.count, self._midpoints.count
        out = self._pool.take(n + m)
        if n:
            self._faces(state, out[:n])
        if m:
            results = self._midpoints.results
            _lookup.fill_midpoints(results, self.edges, self.body.mesh.faces, state.v, self._owners, out[n:])
        return out

    @property
    def inside_query(self) -> InsideQuery:
        return self

    def box_corners(self) -> Floats:
        low, high = self.boxes.boxes.low, self.boxes.boxes.high
        return self._in_world(np.where(_CORNERS, high[:, None], low[:, None])).reshape(-1, 2, 2, 2, 3)

    def structure(self, state: State, level: int | None = None) -> "Structure":
        from ..structures.images import structure_of_bone_boxes

        boxes = self.boxes.boxes
        at = boxes.begin[:, None] + np.arange(1, boxes.slabs) / boxes.per[:, None]
        planes = np.empty((len(at), boxes.slabs - 1, 2, 2, 3))
        planes[..., 0] = at[:, :, None, None]
        for k, ends in enumerate(np.stack([boxes.low, boxes.high], 1)):
            planes[k, ..., 1], planes[k, ..., 2] = ends[:, 1, None], ends[:, 2]
        within = (at > boxes.low[:, :1]) & (at < boxes.high[:, :1])
        placed = self._in_world(planes.reshape(len(at), -1, 3)).reshape(planes.shape)
        return structure_of_bone_boxes(self.box_corners(), placed[within], level)

    def _in_world(self, q: Floats) -> Floats:
        """Return points (k,n,3) in the coordinates of the k boxes in the world."""
        to_box = self.boxes.placed.to_box  # q = R p + t
        return np.asarray(np.einsum("kji,kcj->kci", to_box[:, :, :3], q - to_box[:, None, :, 3]))

    def inside(self, points: Any, which: Any = None) -> Inside:
        """Find which of `points` (n,3), vertices `which` (n,) of the cloth, are inside a closed skin."""
        if not self._deep:
            return NOTHING
        points = validate.floats("points", points, (None, 3))
        begin = np.full(len(points), -1) if which is None else self._vertices.last(which)
        return query_inside(points, begin, self._posed(), self._sync())

    def _faces(self, state: State, out: Contacts) -> None:
        x, x_b, results = state.x[self.deformable.rows], state.x[self.body.rows], self._vertices.results
        degenerate = np.empty(len(out), np.bool_)
        flat, below = _lookup.fill_vertices(results, x, x_b, self.body.mesh.faces, self._owners, out, degenerate)
        if flat or below:
            self._correct(self._vertices.touching, x, out, degenerate, flat=flat > 0, below=below > 0)

    def _correct(
        self, one: Touching, x: Floats, out: Contacts, degenerate: NDArray[np.bool_], *, flat: bool, below: bool
    ) -> None:
        """Correct the records `out` of points with a degenerate gap (flat) and of points inside (below)."""
        inside = one.distance < 0.0
        if flat:
            rows = np.flatnonzero(degenerate)
            pairs, sign = np.stack([one.rows, one.pairs[:, 0]], 1).astype(np.int32), np.ones(len(x))
            sign[one.rows[inside]] = -1.0
            normal, distance = np.empty((len(rows), 3)), np.empty(len(rows))
            _geometry.vertex_face_geometry(self._sync().surface, x, pairs[rows], sign, normal, distance)
            out["normal"][rows], out["distance"][rows] = normal, distance
        if not (below and self._vertices.decided):
            return
        # inside, the nearest boundary point of the solid may lie on a part of a face that other faces intersect
        off = np.abs(out["distance"] - one.distance) > with_rounding_margin(0.0, x, self.boxes.placed.world)
        rows = np.flatnonzero(off & inside)
        out["weights"][rows, 1:] = -one.where[rows]
        out["distance"][rows], out["normal"][rows] = one.distance[rows], one.normal[rows]

    def _bones(self, state: State) -> Floats:
        """Return the present bone matrices (b,3,4)."""
        body = self.body.body
        if hasattr(self.body.motion, "joints") and body in state.bones:
            return state.bones[body]
        return state.pose[body : body + 1] if body < len(state.pose) else IDENTITY_POSE[None]

    def _build(self, slabs: int, every: float) -> BoneBoxes:
        mesh, motion, rows = self.body.mesh, self.body.motion, self._rows
        joints, weights = np.zeros((len(rows), 1), np.int32), np.ones((len(rows), 1))
        poses, frames, bind = IDENTITY_POSE[None, None], iter([mesh.vertices[rows]]), None
        if motion is not None and hasattr(motion, "joints"):
            skinned: Any = motion
            joints, weights = skinned.joints[rows], skinned.weights[rows]
            bind = getattr(skinned, "bind", None)
            bind = None if bind is None else np.ascontiguousarray(bind[rows])
            count = min(int(np.ceil(skinned.duration / every)) + 1, MOST)
            poses = skinned.sample(np.linspace(0.0, skinned.duration, count))
            frames = (skinned.shape(pose)[rows] for pose in poses)
        return BoneBoxes(mesh.welded.faces, joints, weights, poses, frames, self.within, slabs, bind)

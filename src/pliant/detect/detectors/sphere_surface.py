"""Contacts by spherical implicit surfaces (Jung 2005): spheres on triangles and edge midpoints, refined adaptively."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ... import validate
from ...arguments import OneOf, check_arguments
from ...contacts import Contacts, Pool
from ...kernels.detectors import sphere_pairs as _kernels
from ...kernels.detectors.sphere_pairs import EdgeLevels, FaceLevels, Spheres
from ...kernels.detectors.sphere_surface import DEEPEST
from ...kernels.mesh.features import Segments, Triangles
from ...state import State
from ..base import BaseDetector, Finds, MaxBytes, Side
from ..bvh.leaf_mesh import LeafMesh
from ..bvh.tree_options import Arity, Split
from ..queries.contact_records import (
    PosedSide,
    WeldedSide,
    owners,
    recompute_degenerate_edges,
    recompute_degenerate_faces,
    sign_edge_pairs,
    with_rounding_margin,
)
from ..queries.penetration import DeformingClosestPoints
from ..queries.proximity import NearPairs
from ..queries.welding import Seams

if TYPE_CHECKING:
    from ..structure import Structure

Floats = NDArray[np.float64]
Rows = NDArray[np.int32]
Tolerance = float | Callable[[Floats], Any]
CHILDREN = ("containing", "nearest")
RADIUS = 2.0 / 3.0  # radius of the spheres divided by the largest distance of a corner from the centroid


class _Rows(NamedTuple):
    """The rows of one side: its faces and edges, and the spheres of its vertices, face centres and edge midpoints."""

    faces: slice
    edges: slice
    points: slice
    centres: slice
    midpoints: slice


@check_arguments
class SphereSurfaceDetector(BaseDetector):
    """Find pairs of features whose approximate distance is at most `within`; `other=None` finds self-contact.

    The approximate distance is that to a point of the triangle (or of both edges), hence never less than the exact one
    and at most `bound` larger: all pairs nearer than `within` minus `bound` are found. The refinement is set by one of

    levels: 0 to 12; each level halves the spheres;
    tolerance: metres; triangles are subdivided until their spheres are no larger, edges until they are no longer. With
        a `camera` (3,): metres at a distance of one metre from it, growing in proportion; or a function that maps
        distances (n,) from it to metres.

    Default: a tolerance of half of `within`. Against a closed mesh the distance is signed.

    child: each level continues with the part of a triangle or edge "containing" the nearest point, or with that of the
        "nearest" sphere or ends, by three new distances as in the paper; the bound is then that of level 0.
    """

    name = "sphere-surface"
    finds = Finds.OBSTACLE | Finds.PAIR | Finds.SELF
    guarantee = "C"
    needs = "any triangle meshes"
    gives = "distance (at most the bound too large), normal"
    source = "Jung, Hong, Choi 2005"
    obstacle_may_deform = True
    finds_deep = False

    def __init__(
        self,
        one: Side,
        other: Side | None = None,
        *,
        within: float,
        levels: int | None = None,
        tolerance: Tolerance | None = None,
        camera: Any = None,
        child: Annotated[str, OneOf(CHILDREN)] = "containing",
        cull: bool = True,
        max_bytes: MaxBytes = None,
        arity: Arity = 4,
        split: Split = "longest-sah",
    ) -> None:
        self.within = validate.number("within", within, low=0.0, high=validate.LARGEST)
        self.levels, self.tolerance = _refinement(self.within, levels, tolerance, camera)
        self.camera = camera
        self.child = child
        self.same = other is None
        self.one = WeldedSide.of(one)
        self.other = self.one if other is None else WeldedSide.of(other)
        tree: Any = {"arity": arity, "split": split}
        a = LeafMesh(one.mesh.vertices, one.mesh.topology, self.one.weld, **tree)
        b = None
        if other is not None:
            # weld indices disjoint from those of the first side, so that the two are never adjacent
            b = LeafMesh(other.mesh.vertices, other.mesh.topology, self.other.weld + one.mesh.n_vertices, **tree)
        self._pool = Pool()
        self.near = NearPairs(a, b, cull=cull, max_bytes=max_bytes)
        self._distance_queries = [
            DeformingClosestPoints(part.side.mesh) if part.solid and not self.same else None for part in self._sides
        ]
        self._leaf_meshes = [a] if b is None else [a, b]
        self._seams = Seams(one, other)
        self.spheres, self._rows = _allocate(self._leaf_meshes, self.child == "nearest")
        self._by_name = [
            (leaf_mesh.leaf_of, np.argsort(leaf_mesh.leaves.edge[:, 0])) for leaf_mesh in self._leaf_meshes
        ]
        if self.levels is not None:
            self.spheres.face_level[:] = self.spheres.edge_level[:] = self.levels
        self._deepest = _deepest(self.spheres)
        self._last = np.zeros((0, 2), np.int32), np.zeros((0, 2), np.int32)  # pairs of vertex and face of `find`

    @property
    def camera(self) -> Floats | None:
        """The viewpoint (3,) in metres; may be changed before an update."""
        return self._camera

    @camera.setter
    def camera(self, position: Any) -> None:
        _refinement(self.within, self.levels, self.tolerance, position)
        self._camera = None if position is None else validate.floats("camera", position, (3,))

    def update(self, state: State) -> Self:
        """Refit to the positions and choose the refinement level of each face and edge."""
        if self._seams.update(state.x):
            self._reweld()
        spheres, balls = self.spheres, self.spheres.balls
        for part, leaf_mesh, query, rows in zip(self._sides, self._leaf_meshes, self._distance_queries, self._rows):
            leaf_mesh.move(state.x[part.side.rows])
            if query is not None:
                query.update(leaf_mesh.x)
            faces, edges = spheres.faces[rows.faces], spheres.edges[rows.edges]
            _kernels.update_spheres(
                leaf_mesh.at,
                self.levels == 0,
                balls[rows.points],
                balls[rows.centres],
                faces,
                balls[rows.midpoints],
                edges,
            )
        if self.levels is None:
            for level, size, at in zip((spheres.face_level, spheres.edge_level), self._sizes, self._centres):
                level[:] = self._levels_for(size, at)
            self._deepest = _deepest(spheres)
            if self._deepest[1] == 0:
                balls[spheres.starts[2] :, 3] = 0.0  # only edge midpoints are used
        return self

    def _reweld(self) -> None:
        """Rebuild all data that depend on the welding."""
        sides = self._seams.sides
        self.one = WeldedSide.of(sides[0])
        self.other = self.one if self.same else WeldedSide.of(sides[1])
        for leaf_mesh, part, first in zip(self._leaf_meshes, self._sides, (0, sides[0].mesh.n_vertices)):
            leaf_mesh.set_weld(part.weld + first)
        self._distance_queries = [
            DeformingClosestPoints(part.side.mesh) if part.solid and not self.same else None for part in self._sides
        ]

    def find(self, state: State) -> Contacts:
        found, counts = self.candidates()
        self.narrow(found, counts)
        there, back, edges = self.near.ordered(found, counts)
        self._last = there, back
        poses = [
            PosedSide(*each)
            for each in zip(self._sides, (leaf_mesh.x for leaf_mesh in self._leaf_meshes), self._distance_queries)
        ]
        a, b, levels = poses[0], poses[-1], self._levels()
        out = self._pool.take(len(there) + len(back) + len(edges))
        facing = [(a, b, there, levels[-1][0]), (b, a, back, levels[0][0])]
        if a.welded.side.body > b.welded.side.body:
            facing.reverse()
        done = 0
        for one, two, pairs, level in facing:
            fine = FaceLevels(level, int(level.max(initial=0)), self.spheres.nearest)
            _fill_faces(one, two, pairs, fine, out[done : done + len(pairs)])
            done += len(pairs)
        deepest = max(int(level[1].max(initial=0)) for level in levels)
        _fill_edges(a, b, edges, EdgeLevels(levels[0][1], levels[-1][1], deepest, self.spheres.nearest), out[done:])
        return out

    def candidates(self) -> tuple[Rows, NDArray[np.int64]]:
        """Broad phase: return the candidates in the layout of the kernel `narrow`; see NearPairs.candidates."""
        return self.near.candidates(self.within)

    def narrow(self, found: Rows, counts: NDArray[np.int64]) -> None:
        """Narrow phase, in place: keep the near candidates, with feature indices of the meshes."""
        if counts.any():
            _kernels.narrow(self.spheres, self.same, self._deepest, self.within, found, counts)

    @property
    def bounds(self) -> tuple[float, float]:
        """Largest excess in metres over the exact distance, of vertex-face pairs and of edge-edge pairs."""
        spheres, (radius, length) = self.spheres, self._sizes
        # the nearest sphere may lead away from the nearest point, but never beyond the error of level 0
        faces = radius if spheres.nearest else radius * 0.5**spheres.face_level
        edges = length if spheres.nearest else length * 0.5**spheres.edge_level
        most = [float(edges[rows.edges].max(initial=0.0)) for rows in self._rows]
        # rounding error of coordinates, relevant far from the origin
        more = with_rounding_margin(0.0, *(leaf_mesh.x for leaf_mesh in (self._leaf_meshes[0], self._leaf_meshes[-1])))
        return float(faces.max(initial=0.0)) + more, 0.5 * (most[0] + most[-1]) + more

    @property
    def bound(self) -> float:
        """The larger of the two `bounds`, metres."""
        return max(self.bounds)

    @property
    def _sizes(self) -> tuple[Floats, Floats]:
        """Radii of the spheres and lengths of the edges, in metres."""
        spheres, (_, one, two) = self.spheres, self.spheres.starts
        return RADIUS * spheres.balls[one:two, 3], np.sqrt((spheres.edges**2).sum(1))

    @property
    def _centres(self) -> tuple[Floats, Floats]:
        """Face centres and edge midpoints."""
        balls, (_, one, two) = self.spheres.balls, self.spheres.starts
        return balls[one:two, :3], balls[two:, :3]

    @property
    def face_levels(self) -> Rows:
        """Refinement levels (m,) of the faces of both sides."""
        return self.spheres.face_level

    @property
    def face_spheres(self) -> list[Floats]:
        """Centres and radii (m,4) of the spheres of the triangles of each side, metres."""
        balls = self.spheres.balls * (1.0, 1.0, 1.0, RADIUS)
        meshes = zip(self._leaf_meshes, self._rows, strict=True)
        return [balls[rows.centres][mesh.leaves.face >= 0] for mesh, rows in meshes]

    def pairs_in_contact(self) -> list[tuple[Floats, Floats, Rows]]:
        """The pairs of vertex and face that the last `find` found: for the faces of each side the vertices (k,3) in
        contact with them, their corners (k,3,3) and their levels (k,)."""
        levels = [faces for faces, _ in self._levels()]
        there, back = self._last
        if self.same:
            sides = [(0, 0, there)]
        else:
            sides = [(1, 0, back), (0, 1, there)]
        out = []
        for one, two, pairs in sides:
            a, b = self._leaf_meshes[one], self._leaf_meshes[two]
            out.append((a.x[pairs[:, 0]], b.x[b.top.faces[pairs[:, 1]]], levels[two][pairs[:, 1]]))
        return out

    def structure(self, state: State, level: int | None = None) -> "Structure":
        from .structures.spheres import structure_of_spheres

        return structure_of_spheres(self, level, RADIUS)

    def _levels(self) -> list[tuple[Rows, Rows]]:
        """Levels of the faces and edges of each side, in the order of its mesh."""
        spheres = self.spheres
        return [
            (spheres.face_level[rows.faces][faces], spheres.edge_level[rows.edges][edges])
            for rows, (faces, edges) in zip(self._rows, self._by_name)
        ]

    def _levels_for(self, size: Floats, at: Floats) -> Rows:
        """Return how often (n,) to halve `size` (n,) in metres at positions `at` (n,3)."""
        metres: Any = self.tolerance
        if self.camera is not None:
            far = np.sqrt(((at - self.camera) ** 2).sum(1))
            metres = _metres(metres, far) if callable(metres) else metres * far
        part, power = np.frexp(size / np.maximum(metres, 1e-290))
        return np.clip(power - (part == 0.5), 0, DEEPEST).astype(np.int32)

    @property
    def _sides(self) -> tuple[WeldedSide, WeldedSide]:
        return self.one, self.other


def _refinement(
    within: float, levels: Any, tolerance: Tolerance | None, camera: Any
) -> tuple[int | None, Tolerance | None]:
    """Validate the refinement options; return levels or a tolerance, the other being None."""
    if levels is not None and (tolerance is not None or camera is not None):
        raise ValueError("levels sets a uniform refinement; expected it alone, or tolerance with or without camera")
    if levels is not None:
        return validate.whole("levels", levels, low=0, high=DEEPEST), None
    if tolerance is None:
        if camera is not None:
            raise ValueError("camera was given without tolerance; give the tolerance in metres at one metre from it")
        return (None, 0.5 * within) if within > 0.0 else (DEEPEST, None)
    if callable(tolerance):
        if camera is None:
            raise ValueError("tolerance is a function of the distance from a camera; give camera=(x, y, z) too")
        return None, tolerance
    return None, validate.number("tolerance", tolerance, above=0.0, high=validate.LARGEST)


def _metres(tolerance: Callable[[Floats], Any], far: Floats) -> Floats:
    """Evaluate a tolerance function at distances (n,) and validate its values."""
    metres = np.broadcast_to(np.asarray(tolerance(far), np.float64), far.shape)
    bad = np.flatnonzero(~(metres > 0.0))
    if len(bad):
        raise ValueError(f"tolerance({far[bad[0]]:g}) = {metres[bad[0]]:g}; expected metres above 0")
    return metres


def _allocate(leaf_meshes: list[LeafMesh], nearest: bool) -> tuple[Spheres, list[_Rows]]:
    """Allocate the spheres of the vertices, triangles and edges of one leaf mesh or two; also return the rows."""
    leaves = [leaf_mesh.leaves for leaf_mesh in leaf_meshes]
    names = [
        [leaves.vertex[:, 0] for leaves in leaves],
        [leaves.face for leaves in leaves],
        [leaves.edge[:, 0] for leaves in leaves],
    ]
    sizes = np.array([[len(part) for part in parts] for parts in names])
    n, m, k = sizes.sum(1)
    starts = np.array([0, n, n + m])
    ends = np.cumsum(sizes, 1)
    begins = ends - sizes
    # vertex of a and face of b, edges, vertex of b and face of a
    v, f, e = (begins + starts[:, None])[:, [0, -1]]
    shift = np.array([[v[0], f[1]], [e[0], e[1]], [v[1], f[0]]])
    rows = []
    for (v_0, f_0, e_0), (v_1, f_1, e_1) in zip(begins.T.tolist(), ends.T.tolist()):
        centres, midpoints = slice(n + f_0, n + f_1), slice(n + m + e_0, n + m + e_1)
        rows.append(_Rows(slice(f_0, f_1), slice(e_0, e_1), slice(v_0, v_1), centres, midpoints))
    levels = np.zeros(m, np.int32), np.zeros(k, np.int32)
    every = np.concatenate([part for parts in names for part in parts]).astype(np.int32)
    spheres = np.empty((n + m + k, 4)), np.empty((m, 9)), np.empty((k, 3))
    return Spheres(*spheres, *levels, every, shift, starts, nearest), rows


def _deepest(spheres: Spheres) -> NDArray[np.int64]:
    """(2,) the largest levels of faces and of edges."""
    return np.array([int(level.max(initial=0)) for level in (spheres.face_level, spheres.edge_level)])


def _fill_faces(a: PosedSide, b: PosedSide, pairs: Rows, levels: FaceLevels, out: Contacts) -> None:
    sign, degenerate = np.zeros(0), np.empty(len(pairs), np.bool_)
    if a is not b and b.welded.solid and len(pairs):
        touching = np.unique(pairs[:, 0])
        sign = np.ones(len(a.x))
        sign[touching[b.contains(a.x[touching])]] = -1.0
    faces = Triangles(b.x, b.welded.side.mesh.faces)
    _kernels.fill_faces(a.x, faces, pairs, levels, sign, owners(a, b), out, degenerate)
    recompute_degenerate_faces(a, b, pairs, sign, degenerate, out)


def _fill_edges(a: PosedSide, b: PosedSide, pairs: Rows, levels: EdgeLevels, out: Contacts) -> None:
    e_a, e_b = a.welded.side.mesh.topology.edges, b.welded.side.mesh.topology.edges
    degenerate = np.empty(len(pairs), np.bool_)
    _kernels.fill_edges(Segments(a.x, e_a), Segments(b.x, e_b), pairs, levels, owners(a, b), out, degenerate)
    recompute_degenerate_edges(a, b, pairs, degenerate, out)
    sign_edge_pairs(a, b, pairs, out)

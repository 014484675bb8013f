"""Continuous collision detection (CCD): contacts during a step, and the largest collision-free fraction of it."""

import functools
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Annotated, Any, Self, cast

import numpy as np
from numpy.typing import NDArray

from ... import arrays, validate
from ... import contacts as _contacts
from ...arguments import OneOf, Range, check_arguments
from ...contacts import Contacts
from ...kernels.kinds import EDGE_TO_EDGE, FACE_TO_VERTEX, VERTEX_TO_FACE
from ...kernels.queries import contact_records as _records
from ...kernels.queries.surface import ROUNDING
from ...mesh import Mesh
from ...state import State
from ..base import BaseDetector, Finds, MaxBytes, Side
from ..bvh.leaf_mesh import LeafMesh
from ..bvh.tree_options import Arity, Leaf, Margin, Split, TreeOptions, Update, UpdateOrBlend, Volume, Worse
from ..queries.collisions import SOLVERS, CollisionQuery, Hits, Moving
from ..queries.contact_records import WeldedSide
from ..queries.welding import Seams
from .bvh import BvhDetector

if TYPE_CHECKING:
    from ..queries.tree_pairs import TreePairs
    from ..structure import Structure
    from .sweep_on_card import SweepOnCard

Floats = NDArray[np.float64]
Rows = NDArray[np.int32]
_BEFORE = 2.0**-20  # of the time of impact: how much earlier the gap is measured if that time is not conservative


@check_arguments
class Sweep:
    """Collision-free step size of a mesh against itself; keeps its BVH between queries.

    Vertices at equal positions in `mesh` are welded if they coincide at both ends of the motion. Options: those of the
    BVH, as for the method "bvh".
    """

    def __init__(
        self,
        mesh: Mesh,
        *,
        volume: Volume = "box",
        arity: Arity = 4,
        leaf: Leaf = 1,
        split: Split = "longest-sah",
        update: Update = "bottom-up",
        margin: Margin = None,
        worse: Worse = None,
    ) -> None:
        self.mesh = mesh
        self._seams = Seams(Side(mesh))
        tree = TreeOptions(volume, arity, leaf, split, update, margin, worse).checked()
        self.fast = tree.fast
        self.moving = Moving(LeafMesh(mesh.vertices, mesh.topology, mesh.weld_index, **tree.of_leaf_mesh()))
        self._collisions = CollisionQuery(self.moving, tree=tree)

    def to(self, device: str) -> "Sweep | SweepOnCard":
        """Return these queries on a graphics card ("cuda") for positions that live there (docs/gpu.md); with "cpu", and
        with "auto" where there is no card, these ones."""
        if arrays.chosen(device) == "cpu":
            return self
        from .sweep_on_card import SweepOnCard

        return SweepOnCard(self)

    def step(self, x_0: Any, x_1: Any, tolerance: float = 1e-6) -> float:
        """Return the largest fraction, 0..1, of the linear motion from x_0 to x_1 (n,3) that is proved collision-free.

        Conservative, and at least 0.8 of the exact time of impact. 0 only if features touch at x_0 or are separated by
        no more than the rounding error of their coordinates. `tolerance` is relative to the lengths of the edges.
        """
        shape = self.mesh.vertices.shape
        self.moving.move(validate.floats("x_0", x_0, shape), validate.floats("x_1", x_1, shape))
        self._collisions.moved()
        if self._seams.update(self.moving.x_0, self.moving.x_1):
            self.moving.leaves = self.moving.leaf_mesh.with_weld(self._seams.sides[0].mesh.weld_index)
        return min(self._collisions.least(validate.number("tolerance", tolerance, low=0.0, high=1.0)), 1.0)


@check_arguments
def collision_free_step(mesh: Mesh, x_0: Any, x_1: Any, *, tolerance: float = 1e-6) -> float:
    """Return the largest fraction, 0..1, of the motion of `mesh` from x_0 to x_1 (n,3) before it touches itself.

    The result is conservative: the motion to `x_0 + step * (x_1 - x_0)` is collision-free, and 1 means that the whole
    motion is. Several bodies in one mesh are tested against each other as well.

    >>> step = pliant.collision_free_step(cloth, x, x + dt * v)
    >>> x = x + step * dt * v

    For many steps of one mesh use a `pliant.detect.detectors.continuous.Sweep`, which builds its BVH once.
    """
    return Sweep(mesh).step(x_0, x_1, tolerance)


@check_arguments
class ContinuousDetector(BaseDetector):
    """Find pairs that touch during the motion from `state.x_start` to `state.x`, and pairs within `within` at its end.

    A pair that touches has its `time` of impact, the weights at that time, and as normal the direction of its gap just
    before; `distance` is the gap along that normal at the end of the step, negative if the features have passed
    through each other. A response that restores the gap thus returns them to their original side. Without motion the
    contacts are those of the method "bvh".

    The options of the BVH, as for "bvh", are those of both its BVHs, of positions at the end and of swept volumes.
    `velocity_cones` bounds the velocities below every node, and skips triangles that do not approach each other.
    Solver "conservative" misses no contact; "cubic" is the conventional root finder, which may miss some (its
    `guarantee` is C). `tolerance` is the distance that counts as contact, relative to the largest edge of a pair.
    """

    name = "continuous"
    finds = Finds.OBSTACLE | Finds.PAIR | Finds.SELF
    guarantee = "A"
    other_guarantees = (("solver", "cubic", "C"),)
    needs = "any triangle meshes, positions at the start of the step"
    gives = "time of contact; distance, normal, depth (closed obstacle)"
    source = "Teschner et al. 2005, section 2; Provot 1997"
    obstacle_may_deform = True
    swept = True

    def __init__(
        self,
        one: Side,
        other: Side | None = None,
        *,
        within: float,
        solver: Annotated[str, OneOf(tuple(SOLVERS))] = "conservative",
        tolerance: Annotated[float, Range(low=0.0, high=1.0)] = 1e-6,
        max_bytes: MaxBytes = None,
        volume: Volume = "box",
        arity: Arity = 4,
        leaf: Leaf = 1,
        split: Split = "longest-sah",
        update: UpdateOrBlend = "bottom-up",
        margin: Margin = None,
        worse: Worse = None,
        velocity_cones: bool = False,
    ) -> None:
        self.solver = solver
        self.guarantee = "A" if solver == "conservative" else "C"
        self.tolerance = tolerance
        tree = TreeOptions(volume, arity, leaf, split, update, margin, worse)
        self._proximity = BvhDetector(one, other, within=within, max_bytes=max_bytes, **tree._asdict())
        near = self._proximity.near
        self._seams = Seams(one, other)
        blended = near.broad_phase.blended if near.broad_phase is not None else None
        sides = [Moving(mesh, velocity_cones) for mesh in ([near.a] if other is None else [near.a, near.b])]
        self._collisions = CollisionQuery(
            *sides, max_bytes=max_bytes, tree=tree, within=within, velocity_cones=velocity_cones, blended=blended
        )

    @classmethod
    def refuses(cls, one: Side, other: Side | None, options: Mapping[str, Any]) -> str:
        return BvhDetector.refuses(one, other, options)

    def update(self, state: State) -> Self:
        """Refit to the positions at the start and at the end of the step."""
        self._proximity.update(state)
        if self._seams.update(state.x_start, state.x):
            weld = [side.mesh.weld_index for side in self._seams.sides]
            self._collisions.a.leaves = self._collisions.a.leaf_mesh.with_weld(weld[0])
            if not self._collisions.same:
                self._collisions.b.leaves = self._collisions.b.leaf_mesh.with_weld(weld[1] + len(weld[0]))
        sides = {id(moving): (moving, part.side.rows) for moving, part in self._parts()}
        for moving, rows in sides.values():
            moving.move(state.x_start[rows], state.x[rows])
        self._collisions.moved(state.bones.get(self._proximity.body.body))
        self._moved = any(not np.array_equal(m.x_0, m.x_1) for m, _ in sides.values())
        return self

    @property
    def broad_phase(self) -> "TreePairs | None":
        """The BVHs of swept volumes and what their last traversal counted; None for AABB trees with one triangle per
        leaf, refitted at every update, which the narrow phase traverses itself."""
        return self._collisions.broad_phase

    @property
    def tested(self) -> int:
        """How many pairs of triangles in motion the last `find` tested beyond their volumes and velocities."""
        return self._collisions.tested

    def collision_free_step(self) -> float:
        """Return the largest fraction, 0..1, of the motion of the last update that is proved free of contact: the step
        to the first event. Conservative, as `Sweep.step`; pairs that touch at the start make it 0."""
        return min(self._collisions.least(self.tolerance), 1.0)

    def structure(self, state: State, level: int | None = None) -> "Structure":
        from .structures.volumes import structure_of_sweep

        return structure_of_sweep(self._collisions, level)

    def find(self, state: State) -> Contacts:
        near = self._proximity.find(state)
        if not self._moved:
            return near
        hits = self._collisions.all(self.tolerance, self.solver)
        collided = [self._impact_records(hits, kind, state) for kind in (VERTEX_TO_FACE, FACE_TO_VERTEX, EDGE_TO_EDGE)]
        return joined(cast("Contacts", np.concatenate(collided)), near, state.x_start)

    def _parts(self) -> tuple[tuple[Moving, WeldedSide], tuple[Moving, WeldedSide]]:
        return (self._collisions.a, self._proximity.one), (self._collisions.b, self._proximity.other)

    def _impact_records(self, hits: Hits, kind: int, state: State) -> Contacts:
        """Return the records of the hits of one kind."""
        chosen = hits.pairs[:, 0] == kind
        pairs, time = hits.pairs[chosen, 1:], hits.time[chosen]
        (_, a), (_, b) = self._parts()
        if kind == FACE_TO_VERTEX and not self._proximity.same:
            a, b = b, a
        one, two = a.side, b.side
        if kind == EDGE_TO_EDGE:
            ends = one.mesh.topology.edges[pairs[:, 0]], two.mesh.topology.edges[pairs[:, 1]]
        else:
            ends = pairs[:, :1], two.mesh.faces[pairs[:, 1]]
        rows = np.concatenate([ends[0] + one.first, ends[1] + two.first], 1)
        before = time * (1.0 - _BEFORE) if self.solver == "cubic" else time
        edges = kind == EDGE_TO_EDGE
        outward = functools.partial(outward_normals, a, b, edges, pairs, state.x_start)
        out = impact_records(state.x_start[rows], state.x[rows], before, edges, outward)
        out["elements"], out["vertices"], out["bodies"], out["time"] = pairs, rows, (one.body, two.body), time
        out["distance"] = np.einsum("ij,ij->i", _contacts.gap(out, state.x), out["normal"])
        return out


def outward_normals(a: WeldedSide, b: WeldedSide, edges: bool, pairs: Rows, x_start: Floats) -> Floats | None:
    """Return the normals (k,3), from b to a, of the closed side that `pairs` (k,2) touch: of the face or, for edges,
    the pseudonormal of the edge at the start. None for an open side, and within one mesh."""
    if a is b or not (b.solid or (edges and a.solid)):
        return None
    sign, solid, feature = (1.0, b, pairs[:, 1]) if b.solid else (-1.0, a, pairs[:, 0])
    mesh = solid.side.mesh.moved(x_start[solid.side.rows])
    return np.asarray(sign * (mesh.edge_normals if edges else mesh.face_normals)[feature])


def impact_records(
    p_0: Floats, p_1: Floats, time: Floats, edges: bool, outward: Callable[[], Floats | None]
) -> Contacts:
    """Return records with kind, weights and normal of stencils (k,4,3) at their `time` of impact (k,), or just before.

    The conservative time is slightly early, so that the gap has a direction. If a pair has no gap, the normal is that
    of the face or the cross product of the edges, oriented to the side where the pair started; if it touches at the
    start, to the outside of a solid, as `outward` returns it, or without one to the side where the pair ends.
    """
    k = len(time)
    # relative to one point: far from the origin a gap may be smaller than the rounding error of coordinates
    r_0, r_1 = p_0 - p_0[:, 1:2], p_1 - p_1[:, 1:2]
    p = r_0 + time[:, None, None] * (r_1 - r_0)
    out, degenerate = _contacts.empty(k), np.empty(k, np.bool_)
    here, zero = np.repeat(np.arange(k, dtype=np.int32)[:, None], 2, 1), np.zeros(2, np.int32)
    none = _records.Owners(zero, zero)
    if edges:
        lines = np.arange(2 * k, dtype=np.int32).reshape(-1, 2)
        one, two = (np.ascontiguousarray(p[:, s]).reshape(-1, 3) for s in (slice(0, 2), slice(2, 4)))
        _records.fill_edges(one, lines, two, lines, here, none, out, degenerate)
        n = np.cross(p[:, 1] - p[:, 0], p[:, 3] - p[:, 2])
    else:
        faces = np.arange(3 * k, dtype=np.int32).reshape(-1, 3)
        faces.flags.writeable = False  # as the faces of a mesh, so that one compiled specialisation serves both
        one, two = np.ascontiguousarray(p[:, 0]), np.ascontiguousarray(p[:, 1:]).reshape(-1, 3)
        _records.fill_faces(one, two, faces, here, np.zeros(0), none, out, degenerate)
        n = np.cross(p[:, 2] - p[:, 1], p[:, 3] - p[:, 1])
    if degenerate.any():
        gap_0, gap_1 = (np.einsum("ij,ijk->ik", out["weights"], r) for r in (r_0, r_1))
        at_start = np.abs(gap_0).max(1) <= ROUNDING * np.abs(r_0).max((1, 2))
        side = gap_0
        if at_start.any():
            out_of = outward()
            side = np.where(at_start[:, None], gap_1 if out_of is None else out_of, gap_0)
        for fallback in (side, np.array([0.0, 1.0, 0.0])):
            n = np.where(np.abs(n).max(1, keepdims=True) > 0.0, n, fallback)
        n *= np.where(np.einsum("ij,ij->i", n, side) < 0.0, -1.0, 1.0)[:, None]
        n /= np.abs(n).max(1, keepdims=True)
        out["normal"][degenerate] = (n / np.linalg.norm(n, axis=1)[:, None])[degenerate]
    return out


def joined(collided: Contacts, near: Contacts, x_start: Floats) -> Contacts:
    """Merge CCD and proximity contacts in canonical order; a pair in both is kept once, as its CCD record.

    A feature that passed through another may end near its far side. A proximity contact is dropped if one of its
    vertices is in a CCD contact, its distance is not negative, and its normal points away from the side where the pair
    started: it would push the feature further through.
    """
    reversed_ = np.isin(near["vertices"], collided["vertices"]).any(1) & (near["distance"] >= 0.0)
    reversed_ &= np.einsum("ij,ij->i", _contacts.gap(near, x_start), near["normal"]) < 0.0
    found = _contacts.concatenate([collided, near[~reversed_]])
    names = np.column_stack([found["kind"], found["bodies"], found["elements"]])
    again = (names[1:] == names[:-1]).all(1)
    return found[np.concatenate([[True], ~again])[: len(found)]]

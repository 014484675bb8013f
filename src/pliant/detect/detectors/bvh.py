"""Exact contacts by bounding volume hierarchies (BVH), between any two meshes or within one."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

from ... import validate
from ...arguments import check_arguments
from ...contacts import Contacts, Pool
from ...state import State
from ..base import BaseDetector, Finds, Inside, InsideQuery, MaxBytes, Side
from ..bvh.leaf_mesh import LeafMesh
from ..bvh.tree_options import BLEND, Arity, Leaf, Margin, Split, TreeOptions, UpdateOrBlend, Volume, Worse
from ..queries.contact_records import PosedSide, WeldedSide, contacts_of
from ..queries.proximity import near_pairs
from ..queries.welding import Seams

if TYPE_CHECKING:
    from ..queries.penetration import DeformingClosestPoints
    from ..queries.tree_pairs import TreePairs
    from ..structure import Structure


@check_arguments
class BvhDetector(BaseDetector):
    """Find all pairs of features at a distance of at most `within`; `other=None` finds self-contact, excluding adjacent
    features.

    Against a closed mesh with faces oriented outward the distance is signed, and a vertex inside it is reported with
    its nearest face at any depth. Open meshes have no inside: distances are positive, the normal points from the second
    feature of a record to the first. Self-contact is unsigned, even of a closed mesh: distances are positive, and no
    vertices inside are added. `cull` skips patches that provably do not touch themselves; it does not change the
    contacts, and neither do the options of the BVH: `volume`, `arity`, `leaf` (triangles in a leaf), `split` (the
    build), `update` with its `margin` (of the lazy one), and `worse` (growth at which it is rebuilt). The update
    "blend" is for obstacles of a scene that are skinned, have morph targets, or have recorded frames.
    """

    name = "bvh"
    finds = Finds.OBSTACLE | Finds.PAIR | Finds.SELF
    guarantee = "A"
    needs = "any triangle meshes"
    gives = "distance, normal, depth (closed obstacle)"
    source = "Teschner et al. 2005, section 2"
    obstacle_may_deform = True

    def __init__(
        self,
        one: Side,
        other: Side | None = None,
        *,
        within: float,
        cull: bool = True,
        max_bytes: MaxBytes = None,
        volume: Volume = "box",
        arity: Arity = 4,
        leaf: Leaf = 1,
        split: Split = "longest-sah",
        update: UpdateOrBlend = "bottom-up",
        margin: Margin = None,
        worse: Worse = None,
    ) -> None:
        self.within = validate.number("within", within, low=0.0, high=validate.LARGEST)
        self.same = other is None
        self.one = WeldedSide.of(one)
        self.other = self.one if other is None else WeldedSide.of(other)
        self.deformable, self.body = self.one.side, self.other.side
        tree = TreeOptions(volume, arity, leaf, split, update, margin, worse).checked()
        own = tree.of_leaf_mesh()
        a = LeafMesh(one.mesh.vertices, one.mesh.topology, self.one.weld, **own)
        b = None
        if other is not None:
            # weld indices disjoint from those of the first side, so that the two are never adjacent
            b = LeafMesh(other.mesh.vertices, other.mesh.topology, self.other.weld + one.mesh.n_vertices, **own)
        self._pool = Pool()
        self._seams = Seams(one, other)
        self.near = near_pairs(a, b, self.within, tree, cull, max_bytes, None if other is None else other.motion)
        self._distance_queries = self._make_distance_queries()

    @classmethod
    def refuses(cls, one: Side, other: Side | None, options: Mapping[str, Any]) -> str:
        from ...motion.deforming import Recorded, Skinned

        if options.get("update") == BLEND and not (other is not None and isinstance(other.motion, (Recorded, Skinned))):
            return "needs an obstacle that is skinned, has morph targets or recorded frames"
        return ""

    def update(self, state: State) -> Self:
        """Refit the BVHs to the positions."""
        if self._seams.update(state.x):
            self._reweld()
        self.near.a.move(state.x[self.one.side.rows])
        if not self.same:
            self.near.b.move(state.x[self.other.side.rows])
        self.near.moved(state.bones.get(self.body.body))
        for part, query in zip(self._sides, self._distance_queries, strict=True):
            if query is not None:
                query.update(state.x[part.side.rows])
        return self

    def _reweld(self) -> None:
        """Rebuild all data that depend on the welding."""
        sides = self._seams.sides
        self.one = WeldedSide.of(sides[0])
        self.other = self.one if self.same else WeldedSide.of(sides[1])
        self.near.a.set_weld(self.one.weld)
        if not self.same:
            self.near.b.set_weld(self.other.weld + sides[0].mesh.n_vertices)
        self._distance_queries = self._make_distance_queries()

    def _make_distance_queries(self) -> "list[DeformingClosestPoints | None]":
        """Queries for the signed distances from each side of two; None for a side that encloses no solid: open, or
        with faces oriented inward."""
        if self.same or not any(part.solid for part in self._sides):
            return [None, None]
        from ..queries.penetration import DeformingClosestPoints

        return [DeformingClosestPoints(part.side.mesh) if part.solid else None for part in self._sides]

    def find(self, state: State) -> Contacts:
        near = self.near
        a, b = (
            PosedSide(part, x, query)
            for part, x, query in zip(self._sides, (near.a.x, near.b.x), self._distance_queries, strict=True)
        )
        return contacts_of(a, a if self.same else b, *near.within(self.within), self._pool)

    @property
    def broad_phase(self) -> "TreePairs | None":
        """The BVHs and what their last traversal counted; None for AABB trees with one triangle per leaf, refitted at
        every update, which the narrow phase traverses itself."""
        return self.near.broad_phase

    def structure(self, state: State, level: int | None = None) -> "Structure":
        from .structures.volumes import structure_of_bvh

        return structure_of_bvh(self.near, level)

    @property
    def inside_query(self) -> InsideQuery:
        return self

    def inside(self, points: Any, which: Any = None) -> Inside:
        """Return the `points` (n,3) inside the second mesh at its last update; none if it encloses no solid."""
        from ..queries.penetration import NOTHING

        query = self._distance_queries[-1]
        return NOTHING if query is None else query.inside(points)

    @property
    def _sides(self) -> tuple[WeldedSide, WeldedSide]:
        return self.one, self.other

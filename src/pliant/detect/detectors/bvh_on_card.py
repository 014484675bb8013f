"""The detector `bvh` on a graphics card: the same records in the same order, for positions that live there."""

import functools
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from ... import arrays
from ...contacts import CONTACT
from ...kernels import device as _device
from ..contacts_on_card import ContactsOnCard
from ..queries.contact_records import (
    PosedSide,
    WeldedSide,
    owners,
    recompute_degenerate_edges,
    recompute_degenerate_faces,
    with_rounding_margin_at,
)
from ..queries.proximity import NearPairs
from ..queries.proximity_on_card import LeafMeshOnCard, NearPairsOnCard
from ..queries.welded_on_card import Copies
from ..queries.workspace_on_card import Workspace
from .solid_on_card import SolidOnCard, flip_edges
from .some_on_card import sides_with_edges

if TYPE_CHECKING:
    from .bvh import BvhDetector

READERS = 4096  # threads that reduce an array


class BvhOnCard:
    """`BvhDetector` on the card. A closed mesh beside another one has to be at rest and free of self-intersections."""

    def __init__(self, detector: "BvhDetector") -> None:
        arrays.chosen("cuda")
        if type(detector.near) is not NearPairs:
            raise ValueError(
                "the options volume, leaf, update and worse of 'bvh' do not run on a graphics card; leave them out"
            )
        self.within, self.same = detector.within, detector.same
        sides = [detector.one] if detector.same else [detector.one, detector.other]
        self._near = NearPairsOnCard.of(detector.near)
        self._sides = [_SideOnCard(side) for side in sides]
        self._solids = tuple(SolidOnCard(side) if side.solid and not self.same else None for side in sides)
        if self.same:
            self._sides, self._solids = self._sides * 2, (None, None)

    def update(self, x_a: Any, x_b: Any = None) -> Self:
        """Set the positions (n,3) of both meshes, arrays on the card that must not change until contacts are found."""
        moved = [(self._sides[0], self._solids[0], self._near.a, x_a)]
        if not self.same:
            moved.append((self._sides[1], self._solids[1], self._near.b, x_b))
        for side, solid, leaves, x in moved:
            side.copies.check(x)
            if solid is not None:
                solid.check(x)
            leaves.move(x)
        return self

    def find(self) -> ContactsOnCard:
        """Return the contacts at the last positions."""
        found, near = self._near.within(self.within), self._near
        one, two = self._sides
        facing = [(one, two, near.a, near.b, found.vertex_face), (two, one, near.b, near.a, found.face_vertex)]
        signed = [_signed(solid, a.x, pairs) for solid, (_, _, a, _, pairs) in zip(self._solids[::-1], facing)]
        order = (1, 0) if one.body > two.body else (0, 1)
        records = _device.empty(sum(len(pairs) for pairs, _ in signed) + len(found.edges), CONTACT)
        done = 0
        for k in order:
            side_a, side_b, a, b, _ = facing[k]
            pairs, sign = signed[k]
            there = _device.part(records, done, done + len(pairs))
            _fill(near.workspace, side_a, side_b, a, b, pairs, there, sign)
            done += len(pairs)
        edges = _device.part(records, done, len(records))
        _fill(near.workspace, one, two, near.a, near.b, found.edges, edges)
        if self._solids != (None, None):
            margin = with_rounding_margin_at(0.0, largest_coordinate(near.a.x, near.b.x))
            flip_edges(edges, (near.a.x, one.edges), (near.b.x, two.edges), self._solids, margin)
        return ContactsOnCard(records)


def _signed(solid: SolidOnCard | None, x: Any, pairs: Any) -> tuple[Any, Any]:
    """The pairs of vertices x and faces with those inside, and their signs, none if the other side is open."""
    return (pairs, _device.empty(0)) if solid is None else solid.with_deep(x, pairs)


def largest_coordinate(*positions: Any) -> float:
    """The largest absolute coordinate."""
    from ...kernels.gpu import rows as _rows

    most = _device.zeros(1)
    for x in positions:
        readers = min(len(x), READERS)
        _device.launch(_rows.largest_coordinate, readers, x, readers, most)
    return float(most.copy_to_host()[0])


class _SideOnCard:
    """The arrays of a side that stay the same."""

    def __init__(self, welded: WeldedSide) -> None:
        mesh = welded.side.mesh
        self.welded, self.body = welded, welded.side.body
        self.faces, self.edges = _device.upload(mesh.faces), _device.upload(mesh.topology.edges)
        self.copies = Copies(mesh)

    @functools.cached_property
    def around(self) -> Any:
        """The faces around edges; copied when edges first touch."""
        from ...kernels.gpu.records import Around

        return Around(self.faces, *_device.upload(self.welded.side.mesh.topology.edge_faces))


def _fill(
    work: Workspace, a: _SideOnCard, b: _SideOnCard, at: LeafMeshOnCard, to: LeafMeshOnCard, pairs: Any, records: Any,
    sign: Any = None,
) -> None:  # fmt: skip
    """Write the records of pairs: of vertices with their `sign` and faces, or of edges (None). The host completes those
    whose direction neither their gap nor the normals around them tell."""
    from ...kernels.gpu import records as _records

    n, words = len(pairs), _device.words(records)
    if not n:
        return
    there = _device.upload(owners(PosedSide(a.welded, at.x), PosedSide(b.welded, to.x)))
    unsure: Any = _records.Unsure(work.take("unsure", n, np.int64), work.zeros("count", 1, np.int64))
    if sign is not None:
        _device.launch(_records.fill_faces, n, at.rows, to.rows, b.faces, pairs, sign, there, words, unsure)
    else:
        _device.launch(_records.fill_edges, n, at.rows, a.edges, to.rows, b.edges, pairs, there, words, unsure)
    count = int(unsure.count.copy_to_host()[0])
    if count and sign is None:
        left: Any = _records.Unsure(work.take("left", count, np.int64), work.zeros("count left", 1, np.int64))
        sides = _records.Edges(at.rows, a.edges, to.rows, b.edges)
        _device.launch(_records.touching_edges, count, sides, b.around, pairs, unsure, records, left)
        unsure, count = left, int(left.count.copy_to_host()[0])
    if count:
        _complete(a, b, at.x, to.x, pairs, unsure.rows[:count], records, sign)


def _complete(a: _SideOnCard, b: _SideOnCard, x_a: Any, x_b: Any, pairs: Any, rows: Any, out: Any, sign: Any) -> None:
    """Overwrite the listed records with those of the host."""
    from ...kernels.gpu import rows as _rows

    m = len(rows)
    chosen, records = _device.empty((m, 2), np.int32), _device.empty(m, CONTACT)
    _device.launch(_rows.take, m, rows, pairs, chosen)
    _device.launch(_rows.take, m, rows, _device.words(out), _device.words(records))
    on_host, which = records.copy_to_host(), chosen.copy_to_host()
    all_of_them = np.ones(m, np.bool_)
    if sign is None:
        one, two = sides_with_edges(a.welded, b.welded, x_a, x_b, which)
        recompute_degenerate_edges(one, two, which, all_of_them, on_host)
    else:
        one = PosedSide(a.welded, x_a.copy_to_host())
        two = one if x_b is x_a else PosedSide(b.welded, x_b.copy_to_host())
        recompute_degenerate_faces(one, two, which, sign.copy_to_host(), all_of_them, on_host)
    _device.launch(_rows.put, m, rows, _device.words(_device.upload(on_host)), _device.words(out))

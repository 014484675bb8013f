"""Spatial hashing of tetrahedral bodies: all vertices inside tets, between two bodies or within one."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Self

import numpy as np
from numpy.typing import NDArray

from ... import contacts as _contacts
from ... import renamed, validate
from ...arguments import OneOf, check_arguments
from ...contacts import Contacts
from ...state import State
from ..base import STATE_WIDTH, BaseDetector, Finds, MaxBytes, Reports, Side
from ..queries.consistent_depth import ConsistentDepth
from ..queries.tet_hash import HASHES, TetHash
from ..queries.welding import Seams
from .brute_force import BruteForceDetector

if TYPE_CHECKING:
    from ..structure import Structure

DEPTHS = ("consistent", "nearest")
# the values of options that sides without tets have no use for
_WITHOUT_TETS = {"cell": (None,), "table": (None,), "hash": (None, "rows"), "depth": (None, "consistent")}
_BYTES = 400  # peak memory per vertex inside during detection


@check_arguments
class SpatialHashDetector(BaseDetector):
    """Find every vertex inside a tetrahedron of the other body, or of its own (`other=None`), at any depth.

    A vertex is reported once for each body that contains it, against the face that consistent penetration depth leads
    to, or with `depth="nearest"` the nearest face. Vertices outside are not reported, whatever `within` is. `cell` is
    the size of a hash cell in metres; None derives it from the tets. `hash` and `table`, the hash function ("rows" or
    "xor") and the number of buckets, change the cost alone: see `TetHash`. If a side has no tets, features closer than
    `within` are reported as by brute force. `more` bodies are tested in the same pass, each against itself and all
    others. The directions of consistent depth rotate slowly from update to update; `state` returns what this depends
    on.
    """

    name = "spatial-hash"
    finds = Finds.OBSTACLE | Finds.PAIR | Finds.SELF
    guarantee = "A"
    needs = "tetrahedra (or any triangle meshes)"
    gives = "vertices inside, consistent depth"
    source = "Teschner et al. 2005, section 5"
    obstacle_may_deform = True
    reports = Reports.TETS
    volume = many = remembers = True
    variants = ({"hash": "xor"},)

    def __init__(
        self,
        one: Side,
        other: Side | None = None,
        *,
        within: float,
        cell: float | None = None,
        table: int | None = None,
        hash: Annotated[str, OneOf(HASHES)] = "rows",
        more: Sequence[Side] = (),
        depth: Annotated[str, OneOf(DEPTHS)] = "consistent",
        max_bytes: MaxBytes = None,
    ) -> None:
        self.depth = depth
        self.sides = (one, *more) if other is None else (one, other)
        self._mutual = other is not None
        self._flat: BruteForceDetector | None = None
        if more and (other is not None or not all(len(side.mesh.tets) for side in self.sides)):
            raise ValueError("more requires other=None and tets in every body; leave out other, or add tets")
        self._options: dict[str, Any] = {"cell": cell, "table": table, "hash": hash}
        if not all(len(side.mesh.tets) for side in self.sides):
            self._check_without_tets()
            self._flat = BruteForceDetector(one, other, within=within, max_bytes=max_bytes)
            self.reports = Reports.FEATURES
            return
        validate.number("within", within, low=0.0, high=validate.LARGEST)
        self._options["max_bytes"] = self.max_bytes = max_bytes
        self._seams = Seams(*self.sides)
        self._reweld()

    @classmethod
    def refuses(cls, one: Side, other: Side | None, options: Mapping[str, Any]) -> str:
        flat = not all(len(side.mesh.tets) for side in (one, other) if side is not None)
        unused = flat and any(options.get(name) not in allowed for name, allowed in _WITHOUT_TETS.items())
        return "needs bodies of tetrahedra" if unused else ""

    def _check_without_tets(self) -> None:
        """Raise a ValueError for options of the hash table, which sides without tets have no use for."""
        given = {**self._options, "depth": self.depth}
        more = [name for name, value in given.items() if value not in _WITHOUT_TETS[name]]
        if more:
            names = ", ".join(side.mesh.name for side in self.sides if not len(side.mesh.tets))
            raise ValueError(
                f"{more[0]} = {given[more[0]]!r} applies to tets, and there are none in: {names}; leave it out"
            )

    def _reweld(self) -> None:
        """Rebuild all data that depend on the welding."""
        self.sides = self._seams.sides
        welded = [side.mesh.welded for side in self.sides]
        first = np.concatenate([[0], np.cumsum([mesh.n_vertices for mesh in welded])]).astype(np.int32)
        # the first of each group of welded vertices represents it
        rows = [side.first + np.unique(side.mesh.weld_index, return_index=True)[1] for side in self.sides]
        self._rows: NDArray[np.int64] = np.concatenate(rows)
        x = np.concatenate([mesh.vertices for mesh in welded])
        tets = np.concatenate([mesh.tets + k for mesh, k in zip(welded, first[:-1])])
        self._hash = TetHash(x, tets, **self._options)
        self._split, self._counts = (int(first[1]), len(welded[0].tets)), np.diff(first)
        self._consistent_depth = ConsistentDepth(self.sides)

    def update(self, state: State) -> Self:
        """Hash the vertices at their current positions."""
        if self._flat is None:
            if self._seams.update(state.x):
                before = self._consistent_depth.state()
                self._reweld()
                self._consistent_depth.restore(before)
            self._hash.update(state.x[self._rows])
            self._consistent_depth.accept_as_reference()
        return self

    @property
    def bounds(self) -> tuple[float, float]:
        """No bound of the depth is stated; the set of vertices inside is exact."""
        return super().bounds if self._flat is not None else (float("nan"), float("nan"))

    def state(self) -> NDArray[np.float64]:
        return super().state() if self._flat is not None else self._consistent_depth.state()

    def restore(self, state: NDArray[np.float64]) -> None:
        if self._flat is None:
            self._consistent_depth.restore(state)

    def reset(self) -> None:
        self.restore(np.zeros((0, STATE_WIDTH)))

    memory = renamed.state("memory")

    def find(self, state: State) -> Contacts:
        if self._flat is not None:
            return self._flat.find(state)
        found = self._consistent_depth.contacts(state.x, self.inside(), nearest=self.depth == "nearest")
        return _contacts.sort(found)

    def structure(self, state: State, level: int | None = None) -> "Structure":
        if self._flat is not None:
            return self._flat.structure(state, level)
        from .structures.cells import structure_of_hash

        return structure_of_hash(self._hash, self._counts)

    def inside(self) -> NDArray[np.int64]:
        """(k,2) row of each vertex in `state.x` and index of the tet that contains it, at the positions of the last
        update; tets of the second side are numbered after those of the first."""
        if self._flat is not None:
            raise ValueError("a side without tets contains no vertices; use find()")
        pairs = self._hash.pairs()
        if self.max_bytes is not None:
            advice = "raise max_bytes"
            validate.budget(f"{len(pairs)} vertices inside", _BYTES * len(pairs), advice, self.max_bytes)
        if self._mutual:
            vertices, tets = self._split
            pairs = pairs[(pairs[:, 0] < vertices) != (pairs[:, 1] < tets)]
        pairs[:, 0] = self._rows[pairs[:, 0]]
        return pairs

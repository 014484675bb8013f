"""The protocol of all detectors: construct once, `update` with positions, `find` contacts."""

import enum
from typing import Any, ClassVar, NamedTuple, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from ..contacts import Contacts
from ..mesh import Mesh
from ..motion.deforming import Deforming
from ..state import State


class Finds(enum.Flag):
    """The kinds of contact that a detector finds."""

    OBSTACLE = enum.auto()  # deformable against a static or kinematic obstacle
    PAIR = enum.auto()  # deformable against deformable
    SELF = enum.auto()  # self-contact


class Side(NamedTuple):
    """One of the two objects of a query: its mesh, the row of its first vertex in `state.x`, and its body index.

    motion: the skinning or the frames that move a kinematic mesh; state.bones[body] holds the current pose.
    """

    mesh: Mesh
    first: int = 0
    body: int = 0
    motion: Deforming | None = None

    @property
    def rows(self) -> slice:
        return slice(self.first, self.first + self.mesh.n_vertices)


@runtime_checkable
class Detector(Protocol):
    """`update` takes new positions and is the only method that changes internal state; `find` returns the contacts.

    guarantee: A never misses, B bounded error, C measured recall. follows: the second side may move.
    """

    name: ClassVar[str]
    finds: ClassVar[Finds]
    guarantee: ClassVar[str]
    needs: ClassVar[str]
    gives: ClassVar[str]
    source: ClassVar[str]
    follows: ClassVar[bool]

    def update(self, state: State) -> Self: ...

    def find(self, state: State) -> Contacts: ...


@runtime_checkable
class Remembering(Protocol):
    """A detector whose results depend on earlier ones; checkpoints store its memory."""

    memory: NDArray[np.float64]  # (k,10); k = 0 if nothing is stored


@runtime_checkable
class Forgetting(Protocol):
    """A detector with temporal coherence; `forget` resets it at the start of another run."""

    def forget(self) -> None: ...


class Inside(NamedTuple):
    """The points of a query that are inside a solid."""

    rows: NDArray[np.int64]  # (k,) indices of the points inside, ascending
    depth: NDArray[np.float64]  # (k,) penetration depth in metres, positive
    nearest: NDArray[np.float64]  # (k,3) nearest points of the boundary
    faces: NDArray[np.int64]  # (k,) the faces they lie on
    normal: NDArray[np.float64]  # (k,3) unit separation direction


@runtime_checkable
class InsideQuery(Protocol):
    """A detector that also finds, exactly, the points inside its obstacle at the positions of the last update."""

    within: float
    deformable: Side
    body: Side

    def inside(self, points: Any, which: NDArray[np.int64] | None = None) -> Inside:
        """The points (n,3) inside; `which` (n,): their vertex indices on the deformable side, to warm-start queries."""
        ...

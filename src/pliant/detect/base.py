"""What every detector is: built once, told where things are, asked for contacts."""

import enum
from typing import Any, ClassVar, NamedTuple, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from ..contacts import Contacts
from ..deforming import Deforming
from ..mesh import Mesh
from ..state import State


class Finds(enum.Flag):
    """What a detector can find."""

    OBSTACLE = enum.auto()  # something soft against something that is not moved by it
    PAIR = enum.auto()  # two soft things
    SELF = enum.auto()  # a thing against itself


class Side(NamedTuple):
    """One side of a question: a mesh, where its vertices begin in the one array of positions, its body's number.

    motion: how its vertices move, where bones or frames move them; state.bones[body] is where they are by now.
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
    """`update` follows the positions (the only place where memory changes); `find` answers for them.

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
    """A detector whose answers depend on those before: its memory is in checkpoints."""

    memory: NDArray[np.float64]  # (k,10); none where nothing is remembered


@runtime_checkable
class Forgetting(Protocol):
    """A detector that goes on from where it was; what begins another run tells it to forget."""

    def forget(self) -> None: ...


class Inside(NamedTuple):
    rows: NDArray[np.int64]  # (k,) which of the points are inside, ascending
    depth: NDArray[np.float64]  # (k,) metres, positive
    nearest: NDArray[np.float64]  # (k,3) the nearest points of the surface
    faces: NDArray[np.int64]  # (k,) and the faces they lie on
    normal: NDArray[np.float64]  # (k,3) unit, the shortest way out


@runtime_checkable
class Sounding(Protocol):
    """A detector that also tells, exactly, which points are inside its obstacle where that was at the last update."""

    within: float
    soft: Side
    body: Side

    def inside(self, points: Any, which: NDArray[np.int64] | None = None) -> Inside:
        """Of points (n,3); `which` (n,) vertices of the soft side they are, if any, is where a search may begin."""
        ...

"""The protocol of all detectors: construct once, `update` with positions, `find` contacts.

`Detector` is the minimum that a simulation needs. `BaseDetector` adds, with defaults, everything that the rest of the
library asks a detector: its error bound, what it can see, what it needs, and its state between queries.
"""

import enum
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, NamedTuple, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from .. import renamed
from ..arguments import Range
from ..contacts import Contacts
from ..mesh import Mesh
from ..state import State

if TYPE_CHECKING:
    from ..mesh.height_image import HeightImage
    from ..motion.deforming import Deforming
    from .structure import Structure

Floats = NDArray[np.float64]
STATE_WIDTH = 10  # columns of `BaseDetector.state`
MaxBytes = Annotated[float, Range(above=0.0)] | None  # annotation of the option for the memory of contacts
_NAN = float("nan")


class Finds(enum.Flag):
    """The kinds of contact that a detector finds."""

    OBSTACLE = enum.auto()  # deformable against a static or kinematic obstacle
    PAIR = enum.auto()  # deformable against deformable
    SELF = enum.auto()  # self-contact


class Reports(enum.StrEnum):
    """What the records of a detector stand for, and hence the exact set with which `compare` compares them."""

    FEATURES = "features"  # pairs of vertex and face or of two edges within the distance, and vertices inside
    POINTS = "points"  # vertices and edge midpoints within the distance, or inside
    VERTICES = "vertices"  # vertices alone within the distance, or inside
    INSIDE = "inside"  # vertices inside a closed mesh
    TETS = "tets"  # vertices inside tetrahedra


class Side(NamedTuple):
    """One of the two objects of a query: its mesh, the row of its first vertex in `state.x`, and its body index.

    motion: the skinning or the frames that move a kinematic mesh; state.bones[body] holds the current pose.
    """

    mesh: Mesh
    first: int = 0
    body: int = 0
    motion: "Deforming | None" = None
    heights: "HeightImage | None" = None  # of an obstacle that is a height image

    @property
    def rows(self) -> slice:
        return slice(self.first, self.first + self.mesh.n_vertices)


class Inside(NamedTuple):
    """The points of a query that are inside a solid."""

    rows: NDArray[np.int64]  # (k,) indices of the points inside, ascending
    depth: NDArray[np.float64]  # (k,) penetration depth in metres, positive
    nearest: NDArray[np.float64]  # (k,3) nearest points of the boundary
    faces: NDArray[np.int64]  # (k,) the faces on which the nearest points lie
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


@runtime_checkable
class Detector(Protocol):
    """`update` is the only method that takes new positions. `find` returns the contacts there; it is passed the
    state of the last `update`.

    guarantee: A never misses, B bounded error, C measured recall.
    A detector also states `obstacle_may_deform`; detectors of earlier versions have `follows` instead.
    """

    name: str
    finds: Finds
    guarantee: str
    needs: str
    gives: str
    source: str

    def update(self, state: State) -> Self: ...

    def find(self, state: State) -> Contacts: ...


class BaseDetector:
    """Base class of detectors. A subclass sets the first seven attributes, `__init__`, `update` and `find`, and
    overrides those of the other members that differ for it. The defaults are those of a method that reports pairs of
    features and keeps nothing between queries.

    The constructor takes one `Side`, or two (the second is the obstacle in contacts with obstacles), and the keyword
    `within`, metres. Further keyword-only parameters are options of the method.
    """

    name: str = ""  # as users type it, lower case with hyphens
    finds: Finds = Finds.OBSTACLE
    guarantee: str = "C"  # A never misses, B bounded error, C measured recall
    # the class with options that change it: (option, value as text or "" for any, class)
    other_guarantees: ClassVar[tuple[tuple[str, str, str], ...]] = ()
    skinned_guarantee: str = ""  # the class against a skinned obstacle, where it differs
    needs: str = "any triangle meshes"
    gives: str = "distance, normal"
    source: str = ""
    obstacle_may_deform: bool = True  # the second side may deform, vertex by vertex

    # what it reports and sees
    reports: Reports = Reports.FEATURES
    signed_if_open: bool = False  # distances behind an open mesh are negative
    finds_deep: bool = True  # reports vertices deeper than `within` inside a closed side
    swept: bool = False  # also reports pairs that touch between start and end positions (CCD)
    views: tuple[tuple[int, float], ...] = ()  # axis and sign of its directions of projection; it sees along these only

    # what it takes
    volume: bool = False  # meshes with tets, not their surfaces
    many: bool = False  # any number of bodies in one query, by the option `more`
    needs_closed: bool = False  # an obstacle that is a closed mesh
    # options besides the keyword-only parameters of __init__, by their annotations if it is a mapping
    more_options: ClassVar[frozenset[str] | Mapping[str, Any]] = frozenset()
    variants: ClassVar[tuple[Mapping[str, Any], ...]] = ()  # options that get a row of their own in `compare`

    # results depend on earlier ones through its `state`, which checkpoints store. False for "active-pairs", although
    # its results depend on earlier ones: a resumed run samples its pairs anew
    remembers: bool = False
    field: Any = None  # the distance field of the obstacle that it samples
    cell_size: float = 0.0  # metres: largest cells of the fields of an obstacle's parts

    follows = renamed.ClassAttribute("follows", "obstacle_may_deform")

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        renamed.adopt(cls, "follows", "obstacle_may_deform")

    if TYPE_CHECKING:

        def __init__(self, *sides: Any, within: float, **options: Any) -> None: ...

    @classmethod
    def against(cls, motion: "Deforming | None") -> "type[BaseDetector]":
        """Return the class to construct for an obstacle with this motion."""
        return cls

    @classmethod
    def for_moving_vertices(cls) -> "type[BaseDetector]":
        """Return the class to construct for an obstacle whose vertices the caller may move, without a motion."""
        return cls

    @classmethod
    def refuses(cls, one: "Side", other: "Side | None", options: Mapping[str, Any]) -> str:
        """Return why options, each of them valid, do not apply to these sides, in a few words; empty if they do. It
        saves menus from offering them: the constructor raises an error all the same."""
        return ""

    def ignore(self, which: NDArray[np.bool_] | None) -> None:
        """Leave out contacts of vertices with obstacles, which (vertices, bodies), in later updates; None: of no
        vertex. It saves time: the caller ignores these contacts, whether they are found or not."""

    def update(self, state: State) -> Self:
        """Set the positions of the vertices; the only method that takes new ones."""
        return self

    def find(self, state: State) -> Contacts:
        """Return the contact records at the positions of the last update; `state` is the one passed to it."""
        raise NotImplementedError(f"{type(self).__name__} does not implement find")

    @property
    def bounds(self) -> tuple[float, float]:
        """Largest errors of the distances of vertices and of edges at the last update, metres; nan: none is stated."""
        return (0.0, 0.0) if self.guarantee == "A" else (_NAN, _NAN)

    def bound_at(self, distance: Floats) -> Floats:
        """Bound (n,) of the error at points whose exact distances are `distance` (n,), metres; nan: none is stated."""
        return np.full(len(distance), max(self.bounds))

    @property
    def remark(self) -> str:
        """A sentence about its cost or its answers for the tables of `compare`; empty if there is nothing to say."""
        return ""

    def covers(self, distance: Floats) -> NDArray[np.bool_]:
        """Mask (n,) of the points within the stated range, given their exact distances (n,) from the obstacle."""
        return np.ones(len(distance), np.bool_)

    @property
    def estimated_recall(self) -> float:
        """The method's own estimate of its recall at the last update; nan: it makes none."""
        return _NAN

    @property
    def inside_query(self) -> InsideQuery | None:
        """The exact query for points inside the obstacle, if the method has one."""
        return None

    def box_corners(self) -> Floats | None:
        """Corners (k,2,2,2,3) of its bounding boxes at the last update, for display; None if it has none to show."""
        return None

    def structure(self, state: State, level: int | None = None) -> "Structure | None":
        """Return its data structure at the last update as shapes for display, at a level of those that it has (None:
        one in between); None if it has none to show. `state` is the current one; nothing is changed."""
        corners = self.box_corners()
        if corners is None:
            return None
        from .structure import Structure, corner_edges

        return Structure(f"{len(corners)} bounding boxes of {self.name}", lines=corner_edges(corners))

    def state(self) -> Floats:
        """Return (k,10) the state besides positions on which results depend; no rows if there is none."""
        return np.zeros((0, STATE_WIDTH))

    def restore(self, state: Floats) -> None:
        """Set the state to one returned by `state`."""
        if len(state):
            raise ValueError(f"method {self.name!r} has no state; expected 0 rows, found {len(state)}")

    def reset(self) -> None:
        """Discard everything kept from earlier queries, so that the next update begins a new run."""


class _WithDefaults(BaseDetector):
    """A detector that implements only the minimum, with the defaults for the rest."""

    def __init__(self, detector: Any) -> None:
        self.detector = detector
        self.obstacle_may_deform = renamed.former(detector, "follows", "obstacle_may_deform", True)
        self.remembers = hasattr(detector, "memory")  # how detectors of earlier versions stated it

    def update(self, state: State) -> Self:
        self.detector.update(state)
        return self

    def find(self, state: State) -> Contacts:
        found: Contacts = self.detector.find(state)
        return found

    @property
    def inside_query(self) -> InsideQuery | None:
        return self.detector if isinstance(self.detector, InsideQuery) else None

    def state(self) -> Floats:
        return self.detector.memory if self.remembers else super().state()

    def restore(self, state: Floats) -> None:
        if self.remembers:
            self.detector.memory = state
        else:
            super().restore(state)

    def reset(self) -> None:
        if self.remembers:
            self.detector.memory = np.zeros((0, STATE_WIDTH))
        if hasattr(self.detector, "forget"):
            self.detector.forget()


def with_defaults(detector: Any) -> BaseDetector:
    """Return a detector with all members of `BaseDetector`: itself, or a view of one that implements the minimum."""
    return detector if isinstance(detector, BaseDetector) else _WithDefaults(detector)


def class_with_defaults(detector: type) -> type[BaseDetector]:
    """Return a detector class with all members of `BaseDetector`: itself, or a subclass that adds the defaults."""
    if issubclass(detector, BaseDetector):
        return detector
    return type(detector.__name__, (detector, BaseDetector), {"__module__": detector.__module__})


__getattr__ = renamed.module(
    __name__, {"complete": f"{__name__}:with_defaults", "completed_class": f"{__name__}:class_with_defaults"}
)

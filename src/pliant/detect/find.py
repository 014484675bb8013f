"""Detection outside of a simulation: `find_contacts` for one query, `detector` for repeated queries."""

from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np
from numpy.typing import NDArray

from .. import arrays, renamed, validate
from ..arguments import check_arguments
from ..contacts import Contacts
from ..mesh import Mesh
from ..state import State
from .base import BaseDetector, Finds, Side
from .choose import AUTO, choose_method
from .methods import METHODS
from .options import MethodChoice, check_options, merged, parse_method

if TYPE_CHECKING:
    from .find_on_card import MeshDetectorOnCard


class MeshDetector:
    """A detector for two meshes (or one) that the caller moves. Vertices of `b` are numbered after those of `a`.

    chosen: the method and the reason for its choice.
    detector: the detector of that method, with what only it states, such as `bounds`.
    """

    def __init__(self, method: str, a: Mesh, b: Mesh | None, within: float, options: dict[str, Any]) -> None:
        within = validate.number("within", within, low=0.0)
        self.chosen: MethodChoice = parse_method(method) if method.lower() != AUTO else choose_method(a, b, within)
        method = self.chosen.name
        options = check_options(method, merged(method, self.chosen.options, options))
        detector_class = METHODS[method].for_moving_vertices()
        wanted = Finds.SELF if b is None else Finds.OBSTACLE
        if not detector_class.finds & wanted:
            able = [name for name, other in METHODS.items() if other.finds & wanted]
            what = "self-contact" if b is None else "contact of two meshes"
            raise ValueError(f"method {method!r} does not find {what}; one of: {', '.join(able)}")
        self.a, self.b, self.within = a, b, within
        sides = [Side(a, 0, 0)] if b is None else [Side(a, 0, 0), Side(b, a.n_vertices, 1)]
        self._detector: BaseDetector = detector_class(*sides, within=within, **options)
        self.update()

    def __repr__(self) -> str:
        meshes = f"{self.a.name!r}" if self.b is None else f"{self.a.name!r} and {self.b.name!r}"
        return f"<MeshDetector {self.chosen.text} of {meshes}, within {self.within:g} m>"

    def update(self, x_a: Any = None, x_b: Any = None, *, start_a: Any = None, start_b: Any = None) -> "MeshDetector":
        """Set the positions (n,3) of the vertices of `a` and `b`; None uses those of the mesh.

        `start_a` and `start_b` (n,3) are the positions at the start of the motion, for continuous collision
        detection, only of method "continuous". Default: the new positions, that is, no motion, so that nothing is hit
        on the way.
        """
        if (start_a is not None or start_b is not None) and not self._detector.swept:
            name = "start_a" if start_a is not None else "start_b"
            raise ValueError(
                f"{name} was given, but method {self.chosen.name!r} does not follow motions; use 'continuous'"
            )
        parts = [_positions("x_a", x_a, self.a)]
        if self.b is not None:
            parts.append(_positions("x_b", x_b, self.b))
        elif x_b is not None or start_b is not None:
            name = "x_b" if x_b is not None else "start_b"
            raise ValueError(
                f"{name} was given, but this detector finds self-contact of one mesh; pass x_a and start_a"
            )
        if (
            self.b is not None
            and not self._detector.obstacle_may_deform
            and not np.array_equal(parts[1], self.b.vertices)
        ):
            able = [name for name, other in METHODS.items() if other.obstacle_may_deform]
            raise ValueError(
                f"x_b moves the second mesh, which method {self._detector.name!r} requires to be static; "
                f"create a new detector, or use one of: {', '.join(able)}"
            )
        x = np.concatenate(parts)
        self._state = State(x, np.zeros_like(x), x.copy())
        for name, start, mesh, first in (("start_a", start_a, self.a, 0), ("start_b", start_b, self.b, len(parts[0]))):
            if start is not None and mesh is not None:
                rows = slice(first, first + mesh.n_vertices)
                self._state.x_start[rows] = validate.floats(name, start, mesh.vertices.shape)
        self._detector.update(self._state)
        return self

    @property
    def detector(self) -> BaseDetector:
        """The detector of the method that was chosen: its `bounds`, `bound_at(distance)` and `estimated_recall` at the
        last update, and the attributes that the page of the method names. Only `update` of the `MeshDetector` sets
        new positions."""
        return self._detector

    @overload
    def to(self, device: Literal["cuda"]) -> "MeshDetectorOnCard": ...

    @overload
    def to(self, device: Literal["cpu"]) -> "MeshDetector": ...

    @overload
    def to(self, device: str) -> "MeshDetector | MeshDetectorOnCard": ...

    def to(self, device: str) -> "MeshDetector | MeshDetectorOnCard":
        """Return this detector on a graphics card ("cuda") for positions that live there, of method "bvh" or
        "distance-field" (docs/gpu.md); with "cpu", and with "auto" where there is no card, this one."""
        if arrays.chosen(device) == "cpu":
            return self
        from .find_on_card import MeshDetectorOnCard

        return MeshDetectorOnCard(self)

    def state(self) -> NDArray[np.float64]:
        """Return (k,10) the state besides positions on which results depend; no rows for most methods."""
        return self._detector.state()

    def restore(self, state: Any) -> None:
        """Set the state to one returned by `state` of a detector made in the same way."""
        self._detector.restore(state)

    def reset(self) -> None:
        """Discard everything kept from earlier queries."""
        self._detector.reset()

    memory = renamed.state("memory")

    def find(self) -> Contacts:
        """Return the contact records at the positions of the last update."""
        return self._detector.find(self._state)

    def collision_free_step(self) -> float:
        """Return the largest fraction, 0..1, of the motion of the last update that is proved free of contact between
        the two meshes, or of the one with itself; only of method "continuous"."""
        if not self._detector.swept:
            raise ValueError(f"method {self.chosen.name!r} does not follow motions; use 'continuous'")
        return float(self._detector.collision_free_step())  # type: ignore[attr-defined]


def _positions(name: str, x: Any, mesh: Mesh) -> Any:
    return mesh.vertices if x is None else validate.floats(name, x, mesh.vertices.shape)


@check_arguments
def detector(method: str, a: Mesh, b: Mesh | None = None, *, within: float = 0.002, **options: Any) -> MeshDetector:
    """Create a detector for repeated queries; `b=None` means self-contact.

    `choose_method` resolves "auto"; for meshes its choice is exact (class A). Options of the method are keywords, or
    part of its name: `pliant.detector("bvh:volume=sphere", cloth)`.

    >>> hits = pliant.detector("brute-force", cloth, body, within=0.005).update(x_cloth, x_body).find()
    """
    return MeshDetector(method, a, b, within, options)


@check_arguments
def find_contacts(a: Mesh, b: Mesh | None = None, *, method: str = "auto", within: float = 0.002) -> Contacts:
    """Return the contacts of mesh `a` with mesh `b` (None: with itself) at a distance of at most `within` metres.

    The exact methods bvh (which "auto" selects), brute-force and continuous report pairs of a vertex and a face, or of
    two edges, and vertices of either mesh inside the other at any depth if the other is closed and oriented outward.
    A record is a pair of features, and a vertex inside has several: the one of the smallest distance in magnitude is
    its depth (`contacts.nearest`). Edges that pass through a face without a vertex inside, such as those of crossed
    bars, are reported only where two edges are nearer than `within`; `intersections` finds every crossing.
    Within one mesh, features that share a vertex are not in contact, distances are positive even if it is closed, and
    vertices inside it are not added. Other methods may report something else, for example vertices and edge midpoints
    of `a` (bone-boxes, distance-field) or only vertices inside (spatial-hash with tets): see `detect.base.Reports` and
    `pliant methods`.

    `contacts["vertices"]` numbers the vertices of `a`, then those of `b`; `elements` index each mesh's own vertices,
    faces or `topology.edges`. There is no motion here, so "continuous"
    returns the contacts of "bvh"; for contacts during a motion use `detector`, and pass `start_a` and `start_b` to its
    `update`. `detector` also takes the options of a method.
    """
    return detector(method, a, b, within=within).find()

"""Contacts for people with a loop of their own: `find_contacts` once, `detector` many times."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import validate
from ..contacts import Contacts
from ..door import door
from ..mesh import Mesh
from ..state import State
from .base import Finds, Remembering, Side
from .choose import AUTO, Chosen, choose_method
from .methods import METHODS, check_options, method_name


class LooseDetector:
    """A detector on two meshes (or one) whose vertices you move. Vertices of `b` are numbered after those of `a`.

    chosen: the method, and why it is this one.
    """

    def __init__(self, method: str, a: Mesh, b: Mesh | None, within: float, options: dict[str, Any]) -> None:
        within = validate.number("within", within, low=0.0)
        self.chosen = Chosen(method_name(method), "asked for") if method != AUTO else choose_method(a, b, within)
        method = self.chosen.name
        kind = METHODS[method]
        wanted = Finds.SELF if b is None else Finds.OBSTACLE
        if not kind.finds & wanted:
            able = [name for name, other in METHODS.items() if other.finds & wanted]
            what = "self-contact" if b is None else "contact of two meshes"
            raise ValueError(f"method {method!r} does not find {what}; one of: {', '.join(able)}")
        self.a, self.b = a, b
        sides = [Side(a, 0, 0)] if b is None else [Side(a, 0, 0), Side(b, a.n_vertices, 1)]
        self._detector = kind(*sides, within=within, **check_options(method, options))
        self.update()

    def update(self, x_a: Any = None, x_b: Any = None, *, start_a: Any = None, start_b: Any = None) -> "LooseDetector":
        """New positions (n,3) of the vertices of `a` and of `b`; None leaves a side where it started.

        `start_a` and `start_b` are where they came from, for methods that look at the way ("continuous"); None: from
        where they are.
        """
        parts = [_positions("x_a", x_a, self.a)]
        if self.b is not None:
            parts.append(_positions("x_b", x_b, self.b))
        elif x_b is not None:
            raise ValueError("x_b was given, but this detector looks for self-contact of one mesh")
        if self.b is not None and not self._detector.follows and not np.array_equal(parts[1], self.b.vertices):
            able = [name for name, other in METHODS.items() if other.follows]
            raise ValueError(
                f"x_b moves the second mesh, which method {self._detector.name!r} takes as standing still; "
                f"make a new detector, or use one of: {', '.join(able)}"
            )
        self._state = State.at(np.concatenate(parts))
        for name, start, mesh, first in (("start_a", start_a, self.a, 0), ("start_b", start_b, self.b, len(parts[0]))):
            if start is not None and mesh is not None:
                rows = slice(first, first + mesh.n_vertices)
                self._state.x_start[rows] = validate.floats(name, start, mesh.vertices.shape)
        self._detector.update(self._state)
        return self

    @property
    def memory(self) -> NDArray[np.float64]:
        """(k,10) what answers depend on beside positions, none with most methods; setting none of it forgets."""
        return self._detector.memory if isinstance(self._detector, Remembering) else np.zeros((0, 10))

    @memory.setter
    def memory(self, rows: Any) -> None:
        if isinstance(self._detector, Remembering):
            self._detector.memory = rows
        elif len(rows):
            raise ValueError(f"method {self.chosen.name!r} remembers nothing; memory has {len(rows)} rows")

    def find(self) -> Contacts:
        """Contact records at the positions of the last update."""
        return self._detector.find(self._state)


def _positions(name: str, x: Any, mesh: Mesh) -> Any:
    return mesh.vertices if x is None else validate.floats(name, x, mesh.vertices.shape)


@door
def detector(method: str, a: Mesh, b: Mesh | None = None, *, within: float = 0.002, **options: Any) -> LooseDetector:
    """A detector for a loop of your own; `b=None` means self-contact, method "auto" leaves the choice to
    `choose_method`.

    >>> hits = pliant.detector("brute-force", cloth, body, within=0.005).update(x_cloth, x_body).find()
    """
    return LooseDetector(method, a, b, within, options)


@door
def find_contacts(a: Mesh, b: Mesh | None = None, *, method: str = "auto", within: float = 0.002) -> Contacts:
    """All contacts of mesh `a` with mesh `b` (None: with itself) closer than `within` metres, as records.

    `contacts["vertices"]` numbers the vertices of `a`, then those of `b`; `elements` are rows of each mesh's own
    vertices, faces or `topology.edges`. method "auto" is an exact one: `choose_method` says which, and why.
    """
    name = choose_method(a, b, within).name if method == AUTO else method
    return detector(name, a, b, within=within).find()

"""The contact record shared by all detectors and responses.

A contact relates up to four vertices by weights. Its gap vector is `sum(weights * x[vertices]) - anchor`, and the
component of that vector along `normal` is `distance`: positive if separated, negative if penetrating. One response
therefore works with every detector:

| kind            | vertices   | weights             | anchor                          |
|-----------------|------------|---------------------|---------------------------------|
| VERTEX_FACE     | v, a, b, c | 1, -u, -v, -w       | 0                               |
| EDGE_EDGE       | a, b, c, d | 1-s, s, -(1-t), -t  | 0                               |
| VERTEX_FIELD    | v          | 1                   | nearest point of the field      |
| MIDPOINT_FIELD  | a, b       | 1/2, 1/2            | nearest point of the field, or  |
|                 |            |                     | of the surface (bone-boxes)     |
"""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal, cast, overload

import numpy as np
from numpy.typing import NDArray

from . import renamed, validate
from .arguments import wrong
from .errors import optional
from .kernels.kinds import EDGE_EDGE as EDGE_EDGE
from .kernels.kinds import MIDPOINT_FIELD as MIDPOINT_FIELD
from .kernels.kinds import VERTEX_FACE as VERTEX_FACE
from .kernels.kinds import VERTEX_FIELD as VERTEX_FIELD

__all__ = [
    "CONTACT",
    "EDGE_EDGE",
    "KINDS",
    "MIDPOINT_FIELD",
    "VERTEX_FACE",
    "VERTEX_FIELD",
    "Contacts",
    "checked",
    "concatenate",
    "empty",
    "gap",
    "nearest",
    "points",
    "sort",
    "table",
    "to_arrow",
    "to_pandas",
]

KINDS = ("vertex-face", "edge-edge", "vertex-field", "midpoint-field")

CONTACT = np.dtype(
    [
        ("kind", "u1"),  # one of the constants of kernels/kinds.py, imported above
        ("spare", "u1", 7),  # zero; explicit padding, so that equal records have equal bytes
        ("elements", "i4", 2),  # vertex and face, edge and edge, or (midpoints) edge and face; -1 for a field
        ("vertices", "i4", 4),  # unused ones are last and -1
        ("bodies", "i4", 2),
        ("weights", "f8", 4),  # sum to 0 (two sides) or 1 (one side and an anchor)
        ("normal", "f8", 3),  # unit; moving the weighted point along it increases the gap
        ("anchor", "f8", 3),  # metres
        ("anchor_velocity", "f8", 3),  # metres per second
        ("distance", "f8"),  # metres, negative inside
        ("time", "f8"),  # time of impact, 0..1 from start to end positions (CCD); 0 for proximity contacts
    ],
    align=True,
)

_Floats = Literal["weights", "normal", "anchor", "anchor_velocity", "distance", "time"]
_Indices = Literal["elements", "vertices", "bodies"]
_Bytes = Literal["kind", "spare"]
_BYTES = np.dtype((np.void, CONTACT.itemsize))
_KIND, _BODY = 56, 28  # first bits of the kind and of the first body in a key of `sort`

if TYPE_CHECKING:
    import pandas
    import pyarrow

    class Contacts(np.ndarray[tuple[int], np.dtype[np.void]]):
        """Contact records (n,) with the types of their fields: mypy takes 0.3 s for an operation on an unknown one."""

        @overload  # type: ignore[override]
        def __getitem__(self, key: _Floats) -> NDArray[np.float64]: ...
        @overload
        def __getitem__(self, key: _Indices) -> NDArray[np.int32]: ...
        @overload
        def __getitem__(self, key: _Bytes) -> NDArray[np.uint8]: ...
        @overload
        def __getitem__(self, key: slice | NDArray[np.bool_] | NDArray[np.integer[Any]]) -> "Contacts": ...
        @overload
        def __getitem__(self, key: str | int | np.integer[Any]) -> Any: ...
        def __getitem__(self, key: Any) -> Any: ...

else:
    Contacts = NDArray[Any]


def empty(count: int = 0) -> Contacts:
    """Return `count` blank records: indices are -1, everything else is zero."""
    if type(count) is not int or not 0 <= count < 1 << 20:
        count = validate.whole("count", count)
        validate.budget(f"{count} contact records", float(CONTACT.itemsize) * count, "make count smaller")
    contacts = cast("Contacts", np.zeros(count, CONTACT))
    contacts["elements"] = -1
    contacts["vertices"] = -1
    contacts["bodies"] = -1
    return contacts


def uninitialised(count: int) -> Contacts:
    """Return `count` records for a kernel that writes all their fields."""
    return cast("Contacts", np.empty(count, CONTACT))


class _Lease:
    """A buffer on loan from a pool: arrays made of it keep the lease alive, whose destruction returns the buffer."""

    def __init__(self, pool: "Pool", memory: Contacts) -> None:
        # as bytes: the array interface cannot express an aligned record, so kernels would see another type
        self.__array_interface__ = memory.view(np.uint8).__array_interface__
        self._pool, self._memory = pool, memory

    def __del__(self) -> None:
        self._pool.memory = self._memory


SMALL = 1024  # records


class Pool:
    """A buffer for records that is reused once the last array made of it is released.

    Allocating a large array costs as much as filling it, because the system has to clear its pages. A small one costs
    less than a loan.
    """

    def __init__(self) -> None:
        self.memory: Contacts | None = None

    def take(self, count: int) -> Contacts:
        """Return (count,) uninitialised records."""
        if count <= SMALL:
            return uninitialised(count)
        memory, self.memory = self.memory, None
        if memory is None or not count <= len(memory) <= 4 * count + 4096:
            memory = cast("Contacts", np.empty(count + count // 8 + 64, CONTACT))
        return cast("Contacts", np.asarray(_Lease(self, memory)).view(CONTACT)[:count])


_COMPONENTS = {"elements": "01", "vertices": "0123", "bodies": "01", "weights": "0123"}  # the rest are vectors


def table(contacts: Contacts) -> dict[str, NDArray[Any]]:
    """Return one-dimensional columns by name; `to_pandas` and `to_arrow` return them as a table of these libraries.

    `kind` is given by name (KINDS); `elements`, `vertices`, `bodies` and `weights` become vertices_0, vertices_1 and so
    on; `normal`, `anchor` and `anchor_velocity` become normal_x, normal_y, normal_z.
    """
    contacts = checked("contacts", contacts)
    columns: dict[str, NDArray[Any]] = {"kind": np.array(KINDS)[contacts["kind"]]}
    for name in (name for name in CONTACT.names or () if name not in ("kind", "spare")):
        values = contacts[name]
        if values.ndim == 1:
            columns[name] = values.copy()
        else:
            components = _COMPONENTS.get(name, "xyz")
            columns |= {f"{name}_{part}": values[:, k].copy() for k, part in enumerate(components)}
    return columns


def to_pandas(contacts: Contacts) -> "pandas.DataFrame":
    """Return the columns of `table` as a DataFrame, one row per contact. Needs pandas."""
    return optional("pandas", "contacts.to_pandas").DataFrame(table(contacts))


def to_arrow(contacts: Contacts) -> "pyarrow.Table":
    """Return the columns of `table` as an Arrow table, one row per contact. Needs pyarrow."""
    return optional("pyarrow", "contacts.to_arrow").table(table(contacts))


def checked(name: str, contacts: Any) -> Contacts:
    """Return contact records (n,), validated; raise ValueError otherwise."""
    contacts = _records(name, contacts)
    bad = contacts["kind"] >= len(KINDS)
    if bad.any():
        k = int(np.argmax(bad))
        raise ValueError(f"{name}[{k}] has kind {int(contacts['kind'][k])}; expected one of 0..{len(KINDS) - 1}")
    return contacts


def _records(name: str, contacts: Any) -> Contacts:
    if not isinstance(contacts, np.ndarray) or contacts.dtype != CONTACT or contacts.ndim != 1:
        raise wrong(name, contacts, "contact records (n,), as find_contacts returns them")
    return cast("Contacts", contacts)


def gap(contacts: Contacts, x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the gap vectors (n,3) at positions `x`; their component along the normal is the distance."""
    contacts, x = _records("contacts", contacts), validate.numbers("x", x)
    used = contacts["vertices"] >= 0
    most = int(contacts["vertices"].max(initial=0))
    if x.ndim != 2 or x.shape[1] != 3 or (len(contacts) and most >= len(x)):
        raise ValueError(f"x has shape {x.shape}; expected (n, 3) with n > {most}, the largest vertex of the contacts")
    points = x[np.where(used, contacts["vertices"], 0)]
    weights = np.where(used, contacts["weights"], 0.0)
    return np.einsum("ij,ijk->ik", weights, points) - contacts["anchor"]


def points(
    contacts: Contacts, x: NDArray[np.float64], *, by_body: bool = False
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the contact points (n,3) of the first and of the second element of each record at positions `x`, metres;
    their difference is the gap.

    Both orders of two bodies occur: a vertex of the second against a face of the first has `bodies` (1, 0).
    by_body: return the points on the body of the lower index, and those on the other.
    """
    away = gap(contacts, x)
    weights = np.where(contacts["vertices"] >= 0, contacts["weights"], 0.0).clip(min=0.0)
    rows = np.where(contacts["vertices"] >= 0, contacts["vertices"], 0)
    first = np.einsum("ij,ijk->ik", weights, validate.numbers("x", x)[rows]) if len(contacts) else away.copy()
    second = first - away
    if by_body:
        turned = (contacts["bodies"][:, 0] > contacts["bodies"][:, 1])[:, None]
        first, second = np.where(turned, second, first), np.where(turned, first, second)
    return first, second


def nearest(contacts: Contacts) -> Contacts:
    """Return one record for each vertex that has any: the one of the smallest distance in magnitude, in the order of
    bodies and vertices.

    A vertex that is inside a closed mesh is near several of its faces; the distance to the nearest one is its depth. Of
    a vertex that touches during a motion (`time` above 0), it is the record of the first touch. Records of edges and
    midpoints are left out.
    """
    contacts = checked("contacts", contacts)
    return taken(contacts, nearest_rows(contacts))


def nearest_rows(contacts: Contacts) -> NDArray[np.int64]:
    """Return the rows of the records that `nearest` returns."""
    rows = np.flatnonzero((contacts["kind"] == VERTEX_FACE) | (contacts["kind"] == VERTEX_FIELD))
    body, vertex, time = contacts["bodies"][rows, 0], contacts["vertices"][rows, 0], contacts["time"][rows]
    first_touch = np.where(time > 0.0, time, np.inf)
    order = np.lexsort((np.abs(contacts["distance"][rows]), first_touch, vertex, body))  # stable
    body, vertex = body[order], vertex[order]
    first = np.ones(len(order), bool)
    first[1:] = (body[1:] != body[:-1]) | (vertex[1:] != vertex[:-1])
    return np.asarray(rows[order[first]])


def sort(contacts: Contacts) -> Contacts:
    """Return contacts in canonical order (kind, bodies, elements), which is independent of the number of threads."""
    contacts = _records("contacts", contacts)
    # two keys instead of five, by a stable sort that takes advantage of the sorted runs of single detectors
    kind, body, element = (contacts[name].astype(np.int64) for name in ("kind", "bodies", "elements"))
    order = np.argsort((element[:, 0] + 1) << 32 | (element[:, 1] + 1), kind="stable")
    whole = kind << _KIND | (body[:, 0] + 1) << _BODY | (body[:, 1] + 1)
    order = order[np.argsort(whole[order], kind="stable")]
    return taken(contacts, order)


def taken(contacts: Contacts, rows: NDArray[Any]) -> Contacts:
    """Return contacts[rows] for indices or a mask, as bytes: NumPy would copy the fields one by one."""
    return cast("Contacts", np.ascontiguousarray(contacts).view(_BYTES)[rows].view(CONTACT))


def concatenate_unsorted(parts: Sequence[Contacts]) -> Contacts:
    """Concatenate `parts` in the given order, as bytes: NumPy would compare the fields and copy them one by one."""
    if isinstance(parts, (str, bytes)) or not isinstance(parts, Iterable):
        raise wrong("parts", parts, "a list of contact records")
    rows = [np.ascontiguousarray(_records(f"parts[{k}]", p)).view(_BYTES) for k, p in enumerate(parts)]
    return cast("Contacts", np.concatenate(rows).view(CONTACT)) if rows else empty()


def concatenate(parts: Sequence[Contacts]) -> Contacts:
    """Concatenate `parts` and sort the records into canonical order."""
    return sort(concatenate_unsorted(parts))


__getattr__ = renamed.module(__name__, {"join": f"{__name__}:concatenate_unsorted"})


def from_bytes(name: str, data: bytes, count: int) -> Contacts:
    """Return the contacts of `count` vertices that `tobytes` wrote, validated, because kernels do not check indices."""
    found = cast("Contacts", np.frombuffer(data, CONTACT).copy())
    rows = found["vertices"]
    if (rows < -1).any() or (rows >= count).any() or (rows[:, 0] < 0).any():
        raise ValueError(f"{name} has vertex indices out of range; the state has {count} vertices")
    floats = [field for field in CONTACT.names or () if CONTACT[field].base.kind == "f"]
    if not all(np.isfinite(found[field]).all() for field in floats):
        raise ValueError(f"{name} contains values that are not finite")
    return found

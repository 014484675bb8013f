"""Whether the records of a method are well-formed, before they are compared with exact contacts."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..contacts import EDGE_EDGE, MIDPOINT_FIELD, Contacts, checked
from ..detect.base import BaseDetector, Side
from .queries import Query

_UNIT = 1e-6  # tolerance of the lengths of normals, and of sums of weights


def check_records(detector: BaseDetector, query: Query, rows: int, found: Any) -> None:
    """Raise one ValueError for records that are no contacts of the query; rows: number of positions of the state."""
    who = f"method {detector.name!r}"
    found = checked(f"{who}: find()", found)
    if not len(found):
        return
    length, weights, ends = np.linalg.norm(found["normal"], axis=1), found["weights"], found["vertices"]
    sums = np.abs(weights.sum(1))
    rules = (
        ("distance", ~np.isfinite(found["distance"]), "a finite number of metres"),
        ("normal", ~(np.abs(length - 1.0) <= _UNIT), "a unit vector"),
        ("vertices", ((ends < -1) | (ends >= rows)).any(1), f"rows of state.x, 0 to {rows - 1}, or -1"),
        ("vertices", (ends < 0).all(1), "at least one row of state.x"),
        ("weights", ((ends < 0) & (weights != 0.0)).any(1), "0 where the vertex is -1"),
        ("weights", ~((sums <= _UNIT) | (np.abs(sums - 1.0) <= _UNIT)), "with the sum 0 (two sides) or 1 (an anchor)"),
        ("bodies", ~np.isin(found["bodies"], [query.one.body, query.two.body]).all(1), "the bodies of the two sides"),
        ("elements", _outside(query, found), "first the index of a vertex of its body, or of an edge of it"),
    )
    for field, wrong, expected in rules:
        if wrong.any():
            k = int(np.argmax(wrong))
            raise ValueError(
                f"{who}: {field!r} of {int(wrong.sum())} of its {len(found)} records is wrong, first of record {k}: "
                f"{found[field][k]}; expected {expected} (docs/contacts.md)"
            )


def _outside(query: Query, found: Contacts) -> NDArray[np.bool_]:
    """Mask of the records whose first element is no vertex, or no edge, of its body."""
    out = np.zeros(len(found), np.bool_)
    edge = np.isin(found["kind"], (EDGE_EDGE, MIDPOINT_FIELD))
    for sides in {side.body: (side, whole) for side, whole in _sides(query)}.values():
        own = found["bodies"][:, 0] == sides[0].body
        vertices, edges = (
            max(side.mesh.n_vertices for side in sides),
            max(len(side.mesh.topology.edges) for side in sides),
        )
        first = found["elements"][:, 0]
        out |= own & ((first < 0) | (first >= np.where(edge, edges, vertices)))
    return out


def _sides(query: Query) -> list[tuple[Side, Side]]:
    one, two = query.whole
    return [(query.one, one), *([(query.other, two)] if query.other is not None and two is not None else [])]

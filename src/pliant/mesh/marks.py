"""Marks: what a mesh file says about vertices besides their positions: named groups, attributes, colours, lines."""

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclasses.dataclass(frozen=True, eq=False)
class Marks:
    """Named vertices of a mesh of n vertices, as its file names them.

    groups: rows of vertices by name; attributes: (n,) numbers by name; colors (n,3): sRGB in 0..1, nan where a vertex
    has none, or None; lines (k,2): line elements between vertices.
    """

    groups: Mapping[str, NDArray[np.int32]] = dataclasses.field(default_factory=dict)
    attributes: Mapping[str, NDArray[np.float64]] = dataclasses.field(default_factory=dict)
    colors: NDArray[np.float64] | None = None
    lines: NDArray[np.int32] = dataclasses.field(default_factory=lambda: np.zeros((0, 2), np.int32))

    def __bool__(self) -> bool:
        return bool(self.groups or self.attributes or self.colors is not None or len(self.lines))

    @property
    def tint(self) -> NDArray[np.float64] | None:
        """(n,3) linear RGB that multiplies materials, white where a vertex has no colour; None without colours."""
        if self.colors is None:
            return None
        c = np.clip(np.nan_to_num(self.colors, nan=1.0), 0.0, 1.0)
        return np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)

    def fits(self, n: int) -> bool:
        """Return whether these are marks of a mesh of n vertices."""
        rows = [*self.groups.values(), self.lines.ravel()]
        columns = [*self.attributes.values(), *([] if self.colors is None else [self.colors])]
        return all(len(r) == 0 or int(r.max()) < n for r in rows) and all(len(c) == n for c in columns)

    def of(self, used: NDArray[Any], n: int) -> "Marks":
        """Return the marks of the mesh that keeps only the vertices `used` of n, in this order."""
        row = np.full(n, -1, np.int64)
        row[used] = np.arange(len(used))
        groups = {name: row[rows][row[rows] >= 0].astype(np.int32) for name, rows in self.groups.items()}
        lines = row[self.lines]
        return Marks(
            {name: rows for name, rows in groups.items() if len(rows)},
            {name: values[used] for name, values in self.attributes.items()},
            None if self.colors is None else self.colors[used],
            lines[(lines >= 0).all(1)].astype(np.int32).reshape(-1, 2),
        )


NO_MARKS = Marks()


def grouped_rows(names: tuple[tuple[str, ...], ...], section: NDArray[Any], faces: NDArray[Any]) -> dict[str, Any]:
    """Return the vertices of each group: `section` (m,) is the index into `names` of every face."""
    found: dict[str, list[NDArray[Any]]] = {}
    order = np.argsort(section, kind="stable")
    begin = np.searchsorted(section[order], np.arange(len(names) + 1))
    for k, own in enumerate(names):
        if begin[k] < begin[k + 1] and own:
            rows = faces[order[begin[k] : begin[k + 1]]].ravel()
            for name in own:
                found.setdefault(name, []).append(rows)
    return {name: np.unique(np.concatenate(rows)).astype(np.int32) for name, rows in found.items()}

"""Marks of an OBJ file: vertex colours after the positions, line elements, and the vertices of its groups."""

import itertools
from array import array
from typing import Any

import numpy as np

from ..mesh.marks import Marks


class ObjMarks:
    """Collects colours and lines while a file is read; whatever cannot be read is left out."""

    def __init__(self) -> None:
        self._rows = array("q")
        self._colors = array("d")
        self._lines = array("q")

    def color(self, row: int, words: list[bytes]) -> None:
        """Add the colour of vertex `row` from its line, `v x y z r g b`."""
        try:
            rgb = [float(word) for word in words[4:7]]
        except ValueError:
            return
        self._rows.append(row)
        self._colors.extend(rgb)

    def line(self, words: list[bytes], n_v: int) -> None:
        """Add a line element, `l i j k ...`; negative indices count back from the latest vertex."""
        try:
            ends = [int(word.split(b"/")[0]) for word in words[1:]]
        except ValueError:
            return
        rows = [i - 1 if i > 0 else n_v + i for i in ends]
        for pair in itertools.pairwise(rows):
            if max(map(abs, pair)) < 2**31:
                self._lines.extend(pair)

    def finish(self, n: int, groups: dict[str, Any]) -> Marks:
        """Return the marks of n vertices; `groups`: rows of vertices by name."""
        colors = None
        if len(self._rows):
            colors = np.full((n, 3), np.nan)
            found = np.array(self._colors).reshape(-1, 3)
            found[~np.isfinite(found)] = np.nan
            # some programs write 0 to 255
            colors[np.array(self._rows)] = found / (255.0 if np.nanmax(found, initial=0.0) > 1.0 else 1.0)
        lines = np.array(self._lines, np.int64).reshape(-1, 2)
        known = lines[((lines >= 0) & (lines < n)).all(1)]
        return Marks(groups, {}, colors, known.astype(np.int32))

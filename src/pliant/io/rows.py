"""Lines of numbers of text files, formatted in chunks."""

from typing import IO

import numpy as np
from numpy.typing import NDArray

ROWS = 4096  # lines formatted per write


def write_rows(stream: IO[bytes], head: str, rows: NDArray[np.float64]) -> None:
    """Write one line per row, each number in the shortest form that reads back as the same float64."""
    for k in range(0, len(rows), ROWS):
        lines = [head + " ".join(map(repr, row)) + "\n" for row in rows[k : k + ROWS].tolist()]
        stream.write("".join(lines).encode())


def write_integers(stream: IO[bytes], rows: NDArray[np.int64]) -> None:
    """Write one line of integers per row."""
    form = " ".join(["%d"] * rows.shape[1]) + "\n"
    for k in range(0, len(rows), ROWS):
        stream.write("".join(form % tuple(row) for row in rows[k : k + ROWS].tolist()).encode())

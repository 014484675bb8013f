"""Pairs of vertices in a text file: the stitches of a garment."""

import pathlib

import numpy as np
from numpy.typing import NDArray

from ..errors import MeshFileError
from .reading import as_text, default_limit, read_input


def read_pairs(path: pathlib.Path) -> NDArray[np.int64]:
    """Read pairs (k,2) of vertices, counted from 0: two numbers in each line; # begins a comment."""
    file = as_text(read_input(path, default_limit()))
    found = []
    for number, line in enumerate(file.data.split(b"\n"), 1):
        words = line.partition(b"#")[0].replace(b",", b" ").split()
        if not words:
            continue
        if len(words) != 2 or not all(word.isdigit() and len(word) < 10 for word in words):
            raise file.fail(f"line {number}", "expected two vertices, counted from 0, such as 12 305")
        found.append((int(words[0]), int(words[1])))
    if not found:
        raise MeshFileError(path, "", "it contains no pairs of vertices")
    return np.array(found, np.int64)

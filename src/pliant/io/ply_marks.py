"""Marks of a PLY file: vertex colours, other scalar properties of vertices as attributes, and edges as lines."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..mesh.marks import Marks

_COLORS = (("red", "green", "blue"), ("diffuse_red", "diffuse_green", "diffuse_blue"), ("r", "g", "b"))
_KNOWN = {"x", "y", "z", "nx", "ny", "nz", "s", "t", "u", "v", "texture_u", "texture_v", "alpha", "a"}


def marks_of(columns: Mapping[str, Mapping[str, Any]], n: int) -> Marks:
    """Return the marks of n vertices from the columns of each element."""
    vertex = {name: values for name, values in columns["vertex"].items() if isinstance(values, np.ndarray)}
    colors: NDArray[np.float64] | None = None
    for names in _COLORS:
        if colors is None and all(name in vertex for name in names):
            whole = vertex[names[0]].dtype.kind in "iu" or max(vertex[name].max(initial=0.0) for name in names) > 1.0
            colors = np.stack([vertex.pop(name).astype(np.float64) for name in names], 1) / (255.0 if whole else 1.0)
    attributes = {name: values.astype(np.float64) for name, values in vertex.items() if name not in _KNOWN}
    edge = columns.get("edge", {})
    lines = np.zeros((0, 2), np.int32)
    if all(isinstance(edge.get(name), np.ndarray) for name in ("vertex1", "vertex2")):
        ends = np.stack([edge["vertex1"], edge["vertex2"]], 1)
        with np.errstate(invalid="ignore"):  # columns of floats may hold nan
            lines = ends[((ends >= 0) & (ends < n)).all(1)].astype(np.int32)
    return Marks({}, attributes, colors, lines)

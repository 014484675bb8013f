"""The features of a mesh at its positions, as pairs of features refer to them."""

from typing import NamedTuple

import numpy as np


class Triangles(NamedTuple):
    x: np.ndarray  # (n,3) positions of the vertices
    corners: np.ndarray  # (m,3) i4 vertices of each face


class Segments(NamedTuple):
    x: np.ndarray  # (n,3) positions of the vertices
    ends: np.ndarray  # (k,2) i4 vertices of each edge

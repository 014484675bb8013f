"""What of a garment is fastened to a body: waistbands, cuffs and collars."""

import numpy as np
from numpy.typing import NDArray

from ..detect.surface import ClosestPoints
from ..mesh import Mesh

HOLDS = ("auto", "none")
SNUG = 0.02  # of the body's size: a border all of which is nearer to the skin is a waistband, a cuff or a collar


def snug(garment: Mesh, surface: ClosestPoints, size: float) -> NDArray[np.int64]:
    """Vertices of those borders of a garment that lie close to the skin of a body of this size all around."""
    mesh = garment.welded
    edges = mesh.topology.edges[mesh.topology.border]
    if not len(edges):
        return np.zeros(0, np.int64)
    # borders that share a vertex are one: the least row among them names it
    label = np.arange(mesh.n_vertices)
    while True:
        least = np.minimum(label[edges[:, 0]], label[edges[:, 1]])
        before = label.copy()
        np.minimum.at(label, edges[:, 0], least)
        np.minimum.at(label, edges[:, 1], least)
        if (label == before).all():
            break
    rim = np.unique(edges)
    away = np.abs(surface.query(mesh.vertices[rim])[0])
    far = np.unique(label[rim[away > SNUG * size]])
    held = np.zeros(mesh.n_vertices, np.bool_)
    held[rim[~np.isin(label[rim], far)]] = True
    return np.flatnonzero(held[garment.weld_index])

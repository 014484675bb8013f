"""Sewing: stitched vertices are one vertex for the guard."""

import numpy as np
from numpy.typing import NDArray

from ...detect.bvh.leaf_mesh import LeafMesh
from ...detect.queries.proximity import NearPairs
from ...dynamics.springs import StitchSprings, joined_vertices
from ...scene import Scene

Rows = NDArray[np.int32]


def near_pairs_of(scene: Scene, cloth: LeafMesh) -> NearPairs:
    """Return the queries of the cloth with itself; features that share a sewn vertex are adjacent."""
    pairs = NearPairs(cloth)  # before the vertices are joined: culling relies on the real surface
    if scene.seams:
        cloth.set_weld(joined_vertices(scene))
    return pairs


def links_of(scene: Scene) -> Rows:
    """Return the edges (k,2) of all deformable bodies, and the stitches, which link their ends likewise."""
    parts = [scene.bodies[b].mesh.welded.links + np.int32(scene.first[b]) for b in scene.deformable]
    stitches = StitchSprings(scene).rows.astype(np.int32)
    return np.concatenate([np.zeros((0, 2), np.int32), *parts, stitches[:, [0, 1]], stitches[:, [0, 2]]])

"""Sewing: stitched vertices are one vertex for the guard, and what is sewn onto edges lies on their surface."""

import numpy as np
from numpy.typing import NDArray

from ...contacts import Contacts
from ...detect.bvh.leaf_mesh import LeafMesh
from ...detect.queries.proximity import NearPairs
from ...dynamics.springs import StitchSprings, joined_vertices
from ...kernels.simulation.sewing import connected_by_seams
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


class SeamNeighbours:
    """The vertices of two bodies that a stitch onto an edge connects, directly or by one further edge.

    A boundary that is sewn onto edges of a surface lies on it also between the stitches. If the thickness kept it away,
    it would tear the stitches open in every substep.
    """

    def __init__(self, scene: Scene, links: Rows) -> None:
        from scipy.sparse import coo_array, csr_array

        n = int(scene.first[-1])
        sewn = StitchSprings(scene)
        between = (np.abs(sewn.springs.weights) > 0.0).all(1)  # neither end of the edge
        rows, near = sewn.rows[between], csr_array((n, n), dtype=np.int32)
        if len(rows):
            ends = np.concatenate([rows[:, [0, 1]], rows[:, [0, 2]]])
            both = np.concatenate([links, links[:, ::-1], np.repeat(np.arange(n)[:, None], 2, 1)])
            step = coo_array((np.ones(len(both), np.int32), both.T), shape=(n, n)).tocsr()
            across = coo_array((np.ones(len(ends), np.int32), ends.T), shape=(n, n)).tocsr()
            one_way = step @ across + across @ step
            near = (one_way + one_way.T).tocsr()
            near.sort_indices()
        self._begin, self._others = near.indptr.astype(np.int64), near.indices.astype(np.int32)

    def without_neighbours(self, contacts: Contacts) -> Contacts:
        """Return the contacts (k,) but for those of features with such vertices."""
        if not len(self._others) or not len(contacts):
            return contacts
        found = np.empty(len(contacts), np.bool_)
        connected_by_seams(contacts, self._begin, self._others, found)
        return contacts[~found]

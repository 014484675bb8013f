"""The IPC Toolkit as a peer: proximity (T4) and collision-free steps (T5) of cloth, on any number of threads."""

import functools
import importlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pliant import geometry
from pliant.mesh import Mesh

from .referee import Pairs

Floats = NDArray[np.float64]
MODULE = "ipctk"
MOST = 2_000_000  # maximum number of candidates that are converted to arrays


@functools.cache
def toolkit() -> Any:
    """The module, with its log turned off."""
    ipctk = importlib.import_module(MODULE)
    ipctk.set_logger_level(ipctk.LoggerLevel.error)
    return ipctk


def set_threads(count: int) -> None:
    toolkit().set_num_threads(count)


def collision_mesh(mesh: Mesh) -> Any:
    """A collision mesh with the edges of pliant, so that indices agree."""
    edges = mesh.topology.edges.astype(np.int64)
    return toolkit().CollisionMesh(np.asfortranarray(mesh.vertices), edges, mesh.faces.astype(np.int64))


def candidates(theirs: Any, *positions: Floats, reach: float = 0.0) -> Any:
    """Candidates: pairs whose AABBs, inflated by `reach`, overlap, at one position or swept between two."""
    found = toolkit().Candidates()
    found.build(theirs, *positions, reach, toolkit().LBVH())
    return found


def pair_arrays(found: Any) -> tuple[Pairs, Pairs] | None:
    """Candidates as ((vertex, face), (edge, edge)); None if there are too many."""
    faces, edges = found.fv_candidates, found.ee_candidates
    if len(faces) + len(edges) > MOST:
        return None
    vertex_face = np.fromiter((k for c in faces for k in (c.vertex_id, c.face_id)), np.int64, 2 * len(faces))
    edge_edge = np.fromiter((k for c in edges for k in (c.edge0_id, c.edge1_id)), np.int64, 2 * len(edges))
    return vertex_face.reshape(-1, 2), edge_edge.reshape(-1, 2)


def closer(mesh: Mesh, x: Floats, pairs: tuple[Pairs, Pairs], within: float) -> tuple[Pairs, Pairs]:
    """The `pairs` closer than `within`, by exact distances."""
    vertex_face, edge_edge = pairs
    corners = np.concatenate([vertex_face[:, :1], mesh.faces[vertex_face[:, 1]]], 1)
    ends = mesh.topology.edges[edge_edge].reshape(-1, 4)
    near = geometry.point_triangle_distance(x[corners]) < within
    close = geometry.edge_edge_distance(x[ends]) < within
    return vertex_face[near], edge_edge[close]


def collisions(theirs: Any, x: Floats, within: float) -> Any:
    """The collision set of the toolkit: each pair by its nearest features, with the distance type."""
    found = toolkit().NormalCollisions()
    found.build(theirs, x, within, 0.0, toolkit().LBVH())
    return found


def free_step(theirs: Any, x_0: Floats, x_1: Floats, solver: str) -> float:
    """The largest step of the toolkit, with the named CCD solver ("Additive" or "TightInclusion")."""
    ccd = getattr(toolkit(), f"{solver}CCD")()
    return float(toolkit().compute_collision_free_stepsize(theirs, x_0, x_1, 0.0, toolkit().LBVH(), ccd))

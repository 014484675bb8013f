"""The IPC toolkit as a peer: proximity (T4) and steps (T5) of cloth. Its threads can be chosen."""

import functools
import importlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import geometry
from ..mesh import Mesh
from .referee import Pairs

Floats = NDArray[np.float64]
MODULE = "ipctk"


@functools.cache
def toolkit() -> Any:
    """The module, told to be silent."""
    ipctk = importlib.import_module(MODULE)
    ipctk.set_logger_level(ipctk.LoggerLevel.error)
    return ipctk


def set_threads(count: int) -> None:
    toolkit().set_num_threads(count)


def collision_mesh(mesh: Mesh) -> Any:
    """With our edges, so that their numbers are ours."""
    edges = mesh.topology.edges.astype(np.int64)
    return toolkit().CollisionMesh(np.asfortranarray(mesh.vertices), edges, mesh.faces.astype(np.int64))


def candidates(theirs: Any, *positions: Floats, reach: float = 0.0) -> Any:
    """Pairs whose boxes, grown by `reach`, meet: at one place, or on the way between two."""
    found = toolkit().Candidates()
    found.build(theirs, *positions, reach, toolkit().LBVH())
    return found


def pair_arrays(found: Any) -> tuple[Pairs, Pairs]:
    """Candidates as ((vertex, face), (edge, edge))."""
    vertex_face = [(c.vertex_id, c.face_id) for c in found.fv_candidates]
    edge_edge = [(c.edge0_id, c.edge1_id) for c in found.ee_candidates]
    return np.array(vertex_face, np.int64).reshape(-1, 2), np.array(edge_edge, np.int64).reshape(-1, 2)


def closer(mesh: Mesh, x: Floats, pairs: tuple[Pairs, Pairs], within: float) -> tuple[Pairs, Pairs]:
    """Those of `pairs` that are closer than `within`, by exact distances."""
    vertex_face, edge_edge = pairs
    corners = np.concatenate([vertex_face[:, :1], mesh.faces[vertex_face[:, 1]]], 1)
    ends = mesh.topology.edges[edge_edge].reshape(-1, 4)
    near = geometry.point_triangle_distance(x[corners]) < within
    close = geometry.edge_edge_distance(x[ends]) < within
    return vertex_face[near], edge_edge[close]


def collisions(theirs: Any, x: Floats, within: float) -> Any:
    """The toolkit's own set: each pair by the features that are nearest, with its distance type."""
    found = toolkit().NormalCollisions()
    found.build(theirs, x, within, 0.0, toolkit().LBVH())
    return found


def free_step(theirs: Any, x_0: Floats, x_1: Floats, solver: str) -> float:
    """The toolkit's largest step, by boxes along a curve and the named solver ("Additive" or "TightInclusion")."""
    ccd = getattr(toolkit(), f"{solver}CCD")()
    return float(toolkit().compute_collision_free_stepsize(theirs, x_0, x_1, 0.0, toolkit().LBVH(), ccd))

"""Shells of a body whose faces point inward although they bound no cavity, as of parts that were mirrored: they are
found, so that they can be turned (docs/inside.md)."""

import dataclasses

import numpy as np
from numpy.typing import NDArray

from ...mesh import Mesh
from .closest_point import ClosestPoints
from .consistent_faces import against_their_shell
from .duplicate_faces import without_duplicates
from .winding import INSIDE, OUTSIDE

FREE = 0.1  # fraction of the vertices of a shell outside of the other shells, from which it is no cavity
SIDED = 0.5  # fraction of the area of an open shell with an inside in front of it, from which it is inside out
AHEAD = 1e-6  # of the size of the body: distance from a face at which the side of open shells is tested
ROUNDING = 1e-12  # of the size of the body and the area of a shell: volumes below it have no sign
Mask = NDArray[np.bool_]


def outward_body(mesh: Mesh) -> Mesh:
    """Return the mesh without faces that it has more than once, and with the faces of its shells that are inside out
    reversed; the mesh itself where there are none."""
    mesh = without_duplicates(mesh)
    return with_reversed(mesh, inside_out(mesh))


def with_reversed(mesh: Mesh, turned: Mask) -> Mesh:
    """Return the mesh with the faces `turned` (m,) reversed, together with their texture coordinates; writers into
    the file that it was loaded from leave them as they are there."""
    if not turned.any():
        return mesh
    faces = np.where(turned[:, None], mesh.faces[:, ::-1], mesh.faces)
    uv = None if mesh.uv is None else np.where(turned[:, None, None], mesh.uv[:, ::-1], mesh.uv)
    source = None if mesh.source is None else mesh.source.with_reversed(turned)
    return dataclasses.replace(mesh, faces=faces, uv=uv, source=source)


def inside_out(mesh: Mesh) -> Mask:
    """(m,) faces of shells that are inside out: connected parts whose faces point inward, except cavities of others.

    A closed shell points inward if its volume is negative. An open one does if the volume towards the mean of its
    boundary is negative, and if at least half of its area would have an inside behind it, reversed. Of a closed mesh
    that is inside out as a whole, all shells are, except those that are not in the reversed mesh. Before that, faces
    are reversed that are oriented against the larger part of their shell, and the second sides of closed shells that
    have each face on both sides.
    """
    welded = mesh.welded
    whole = np.full(mesh.n_faces, welded.issues.inward)
    if not mesh.n_faces or len(mesh.tets):
        return whole
    whole ^= against_their_shell(welded)
    faces = np.where(whole[:, None], welded.faces[:, ::-1], welded.faces)
    shell, negative, open_ = _shells(welded, faces)
    if not negative.any():
        return whole
    outward = ~negative[shell]
    around = ClosestPoints(_part(welded, faces[outward])) if outward.any() else None
    wrong = np.zeros(len(negative), np.bool_)
    for s in np.flatnonzero(negative):
        own = _part(welded, faces[shell == s][:, ::-1])
        if around is not None:
            wrong[s] = np.mean(around.signs(own.vertices) == OUTSIDE) > FREE
        else:
            wrong[s] = True
        if wrong[s] and open_[s]:
            wrong[s] = _sided(own, mesh.size) >= SIDED
    return whole ^ wrong[shell]


def _shells(welded: Mesh, faces: NDArray[np.int32]) -> tuple[NDArray[np.int64], Mask, Mask]:
    """(m,) the shell of each face; (k,) of each shell, whether its volume is negative, and whether it is open."""
    top, x = welded.topology, welded.vertices
    first, shell = np.unique(top.components[faces[:, 0]], return_inverse=True)
    count = len(first)
    loose = top.edges[top.loose]
    of_loose = np.searchsorted(first, top.components[loose[:, 0]])
    n_loose = np.bincount(of_loose, minlength=count)
    # apex of the volume: any point for closed shells, the mean of its boundary for open ones
    apex = x[faces[np.unique(shell, return_index=True)[1], 0]].copy()
    for k in range(3):
        total = np.bincount(of_loose, x[loose, k].mean(1), count)
        apex[n_loose > 0, k] = total[n_loose > 0] / n_loose[n_loose > 0]
    a, b, c = (x[faces[:, k]] - apex[shell] for k in range(3))
    normal = np.cross(b, c)
    six = np.bincount(shell, np.einsum("ij,ij->i", a, normal), count)
    rounding = ROUNDING * welded.size * np.bincount(shell, np.linalg.norm(normal, axis=1), count)
    return shell, six < -rounding, n_loose > 0


def _part(welded: Mesh, faces: NDArray[np.int32]) -> Mesh:
    rows, own = np.unique(faces, return_inverse=True)
    return Mesh(welded.vertices[rows], own.reshape(-1, 3).astype(np.int32), groups=np.arange(len(rows), dtype=np.int32))


def _sided(shell: Mesh, size: float) -> float:
    """Fraction of the area of an open shell that has the inside of the shell behind it."""
    a, b, c = (shell.vertices[shell.faces[:, k]] for k in range(3))
    normal = np.cross(b - a, c - a)
    twice = np.linalg.norm(normal, axis=1)
    rows = np.flatnonzero(twice > 0.0)
    points = (a + b + c)[rows] / 3.0 - AHEAD * size * normal[rows] / twice[rows, None]
    behind = ClosestPoints(shell).signs(points) == INSIDE
    return float(twice[rows] @ behind / max(twice.sum(), np.finfo(float).tiny))

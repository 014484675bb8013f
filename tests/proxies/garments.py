"""Garments for the tests of proxies: tubes, shells with thickness, buttons."""

import numpy as np

from pliant import Mesh


def tube(around: int = 48, rings: int = 24, radius: float = 0.15, height: float = 0.4, name: str = "tube") -> Mesh:
    """An open tube around the y axis, with two boundary loops."""
    angle, y = np.meshgrid(np.arange(around) / around * 2.0 * np.pi, np.linspace(0.0, height, rings), indexing="ij")
    x = np.stack([radius * np.sin(angle), y, radius * np.cos(angle)], -1).reshape(-1, 3)
    i = np.arange(around * rings).reshape(around, rings)
    j = np.roll(i, -1, 0)
    a, b, c, d = (k.ravel() for k in (i[:, :-1], j[:, :-1], j[:, 1:], i[:, 1:]))
    return Mesh(x, np.concatenate([np.stack([a, b, c], 1), np.stack([a, c, d], 1)]), name=name)


def sheet(width: float, length: float, nx: int, nz: int, y: float = 0.0) -> Mesh:
    """A flat rectangle of nx by nz vertices with upward normals."""
    u, v = np.meshgrid(np.linspace(0.0, width, nx), np.linspace(0.0, length, nz), indexing="ij")
    x = np.stack([u.ravel(), np.full(u.size, y), v.ravel()], 1)
    i = np.arange(nx * nz).reshape(nx, nz)
    a, b, c, d = (k.ravel() for k in (i[:-1, :-1], i[1:, :-1], i[1:, 1:], i[:-1, 1:]))
    return Mesh(x, np.concatenate([np.stack([a, c, b], 1), np.stack([a, d, c], 1)]), name="sheet")


def thickened(mesh: Mesh, thickness: float) -> Mesh:
    """Two layers at this distance and a rim along every boundary."""
    n, normal = mesh.n_vertices, mesh.vertex_normals
    edges = np.concatenate([mesh.faces[:, [k, (k + 1) % 3]] for k in range(3)])
    known = {(a, b) for a, b in edges.tolist()}
    rim = [[[b, a, a + n], [b, a + n, b + n]] for a, b in edges.tolist() if (b, a) not in known]
    x = np.concatenate([mesh.vertices + 0.5 * thickness * normal, mesh.vertices - 0.5 * thickness * normal])
    faces = np.concatenate([mesh.faces, mesh.faces[:, ::-1] + n, np.array(rim).reshape(-1, 3)])
    return Mesh(x, faces, name="thick")


def joined(*meshes: Mesh) -> Mesh:
    """All meshes as one."""
    first = np.cumsum([0, *(mesh.n_vertices for mesh in meshes)])
    faces = np.concatenate([mesh.faces + at for mesh, at in zip(meshes, first)])
    return Mesh(np.concatenate([mesh.vertices for mesh in meshes]), faces, name="joined")


def turned(rng: np.random.Generator) -> np.ndarray:
    """A random rotation (3,3)."""
    q = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    return np.asarray(q * np.sign(np.linalg.det(q)))

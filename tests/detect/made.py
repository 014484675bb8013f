"""Meshes made for the tests of detection: spikes, wedges, slivers, plates; and rigid motions of them."""

import numpy as np

from pliant import Mesh, shapes

FAR = np.array([148376.0, 1234.0, -223423.0])


def octahedron(level=0):
    """A sphere of 8 * 4^level faces around the origin, closed and outward."""
    x = np.array([[1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 1], [0, 0, -1]], float)
    f = np.array([[0, 2, 4], [2, 1, 4], [1, 3, 4], [3, 0, 4], [2, 0, 5], [1, 2, 5], [3, 1, 5], [0, 3, 5]])
    for _ in range(level):
        a, b, c = (x[f[:, k]] for k in range(3))
        corners = np.stack([a, b, c, a + b, b + c, c + a], 1)
        corners /= np.linalg.norm(corners, axis=2, keepdims=True)
        soup = corners[:, [[0, 3, 5], [3, 1, 4], [5, 4, 2], [3, 4, 5]]].reshape(-1, 3)
        x, f = np.unique(soup.round(12), axis=0, return_inverse=True)
        f = f.reshape(-1, 3)
    return Mesh(x, f, name="octahedron")


def spiky_star(height=3.5, level=1, every=2):
    """A ball with a long thin spike on every second face: acute edges everywhere."""
    ball = octahedron(level)
    x, faces = [*ball.vertices], []
    for m, (a, b, c) in enumerate(ball.faces):
        if m % every:
            faces.append((a, b, c))
            continue
        x.append(ball.vertices[[a, b, c]].mean(0) * height)
        tip = len(x) - 1
        faces += [(a, b, tip), (b, c, tip), (c, a, tip)]
    return Mesh(np.array(x), np.array(faces), name="spiky star")


def wedge(angle=1e-3):
    """A knife: two faces that meet at `angle` along the z axis."""
    y = np.tan(angle / 2)
    x = [[0, 0, 0], [0, 0, 1], [1, -y, 0], [1, -y, 1], [1, y, 0], [1, y, 1]]
    f = [[0, 2, 3], [0, 3, 1], [0, 1, 5], [0, 5, 4], [2, 4, 5], [2, 5, 3], [0, 4, 2], [1, 3, 5]]
    return Mesh(x, f, name="wedge")


def spike():
    """The spike of RELIABILITY 3.5, closed by its base."""
    x = [[0, 0, 1], [0.1, 0, 0], [-0.05, 0.0866, 0], [-0.05, -0.0866, 0]]
    return Mesh(x, [[0, 1, 2], [0, 2, 3], [0, 3, 1], [1, 3, 2]], name="spike")


def box(size=(1.0, 1.0, 1.0), centre=(0.0, 0.0, 0.0), name="box"):
    """Twelve triangles."""
    x = np.array([[i, j, k] for i in (-0.5, 0.5) for j in (-0.5, 0.5) for k in (-0.5, 0.5)])
    quads = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    faces = [t for a, b, c, d in quads for t in ((a, b, c), (a, c, d))]
    return Mesh(x * size + np.asarray(centre), faces, name=name)


def thin_plate():
    return box((1.0, 1e-4, 0.7), name="thin plate")


def sliver_ball():
    """A box whose sides are cut into needles from one corner each: angles down to 1e-9, none without area."""
    x, faces = [*box().vertices], []
    for a, b, c in box().faces:
        # two points on the edge b c, almost at c: the fan from a holds a needle
        for t in (1 - 1e-6, 1 - 1e-6 + 1e-9):
            x.append((1 - t) * np.asarray(x[b]) + t * np.asarray(x[c]))
        n = len(x)
        faces += [(a, b, n - 2), (a, n - 2, n - 1), (a, n - 1, c), (b, c, n - 1), (b, n - 1, n - 2)]
    return Mesh(np.array(x), np.array(faces), name="slivers")


def sheet(n=8, size=1.0, height=0.0, noise=0.0, rng=None):
    """A flat grid of n x n squares, faces up; optionally ruffled."""
    s = np.linspace(-size / 2, size / 2, n + 1)
    z, x = np.meshgrid(s, s)
    y = np.full_like(x, height) + (rng.normal(size=x.shape) * noise if noise else 0.0)
    at = lambda i, j: i * (n + 1) + j  # noqa: E731
    cells = [(i, j) for i in range(n) for j in range(n)]
    faces = [
        t
        for i, j in cells
        for t in ((at(i, j), at(i, j + 1), at(i + 1, j + 1)), (at(i, j), at(i + 1, j + 1), at(i + 1, j)))
    ]
    return Mesh(np.stack([x, y, z], 2).reshape(-1, 3), faces, name="sheet")


def rotation(rng):
    q, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    return q * np.sign(np.linalg.det(q))


def permuted(mesh, rng):
    """The same surface with its vertices in another order."""
    order = rng.permutation(mesh.n_vertices)
    place = np.argsort(order)
    return Mesh(mesh.vertices[order], place[mesh.faces], name=mesh.name)


def wavy_sheet(n=10):
    """An open sheet with waves across both ways."""
    flat = sheet(n)
    x = flat.vertices.copy()
    x[:, 1] = 0.12 * np.sin(7.0 * x[:, 0]) * np.cos(5.0 * x[:, 2])
    return Mesh(x, flat.faces, name="wavy sheet")


def cup(n=12):
    """A cup without thickness: side and bottom, open above."""
    a = np.arange(n) * 2.0 * np.pi / n
    ring = np.stack([np.cos(a), np.zeros(n), np.sin(a)], 1)
    x = np.concatenate([0.35 * ring, 0.5 * ring + [0.0, 0.8, 0.0], [[0.0, 0.0, 0.0]]])
    k = np.arange(n)
    m = (k + 1) % n
    sides = [np.stack([k, n + k, n + m], 1), np.stack([k, n + m, m], 1)]
    return Mesh(x, np.concatenate([*sides, np.stack([k, m, np.full(n, 2 * n)], 1)]), name="cup")


MADE = {
    "spiky star": spiky_star,
    "wedge 1e-3": wedge,
    "spike": spike,
    "thin plate": thin_plate,
    "slivers": sliver_ball,
    "box": box,
    "torus": lambda: shapes.torus() if hasattr(shapes, "torus") else octahedron(2),
    "sheet": lambda: sheet(6),
}

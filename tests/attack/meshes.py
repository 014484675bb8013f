"""Small random meshes with geometric defects: slivers, needles, zero-area faces, duplicates, T-junctions, seams.

Plain arrays (x, faces).
"""

import numpy as np

from detect.made import octahedron


def rotation(rng):
    q, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    return q * np.sign(np.linalg.det(q))


def grid(rng, nx=None, ny=None):
    """A sheet of about 1 m in the plane y = 0, wavy or flat."""
    nx, ny = nx or int(rng.integers(1, 5)), ny or int(rng.integers(1, 5))
    u, v = np.meshgrid(np.linspace(-0.5, 0.5, nx + 1), np.linspace(-0.5, 0.5, ny + 1), indexing="ij")
    y = rng.choice([0.0, 1e-9, 0.02, 0.2]) * rng.normal(size=u.shape)
    at = np.arange((nx + 1) * (ny + 1)).reshape(nx + 1, ny + 1)
    a, b, c, d = at[:-1, :-1].ravel(), at[1:, :-1].ravel(), at[1:, 1:].ravel(), at[:-1, 1:].ravel()
    faces = np.concatenate([np.stack([a, c, b], 1), np.stack([a, d, c], 1)])
    return np.stack([u, y, v], 2).reshape(-1, 3), faces


def solid(rng):
    """A closed surface of about 1 m: a tetrahedron, a box, or a ball with random bumps."""
    kind = rng.integers(3)
    if kind == 0:
        x = np.array([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]]) * 0.5
        return x, np.array([[0, 1, 2], [0, 3, 1], [0, 2, 3], [1, 3, 2]])
    if kind == 1:
        return box()
    return ball(rng, bumps=float(rng.choice([0.0, 0.1, 0.4])))


def box(size=(1.0, 1.0, 1.0)):
    x = np.array([[i, j, k] for i in (-0.5, 0.5) for j in (-0.5, 0.5) for k in (-0.5, 0.5)]) * size
    quads = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    return x, np.array([t for a, b, c, d in quads for t in ((a, b, c), (a, c, d))])


def ball(rng, bumps=0.0, level=None, radius=0.5):
    """An octahedron, subdivided `level` times; `bumps` displaces its vertices along the radius."""
    level = int(rng.integers(0, 3)) if level is None else level
    whole = octahedron(level)
    x, f = whole.vertices, whole.faces.astype(np.int64)
    return x * (radius * (1.0 + bumps * rng.uniform(-1, 1, (len(x), 1)))), f


def soup(rng):
    """Unconnected triangles, some of them needles or points."""
    k = int(rng.integers(1, 9))
    x = rng.normal(size=(k, 3, 3)) * 10.0 ** rng.uniform(-3, 0, (k, 1, 1)) * 0.3 + rng.normal(size=(k, 1, 3)) * 0.3
    kind = rng.integers(0, 6, k)
    t = rng.uniform(-0.5, 1.5, (k, 1))
    x[kind == 1, 2] = (x[:, 0] + t * (x[:, 1] - x[:, 0]))[kind == 1]  # zero area, up to rounding
    x[kind == 2, 2] = x[kind == 2, 1]  # a zero-length edge
    x[kind == 3, 1] = x[kind == 3, 0] + 1e-12 * rng.normal(size=3)  # a needle
    return x.reshape(-1, 3), np.arange(3 * k).reshape(-1, 3)


def _split(rng, x, faces, share, point, parts):
    """Split some faces a, b, c at a new vertex m = point(a, b, c): into parts(a, b, c, m)."""
    x, out = list(x), []
    for a, b, c in faces:
        if rng.random() < share:
            x.append(point(x[a], x[b], x[c]))
            out += parts(a, b, c, len(x) - 1)
        else:
            out.append((a, b, c))
    return np.array(x), np.array(out)


def _closed_gap(a, b, c, m):
    """The edge a-b split at m on this side only; the last face closes the gap to the other side."""
    return [(a, m, c), (m, b, c), (b, m, a)]


def t_junctions(rng, x, faces, share=0.5):
    """Split edges at one face only, and close the gap by a zero-area face: a, m, b are collinear."""
    return _split(rng, x, faces, share, lambda a, b, c: a + rng.uniform(0.1, 0.9) * (b - a), _closed_gap)


def cracks(rng, x, faces, share=0.5):
    """T-junctions with a small gap: m lies inside its own face, and a sliver closes the gap."""

    def point(a, b, c):
        t = 10.0 ** rng.uniform(-9, -2)
        on = a + rng.uniform(0.2, 0.8) * (b - a)
        return on + t * (c - on)

    return _split(rng, x, faces, share, point, _closed_gap)


def needles(rng, x, faces, share=0.5):
    """Faces split at a point very near one of their corners: three faces, some of them needles."""

    def point(a, b, c):
        return a + 10.0 ** rng.uniform(-9, -2) * (0.5 * (b + c) - a)

    return _split(rng, x, faces, share, point, lambda a, b, c, m: [(a, b, m), (b, c, m), (c, a, m)])


def slivers(rng, x, faces, share=0.5):
    """Split faces from one corner so that slivers remain."""

    def point(a, b, c):
        return b + 10.0 ** rng.uniform(-12, -2) * (c - b)

    return _split(rng, x, faces, share, point, lambda a, b, c, m: [(a, b, m), (a, m, c)])


def duplicates(rng, x, faces):
    """Duplicate faces, some of them reversed."""
    again = faces[rng.random(len(faces)) < 0.4]
    turned = rng.random(len(again)) < 0.5
    again = np.where(turned[:, None], again[:, ::-1], again)
    return x, np.concatenate([faces, again])


def seams(rng, x, faces):
    """Every face, or about half of the vertices, duplicated at equal positions."""
    corners = x[faces].reshape(-1, 3)
    if rng.random() < 0.5:
        return corners, np.arange(len(corners)).reshape(-1, 3)
    split = rng.random(faces.shape) < 0.3
    new = faces.copy()
    new[split] = len(x) + np.arange(int(split.sum()))
    return np.concatenate([x, x[faces[split]]]), new


def collapsed(rng, x, faces):
    """Some vertices moved onto a neighbour: zero-area faces that share vertices with regular ones."""
    x = x.copy()
    for f in faces[rng.random(len(faces)) < 0.2]:
        x[f[0]] = x[f[1]]
    return x, faces


def permuted(rng, x, faces):
    """The same surface with vertices and faces in another order and corners rotated."""
    order = rng.permutation(len(x))
    place = np.argsort(order)
    faces = place[faces[rng.permutation(len(faces))]]
    roll = rng.integers(0, 3, len(faces))
    return x[order], np.take_along_axis(faces, (np.arange(3) + roll[:, None]) % 3, 1)


DEFECTS = (t_junctions, cracks, needles, slivers, duplicates, seams, collapsed, permuted)


def damaged(rng, x, faces, most=2):
    """The mesh with up to `most` kinds of defects."""
    for k in rng.permutation(len(DEFECTS))[: rng.integers(0, most + 1)]:
        x, faces = DEFECTS[k](rng, x, faces)
    return x, faces


def any_mesh(rng):
    """Any mesh of about 1 m: open, closed or soup, with defects."""
    make = (grid, grid, solid, soup)[rng.integers(4)]
    return damaged(rng, *make(rng))


def scale_and_offset(rng):
    """Metres per unit, from 1e-6 to 1e8, and an offset of up to 1e6 units, mostly none."""
    scale = 10.0 ** rng.uniform(-6, 8) if rng.random() < 0.5 else 1.0
    far = rng.choice([0.0, 0.0, 1.0, 1e3, 1e6]) * rng.normal(size=3)
    far = np.clip(far * scale, -1e11, 1e11)
    return scale, far

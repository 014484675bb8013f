"""Random garments as people have them: shells with thickness, buttons, trims, duplicate faces, tiny beside large
triangles, needles, seams."""

import numpy as np

import pliant
from attack import meshes

# triangles of a garment at most: one of them is drawn, most cases are small
MOST = (150, 150, 150, 300, 300, 600)
LARGE = 8_000  # in one of a hundred cases
TALL = 1.0  # metres, of a character before it is scaled


def tube(heights, radii, around, closed):
    """A tube along y: vertices and faces; `closed` by a fan at each end."""
    angle = np.linspace(0.0, 2.0 * np.pi, around, endpoint=False)
    circle = np.stack([np.cos(angle), 0.0 * angle, np.sin(angle)], 1)
    x = np.concatenate([r * circle + np.array([0.0, y, 0.0]) for y, r in zip(heights, radii)])
    k, n = np.arange(around), len(heights)
    after, faces = (k + 1) % around, []
    for ring in range(n - 1):
        a, b = around * ring + k, around * ring + after
        faces += [np.stack([a, a + around, b], 1), np.stack([b, a + around, b + around], 1)]
    if closed:
        low, top = len(x), around * (n - 1)
        x = np.concatenate([x, [[0.0, heights[0], 0.0], [0.0, heights[-1], 0.0]]])
        faces += [np.stack([k, after, 0 * k + low], 1), np.stack([top + after, top + k, 0 * k + low + 1], 1)]
    return x, np.concatenate(faces)


def joined(parts):
    first = np.cumsum([0, *(len(x) for x, _ in parts)])
    return np.concatenate([x for x, _ in parts]), np.concatenate([f + k for (_, f), k in zip(parts, first)])


def any_garment(rng, radius, name="garment"):
    """A garment around the trunk, or a sheet over or through it, with up to two oddities; its kind, and their names."""
    most = LARGE if rng.random() < 0.01 else int(rng.choice(MOST))
    wanted = int(np.exp(rng.uniform(np.log(40.0), np.log(most))))
    kind = ("tube", "tube", "shell", "sheet")[int(rng.integers(4))]
    ease = float(rng.choice([0.97, 1.02, 1.1, 1.4]))
    if kind == "sheet":
        side = max(3, int(np.sqrt(wanted / 2)))
        x, faces = meshes.grid(rng, side, side)
        x = x * [0.6, 0.02, 0.6] + [0.0, rng.choice([0.5, TALL, TALL + 0.05]), 0.0]
    else:
        around = max(6, int(np.sqrt(wanted / (4 if kind == "shell" else 2))))
        rings = max(3, int(wanted / (2 * around) / (2 if kind == "shell" else 1)))
        y = np.linspace(0.25, 0.75, rings)
        flare = 1.0 + rng.choice([0.0, 0.6]) * np.linspace(1.0, 0.0, rings)
        x, faces = tube(y, ease * radius * flare, around, closed=False)
        if kind == "shell":  # a second layer inside, and rims
            thick = float(rng.choice([0.002, 0.01])) * radius / 0.1
            inner = x - thick * np.stack([x[:, 0], 0.0 * x[:, 0], x[:, 2]], 1) / (ease * radius)
            k, top = np.arange(around), around * (rings - 1)
            after, n = (k + 1) % around, len(x)
            rims = [
                np.stack([k, after, k + n], 1),
                np.stack([after, after + n, k + n], 1),
                np.stack([top + k, top + k + n, top + after], 1),
                np.stack([top + after, top + k + n, top + after + n], 1),
            ]
            x, faces = np.concatenate([x, inner]), np.concatenate([faces, faces[:, ::-1] + n, *rims])
    odd = [ODDITIES[k] for k in rng.permutation(len(ODDITIES))[: rng.integers(0, 3)]]
    for oddity in odd:
        x, faces = oddity(rng, x, faces)
    if rng.random() < 0.2:  # it starts displaced, perhaps through the body
        x = x + rng.normal(size=3) * rng.choice([0.01, 0.05, 0.5])
    if rng.random() < 0.06:
        x, faces, kind = strange(rng, x, faces)
    return pliant.Mesh(x, faces, name=name), kind, [oddity.__name__ for oddity in odd]


def strange(rng, x, faces):
    """What nobody means as a garment: vertices, faces and its kind."""
    kind = ("triangle", "ball", "soup", "crushed", "beside", "speck")[int(rng.integers(6))]
    if kind == "triangle":
        return x[faces[0]], np.array([[0, 1, 2]]), kind
    if kind == "ball":
        y, faces = meshes.ball(rng, bumps=0.1, level=2, radius=0.2)
        return y + np.array([0.0, 0.5, 0.0]), faces, kind
    if kind == "soup":
        y, faces = meshes.soup(rng)
        return y + np.array([0.0, 0.5, 0.0]), faces, kind
    if kind == "crushed":  # into a plane, a line or a point
        return x * [1.0, rng.choice([0.0, 1e-9]), rng.choice([1.0, 0.0])], faces, kind
    return (x + np.array([40.0, 0.0, 0.0]) if kind == "beside" else x * 1e-3), faces, kind


def buttons(rng, x, faces):
    """Small closed shells that intersect the cloth they are sewn to."""
    parts = [(x, faces)]
    for v in rng.choice(len(x), min(len(x), int(rng.integers(1, 6))), replace=False):
        y, other = meshes.box((0.01, 0.01, 0.01))
        parts.append((y + x[v], other))
    return joined(parts)


def trims(rng, x, faces):
    """Strips that stand on inner edges of the cloth, which then have three faces."""
    for f in rng.choice(len(faces), min(len(faces), int(rng.integers(1, 12))), replace=False):
        a, b, c = faces[f]
        up = np.cross(x[b] - x[a], x[c] - x[a])
        out = 0.02 * up / max(np.linalg.norm(up), 1e-12)
        n = len(x)
        x = np.concatenate([x, x[[a, b]] + out])
        faces = np.concatenate([faces, [[a, b, n + 1], [a, n + 1, n]]])
    return x, faces


def tiny(rng, x, faces):
    """One triangle split into many small ones, beside large ones."""
    for _ in range(int(rng.integers(1, 8))):
        a, b, c = faces[0]
        x = np.concatenate([x, [x[[a, b, c]].mean(0)]])
        m = len(x) - 1
        faces = np.concatenate([[[a, b, m]], [[b, c, m]], [[c, a, m]], faces[1:]])
    return x, faces


def few_slivers(rng, x, faces):
    return meshes.slivers(rng, x, faces, 0.02)


ODDITIES = (buttons, trims, tiny, meshes.duplicates, few_slivers, meshes.permuted, meshes.seams)

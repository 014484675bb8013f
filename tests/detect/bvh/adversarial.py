"""Scenes that break trees, and slow, obvious twins of what trees answer."""

import numpy as np

SIDES = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1]], float)
CORNERS = np.array([[1, 1, 1], [1, 1, -1], [1, -1, 1], [1, -1, -1]], float)
EDGES = np.array([[1, 1, 0], [1, -1, 0], [1, 0, 1], [1, 0, -1], [0, 1, 1], [0, 1, -1]], float)
DIRECTIONS = {6: [SIDES], 14: [SIDES, CORNERS], 18: [SIDES, EDGES], 26: [SIDES, CORNERS, EDGES]}
EPS = 2.3e-16


def grid(n):
    """A flat sheet of 2 n n triangles in the plane z = 0."""
    x = np.stack(np.meshgrid(np.arange(n + 1.0), np.arange(n + 1.0), indexing="ij"), -1).reshape(-1, 2)
    i = (np.arange(n)[:, None] * (n + 1) + np.arange(n)).reshape(-1)
    faces = np.concatenate([np.stack([i, i + 1, i + n + 2], 1), np.stack([i, i + n + 2, i + n + 1], 1)])
    return np.concatenate([x, np.zeros((len(x), 1))], 1), faces


def soup(x):
    return x.reshape(-1, 3), np.arange(x.size // 3).reshape(-1, 3)


def scattered(rng, n):
    return soup(rng.normal(size=(n, 1, 3)) + 0.3 * rng.normal(size=(n, 3, 3)))


def sheet(rng, n):
    return grid(max(int((n / 2) ** 0.5), 1))


def on_borders(rng, n):
    x, faces = soup(rng.integers(-4, 5, (n, 3, 3)) / 10.0)
    return x, faces


def negative(rng, n):
    x, faces = scattered(rng, n)
    return x - 10.0, faces


def flat(rng, n):
    x, faces = scattered(rng, n)
    return x * [1.0, 1.0, 0.0], faces


def identical(rng, n):
    return soup(np.repeat(rng.normal(size=(1, 3, 3)), n, 0))


def huge_and_tiny(rng, n):
    x = rng.normal(size=(n, 1, 3)) + 1e-6 * rng.normal(size=(n, 3, 3))
    x[0] = 3.0 * rng.normal(size=(3, 3))
    return soup(x)


def far(rng, n):
    x, faces = scattered(rng, n)
    return x + np.array([148376.0, 1234.0, -223423.0]), faces


def same_middle(rng, n):
    """All boxes have one middle."""
    r = rng.uniform(0.1, 1.0, (n, 1))
    d = rng.normal(size=(n, 3))
    return soup(np.stack([r * d, -r * d, 0.1 * r * d], 1))


def points_and_lines(rng, n):
    """Triangles of one point or on one line, many of them in the same place."""
    place = rng.integers(-1, 2, (n, 1, 3)) * 0.5
    line = rng.normal(size=(n, 1, 3)) * rng.integers(0, 2, (n, 1, 1)) * rng.integers(-1, 2, (n, 3, 1))
    return soup(place + 0.5 * line)


def tiny_coordinates(rng, n):
    x, faces = scattered(rng, n)
    return x * 1e-120, faces


def folded(rng, n):
    """A strip with all its vertices shared, folded over itself."""
    x, faces = sheet(rng, n)
    x[:, 2] = 0.01 * (x[:, 0] > x[:, 0].max() / 2)
    x[:, 0] = np.minimum(x[:, 0], x[:, 0].max() - x[:, 0])
    return x, faces


def few(rng, n):
    return scattered(rng, int(rng.integers(0, 4)))


SCENES = [
    scattered,
    sheet,
    on_borders,
    negative,
    flat,
    identical,
    huge_and_tiny,
    far,
    same_middle,
    points_and_lines,
    tiny_coordinates,
    folded,
    few,
]


def extent(x):
    return float(np.ptp(x, axis=0).max()) if len(x) else 0.0


def moved(rng, x, kind):
    """Where the vertices go: a nudge, a turn, inside out, or together."""
    size = extent(x)
    if kind == 0:
        return x + 0.05 * size * rng.normal(size=x.shape)
    if kind == 1:
        return (x - x[:1]) @ np.linalg.qr(rng.normal(size=(3, 3)))[0] + x[:1]
    return x[:1] - (x - x[:1]) if kind == 2 else np.repeat(x[:1], len(x), 0) + 0.0 * x


def boxes(x, y, faces):
    points = np.concatenate([x[faces], y[faces]], 1)
    return points.min(1), points.max(1)


def overlaps(items, within):
    """(m,m) which volumes meet, all pairs, from their numbers alone."""
    k = items.shape[1]
    if k == 4:
        gap = np.linalg.norm(items[:, None, :3] - items[None, :, :3], axis=-1)
        return gap <= (items[:, None, 3] + items[None, :, 3] + within) * (1.0 + 16.0 * EPS)
    if k == 15:
        return oriented_overlaps(items, within)
    low, high = items[:, : k // 2], items[:, k // 2 :]
    length = np.linalg.norm(np.concatenate(DIRECTIONS[k]), axis=1)
    reach = within * np.where(length > 1.0, length * (1.0 + 4.0 * EPS), 1.0)
    return ((low[:, None] - high[None] <= reach) & (low[None] - high[:, None] <= reach)).all(-1)


def oriented_overlaps(items, within):
    centre, half, axes = items[:, :3], items[:, 3:6] + 0.5 * within, items[:, 6:].reshape(-1, 3, 3)
    d = centre[None] - centre[:, None]
    size = np.abs(d).sum(-1) + half.sum(1)[:, None] + half.sum(1)[None]
    meet = np.ones(d.shape[:2], bool)
    along = [np.repeat(axes[:, None, s], len(items), 1) for s in range(3)]
    along += [a.swapaxes(0, 1) for a in along[:3]]
    along += [np.cross(along[s], along[3 + t]) for s in range(3) for t in range(3)]
    for s, n in enumerate(along):
        reach_a = (half[:, None] * np.abs(np.einsum("iak,ijk->ija", axes, n))).sum(-1)
        reach_b = (half[None] * np.abs(np.einsum("jak,ijk->ija", axes, n))).sum(-1)
        apart = np.abs((d * n).sum(-1)) > reach_a + reach_b + 16.0 * EPS * size
        meet &= ~(apart & ((s < 6) | (np.linalg.norm(n, axis=-1) > 1e-6)))
    return meet


def surely_near(x, y, faces, within):
    """(m,m) pairs with corners or middles, at the start or at the end, no farther apart than `within`."""
    a = np.concatenate([x[faces], x[faces].mean(1, keepdims=True)], 1)
    b = np.concatenate([y[faces], y[faces].mean(1, keepdims=True)], 1)
    gaps = [np.linalg.norm(c[:, None, :, None] - c[None, :, None], axis=-1).min((2, 3)) for c in (a, b)]
    return np.minimum(*gaps) <= within if len(faces) else np.zeros((0, 0), bool)

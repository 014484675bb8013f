"""Random bodies of several shells: nested, overlapping, touching, duplicated, hollow, inverted, open, tangled.

Plain arrays (x, faces), independent of pliant.
"""

import numpy as np

from attack import meshes


def joined(parts):
    """Concatenate several meshes."""
    first = np.cumsum([0, *(len(x) for x, _ in parts)])
    return np.concatenate([x for x, _ in parts]), np.concatenate([f + k for (_, f), k in zip(parts, first)])


def shell(rng, size=1.0, at=(0.0, 0.0, 0.0)):
    x, faces = meshes.solid(rng)
    return x * size @ meshes.rotation(rng).T + np.asarray(at), faces


def turned(part):
    return part[0], part[1][:, ::-1]


def single(rng):
    return [shell(rng)]


def nested(rng):
    """A shell inside a shell, both with outward normals, like a joint inside a limb."""
    return [shell(rng), shell(rng, 0.3, 0.12 * rng.normal(size=3))]


def overlapping(rng):
    return [shell(rng, 1.0, 0.3 * rng.normal(size=3)) for _ in range(int(rng.integers(2, 4)))]


def touching(rng):
    """Two boxes with a side in common, exactly."""
    x, faces = meshes.box()
    return [(x, faces), (x + np.array([1.0, 0.0, 0.0]), faces)]


def twice(rng):
    one = shell(rng)
    return [one, one]


def double_faces(rng):
    """Pairs of opposite faces, inside or outside of a closed shell, in any order."""
    x, faces = meshes.soup(rng)
    x = 0.25 * x + rng.choice([0.0, 1.2]) * rng.normal(size=3)
    faces = np.concatenate([faces, faces[:, ::-1]])
    return [shell(rng), (x, faces[rng.permutation(len(faces))])]


def hollow(rng):
    """A cavity: the normals of the inner shell point inward."""
    return [shell(rng), turned(shell(rng, 0.3, 0.05 * rng.normal(size=3)))]


def matryoshka(rng):
    """Nested shells, each with outward or inward normals."""
    sizes = 0.6 ** np.arange(int(rng.integers(2, 5)))
    parts = [shell(rng, s) for s in sizes]
    return [turned(p) if rng.random() < 0.4 and k else p for k, p in enumerate(parts)]


def apart(rng):
    return [shell(rng), shell(rng, 0.5, [2.0, 0.0, 0.0])]


def inverted(rng):
    return [turned(shell(rng))]


def opened(rng):
    """A shell without some of its faces."""
    x, faces = shell(rng)
    kept = rng.random(len(faces)) < rng.uniform(0.5, 1.0)
    kept[rng.integers(len(faces))] = True
    return [(x, faces[kept])]


def sheet(rng):
    return [meshes.grid(rng)]


def self_cutting(rng):
    """A closed surface whose vertices were displaced at random."""
    x, faces = meshes.ball(rng, level=int(rng.integers(0, 2)))
    return [(x + 0.3 * rng.normal(size=x.shape), faces)]


KINDS = (
    single,
    nested,
    overlapping,
    touching,
    twice,
    double_faces,
    hollow,
    matryoshka,
    apart,
    inverted,
    opened,
    sheet,
    self_cutting,
)


def any_body(rng):
    """(kind, description, x, faces): a body of about 1 m; sometimes with slivers or split seams."""
    kind = KINDS[int(rng.integers(len(KINDS)))]
    x, faces = joined(kind(rng))
    name = kind.__name__
    for damage in (meshes.t_junctions, meshes.slivers, meshes.seams, meshes.permuted):
        if rng.random() < 0.15:
            x, faces = damage(rng, x, faces)
            name += f" with {damage.__name__}"
    turn = meshes.rotation(rng) if rng.random() < 0.7 else np.eye(3)
    return kind.__name__, name, x @ turn.T, faces


def is_closed(x, faces):
    """Whether the faces at every edge cancel in orientation, on welded vertices."""
    index = np.unique(x + 0.0, axis=0, return_inverse=True)[1].ravel()
    ends = index[faces][:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2).astype(np.int64)
    way = np.where(ends[:, 0] < ends[:, 1], 1, -1)
    ends, way = np.sort(ends, 1), way * (ends[:, 0] != ends[:, 1])
    _, group = np.unique(ends[:, 0] << 32 | ends[:, 1], return_inverse=True)
    return not np.bincount(group.ravel(), way).any()

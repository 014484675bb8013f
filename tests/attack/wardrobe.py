"""Random garments, characters and clips as people have them: shells with thickness, buttons, duplicate faces, tiny
beside large triangles; separate and overlapping parts, odd rigs; fast clips, teleports, first frames far away."""

import dataclasses

import numpy as np

import pliant
from attack import meshes
from pliant.motion.animation import Animation, Skeleton, Track

MOST = 20_000  # triangles of a garment
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


@dataclasses.dataclass
class Dressed:
    """A character and the radius of its trunk, around which garments are made."""

    character: pliant.Character
    radius: float
    what: str


def any_character(rng):
    """A trunk with limbs, as one skin of separate closed parts that may overlap, on a chain of bones."""
    around, rings = int(rng.integers(5, 17)), int(rng.integers(4, 14))
    radius = float(rng.uniform(0.06, 0.15))
    parts = [tube(np.linspace(0.0, TALL, rings), np.full(rings, radius), around, closed=True)]
    for _ in range(int(rng.integers(0, 4))):  # limbs that reach out of the trunk, or lie against it
        x, faces = tube(np.linspace(0.0, 0.4, 6), np.full(6, 0.35 * radius), 8, closed=True)
        lean = np.eye(3)[:, [1, 0, 2]] * [1.0, -1.0, 1.0] if rng.random() < 0.5 else np.eye(3)
        at = np.array([rng.choice([-1.0, 1.0]) * radius * rng.uniform(0.8, 1.6), rng.uniform(0.3, 0.6), 0.0])
        parts.append((x @ lean.T + at, faces))
    open_body = rng.random() < 0.1
    x, faces = joined(parts)
    if open_body:
        faces = faces[rng.random(len(faces)) > 0.05]
    n_bones = int(rng.choice([1, 2, 3, 20]))
    heads = np.zeros((n_bones, 3))
    heads[:, 1] = np.linspace(0.0, 0.8 * TALL, n_bones)
    if rng.random() < 0.15:
        heads[:] = heads[0]  # all bones at one place
    weights = np.maximum(1.0 - np.abs(x[:, 1:2] - heads[None, :, 1]) * (n_bones / TALL), 0.0)
    weights[weights.sum(1) == 0.0, 0] = 1.0
    if rng.random() < 0.2:  # weights that jump from vertex to vertex
        weights = rng.dirichlet(np.full(n_bones, 0.3), len(x))
    joints = np.argsort(-weights, 1, kind="stable")[:, :4]
    kept = np.take_along_axis(weights, joints, 1)
    kept[kept.sum(1) == 0.0, 0] = 1.0
    skeleton = Skeleton.of_heads(np.arange(n_bones) - 1, heads)
    inverse = np.tile(np.eye(3, 4), (n_bones, 1, 1))
    inverse[:, :, 3] = -heads
    clip, what = any_clip(rng, skeleton, n_bones)
    character = pliant.Character(
        pliant.Mesh(x, faces, name="body"),
        tuple(f"bone {k}" for k in range(n_bones)),
        np.arange(n_bones) - 1,
        joints,
        kept / kept.sum(1, keepdims=True),
        {"clip": clip},
        skeleton,
        np.arange(n_bones),
        inverse,
    )
    return Dressed(character, radius, f"{what}{', open' if open_body else ''}")


def any_clip(rng, skeleton, n_bones):
    """A clip and its kind: calm, fast, teleports, far away, scaled bones, or a single keyframe."""
    kind = ("calm", "calm", "fast", "teleport", "far", "scaled", "still")[int(rng.integers(7))]
    keys = 1 if kind == "still" else int(rng.integers(2, 8))
    gaps = rng.uniform(0.01, 0.2, keys) * (10.0 ** rng.uniform(-1, 0) if rng.random() < 0.3 else 1.0)
    times = np.cumsum(gaps) - (gaps[0] if rng.random() < 0.7 else 0.0)
    speed = {"calm": 0.1, "fast": 2.0}.get(kind, 0.3)
    tracks = []
    for bone in range(n_bones):
        turns = np.concatenate([speed * rng.normal(size=(keys, 3)), np.ones((keys, 1))], 1)
        turns /= np.linalg.norm(turns, axis=1)[:, None]
        if bone or kind in ("calm", "fast", "still"):
            tracks.append(Track(skeleton.column(bone, "rotation"), times, turns, "linear", True))
    root = np.tile(skeleton.rest[:3], (keys, 1))
    if kind == "teleport":
        root += rng.choice([0.0, 1.0, 30.0], keys)[:, None] * rng.normal(size=(keys, 3))
        tracks.append(Track(skeleton.column(0, "translation"), times, root, str(rng.choice(["step", "linear"]))))
    if kind == "far":
        root += 10.0 ** rng.uniform(0, 3) * rng.normal(size=3)
        tracks.append(Track(skeleton.column(0, "translation"), times, root))
    if kind == "scaled":
        sizes = 10.0 ** rng.uniform(-0.3, 0.3, (keys, 3))
        tracks.append(Track(skeleton.column(int(rng.integers(n_bones)), "scale"), times, sizes))
    return Animation(tuple(tracks)), kind


def any_garment(rng, radius, name="garment"):
    """A garment around the trunk, or a sheet over or through it, with up to two oddities; its name and kind."""
    wanted = int(np.exp(rng.uniform(np.log(200.0), np.log(rng.choice([1500.0, 1500.0, 5000.0, MOST])))))
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
    for oddity in rng.permutation(len(ODDITIES))[: rng.integers(0, 3)]:
        x, faces = ODDITIES[oddity](rng, x, faces)
    if rng.random() < 0.2:  # it starts displaced, perhaps through the body
        x = x + rng.normal(size=3) * rng.choice([0.01, 0.05, 0.5])
    return pliant.Mesh(x, faces, name=name), kind


def buttons(rng, x, faces):
    """Small closed shells that intersect the cloth they are sewn to."""
    parts = [(x, faces)]
    for v in rng.choice(len(x), min(len(x), int(rng.integers(1, 6))), replace=False):
        y, other = meshes.box((0.01, 0.01, 0.01))
        parts.append((y + x[v], other))
    return joined(parts)


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


ODDITIES = (buttons, tiny, meshes.duplicates, few_slivers, meshes.permuted, meshes.seams)

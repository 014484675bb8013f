"""Random characters and clips as people have them: separate and overlapping parts, open, inverted and mirrored ones,
odd rigs, the kinds of `wild`, the mannequin, files of shared/data; fast clips, teleports, scaled bones, first poses far
away, limbs that fold or close on the garment."""

import dataclasses
import functools
import os
import pathlib
import shutil
import tempfile

import numpy as np

import pliant
import wild
from attack.wardrobe import TALL, joined, tube
from pliant.motion.animation import Animation, Skeleton, Track

HERE = pathlib.Path(__file__).resolve()
DATA = pathlib.Path(os.environ.get("PLIANT_DATA") or HERE.parents[3] / "shared" / "data")  # as in conftest.py
CLIPS = ("calm", "fast", "fold", "squeeze", "teleport", "far", "scaled", "still")
SURFACES = (0.6, 0.1, 0.1, 0.1, 0.1)  # shares of the kinds of `any_surface`
BONES = ("hips", "spine", "neck")
FILES = ("SimpleSkin.gltf", "RiggedSimple.glb", "RiggedFigure.glb", "AnimatedMorphCube.glb", "Fox.glb")


@dataclasses.dataclass
class Worn:
    """A saved character: the file, its kind, and the trunk, around which garments are made."""

    path: pathlib.Path
    what: str
    clip: str = "of the file"
    radius: float = 0.1  # of the trunk, where the character is 1 m tall
    size: float = 1.0  # the height in metres
    low: np.ndarray = dataclasses.field(default_factory=lambda: np.zeros(3))  # centre of the lower end
    bones: bool = False  # whether its bones have names of parts of a body

    def fitted(self, garment: pliant.Mesh) -> pliant.Mesh:
        return dataclasses.replace(garment, vertices=garment.vertices * self.size + self.low)


def any_character(rng, folder):
    """A character in a file of the folder. Where shared/data is absent, another one takes the place of its files."""
    kind, own = rng.random(), np.random.default_rng(rng.integers(2**32))
    if kind < 0.62:
        return limbed(own, folder)
    if kind < 0.90:
        name = str(own.choice(wild.KINDS))
        path, _ = wild.saved(name, own, folder)
        return measured(path, name)
    name = str(own.choice(FILES))
    if kind < 0.98 and (DATA / "rigged" / name).is_file():
        return measured(pathlib.Path(shutil.copy(DATA / "rigged" / name, folder)), name)
    path = folder / "mannequin.glb"
    path.write_bytes(mannequin(float(own.choice([0.7, 0.8]))))
    return dataclasses.replace(measured(path, "mannequin"), bones=True)


@functools.cache
def mannequin(size):
    """The file of a walking mannequin: it takes longer to make than to dress, and needs scikit-image."""
    made = DATA / "made" / f"mannequin-{size}.glb"
    if made.is_file():
        return made.read_bytes()
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "mannequin.glb"
        pliant.save_character(path, pliant.shapes.walking_mannequin(size))
        return path.read_bytes()


def measured(path, what):
    """The trunk of a character from a file: the median distance of its vertices from a vertical axis."""
    x = pliant.load_character(path).shape(None, 0.0)
    low, high = x.min(0), x.max(0)
    size = float(max(high[1] - low[1], 0.2 * np.linalg.norm(high - low)))
    centre = np.median(x, axis=0)
    radius = float(np.median(np.hypot(x[:, 0] - centre[0], x[:, 2] - centre[2]))) / size
    return Worn(path, what, "of the file", max(radius, 0.05), size, np.array([centre[0], low[1], centre[2]]))


def limbed(rng, folder):
    """A trunk with limbs, as one skin of separate closed parts that may overlap, on a chain of bones."""
    clip_kind = str(rng.choice(CLIPS))
    around, rings = int(rng.integers(4, 9)), int(rng.integers(3, 8))
    if rng.random() < 0.02:
        around, rings = 16, 14
    radius = float(rng.uniform(0.06, 0.15))
    parts = [tube(np.linspace(0.0, TALL, rings), np.full(rings, radius), around, closed=True)]
    if clip_kind == "squeeze":  # a limb beside the trunk, which moves into it
        x, faces = tube(np.linspace(0.2, 0.8, 4), np.full(4, 0.5 * radius), 6, closed=True)
        parts.append((x + np.array([2.0 * radius, 0.0, 0.0]), faces))
    for _ in range(int(rng.choice([0, 0, 1, 3]))):  # limbs that reach out of the trunk, or lie against it
        x, faces = tube(np.linspace(0.0, 0.4, 4), np.full(4, 0.35 * radius), 5, closed=True)
        lean = np.eye(3)[:, [1, 0, 2]] * [1.0, -1.0, 1.0] if rng.random() < 0.5 else np.eye(3)
        at = np.array([rng.choice([-1.0, 1.0]) * radius * rng.uniform(0.8, 1.6), rng.uniform(0.3, 0.6), 0.0])
        parts.append((x @ lean.T + at, faces))
    what, parts = any_surface(rng, parts)
    x, faces = joined(parts)
    n_bones = 2 if clip_kind == "squeeze" else int(rng.choice([1, 2, 3, 20]))
    heads = np.zeros((n_bones, 3))
    heads[:, 1] = np.linspace(0.0, 0.8 * TALL, n_bones)
    if rng.random() < 0.15:
        heads[:] = heads[0]  # all bones at one place
    weights = np.maximum(1.0 - np.abs(x[:, 1:2] - heads[None, :, 1]) * (n_bones / TALL), 0.0)
    weights[weights.sum(1) == 0.0, 0] = 1.0
    if clip_kind == "squeeze":
        limb = np.arange(len(x)) - len(parts[0][0])
        weights = np.eye(2)[((limb >= 0) & (limb < len(parts[1][0]))).astype(int)]
    elif rng.random() < 0.2:  # weights that jump from vertex to vertex
        weights = rng.dirichlet(np.full(n_bones, 0.3), len(x))
    joints = np.argsort(-weights, 1, kind="stable")[:, :4]
    kept = np.take_along_axis(weights, joints, 1)
    kept[kept.sum(1) == 0.0, 0] = 1.0
    skeleton = Skeleton.of_heads(np.arange(n_bones) - 1, heads)
    inverse = np.tile(np.eye(3, 4), (n_bones, 1, 1))
    inverse[:, :, 3] = -heads
    character = pliant.Character(
        pliant.Mesh(x, faces, name="body"),
        tuple(f"{BONES[k % len(BONES)]} {k}" for k in range(n_bones)),
        np.arange(n_bones) - 1,
        joints,
        kept / kept.sum(1, keepdims=True),
        {"clip": any_clip(rng, skeleton, n_bones, clip_kind, radius)},
        skeleton,
        np.arange(n_bones),
        inverse,
    )
    path = folder / "body.glb"
    pliant.save_character(path, character)
    return Worn(path, what, clip_kind, radius, bones=n_bones >= len(BONES))


def any_surface(rng, parts):
    """The parts as they are, open, with one or all of them inside out, or with one of them twice; and what they are."""
    kind = str(rng.choice(["parts", "open parts", "inverted parts", "an inverted part", "a part twice"], p=SURFACES))
    if kind == "open parts":
        parts = [(x, faces[rng.random(len(faces)) > 0.05]) for x, faces in parts]
    elif kind == "inverted parts":
        parts = [(x, faces[:, ::-1]) for x, faces in parts]
    elif kind == "an inverted part":
        parts[-1] = parts[-1][0], parts[-1][1][:, ::-1]
    elif kind == "a part twice":
        parts = [*parts, parts[-1]]
    return kind, parts


def any_clip(rng, skeleton, n_bones, kind, radius):
    """A clip of one of CLIPS; `radius` of the trunk."""
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
    if kind == "fold":  # to and fro, by up to half a turn about one axis
        angle = np.pi * rng.uniform(0.3, 0.5) * (np.arange(keys) % 2)
        turns = np.stack([0.0 * angle, 0.0 * angle, np.sin(angle), np.cos(angle)], 1)
        tracks = [Track(skeleton.column(n_bones - 1, "rotation"), times, turns, "linear", True)]
    if kind == "squeeze":  # the limb closes on the trunk, and opens
        at = skeleton.column(1, "translation")
        nearer = np.outer(np.arange(keys) % 2, [-rng.uniform(0.5, 1.2) * radius, 0.0, 0.0])
        tracks = [Track(at, times, skeleton.rest[at : at + 3] + nearer)]
    root = np.tile(skeleton.rest[:3], (keys, 1))
    if kind == "teleport":
        root += rng.choice([0.0, 1.0, 30.0], keys)[:, None] * rng.normal(size=(keys, 3))
        tracks.append(Track(skeleton.column(0, "translation"), times, root, str(rng.choice(["step", "linear"]))))
    if kind == "far":
        root += 10.0 ** rng.uniform(0, 3) * rng.normal(size=3)
        tracks.append(Track(skeleton.column(0, "translation"), times, root))
    if kind == "scaled":
        sizes = 10.0 ** rng.uniform(-0.3, 0.3, (keys, 3))
        if rng.random() < 0.3:  # a bone that vanishes, is mirrored, or grows beyond measure
            sizes[rng.integers(keys)] = rng.choice([0.0, -1.0, 1e-3, 20.0], 3 if rng.random() < 0.3 else 1)
        tracks.append(Track(skeleton.column(int(rng.integers(n_bones)), "scale"), times, sizes))
    return Animation(tuple(tracks))

"""The characters of the gauntlet, at the size of a person: the product's own mannequin, and those of a folder."""

import dataclasses
import functools
import pathlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pliant.io import load_character
from pliant.mesh import Mesh
from pliant.motion.character import Character
from pliant.motion.deforming import Recorded, Skinned
from pliant.shapes import walking_mannequin

from .. import models
from ..bone_boxes import human_character

Floats = NDArray[np.float64]
PERSON = ("snug top", "T-shirt", "skirt", "long dress", "cape", "poncho")
ANIMAL = ("tube", "blanket")
TALL = 1.7  # metres, of a person; the fox is as long as one of the largest foxes
LONG = 1.1
SAMPLES = 30.0  # frames per second of a sequence


@dataclasses.dataclass(frozen=True, eq=False)
class Actor:
    """A character that plays one clip. `sequence`: its positions per frame are the obstacle, without bones."""

    name: str
    character: Character
    clip: str
    loop: bool = False
    sequence: bool = False
    garments: tuple[str, ...] = PERSON

    @functools.cached_property
    def skin(self) -> Mesh:
        """The mesh in the pose in which garments are put on."""
        return self.character.mesh.moved(self.character.shape(None, 0.0))

    def recorded(self, motion: Skinned, seconds: float) -> Recorded:
        """The skinned motion as positions per frame."""
        times = np.arange(0.0, seconds + 1.0 / SAMPLES, 1.0 / SAMPLES)
        return Recorded(times, np.stack([motion.shape(sample) for sample in motion.sample(times)]))


@dataclasses.dataclass(frozen=True)
class _Entry:
    """How to make an actor: the file of its character below the data folder, "" for the mannequin."""

    name: str
    file: str
    clip: str
    loop: bool = False
    sequence: bool = False
    garments: tuple[str, ...] = PERSON
    without: tuple[str, ...] = ()  # parts of the file that this bone moves are left out: weapons, a modelled cape


_PROPS = ("Sword", "Shield", "Cape")
_ENTRIES = (
    _Entry("mannequin", "", "walk", loop=True),
    _Entry("mannequin sequence", "", "walk", loop=True, sequence=True, garments=("T-shirt", "skirt")),
    _Entry("human", "human", "walk", loop=True),
    _Entry("knight run", "rigged/KayKit_Knight.glb", "Running_A", loop=True, without=_PROPS),
    _Entry("knight jump", "rigged/KayKit_Knight.glb", "Jump_Full_Short", without=_PROPS),
    _Entry("knight attack", "rigged/KayKit_Knight.glb", "1H_Melee_Attack_Chop", without=_PROPS),
    _Entry("knight spin", "rigged/KayKit_Knight.glb", "2H_Melee_Attack_Spin", without=_PROPS),
    _Entry("cesium man", "rigged/CesiumMan.glb", "animation 0", loop=True),
    _Entry("robot", "rigged/RobotExpressive.glb", "Dance"),
    _Entry("fox", "rigged/Fox.glb", "Run", loop=True, garments=ANIMAL),
)
NAMES = tuple(entry.name for entry in _ENTRIES)
GARMENTS = {entry.name: entry.garments for entry in _ENTRIES}


def absent(folder: pathlib.Path | None) -> list[str]:
    """Names of the characters whose files are not there."""
    root = models.data_folder(folder)
    return [entry.name for entry in _ENTRIES if entry.file and (root is None or not (root / entry.file).exists())]


@functools.lru_cache(4)
def actor(name: str, folder: pathlib.Path | None, detail: float = 1.0) -> Actor:
    """The character of this name; `detail` is that of the mannequin."""
    entry = next(entry for entry in _ENTRIES if entry.name == name)
    if not entry.file:
        character = walking_mannequin(detail)
    else:
        root = models.data_folder(folder)
        if root is None or not (root / entry.file).exists():
            raise FileNotFoundError(f"{entry.file} is not in the data folder; --data names one")
        character = _loaded(root / entry.file, entry)
    return Actor(name, character, entry.clip, entry.loop, entry.sequence, entry.garments)


def _loaded(path: pathlib.Path, entry: _Entry) -> Character:
    if path.is_dir():
        return human_character(path)
    long = entry.garments is ANIMAL

    def read(units: float) -> Character:
        return _without(load_character(path, units=units), entry.without)

    found = read(1.0)
    low, high = found.shape(None, 0.0).min(0), found.shape(None, 0.0).max(0)
    return read((LONG / (high - low)[2]) if long else TALL / float((high - low)[1]))


def _without(character: Character, bones: Sequence[str]) -> Character:
    """The character without the vertices that a bone with one of these words in its name moves most."""
    if not bones:
        return character
    dropped = np.array([any(word in name for word in bones) for name in character.names])
    mesh = character.mesh
    kept = ~dropped[character.joints[:, 0]]
    faces = mesh.faces[kept[mesh.faces].all(1)]
    used = np.unique(faces)
    rank = np.full(mesh.n_vertices, -1, np.int32)
    rank[used] = np.arange(len(used), dtype=np.int32)
    return dataclasses.replace(
        character,
        mesh=Mesh(mesh.vertices[used], rank[faces], name=mesh.name),
        joints=character.joints[used],
        weights=character.weights[used],
    )

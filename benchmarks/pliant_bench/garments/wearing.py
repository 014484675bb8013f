"""A garment on a character in motion, as `pliant drape` makes it: the scene, and the simulation with its defaults."""

import dataclasses
import functools
import pathlib
from typing import Any

import numpy as np

from pliant.detect.choose import resolve_method_for_scene
from pliant.detect.queries.closest_point import ClosestPoints
from pliant.motion.deforming import Attached, Deforming, Skinned
from pliant.scene import Grip, Scene
from pliant.scenes.defaults import default_run_length
from pliant.scenes.dressing import dress_scene
from pliant.simulation import Simulation

from .characters import actor
from .outline import Outline
from .tailor import Garment, garment

DT, LEAD_IN = 0.01, 0.5  # seconds, of a frame and of the lead-in: the defaults of `pliant drape`
STRIDES = 2.0  # seconds of a looping clip


@dataclasses.dataclass(frozen=True)
class Run:
    """What is simulated. None: the default of the product."""

    character: str
    garment: str
    particles: int
    frames: int | None = None
    solver: str | None = None
    substeps: int | None = None
    self_contact: str | None = None
    folder: pathlib.Path | None = None
    detail: float = 1.0  # of the mannequin

    @property
    def name(self) -> str:
        return f"{self.character}, {self.garment}, {self.particles}"


@functools.lru_cache(4)
def outline(character: str, folder: pathlib.Path | None, detail: float) -> Outline:
    return Outline(actor(character, folder, detail).skin)


def tailored(run: Run) -> Garment:
    """The garment of a run; clips of one character share its outline."""
    plain = run.character.removesuffix(" sequence")
    same = "knight run" if plain.startswith("knight") else plain
    return garment(outline(same, run.folder, run.detail), run.garment, run.particles)


def scene(run: Run, worn: Garment) -> Scene:
    """The character in its garment; rows that the garment names are attached to the skin, and nothing else."""
    who = actor(run.character, run.folder, run.detail)
    chosen: dict[str, Any] = {} if run.self_contact is None else {"self_contact": run.self_contact}
    built = dress_scene(
        [worn.mesh], who.character, clip=who.clip, lead_in=LEAD_IN, loop=who.loop, hold="none", name=run.name, **chosen
    )
    cloth, body = built.bodies
    motion: Deforming = body.motion  # type: ignore[assignment]
    if who.sequence:
        assert isinstance(motion, Skinned)
        motion = who.recorded(motion, DT * frames(run, built) + 1.0)
        body = dataclasses.replace(body, motion=motion)
    grips = [_grip(worn, body.mesh, motion)] if len(worn.held) else []
    return dataclasses.replace(built, bodies=[dataclasses.replace(cloth, grips=grips), body])


def _grip(worn: Garment, skin: Any, motion: Deforming) -> Grip:
    points = worn.mesh.vertices[worn.held]
    corners = skin.welded.faces[ClosestPoints(skin).query(points)[2]]
    first = np.unique(skin.weld_index, return_index=True)[1]
    return Grip(worn.held, Attached.at(motion.taking(first), skin.welded.vertices, corners, points))


def frames(run: Run, built: Scene) -> int:
    """The number of frames: the clip once, or `STRIDES` seconds of one that loops."""
    if run.frames is not None:
        return run.frames
    who = actor(run.character, run.folder, run.detail)
    span = STRIDES if who.loop else who.character.clips[who.clip].duration
    return round((LEAD_IN + span) / DT)


def simulation(run: Run, built: Scene) -> Simulation:
    """The simulation that `pliant drape` would make of the scene."""
    chosen: dict[str, Any] = {} if run.solver is None else {"solver": run.solver}
    substeps = default_run_length(built).substeps if run.substeps is None else run.substeps
    return Simulation(built, DT, substeps=substeps, method=resolve_method_for_scene(built, None), **chosen)

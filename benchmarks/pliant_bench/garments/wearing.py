"""A garment on a character in motion, as `pliant drape` makes it: the scene, and the simulation with its defaults."""

import dataclasses
import functools
import pathlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pliant.binding.bind import bind
from pliant.detect.choose import resolve_method_for_scene
from pliant.detect.queries.closest_point import ClosestPoints
from pliant.mesh import Mesh
from pliant.motion.deforming import Skinned
from pliant.scene import Scene
from pliant.scenes.defaults import default_run_length
from pliant.scenes.dressing import dress_scene
from pliant.scenes.holding import Holding, hold_cloths
from pliant.simulation import Simulation

from .characters import actor
from .outline import Outline
from .tailor import PROBE, Garment, garment

Floats = NDArray[np.float64]
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
    still: bool = False  # the character stays in the pose in which garments are put on

    @property
    def name(self) -> str:
        return f"{self.character}, {self.garment}, {self.particles}"


@functools.lru_cache(4)
def outline(character: str, folder: pathlib.Path | None, detail: float) -> Outline:
    return Outline(actor(character, folder, detail).skin)


def tailored(run: Run) -> Garment:
    """The garment of a run; clips of one character share its outline. Garments that lie on trunk and arms are cut with
    the ease that the clip needs: found with `PROBE` particles, so that it does not depend on their number."""
    plain = run.character.removesuffix(" sequence")
    same = "knight run" if plain.startswith("knight") else plain
    body = outline(same, run.folder, run.detail)
    made = garment(body, run.garment, run.particles)
    if run.still or not made.fitted:
        return made
    who, probe = actor(run.character, run.folder, run.detail), garment(body, run.garment, PROBE).mesh
    ease = bind(probe, who.character, pose="rest").ease(who.clip)
    return dataclasses.replace(made, ease=_carried_over(ease, probe, made.mesh))


def _carried_over(values: Floats, of: Mesh, to: Mesh) -> Floats:
    """Values (n,) of the vertices of a mesh at the nearest points of its surface to those of another mesh."""
    _, nearest, face, _ = ClosestPoints(of).query_by_nearest_face(to.vertices)
    welded = np.ones(of.welded.n_vertices)
    welded[of.weld_index] = values
    corners = of.welded.faces[face]
    weights = barycentric(of.welded.vertices[corners], nearest)
    return np.asarray((welded[corners] * weights).sum(1))


def barycentric(corners: Floats, points: Floats) -> Floats:
    """The weights (n,3) of points (n,3) in the planes of triangles (n,3,3)."""
    a, u, v = corners[:, 0], corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    w = points - a
    uu, uv, vv, wu, wv = ((p * q).sum(1) for p, q in ((u, u), (u, v), (v, v), (w, u), (w, v)))
    below = np.maximum(uu * vv - uv * uv, 1e-300)
    s, t = (vv * wu - uv * wv) / below, (uu * wv - uv * wu) / below
    return np.stack([1.0 - s - t, s, t], 1)


def scene(run: Run, worn: Garment) -> Scene:
    """The character in its garment, which is attached as by `pliant drape --attach`, and by nothing else."""
    who = actor(run.character, run.folder, run.detail)
    character = dataclasses.replace(who.character, clips={}) if run.still else who.character
    chosen: dict[str, Any] = {} if run.self_contact is None else {"self_contact": run.self_contact}
    played: dict[str, Any] = {} if run.still else {"clip": who.clip, "lead_in": LEAD_IN, "loop": who.loop}
    built = dress_scene([worn.mesh], character, hold="none", name=run.name, **played, **chosen)
    if worn.ease is not None:
        cloth, body = built.bodies
        built = dataclasses.replace(built, bodies=[dataclasses.replace(cloth, rest_scale=worn.ease), body], closing=0.0)
    if who.sequence:
        cloth, body = built.bodies
        assert isinstance(body.motion, Skinned)
        motion = who.recorded(body.motion, DT * frames(run, built) + 1.0)
        built = dataclasses.replace(built, bodies=[cloth, dataclasses.replace(body, motion=motion)])
    return _attached(built, worn)


def _attached(built: Scene, worn: Garment) -> Scene:
    """The scene with the garment attached by the first of its requests that this character has a place for."""
    why: ValueError | None = None
    for request in worn.attach:
        try:
            return hold_cloths(built, Holding(attach=(request,)))
        except ValueError as error:  # a region without a bone of its name, or far from the garment
            why = error
    if why is not None:
        raise why
    return built


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

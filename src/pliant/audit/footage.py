"""The states that methods are compared in: of a run of a scene, of animated meshes, of meshes that stand still."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..clip import Clip
from ..deforming import Skinned
from ..detect.base import Side
from ..mesh import Mesh
from ..scene import Scene
from ..scenes.drape import default_eps
from ..simulation import Simulation
from ..state import State
from .questions import Question

Floats = NDArray[np.float64]
EVERY = 15  # steps of a run between two states
DT = 0.01  # s


class Footage(NamedTuple):
    """Questions in states. meshes: what there is to see, with the row of its first vertex, and whether it is fixed."""

    title: str
    questions: list[Question]
    states: list[State]
    within: dict[str, float]  # role -> metres, where nobody says otherwise
    meshes: list[tuple[Mesh, int, bool]]


def of_scene(scene: Scene, frames: int, every: int | None, tell: Callable[[float], None]) -> Footage:
    """Every `every`-th state of a run, by the method that `auto` picks."""
    skinned = any(isinstance(shape, Skinned) for shape in scene.shapes.values())
    sim = Simulation(scene, DT, substeps=3 if skinned else 16 if scene.soft else 1, method="auto")
    count = EVERY if every is None else every
    states: list[State] = []
    for k in range(frames * count):
        sim.step()
        if (k + 1) % count == 0:
            states.append(sim.state.copy())
        tell((k + 1) / (frames * count))
    within = {"obstacle": 2.0 * scene.eps}
    within["pair"] = within["self"] = 2.0 * (scene.eps if scene.thickness is None else scene.thickness)
    meshes = [(body.mesh.surface, int(scene.first[b]), body.fixed) for b, body in enumerate(scene.bodies)]
    return Footage(scene.name, _questions(scene), states, within, meshes)


def _questions(scene: Scene) -> list[Question]:
    """What is soft on what is not, on each other, and with itself; bodies whose shared volume is asked for, too."""
    moved = {b: scene.shapes.get(b) for b in range(len(scene.bodies))}
    sides, wholes = [], []
    for b, body in enumerate(scene.bodies):
        first = int(scene.first[b])
        sides.append(Side(body.mesh.surface, first, b, moved[b]))
        wholes.append(Side(body.mesh.welded, first, b, moved[b]))

    def ask(role: str, a: int, b: int | None) -> Question:
        other = None if b is None else sides[b]
        whole = (wholes[a], None if b is None else wholes[b])
        return Question(role, sides[a], other, whole, bends=b is not None and b in scene.shapes)

    soft, fixed = scene.soft, scene.fixed
    pairs = [(a, b) for k, a in enumerate(soft) for b in soft[k + 1 :]] + list(scene.overlaps)
    return [
        *(ask("obstacle", a, b) for a in soft for b in fixed),
        *(ask("pair", a, b) for a, b in pairs),
        *(ask("self", a, None) for a in soft),
    ]


def of_clips(a: Clip, b: Clip | None, frames: int, every: int | None) -> Footage:
    """Frames of `a`, and of `b` where it is given; either may stand still."""
    parts = [_welded(clip) for clip in (a, b) if clip is not None]
    lengths = {len(clip) for clip in (a, b) if clip is not None and not clip.still}
    if len(lengths) > 1:
        raise ValueError(f"A has {len(a)} frames and B has {len(b or ())}; expected as many, or one that stands still")
    count = max(lengths, default=1)
    step = max(1, count // frames) if every is None else every
    states = []
    for t in list(range(0, count, step))[:frames]:
        now, before = (_positions(parts, at) for at in (t, max(t - 1, 0)))
        state = State.at(now, time=float(t))
        state.x_start[:] = before
        states.append(state)
    rest = _positions(parts, 0)
    sides, first = [], 0
    for k, (clip, rows, faces) in enumerate(parts):
        mesh = Mesh(rest[first : first + len(rows)], faces, name=clip.mesh.name)
        sides.append(Side(mesh, first, k))
        first += len(rows)
    meshes = [side.mesh for side in sides]
    within = 2.0 * default_eps(meshes[-1], meshes[0])
    other = sides[1] if b is not None else None
    asked = [Question("self", sides[0], None, (sides[0], None))]
    if other is not None:
        glides = b is not None and not b.still
        asked = [Question("obstacle", sides[0], other, (sides[0], other), glides=glides)]
    seen = [(side.mesh, side.first, side.body > 0) for side in sides]
    title = meshes[0].name if b is None else f"{meshes[0].name} on {meshes[1].name}"
    return Footage(title, asked, states, dict.fromkeys(("obstacle", "pair", "self"), within), seen)


def _welded(clip: Clip) -> tuple[Clip, NDArray[np.int64], NDArray[np.int32]]:
    """A clip, the rows of its vertices that faces use, one for each place, and the faces on these."""
    mesh = clip.mesh
    used, faces = np.unique(mesh.weld_index[mesh.faces], return_inverse=True)
    first = np.unique(mesh.weld_index, return_index=True)[1]
    return clip, first[used], faces.reshape(-1, 3).astype(np.int32)


def _positions(parts: list[tuple[Clip, NDArray[np.int64], NDArray[np.int32]]], t: int) -> Floats:
    return np.concatenate([np.asarray(clip.at(t), np.float64)[rows] for clip, rows, _ in parts])

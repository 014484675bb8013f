"""The states on which methods are compared: of a simulated scene, or of animated or static meshes."""

from collections.abc import Callable
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from ..detect.base import Side
from ..mesh import Mesh
from ..motion.clip import Clip
from ..motion.deforming import Skinned
from ..scene import Scene
from ..scenes.drape import default_eps
from ..simulation import Simulation
from ..state import State
from .queries import Query

Floats = NDArray[np.float64]
EVERY = 15  # steps of a run between two states
DT = 0.01  # s


class ComparedStates(NamedTuple):
    """Queries and states. meshes: each mesh, the row of its first vertex, and whether it is an obstacle."""

    title: str
    queries: list[Query]
    states: list[State]
    within: dict[str, float]  # role -> default contact distance, metres
    meshes: list[tuple[Mesh, int, bool]]


def of_scene(scene: Scene, frames: int, every: int | None, report_progress: Callable[[float], None]) -> ComparedStates:
    """Every `every`-th state of a simulation with the method `auto`."""
    skinned = any(isinstance(shape, Skinned) for shape in scene.deforming_motions.values())
    sim = Simulation(scene, DT, substeps=3 if skinned else 16 if scene.deformable else 1, method="auto")
    count = EVERY if every is None else every
    states: list[State] = []
    for k in range(frames * count):
        sim.step()
        if (k + 1) % count == 0:
            states.append(sim.state.copy())
        report_progress((k + 1) / (frames * count))
    within = {"obstacle": 2.0 * scene.eps}
    within["pair"] = within["self"] = 2.0 * cast(float, scene.thickness)
    meshes = [(body.mesh.surface, int(scene.first[b]), body.obstacle) for b, body in enumerate(scene.bodies)]
    return ComparedStates(scene.name, _queries(scene), states, within, meshes)


def _queries(scene: Scene) -> list[Query]:
    """Return the queries of a scene, one per role and pair: deformable bodies against obstacles, against each other and
    with themselves; and the pairs `scene.overlaps`."""
    moved = {b: scene.deforming_motions.get(b) for b in range(len(scene.bodies))}
    sides, wholes = [], []
    for b, body in enumerate(scene.bodies):
        first = int(scene.first[b])
        sides.append(Side(body.mesh.surface, first, b, moved[b], body.heights))
        wholes.append(Side(body.mesh.welded, first, b, moved[b], body.heights))

    def query(role: str, a: int, b: int | None) -> Query:
        other = None if b is None else sides[b]
        whole = (wholes[a], None if b is None else wholes[b])
        return Query(role, sides[a], other, whole, deforming=b is not None and b in scene.deforming_motions)

    soft, obstacles = scene.deformable, scene.obstacles
    pairs = [(a, b) for k, a in enumerate(soft) for b in soft[k + 1 :]] + list(scene.overlaps)
    return [
        *(query("obstacle", a, b) for a in soft for b in obstacles),
        *(query("pair", a, b) for a, b in pairs),
        *(query("self", a, None) for a in soft),
    ]


class _Part(NamedTuple):
    """A clip, the rows of its welded, referenced vertices, and their mesh at frame 0, tets included."""

    clip: Clip
    rows: NDArray[np.int64]
    mesh: Mesh


def of_clips(a: Clip, b: Clip | None, frames: int, every: int | None) -> ComparedStates:
    """Frames of `a`, and of `b` where given; either may be static."""
    parts = [_part(clip) for clip in (a, b) if clip is not None]
    lengths = [len(part.clip) for part in parts if not part.clip.still]
    if len(set(lengths)) > 1:
        raise ValueError(f"A has {lengths[0]} frames and B {lengths[1]}; expected the same number, or a static one")
    count = max(lengths, default=1)
    if every is None:
        shown = np.unique(np.linspace(0, count - 1, min(frames, count)).round().astype(int)).tolist()
    else:
        shown = list(range(0, count, every)[:frames])
    states = []
    for t in shown:
        state = State.at(_positions(parts, t), time=float(t))
        state.x_start[:] = _positions(parts, max(t - 1, 0))
        states.append(state)
    first = np.cumsum([0, *(len(part.rows) for part in parts)]).tolist()
    sides = [Side(part.mesh.surface, first[k], k) for k, part in enumerate(parts)]
    wholes = [Side(part.mesh, first[k], k) for k, part in enumerate(parts)]
    names = [side.mesh.name for side in sides]
    if b is None:
        query = Query("self", sides[0], None, (wholes[0], None))
    else:
        query = Query("obstacle", sides[0], sides[1], (wholes[0], wholes[1]), moves_without_pose=not b.still)
    within = 2.0 * default_eps(sides[-1].mesh, sides[0].mesh)
    seen = [(side.mesh, side.first, side.body > 0) for side in sides]
    return ComparedStates(
        " on ".join(names), [query], states, dict.fromkeys(("obstacle", "pair", "self"), within), seen
    )


def _part(clip: Clip) -> _Part:
    """Weld the vertices of a clip; without tets, drop unreferenced ones."""
    mesh = clip.mesh.welded
    rows = np.unique(clip.mesh.weld_index, return_index=True)[1]
    if not len(mesh.tets):
        used, faces = np.unique(mesh.faces, return_inverse=True)
        groups = None if mesh.groups is None else np.arange(len(used), dtype=np.int32)
        corners = faces.reshape(-1, 3).astype(np.int32)
        mesh, rows = Mesh(mesh.vertices[used], corners, name=clip.mesh.name, groups=groups), rows[used]
    return _Part(clip, rows, mesh.moved(np.asarray(clip.at(0), np.float64)[rows]))


def _positions(parts: list[_Part], t: int) -> Floats:
    return np.concatenate([np.asarray(part.clip.at(t), np.float64)[part.rows] for part in parts])

"""A skirt on a mannequin whose clip starts far from the rest pose, jumps, or runs: strain, penetration and CPU time.

`python benchmarks/studies/wild_motion.py [NAME ...]` prints the rows of the table whose names begin so, by default all,
in two processes of one thread each.
"""

import concurrent.futures
import dataclasses
import multiprocessing
import os
import sys
import time
from collections.abc import Callable
from typing import Any

os.environ["NUMBA_NUM_THREADS"] = "1"  # before Numba is imported; processes inherit it

import numpy as np
from scipy.spatial.transform import Rotation

import pliant
from pliant.motion.animation import Animation, Skeleton, Track
from pliant.motion.character import Character
from pliant.scenes.dressing import dress_scene
from pliant.simulation.record import record

DT, FPS = 0.01, 30.0


def walker() -> Character:
    return pliant.shapes.walking_mannequin(0.7)


def travelling(place: Any, turn: Any) -> Character:
    """The walk, at 30 keyframes a second, with its hips at `place(t)` (3,), turned by `turn(t)` degrees."""
    who = walker()
    walk, skeleton = who.clips["walk"], who.skeleton
    times = np.arange(round(walk.duration * FPS) + 1) / FPS
    poses = skeleton.poses(walk, times)
    node = int(who.nodes[0])
    move, rotate = Skeleton.column(node, "translation"), Skeleton.column(node, "rotation")
    turns = [Rotation.from_euler("y", turn(t), degrees=True) for t in times]
    moved = [r.apply(p) + place(t) for r, p, t in zip(turns, poses[:, move : move + 3], times)]
    rotated = [(r * Rotation.from_quat(q)).as_quat() for r, q in zip(turns, poses[:, rotate : rotate + 4])]
    tracks = [track for track in walk.tracks if track.column not in (move, rotate)]
    tracks += [Track(move, times, np.array(moved)), Track(rotate, times, np.array(rotated), rotation=True)]
    return dataclasses.replace(who, clips={"walk": Animation(tuple(tracks))})


def kicking() -> Character:
    """A first pose with one leg raised by 100 degrees."""
    who = walker()
    leg = next(k for k, name in enumerate(who.names) if "thigh" in name or "leg" in name)
    up = Rotation.from_euler("x", -100.0, degrees=True).as_quat()
    track = Track(
        Skeleton.column(int(who.nodes[leg]), "rotation"), np.array([0.0, 0.3]), np.stack([up, up]), rotation=True
    )
    return dataclasses.replace(who, clips={"kick": Animation((track,))})


def in_place() -> Character:
    return travelling(lambda t: np.zeros(3), lambda t: 0.0)


def jumping() -> Character:
    return travelling(lambda t: np.array([8.0, 0.0, 1.0]) * (t > 0.5), lambda t: 90.0 * (t > 0.5))


def far_away() -> Character:
    return travelling(lambda t: np.array([20.0, 0.0, 5.0]), lambda t: 150.0)


def fast() -> Character:
    return travelling(lambda t: np.array([0.0, 0.0, 4.0 * t]), lambda t: 0.0)


@dataclasses.dataclass(frozen=True)
class Row:
    who: Callable[[], Character]
    options: dict[str, Any] = dataclasses.field(default_factory=dict)
    seconds: float | None = None  # simulated time; None: lead-in and clip


ROWS = {
    # half of all the work: first, and until 0.1 s after the jump, in which the skirt is torn along
    "jump, kept": Row(jumping, {"teleports": "keep"}, seconds=1.1),
    "walk": Row(in_place),
    "jump, carried": Row(jumping),
    "first pose 21 m away, carried": Row(far_away),
    "4 m/s, kept": Row(fast),
    "4 m/s, removed": Row(fast, {"root_motion": "remove"}),
    "kick, lead-in 0.1": Row(kicking, {"lead_in": 0.1}),
    "kick, lead-in 0.25": Row(kicking, {"lead_in": 0.25}),
    "kick, lead-in 0.5": Row(kicking, {"lead_in": 0.5}),
    "kick, lead-in by default": Row(kicking),
}


def line(name: str) -> str:
    """Run the row of this name and return it as text."""
    row = ROWS[name]
    scene = dress_scene([pliant.shapes.skirt(0.45, spacing=0.03)], row.who(), **row.options)
    motion: Any = scene.bodies[1].motion
    sim = pliant.Simulation(scene, DT, method="bvh")
    begin = time.process_time()
    result = record(sim, round((row.seconds or motion.duration) / DT))
    spent, s = time.process_time() - begin, result.summary
    strain = [np.abs(result.edge_strain(k)) for k in range(len(result.seconds))]
    most, usual = max(each.max() for each in strain), max(np.percentile(each, 99) for each in strain)
    figures = f"strain {100 * usual:5.1f} {100 * most:6.1f} %, depth {1e3 * s['penetration_m']:5.2f} mm"
    pairs = f"{s['crossing_pairs_bodies_most']:3} crossing pairs, {s['given_up_pairs']:4} given up"
    return f"{name:34} lead-in {motion.lead_in:4.2f} s, {figures}, {pairs}, {spent:5.1f} s of CPU time"


def main(prefixes: tuple[str, ...]) -> None:
    names = [name for name in ROWS if name.startswith(prefixes or ("",))]
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(2, mp_context=context) as pool:
        for done in concurrent.futures.as_completed([pool.submit(line, name) for name in names]):
            print(done.result(), flush=True)


if __name__ == "__main__":
    main(tuple(sys.argv[1:]))

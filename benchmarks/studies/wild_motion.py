"""A skirt on a mannequin whose clip starts far from the rest pose, jumps, or runs: strain, penetration and CPU time.

NUMBA_NUM_THREADS=1 python benchmarks/studies/wild_motion.py
"""

import dataclasses
import time
from typing import Any

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


def run(name: str, who: Character, **options: Any) -> None:
    scene = dress_scene([pliant.shapes.skirt(0.45, spacing=0.03)], who, **options)
    motion: Any = scene.bodies[1].motion
    sim = pliant.Simulation(scene, DT, method="bvh")
    begin = time.process_time()
    result = record(sim, round(motion.duration / DT))
    spent, s = time.process_time() - begin, result.summary
    strain = [np.abs(result.edge_strain(k)) for k in range(len(result.seconds))]
    most, usual = max(each.max() for each in strain), max(np.percentile(each, 99) for each in strain)
    figures = f"strain {100 * usual:5.1f} {100 * most:6.1f} %, depth {1e3 * s['penetration_m']:5.2f} mm"
    pairs = f"{s['crossing_pairs_bodies_most']:3} crossing pairs, {s['given_up_pairs']:4} given up"
    print(f"{name:34} lead-in {motion.lead_in:4.2f} s, {figures}, {pairs}, {spent:5.1f} s of CPU time", flush=True)


def main() -> None:
    still, place = (lambda t: 0.0), (lambda t: np.zeros(3))
    run("walk", travelling(place, still))
    jump = travelling(lambda t: np.array([8.0, 0.0, 1.0]) * (t > 0.5), lambda t: 90.0 * (t > 0.5))
    run("jump, carried", jump)
    run("jump, kept", jump, teleports="keep")
    far = travelling(lambda t: np.array([20.0, 0.0, 5.0]), lambda t: 150.0)
    run("first pose 21 m away, carried", far)
    fast = travelling(lambda t: np.array([0.0, 0.0, 4.0 * t]), still)
    run("4 m/s, kept", fast)
    run("4 m/s, removed", fast, root_motion="remove")
    for lead_in in (0.1, 0.25, 0.5, None):
        run(f"kick, lead-in {lead_in or 'by default'}", kicking(), lead_in=lead_in)


if __name__ == "__main__":
    main()

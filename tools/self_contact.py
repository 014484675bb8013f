"""Cloth that meets itself, measured: `python tools/self_contact.py [SCENE ...] [--frames N] [--modes safe push off]`.

Intersecting triangle pairs of every frame are counted exactly. Milliseconds are processor time of this process (set
NUMBA_NUM_THREADS=1 to make them those of one thread), so that other work on the machine does not count.
"""

import argparse
import os
import time

import numpy as np

import pliant
from pliant.report.crossings import CrossingCount
from pliant.scenes import SCENES

NAMES = ("ribbon", "twist", "stack", "pinch", "curtain", "spinning-ball")


def measure(name: str, mode: str, frames: int) -> None:
    scene = SCENES[name](self_contact=mode)
    sim = pliant.Simulation(scene)
    count, spent, seen, contacts, counting = CrossingCount(scene, sim.state.x), [], [], 0, 0.0
    for _ in range(frames):
        begin = time.process_time()
        frame = sim.step()
        spent.append(1e3 * (time.process_time() - begin))
        contacts = max(contacts, len(frame.contacts))
        begin = time.process_time()
        seen.append(count.at(frame.x))
        counting += 1e3 * (time.process_time() - begin)
    own, bodies = np.array(seen).T
    looks, forced = (sim.guard.looks / frames, sim.guard.forced) if sim.guard else (0.0, 0)
    median, high = np.percentile(spent[1:], (50, 95))
    print(
        f"{name:13}  {mode:4}  {sum(scene.bodies[b].mesh.n_vertices for b in scene.soft):9}  {contacts:8}"
        f"  {own.sum():9}  {own.max():5}  {bodies.sum():9}  {bodies.max():5}  {looks:5.1f}  {forced:6}"
        f"  {median:7.1f}  {high:7.1f}  {counting / frames:5.2f}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("scenes", nargs="*", default=NAMES)
    parser.add_argument("--frames", type=int, default=600)
    parser.add_argument("--modes", nargs="+", default=("safe", "push"))
    chosen = parser.parse_args()
    print(f"{chosen.frames} frames; load of the machine {os.getloadavg()[0]:.1f}")
    head = ("scene", "mode", "particles", "contacts", "own pairs", "worst", "on bodies", "worst", "looks", "forced")
    widths = (13, 4, 9, 8, 9, 5, 9, 5, 5, 6, 7, 7, 5)
    print("  ".join(f"{word:>{wide}}" for word, wide in zip((*head, "ms", "95 %", "count"), widths)))
    for mode in chosen.modes:
        for name in chosen.scenes:
            measure(name, mode, chosen.frames)


if __name__ == "__main__":
    main()

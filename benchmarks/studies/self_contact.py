"""Measurements of the self-contact of cloth.

`python benchmarks/studies/self_contact.py [SCENE ...] [--frames N] [--modes safe push off]` prints a table of scenes.
`--self-method M [--levels K] --self-response R` replaces the guard by a detector and a response for self-contact;
`--every-frame` prints the counts of each frame with intersections.

Intersecting triangle pairs of every frame are counted exactly. Milliseconds are CPU time of this process (set
NUMBA_NUM_THREADS=1 for those of one thread), so that other load on the machine does not count.
"""

import argparse
import os
import time
from typing import Any

import numpy as np

import pliant
from pliant.scenes import SCENES
from pliant.simulation.measure.intersection_statistics import IntersectionStatistics

NAMES = ("ribbon", "twist", "stack", "pinch", "curtain", "spinning-ball")


def measure(name: str, mode: str, frames: int, thick: dict[str, float], between: dict[str, Any], loud: bool) -> None:
    scene = SCENES[name](self_contact=mode, **thick)
    sim = pliant.Simulation(scene, **(between if mode != "off" else {}))
    count, spent, seen, contacts, counting = IntersectionStatistics(scene, sim.state.x), [], [], 0, 0.0
    unresolved: list[int] = []
    for _ in range(frames):
        begin = time.process_time()
        frame = sim.step()
        spent.append(1e3 * (time.process_time() - begin))
        contacts = max(contacts, len(frame.contacts))
        begin = time.process_time()
        seen.append(count.at(frame.x))
        counting += 1e3 * (time.process_time() - begin)
        unresolved.append(frame.unresolved)
        if loud and (any(seen[-1]) or frame.unresolved):
            print(
                f"frame {frame.index}: {seen[-1][0]} + {seen[-1][1]} intersections, {frame.unresolved} remain too near"
            )
    own, bodies = np.array(seen).T
    passes, failed_substeps = sim.self_contact.passes / frames, sim.self_contact.failed_substeps
    median, high = np.percentile(spent[1:], (50, 95))
    print(
        f"{name:13}  {mode:4}  {sum(scene.bodies[b].mesh.n_vertices for b in scene.deformable):9}  {contacts:8}"
        f"  {own.sum():9}  {own.max():5}  {bodies.sum():9}  {bodies.max():5}  {passes:6.1f}  {failed_substeps:6}"
        f"  {median:7.1f}  {high:7.1f}  {counting / frames:5.2f}  {np.count_nonzero(own):6}  {max(unresolved):10}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("scenes", nargs="*", default=NAMES)
    parser.add_argument("--frames", type=int, default=600)
    parser.add_argument("--modes", nargs="+", default=("safe", "push"))
    parser.add_argument("--self-method")
    parser.add_argument("--self-response")
    parser.add_argument("--levels", type=int)
    parser.add_argument("--thickness", type=float)
    parser.add_argument("--every-frame", action="store_true")
    chosen = parser.parse_args()
    thick = {} if chosen.thickness is None else {"thickness": chosen.thickness}
    between: dict[str, Any] = {"self_method": chosen.self_method, "self_response": chosen.self_response}
    if chosen.levels is not None:
        between["self_options"] = {"levels": chosen.levels}
    print(f"{chosen.frames} frames; machine load {os.getloadavg()[0]:.1f}")
    head = ("scene", "mode", "particles", "contacts", "own pairs", "worst", "on bodies", "worst", "passes", "failed")
    widths = (13, 4, 9, 8, 9, 5, 9, 5, 6, 6, 7, 7, 5, 6, 10)
    tail = ("ms", "95 %", "count", "frames", "unresolved")
    print("  ".join(f"{word:>{wide}}" for word, wide in zip((*head, *tail), widths)))
    for mode in chosen.modes:
        for name in chosen.scenes:
            measure(name, mode, chosen.frames, thick, between, chosen.every_frame)


if __name__ == "__main__":
    main()

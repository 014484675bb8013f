"""Time, memory and error of the gradients of drapes: `python benchmarks/studies/drape_gradients.py`.

A sheet falls on a ball for 96 substeps: CPU time on one thread of a run and of its gradient, the least of several, per
substep, with the records of all substeps in memory, and of a third of them; then the largest error of a derivative with
respect to each input over random drapes (`tests/gradients/drapes.py`).
"""

import pathlib
import sys
import time
from typing import Any

import numpy as np

import pliant
from pliant.kernels import jit

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests"))
FRAMES, SUBSTEPS, REPEATS = 6, 16, 5


def scene(side: int, ball: bool) -> pliant.Scene:
    sheet = pliant.shapes.cloth(0.3, 0.3, side, centre=(0.0, 0.1552, 0.0))
    bodies = [pliant.Body(sheet)]
    if ball:
        bodies.append(pliant.Body(pliant.shapes.ball(0.15, 4), obstacle=True))
    return pliant.Scene(bodies, self_contact="off")


def least(call: Any) -> tuple[float, Any]:
    """The least CPU time of several calls, ms, and the last result."""
    times = []
    for _ in range(REPEATS):
        began = time.process_time()
        found = call()
        times.append(1e3 * (time.process_time() - began))
    return min(times), found


def timed(side: int, ball: bool) -> str:
    drape = pliant.DifferentiableDrape(scene(side, ball))
    forward, tape = least(lambda: drape.run(FRAMES))
    of_x = np.random.default_rng(0).normal(size=tape.x.shape)
    backward, _ = least(lambda: tape.backward(of_x))
    n, record = len(tape.x[0]), drape.bytes_per_frame / SUBSTEPS
    fewer = pliant.DifferentiableDrape(scene(side, ball), memory=2.0 * drape.bytes_per_frame)
    parted, other = least(lambda: fewer.run(FRAMES))
    again, _ = least(lambda: other.backward(of_x))
    steps = FRAMES * SUBSTEPS
    cells = [
        f"{n:,}",
        "a ball" if ball else "nothing",
        f"{forward / steps:.2f}",
        f"{backward / steps:.2f}",
        f"{backward / forward:.1f}",
    ]
    cells += [f"{record / 1e3:.0f} kB", f"{parted / steps:.2f}", f"{again / steps:.2f}", f"{again / parted:.1f}"]
    return "| " + " | ".join(cells) + " |"


def errors(count: int) -> dict[str, float]:
    """Largest error per input, relative to the largest derivative of the drape."""
    from gradients import drapes

    worst: dict[str, float] = {}
    for seed in range(count):
        rng = np.random.default_rng(seed)
        found, size = drapes.errors(*drapes.case(rng, ("ball", "box", "plane")[seed % 3]), rng=rng)
        most = max(size.values())
        for name, error in found.items():
            worst[name] = max(worst.get(name, 0.0), error / most)
    return worst


def main() -> None:
    jit.set_threads(1)
    for side in (10, 36, 100):
        for ball in (False, True):
            print(timed(side, ball), flush=True)
    for name, error in errors(int(sys.argv[1]) if len(sys.argv) > 1 else 60).items():
        print(f"{name}: {error:.1e}")


if __name__ == "__main__":
    main()

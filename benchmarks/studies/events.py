"""Step size by events for docs/continuous.md: a sheet that bounces off a thin plate within a substep.

`NUMBA_NUM_THREADS=1 python benchmarks/studies/events.py` prints how far it is from the closed form after the frame of
the impact, with fixed steps and with events, the substeps of that frame, and the CPU time of 20 frames.
"""

import time

import numpy as np

from pliant.scene import Body, Cloth, Scene
from pliant.shapes import box, cloth
from pliant.simulation import Simulation

EPS, THICK, ARRIVAL = 1e-3, 2e-4, 0.0082  # m, m, s


def thrown(speed: float, stepping: str, substeps: int) -> tuple[float, int, float]:
    """Return the error of the height in metres after one frame, its substeps, and seconds of CPU time of 20 frames."""
    height = 0.5 * THICK + EPS + speed * ARRIVAL
    sheet = Body(
        cloth(0.1, 0.1, 20, centre=(0, height, 0)), material=Cloth(air=0.0, damping=0.0), velocity=(3, -speed, 0)
    )
    plate = Body(box((1.0, THICK, 1.0), 1), obstacle=True)
    bodies = [sheet, plate]
    scene = Scene(bodies, eps=EPS, restitution=0.5, friction=0.0, self_contact="off", gravity=(0, 0, 0))
    sim = Simulation(scene, method="continuous", stepping=stepping, substeps=substeps)
    began = time.process_time()
    frame = sim.step()
    exact = 0.5 * THICK + EPS + 0.5 * speed * (0.01 - ARRIVAL)
    error = abs(float(sim.state.x[scene.rows(0), 1].mean()) - exact)
    for _ in sim.run(19):
        pass
    assert np.isfinite(sim.state.x).all()
    return error, frame.substeps, time.process_time() - began


def main() -> None:
    print(
        "| speed, m/s | stepping | substeps of a frame | of the frame of the impact | error, mm | CPU, ms per frame |"
    )
    print("|---|---|---|---|---|---|")
    for speed in (5.0, 40.0, 300.0):
        for stepping, substeps in (("fixed", 4), ("events", 4), ("fixed", 64)):
            thrown(speed, stepping, substeps)  # compiles
            error, taken, spent = thrown(speed, stepping, substeps)
            cells = [f"{speed:g}", stepping, str(substeps), str(taken), f"{1e3 * error:.3g}", f"{1e3 * spent / 20:.1f}"]
            print("| " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()

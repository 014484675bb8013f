"""Pre-roll: the motion before the first frame of a run, which is simulated and not kept."""

import math
from collections.abc import Callable

from ..dynamics import default_substeps
from .frame import Frame
from .step import Simulation

FRAME = 0.01  # s, of a frame of the pre-roll at most, whatever the frames of the run


def preroll_frames(seconds: float) -> int:
    """Return the number of frames of a pre-roll of this duration."""
    return math.ceil(seconds / FRAME - 1e-9)


def preroll(sim: Simulation, seconds: float, progress: Callable[[Frame], None] | None = None) -> None:
    """Advance `sim` by `seconds` in frames of their own, with the default number of substeps. What its guard gave up
    there does not count for the run; intersections that are left are those of its start."""
    frames = preroll_frames(seconds)
    dt, substeps = sim.dt, sim.substeps
    try:
        sim.substeps = default_substeps(sim.scene, seconds / frames, sim.solver)
        for _ in range(frames):
            # where bodies are fast, frames instead of substeps are divided, so that none of them takes much longer
            parts = sim.kinematics.division(sim.state, seconds / frames, sim.substeps)
            sim.dt = seconds / frames / parts
            for _ in range(parts):
                frame = sim.step(divided=False)
                if frame.lost:
                    raise ValueError(
                        "the cloth flew apart before the first frame, on the way to the first pose of the clip; use a "
                        "longer lead-in or milder forces"
                    )
            if progress is not None:
                progress(frame)
    finally:
        sim.dt, sim.substeps, sim.index = dt, substeps, 0
    sim.failed_before = sim.self_contact.failed_substeps, sim.self_contact.given_up_pairs

"""A hand that strikes cloth at 60 m/s, the scenes of tests/scenes/test_wild_motion.py: a table of docs/dressing.md.

`NUMBA_NUM_THREADS=1 python benchmarks/studies/strike.py [RUNS]` prints, for a sleeve and a cape, with substeps that
divide themselves near the hand and without, what intersects, strain, detection passes, and CPU time; of each frame the
least of RUNS runs counts, by default 2.
"""

import pathlib
import sys
import time
from typing import Any

import numpy as np

import pliant
from pliant.scenes.dressing import dress_scene
from pliant.simulation import kinematics
from pliant.simulation.record import record

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[2] / "tests" / part) for part in (".", "scenes")]
FRAMES, DT = 32, 0.01


def timed(sim: Any) -> np.ndarray:
    """CPU seconds, detection passes and repredictions (FRAMES,3) of each frame."""
    rows, guard = [], sim.self_contact
    for _ in range(FRAMES):
        begin = time.process_time(), guard.passes, guard.repredictions
        sim.step()
        end = time.process_time(), guard.passes, guard.repredictions
        rows.append(np.subtract(end, begin))
    return np.array(rows)


def line(kind: str, parts: int, runs: int) -> str:
    from test_wild_motion import Watched, worn_by_striker

    from characters import striker

    kinematics.GUARDED_PARTS = parts
    who, (garment, held) = striker(60.0), worn_by_striker(kind)
    scene: pliant.Scene = dress_scene([garment], who, lead_in=0.2, **held)
    watched = Watched(scene, DT, method="bvh").watch(garment, who)
    result = record(watched, FRAMES)
    strain = [result.edge_strain(k) for k in range(FRAMES)]
    usual, most = max(np.percentile(each, 99) for each in strain), max(each.max() for each in strain)
    every = np.array([timed(pliant.Simulation(scene, DT, method="bvh")) for _ in range(runs)])
    ms, (_, passes, repredictions) = 1e3 * every[..., 0].min(0), every[0].T
    return (
        f"{kind}, up to {parts} parts: {max(watched.crossings)} crossing pairs, "
        f"depth {1e3 * result.summary['penetration_m']:.1f} mm, "
        f"least distance {1e3 * result.summary['least_distance_m']:.2f} mm, strain {100 * usual:.1f}, "
        f"{100 * most:.1f} %, {min(watched.substeps_taken)} to {max(watched.substeps_taken)} substeps, "
        f"passes {passes.max():.0f}, {passes.sum():.0f}, repredictions {repredictions.max():.0f}, "
        f"{repredictions.sum():.0f}, CPU {np.median(ms):.1f}, {ms.max():.0f} ms, {1e-3 * ms.sum():.2f} s"
    )


if __name__ == "__main__":
    most_parts = kinematics.GUARDED_PARTS
    for kind in ("sleeve", "cape"):
        for parts in (most_parts, 1):
            print(line(kind, parts, int(sys.argv[1]) if len(sys.argv) > 1 else 2), flush=True)

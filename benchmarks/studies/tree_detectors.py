"""The cost of `bvh` and `continuous` with each volume, leaf size and update, through the detectors.

`python benchmarks/studies/tree_detectors.py [DATA]` prints tables of docs/detectors/bvh.md and docs/continuous.md: CPU
time of `update` and `find` on one thread, the best of three interleaved rounds, the mean of 8 frames; the contacts of
every row are compared, bit for bit, with those of the first. The bunny is in DATA/meshes.
"""

import pathlib
import sys
import time
from typing import Any

import numpy as np

import pliant
from pliant.detect.options import method_text
from pliant.kernels import jit
from pliant_bench.trees import Deforming, folding, two_bodies

WITHIN, ROUNDS = 0.003, 3
CHOICES: list[dict[str, Any]] = [
    {},
    {"leaf": 4},
    *({"volume": volume, "leaf": 4} for volume in ("14-dop", "18-dop", "26-dop", "sphere", "oriented")),
    *({"leaf": 4, "split": split} for split in ("any-volume", "connectivity", "zones")),
    *({"leaf": 4, "update": update} for update in ("top-down", "hybrid", "lazy", "rebuild")),
    {"leaf": 4, "worse": 1.5},
]


def run(detector: Any, scene: Deforming) -> tuple[list[bytes], float]:
    """The contacts of each frame, and milliseconds of CPU time per frame."""
    found, spent = [], 0.0
    for before, now in zip(scene.frames, scene.frames[1:], strict=False):
        starts = dict(zip(("start_a", "start_b"), before, strict=False))
        began = time.process_time()
        hits = detector.update(*now, **starts).find()
        spent += time.process_time() - began
        found.append(hits.tobytes())
    return found, 1e3 * spent / (len(scene.frames) - 1)


def table(method: str, scene: Deforming, choices: list[dict[str, Any]]) -> None:
    meshes = [pliant.Mesh(x, faces) for x, faces in zip(scene.frames[0], scene.faces, strict=True)]
    detectors = [pliant.detector(method, *meshes, within=WITHIN, **options) for options in choices]
    runs = [[run(detector, scene) for detector in detectors] for _ in range(ROUNDS)]
    wanted = runs[0][0][0]
    assert all(found == wanted for each in runs for found, _ in each)
    count = sum(len(frame) for frame in wanted) // pliant.contacts.empty(1).nbytes
    triangles = sum(mesh.n_faces for mesh in meshes)
    print(f"\n{method}, {scene.name}, {triangles} triangles, {count} contacts in all frames\n")
    print("| method | ms | node tests | pairs of triangles | pairs tested |\n|---|---:|---:|---:|---:|")
    for k, (options, detector) in enumerate(zip(choices, detectors, strict=True)):
        own: Any = detector._detector
        phase = own.broad_phase
        counts = ("", "") if phase is None else (f"{phase.tests:,}", f"{phase.pairs:,}")
        tested = f"{own.tested:,}" if method == "continuous" else ""
        ms = min(each[k][1] for each in runs)
        print(f"| `{method_text(method, options)}` | {ms:.2f} | {counts[0]} | {counts[1]} | {tested} |", flush=True)


if __name__ == "__main__":
    jit.set_threads(1)
    scenes = [folding(), two_bodies(pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else None)]
    for scene in scenes:
        table("bvh", scene, CHOICES)
    cones = {"velocity_cones": True}
    for scene in scenes:
        table("continuous", scene, [{}, cones, *CHOICES[1:7], {"leaf": 4, "volume": "18-dop", **cones}])
    cloth = scenes[0]
    falling = [(x - np.array([0.0, 0.0, 0.05 * k]),) for k, (x,) in enumerate(cloth.frames)]
    table("continuous", cloth._replace(name="cloth folding and falling", frames=falling), [{}, cones])

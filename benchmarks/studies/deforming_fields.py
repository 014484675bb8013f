"""What a field of each kind costs for an obstacle that stands, and for one that deforms: memory, CPU time, error.

`python benchmarks/studies/deforming_fields.py [SUBDIVISIONS]` prints the tables of docs/detectors/distance-field.md.
"""

import sys
import time
from typing import Any

import numpy as np

import pliant
from pliant.detect.base import Side
from pliant.detect.detectors.deforming_field import DeformingFieldDetector
from pliant.detect.fields.sampled import KINDS
from pliant.detect.queries.closest_point import ClosestPoints
from pliant.state import State

WITHIN = 0.01
SHAPES = 3


def bent(body: pliant.Mesh, t: float, part: float = 1.0) -> np.ndarray:
    """The vertices in the upper `part` of a body, bent to the side."""
    x = body.vertices.copy()
    above = np.maximum(x[:, 1] - (x[:, 1].max() - part * np.ptp(x[:, 1])), 0.0)
    x[:, 0] += 0.4 * t * above**2 / np.ptp(x[:, 1])
    return x


def cpu(action: Any) -> tuple[Any, float]:
    began = time.process_time()
    made = action()
    return made, time.process_time() - began


def row(kind: str, cloth: pliant.Mesh, body: pliant.Mesh) -> str:
    sides = Side(cloth, 0, 0), Side(body, cloth.n_vertices, 1)
    options = {"within": WITHIN, "field": kind, "cache": False}
    DeformingFieldDetector(*sides, **options)  # compiles
    detector, build = cpu(lambda: DeformingFieldDetector(*sides, **options))
    worst, bound, finds, bakes = 0.0, max(detector.bounds), [], {}
    for part in (1.0, 0.1):
        before = detector.bake_seconds, detector.bake_count
        for t in np.linspace(0.3, 1.0, SHAPES):
            shape = bent(body, float(t), part)
            state = State.at(np.concatenate([cloth.vertices, shape]))
            detector.update(state).find(state)
            found, spent = cpu(lambda state=state: detector.find(state))
            finds.append(spent)
            vertices = found["kind"] == pliant.contacts.VERTEX_FIELD
            rows = found["elements"][vertices, 0]
            true = ClosestPoints(body.moved(shape), behind=True).query(cloth.vertices[rows])[0]
            near = np.abs(true) <= WITHIN
            worst = max(worst, float(np.abs(found["distance"][vertices] - true)[near].max(initial=0.0)))
        bakes[part] = (detector.bake_seconds - before[0]) / (detector.bake_count - before[1])
    stated = "none" if np.isnan(bound) else f"{1e3 * bound:.1f}"
    figures = f"{detector.field.nbytes / 1e6:.2f} | {1e3 * build:.0f} | {1e3 * bakes[1.0]:.0f} | {1e3 * bakes[0.1]:.0f}"
    return (
        f"| {kind} | {detector.guarantee} | {figures} | {1e3 * np.median(finds):.2f} | {1e3 * worst:.2f} | {stated} |"
    )


def main() -> None:
    body = pliant.shapes.ball(0.15, int(sys.argv[1]) if len(sys.argv) > 1 else 4)
    cloth = pliant.shapes.cloth(0.5, 0.5, 40)
    cloth = cloth.moved(cloth.vertices + np.array([0.0, 0.13, 0.0]))
    print(f"{body.n_faces:,} faces, {cloth.n_vertices:,} vertices of cloth, within {1e3 * WITHIN:g} mm\n")
    names = "MB | build ms | all moves, ms | a tenth moves, ms | find ms | largest error, mm | bound, mm"
    print(f"| field | class | {names} |\n|" + "---|" * 9)
    for kind in KINDS:
        print(row(kind, cloth, body), flush=True)


if __name__ == "__main__":
    main()

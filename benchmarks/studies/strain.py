"""Strain and cost of the solvers of cloth against resolution: table, chart and picture of docs/dynamics/implicit.md.

`python benchmarks/studies/strain.py` drops 75 cm of cloth on the bust, 0.6 s at 0.01 s a frame, by each solver at
1 296, 10 000 and 40 000 particles (about four minutes on two cores), without self-contact and safe, and writes
strain.csv to benchmarks/results/MACHINE. Strain is that of all edges against their rest length, the largest over all
frames after the first 0.2 s; the time is the frame's own (`Frame.seconds`, wall clock, all threads), the median of the
last 20 frames.
"""

import csv
import pathlib
from typing import Any

import numpy as np
from PIL import Image
from tiles import captioned

import pliant
from pliant.motion.clip import Clip
from pliant.report.camera import Camera
from pliant.report.charts import curves_svg
from pliant.report.picture import render
from pliant.report.tables import Chart, Table
from pliant.scenes import SCENES
from pliant_bench import machine

SIDES = (36, 100, 200)
RUNS = (("xpbd", 16, "off"), ("xpbd", 64, "off"), ("implicit", 4, "off"), ("implicit", 4, "safe"))
FRAMES, SETTLED = 60, 20


def strain(sim: pliant.Simulation) -> np.ndarray:
    """Strain of every edge of the cloths."""
    found = []
    for b in sim.scene.cloths:
        mesh, x = sim.scene.bodies[b].mesh.welded, sim.state.x[sim.scene.rows(b)]
        ends = mesh.topology.edges
        rest = np.linalg.norm(mesh.vertices[ends[:, 0]] - mesh.vertices[ends[:, 1]], axis=1)
        found.append(np.linalg.norm(x[ends[:, 0]] - x[ends[:, 1]], axis=1) / rest - 1.0)
    return np.concatenate(found)


def measure(side: int, solver: str, substeps: int, self_contact: str) -> list[str]:
    scene = SCENES["tablecloth-on-bust"](resolution=side, self_contact=self_contact)
    sim = pliant.Simulation(scene, 0.01, substeps=substeps, solver=solver)
    worst, seconds = np.zeros(3), list[float]()
    for frame in sim.run(FRAMES):
        seconds.append(frame.seconds)
        if frame.index > SETTLED:
            worst = np.maximum(worst, np.percentile(strain(sim), (95, 99, 100)))
    spent = 1e3 * float(np.median(seconds[-20:]))
    row = [
        str(side * side),
        solver,
        str(substeps),
        self_contact,
        *(f"{100 * value:.2f}" for value in worst),
        f"{spent:.1f}",
    ]
    print(*row, flush=True)
    return row


def chart(table: Table) -> Chart:
    """The largest strain against the number of particles."""
    curves: dict[str, list[tuple[float, float]]] = {}
    for row in table.rows:
        name = f"{row['solver']}, {row['substeps']} substeps, self-contact {row['self_contact']}"
        curves.setdefault(name, []).append((row["particles"], row["strain_most"]))
    label = "Largest strain in per cent against the number of particles"
    return Chart("strain", f"{label}, both logarithmic.", curves_svg(curves, ("particles", "largest strain, %"), label))


def draw_strain(save: Any) -> None:
    """The same tablecloth by both solvers at two resolutions."""
    tiles, words, size = [], [], (250, 270)
    for solver in ("xpbd", "implicit"):
        for side in SIDES[:2]:
            scene = SCENES["tablecloth-on-bust"](resolution=side)
            *_, frame = pliant.Simulation(scene, solver=solver).run(120)
            clips = [Clip(body.mesh, frame.x[None, scene.rows(b)], body.color) for b, body in enumerate(scene.bodies)]
            camera = Camera.framing(clips, size[0] / size[1], azimuth=0.5, elevation=0.25)
            tiles.append(Image.fromarray(render(clips, 0, *size, camera, samples=3)))
            words.append(f"{solver}, {side * side} particles")
    save("strain", captioned(tiles, words, flat=False))


def main() -> None:
    rows = [measure(side, *run) for side in SIDES for run in RUNS]
    path = pathlib.Path(__file__).resolve().parents[1] / "results" / machine.name() / "strain.csv"
    with path.open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(
            ("particles", "solver", "substeps", "self_contact", "strain_95", "strain_99", "strain_most", "ms_per_frame")
        )
        writer.writerows(rows)
    print(path)


if __name__ == "__main__":
    main()

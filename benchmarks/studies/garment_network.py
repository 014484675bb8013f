"""Garment networks with two losses: `python benchmarks/studies/garment_network.py`.

Runs the examples of docs/tutorials/09-train-a-garment-network.md for longer, with several seeds, bodies and
clearances, and prints the table of the page.
"""

import contextlib
import io
import pathlib
import re
from collections.abc import Callable
from typing import Any

import numpy as np
from body_fit import cut
from PIL import Image, ImageDraw
from scipy.spatial import cKDTree

import pliant
from pliant.mesh import Mesh
from pliant.motion.clip import Clip
from pliant.report.camera import Camera
from pliant.report.picture import render

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "tutorials" / "09-train-a-garment-network.md"
SETTINGS = "STEPS, SEEDS, CLEARANCE = "
# cell of merged vertices (none: all faces of the mannequin) and clearance, metres
CASES = ((0.05, 0.004), (None, 0.004), (0.05, 0.002), (0.03, 0.004))
WIDE, HIGH, LOW, FINE = 300, 340, 200, 3
SKIN, CLOTH = (0.80, 0.66, 0.58), (0.25, 0.42, 0.62)


def of_the_page(cell: float | None, clearance: float, steps: int, seeds: tuple[int, ...]) -> dict[str, Any]:
    """The names that the examples of the page define, with other settings."""
    text = "".join(re.findall(r"^```python\n(.*?)^```$", PAGE.read_text("utf-8"), re.M | re.S))
    text, found = re.subn(f"^{SETTINGS}.*$", f"{SETTINGS}{steps}, {seeds}, {clearance}", text, flags=re.M)
    made = "merged(CELL)" if cell is not None else "skin, rig.weights"
    text, more = re.subn(r"^CELL = .*$", f"CELL = {cell}", text.replace("= merged(CELL)", f"= {made}"), flags=re.M)
    assert (found, more) == (1, 1)
    names: dict[str, Any] = {}
    with contextlib.redirect_stdout(io.StringIO()):
        exec(re.sub(r"^assert .*$", "", text, flags=re.M), names)
    return names


def row(name: str, rows: list[dict[str, float]]) -> str:
    """Means over the seeds, with the least and the largest value where there are several."""
    cells = [name]
    for key, form in (("inside", "{:.0f}"), ("pairs", "{:.0f}"), ("gap", "{:.1f}"), ("strain", "{:.1f}")):
        values = [each[key] for each in rows]
        spread = f" ({form.format(min(values))} to {form.format(max(values))})" if len(values) > 1 else ""
        cells.append(form.format(float(np.mean(values))) + spread)
    return " | ".join(cells)


def wrong_sides(body: Mesh) -> str:
    """How often the plane through the nearest vertex gives another side than the surface, of points within 2 cm."""
    rng, count = np.random.default_rng(0), 20_000
    face = rng.choice(body.n_faces, count, p=body.face_areas / body.face_areas.sum())
    p = np.einsum("ij,ijk->ik", rng.dirichlet([1.0] * 3, count), body.vertices[body.faces[face]])
    p += body.face_normals[face] * rng.uniform(-0.02, 0.02, count)[:, None]
    d = pliant.closest_point(body, p)[0]
    near = cKDTree(body.vertices).query(p)[1]
    height = ((p - body.vertices[near]) * body.vertex_normals[near]).sum(1)
    missed, false = np.mean((d < -5e-4) & (height > 0.0)), np.mean((d > 5e-4) & (height < 0.0))
    off = 1e3 * np.percentile(abs(d - height), 95)
    return f"{body.n_faces:,} faces: {100 * missed:.2f} % missed, {100 * false:.1f} % false, 95 % within {off:.1f} mm"


def draw_garment_network(save: Callable[[str, np.ndarray], None], person: int = 3) -> None:
    """A person in the garment as skinned and as corrected by both networks, above sections through the chest."""
    names = of_the_page(0.05, 0.004, 300, (0,))
    body = names["body"].moved(names["tested_on"][1][person].numpy())
    tiles = []
    for x in names["dressed"].values():
        garment = names["garment"].moved(x[person].numpy())
        clips = [Clip(garment, garment.vertices[None], CLOTH), Clip(body, body.vertices[None], SKIN)]
        camera = Camera.framing(clips[:1], WIDE / HIGH, azimuth=-0.5, elevation=0.12)
        front = render(clips, 0, WIDE, HIGH, camera, samples=3)
        tiles.append(np.concatenate([front, section(body, garment, 1.25)]))
    save("garment-network", np.concatenate(tiles, 1))


def section(body: Mesh, garment: Mesh, height: float) -> np.ndarray:
    """The outlines of both in a horizontal plane."""
    image = Image.new("RGB", (WIDE * FINE, LOW * FINE), (255, 255, 255))
    pen, scale = ImageDraw.Draw(image), FINE * WIDE / 0.48
    for mesh, color in ((body, SKIN), (garment, CLOTH)):
        ink = tuple(round(200 * c) for c in color)
        for ends in cut(mesh, height):
            line = [(FINE * WIDE / 2 + scale * p[0], FINE * LOW / 2 + scale * (p[2] + 0.012)) for p in ends]
            pen.line(line, fill=ink, width=2 * FINE)
    return np.asarray(image.resize((WIDE, LOW), Image.Resampling.LANCZOS))


def main() -> None:
    for cell, clearance in CASES:
        names = of_the_page(cell, clearance, 300, (0, 1, 2))
        print(wrong_sides(names["body"]))
        for name, rows in names["results"].items():
            print(f"| {names['body'].n_faces:,} | {1e3 * clearance:g} mm | {row(name, rows)} |", flush=True)


if __name__ == "__main__":
    main()

"""Fits of a body model to scans, with and without self-penetration: `python benchmarks/studies/body_fit.py`.

Runs the examples of docs/tutorials/08-fit-a-body-model.md for five subjects and prints its table.
"""

import contextlib
import io
import pathlib
import re
from collections.abc import Callable
from typing import Any

import numpy as np
from PIL import Image, ImageDraw

import pliant
from pliant.mesh import Mesh
from pliant.motion.clip import Clip
from pliant.report.camera import Camera
from pliant.report.picture import render

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "tutorials" / "08-fit-a-body-model.md"
SEEDS = range(5)
WIDE, HIGH, FINE = 320, 420, 3
SKIN, INK, RED = (0.80, 0.66, 0.58), (60, 60, 60), (200, 40, 40)


def of_the_page(seed: int) -> dict[str, Any]:
    """The names that the examples of the page define, for another subject."""
    names: dict[str, Any] = {}
    page, _ = PAGE.read_text("utf-8").split("## In JAX")
    for block in re.findall(r"^```python\n(.*?)^```$", page, re.M | re.S):
        text = re.sub(r"^seed = \d+$", f"seed = {seed}", block, flags=re.M)
        with contextlib.redirect_stdout(io.StringIO()):
            exec(re.sub(r"^assert .*$", "", text, flags=re.M), names)
    return names


def draw_body_fit(save: Callable[[str, np.ndarray], None]) -> None:
    names = of_the_page(1)
    clip = Clip(names["body"], names["with_term"].vertices[None], SKIN)
    camera = Camera.framing([clip], WIDE / HIGH, azimuth=0.0, elevation=0.0)
    front = Image.fromarray(render([clip], 0, WIDE, HIGH, camera, samples=3))
    at, _ = camera.project(names["scan"].numpy(), WIDE, HIGH)
    pen = ImageDraw.Draw(front)
    for x, y in at[::3, :2]:
        pen.ellipse((x - 0.8, y - 0.8, x + 0.8, y + 0.8), fill=(30, 70, 130))
    own, _ = pliant.closest_point(names["without"], names["without"].vertices)
    height = float(names["without"].vertices[np.argmin(own), 1])
    tiles = [section(names[name], height) for name in ("without", "with_term")]
    save("body-fit", np.concatenate([np.asarray(front), *tiles], 1))


def cut(mesh: Mesh, height: float) -> list[list[np.ndarray]]:
    """The two ends of the line in which each face meets a horizontal plane."""
    t = mesh.vertices[mesh.faces]
    lines = []
    for corners in t[(t[:, :, 1].min(1) < height) & (t[:, :, 1].max(1) > height)]:
        ends = []
        for a, b in zip(corners, np.roll(corners, -1, 0)):
            if (a[1] < height) != (b[1] < height):
                ends.append(a + (height - a[1]) / (b[1] - a[1]) * (b - a))
        lines.append(ends)
    return lines


def section(mesh: Mesh, height: float) -> np.ndarray:
    """The outlines of a mesh in a horizontal plane, red where they are inside of other parts."""
    image = Image.new("RGB", (WIDE * FINE, HIGH * FINE), (255, 255, 255))
    pen, scale = ImageDraw.Draw(image), FINE * WIDE / 0.8
    for ends in cut(mesh, height):
        d, _ = pliant.closest_point(mesh, [np.mean(ends, 0)])
        line = [(FINE * WIDE / 2 + scale * p[0], FINE * HIGH / 2 + scale * p[2]) for p in ends]
        pen.line(line, fill=RED if d[0] < -1e-6 else INK, width=2 * FINE)
    return np.asarray(image.resize((WIDE, HIGH), Image.Resampling.LANCZOS))


def main() -> None:
    for seed in SEEDS:
        names = of_the_page(seed)
        shown = []
        for mesh, (pairs, inside, deepest) in zip((names["without"], names["with_term"]), names["found"][1:]):
            off, _ = pliant.closest_point(mesh, names["scan"].numpy())
            true = np.linalg.norm(mesh.vertices - names["target"].vertices, axis=1).mean()
            rms = float(np.sqrt(np.mean(off**2)))
            shown.append(f"{pairs} | {inside} | {1e3 * deepest:.1f} | {1e3 * rms:.1f} | {1e3 * true:.0f}")
        print(f"| {seed} | {' | '.join(shown)} |", flush=True)


if __name__ == "__main__":
    main()

"""The garments of the tutorial on gradients, before and after: `python benchmarks/studies/clipping.py`.

Runs the examples of docs/tutorials/07-remove-clipping-by-gradients.md and prints its table.
"""

import pathlib
import re
from collections.abc import Callable
from typing import Any

import numpy as np

import pliant
from pliant.mesh import Mesh
from pliant.motion.clip import Clip
from pliant.report.camera import Camera
from pliant.report.picture import render

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "tutorials" / "07-remove-clipping-by-gradients.md"
WIDE, HIGH = 210, 325
SKIN, CLOTH = (0.80, 0.66, 0.58), (0.25, 0.42, 0.62)


def of_the_page() -> dict[str, Any]:
    """The names that the examples of the page define."""
    names: dict[str, Any] = {}
    for block in re.findall(r"^```python\n(.*?)^```$", PAGE.read_text("utf-8"), re.M | re.S):
        exec(block, names)
    return names


def draw_clipping(save: Callable[[str, np.ndarray], None]) -> None:
    """Each garment as it is given and after the steps."""
    names = of_the_page()
    body: Mesh = names["body"]
    rows = []
    for garments in (names["before"], names["after"]):
        tiles = []
        for old, garment in zip(names["before"], garments):
            camera = Camera.framing([still(old)], WIDE / HIGH, azimuth=-0.6, elevation=0.12)
            tiles.append(render([still(garment, CLOTH), still(body)], 0, WIDE, HIGH, camera, samples=3))
        rows.append(np.concatenate(tiles, 1))
    save("gradients", np.concatenate([rows[0], np.full((8, rows[0].shape[1], 3), 255, np.uint8), rows[1]]))


def still(mesh: Mesh, color: tuple[float, float, float] = SKIN) -> Clip:
    return Clip(mesh, mesh.vertices[None], color)


def main() -> None:
    names = of_the_page()
    for old, new in zip(names["before"], names["after"]):
        ends = old.topology.edges
        lengths = [np.linalg.norm(x[ends[:, 0]] - x[ends[:, 1]], axis=1) for x in (old.vertices, new.vertices)]
        change = 100 * float(np.percentile(abs(lengths[1] / lengths[0] - 1), 95))
        was, now = (pliant.check(garment, names["body"]) for garment in (old, new))
        depth, left = f"{1e3 * was.worst_depth:.0f} mm", now.frames[0].inside
        print(f"| {old.name} | {old.n_vertices} | {was.frames[0].inside} | {depth} | {left} | {change:.0f} % |")


if __name__ == "__main__":
    main()

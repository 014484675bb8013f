"""The drape of the tutorial on bending stiffness: `python benchmarks/studies/bending_found.py`.

Runs the examples of docs/tutorials/10-bending-stiffness-from-a-drape.md, and the same with other recordings.
"""

import contextlib
import io
import pathlib
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from pliant.motion.clip import Clip
from pliant.report.camera import Camera
from pliant.report.picture import render

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "tutorials" / "10-bending-stiffness-from-a-drape.md"
WIDE, HIGH = 340, 300
SKIN, COLOURS = (0.80, 0.66, 0.58), ((0.45, 0.47, 0.50), (0.62, 0.16, 0.13), (0.25, 0.42, 0.62))


def of_the_page(text: str) -> dict[str, Any]:
    """The names that the examples of the page define."""
    names: dict[str, Any] = {}
    for block in re.findall(r"^```python\n(.*?)^```$", text, re.M | re.S):
        exec(block, names)
    return names


def draw_found(save: Callable[[str, np.ndarray], None]) -> None:
    """The last frame as it is recorded, with the first guess and with the stiffness found."""
    with contextlib.redirect_stdout(io.StringIO()):
        names = of_the_page(PAGE.read_text("utf-8"))
    sheet, ball, drape = names["sheet"], names["ball"], names["drape"]
    runs = [drape.run(names["FRAMES"], bend=bend).x[-1] for bend in (names["GUESS"], names["bend"])]
    tiles = []
    for x, colour in zip([names["recorded"][-1], *runs], COLOURS):
        shown = [Clip(sheet, x[None], colour), Clip(ball, ball.vertices[None], SKIN)]
        camera = Camera.framing([shown[0]], WIDE / HIGH, azimuth=0.5, elevation=0.35)
        tiles.append(render(shown, 0, WIDE, HIGH, camera, samples=3))
    save("bending-found", np.concatenate(tiles, 1))


def main() -> None:
    text = PAGE.read_text("utf-8")
    of_the_page(text)
    print("recorded by the implicit solver:")
    of_the_page(text.replace('solver="xpbd"', 'solver="implicit"').replace("assert", "# assert"))
    print("a strip held at one end, touching nothing, by both:")
    strip = text.replace(
        "pliant.shapes.cloth(0.3, 0.3, 21, centre=(0.0, 0.1552, 0.0))",
        "pliant.shapes.cloth(0.24, 0.12, (13, 7), centre=(0, 1, 0))",
    )
    strip = strip.replace(
        "pliant.Body(sheet, ", "pliant.Body(sheet, pins=np.flatnonzero(sheet.vertices[:, 0] < -0.099), "
    )
    for solver in ("xpbd", "implicit"):
        of_the_page(
            strip.replace('solver="xpbd"', f'solver="{solver}"')
            .replace("assert", "# assert")
            .replace("FRAMES = 6e-5, 6e-4, 25", "FRAMES = 6e-5, 6e-4, 40")
        )


if __name__ == "__main__":
    main()

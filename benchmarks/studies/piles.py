"""The pictures of docs/self-contact.md. Called by pictures.py, or alone with a folder and names of scenes."""

import pathlib
import sys
from collections.abc import Callable

import numpy as np

import pliant
from pliant.motion.clip import Clip
from pliant.report.camera import Camera
from pliant.report.picture import render
from pliant.scenes import SCENES
from pliant.simulation.record import record
from pliant.simulation.result import Result

WIDE, HIGH, GAP = 294, 260, 8
# frames that are shown, the first frame that the camera must contain, and its direction
LOOKS = {
    "ribbon": ((36, 44, 56, 200), 36, {"azimuth": 0.7, "elevation": 0.3}),
    "twist": ((80, 120, 160, 200), 60, {"azimuth": 0.5, "elevation": 0.25}),
    "stack": ((0, 12, 24, 120), 0, {"azimuth": 0.6, "elevation": 0.45}),
    "pinch": ((30, 120, 150, 190), 0, {"azimuth": 1.2, "elevation": 0.25}),
    "curtain": ((19, 23, 26, 34), 0, {"azimuth": 2.5, "elevation": 0.2}),
    "spinning-ball": ((75, 130, 190, 250), 60, {"azimuth": 0.6, "elevation": 0.3}),
}


def run(name: str, frames: int) -> Result:
    return record(pliant.Simulation(SCENES[name](self_contact="safe")), frames, measure=False)


def strip(clips: list[Clip], name: str) -> np.ndarray:
    """Frames side by side with a common camera; a floor may extend beyond the picture."""
    shown, first, look = LOOKS[name]
    held = [Clip(c.mesh, c.frames[first : shown[-1] + 1], c.color) for c in clips if c.bends]
    camera = Camera.framing(held, WIDE / HIGH, **look)
    gap = np.full((HIGH, GAP, 3), 255, np.uint8)
    tiles = [part for t in shown for part in (gap, render(clips, t, WIDE, HIGH, camera, samples=3))]
    return np.concatenate(tiles[1:], 1)


def draw_piles(save: Callable[[str, np.ndarray], None]) -> None:
    for name, (shown, _, _) in LOOKS.items():
        save(f"self-contact-{name}", strip(run(name, shown[-1]).displayed_clips(), name))


if __name__ == "__main__":
    from PIL import Image

    folder = pathlib.Path(sys.argv[1])
    for chosen in sys.argv[2:] or LOOKS:
        Image.fromarray(strip(run(chosen, LOOKS[chosen][0][-1]).displayed_clips(), chosen)).save(
            folder / f"{chosen}.png"
        )

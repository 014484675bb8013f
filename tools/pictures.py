"""Make every picture of the documents from the code: `python tools/pictures.py [NAME ...]`, all of them without a name."""

import functools
import pathlib
import sys
from collections.abc import Callable, Sequence

import numpy as np
from PIL import Image

from pliant.clip import Clip
from pliant.report.camera import Camera
from pliant.report.picture import render
from pliant.report.result import Result, record
from pliant.scenes import SCENES
from pliant.simulation import Simulation

IMAGES = pathlib.Path(__file__).resolve().parents[1] / "docs" / "images"


def save(name: str, pixels: np.ndarray | Image.Image) -> None:
    """As PNG with a palette: a third of the size, and nobody sees it."""
    image = pixels if isinstance(pixels, Image.Image) else Image.fromarray(pixels)
    path = IMAGES / f"{name}.png"
    path.parent.mkdir(parents=True, exist_ok=True)
    image.convert("RGB").quantize(256, Image.Quantize.MEDIANCUT, 3, dither=Image.Dither.FLOYDSTEINBERG).save(
        path, optimize=True
    )
    print(f"{path.name}: {image.width}x{image.height}, {path.stat().st_size / 1000:.0f} kB", file=sys.stderr)


@functools.cache
def run(scene: str, frames: int = 250) -> Result:
    return record(Simulation(SCENES[scene]()), frames, measure=False)


def later(clips: Sequence[Clip], first: int) -> list[Clip]:
    """The clips from frame `first` on: a cloth that still lies flat in the air would keep the camera far away."""
    return [clip if clip.still else Clip(clip.mesh, clip.frames[first:], clip.color) for clip in clips]


def strip(
    result: Result, frames: Sequence[int], widths: Sequence[int], height: int, first: int = 0, **look: float
) -> np.ndarray:
    """Frames side by side, one camera and scale for all, as near as the last and narrowest needs."""
    camera = Camera.framing(later(result.clips, first), widths[-1] / height, **look)
    tiles = [render(result.clips, t, w, height, camera, samples=3) for t, w in zip(frames, widths)]
    gap = np.full((height, 8, 3), 255, np.uint8)
    return np.concatenate([part for tile in tiles for part in (gap, tile)][1:], axis=1)


def drape() -> None:
    widths = (474, 426, 340, 262)
    save("drape", strip(run("tablecloth-on-bust"), (16, 26, 38, 250), widths, 316, 60, azimuth=0.5, elevation=0.25))


PICTURES: dict[str, Callable[[], None]] = {"drape": drape}

if __name__ == "__main__":
    for chosen in sys.argv[1:] or PICTURES:
        PICTURES[chosen]()

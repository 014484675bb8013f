"""A walking mannequin in garments: `python benchmarks/studies/dressing.py` prints figures; `pictures.py` draws."""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

import pliant
from pliant.report.camera import Camera
from pliant.report.picture import render
from pliant.scenes import SCENES
from pliant.simulation.record import record
from pliant.simulation.result import Result

# the frames and views that are shown; the character first stands, then a stride takes 33 frames
SHOWN: dict[str, tuple[tuple[int, ...], dict[str, Any], dict[str, float]]] = {
    "walking-skirt": ((0, 16, 27, 38, 49, 60), {}, {"azimuth": 0.7, "elevation": 0.1}),
    "walking-trousers": ((0, 12, 36, 52, 69, 85), {}, {"azimuth": 0.7, "elevation": 0.1}),
    "walking-trousers-slide": ((0, 4, 7, 9, 11, 13), {"friction": 0.0}, {"azimuth": 0.7, "elevation": 0.1}),
    "cloth-on-shoulder": ((0, 7, 14, 36, 52, 69), {}, {"azimuth": 0.7, "elevation": 0.25}),
}
FRAMES = {"walking-skirt": 114, "walking-trousers-slide": 30}


@functools.cache
def run(name: str) -> Result:
    scene = SCENES[name.removesuffix("-slide")](**SHOWN[name][1])
    return record(pliant.Simulation(scene, 1.0 / 30.0, method="bone-boxes"), FRAMES.get(name, 135))


def draw_dressing(save: Callable[[str, Any], None]) -> None:
    """Six frames of each scene with a common camera."""
    for name, (frames, _, look) in SHOWN.items():
        clips = [clip for clip in run(name).displayed_clips() if clip.mesh.name != "floor"]
        person = [clip for clip in clips if clip.skin is not None]
        camera = Camera.framing(person, 200 / 360, fill=0.92, **look)
        gap = np.full((360, 6, 3), 255, np.uint8)
        tiles = [render(clips, t, 200, 360, camera, samples=3) for t in frames]
        save(name, np.concatenate([part for tile in tiles for part in (gap, tile)][1:], 1))


if __name__ == "__main__":
    for name in SHOWN:
        result = run(name)
        x = result.x[0]
        high = x[0][:, 1] > x[0][:, 1].max() - 0.02
        print(f"{name}: {result.facts}")
        heights = f"{x[0][high, 1].mean():.3f} m at the start, {x[-1][high, 1].mean():.3f} m at the end"
        print(f"  height of the upper boundary: {heights}")

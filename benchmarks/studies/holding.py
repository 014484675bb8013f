"""Held and sewn garments: `python benchmarks/studies/holding.py` prints figures; `pictures.py holding` draws."""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

import pliant
from pliant.dynamics.springs import StitchSprings
from pliant.report.camera import Camera
from pliant.report.picture import render
from pliant.scenes.dressing import dress_scene
from pliant.simulation.record import record
from pliant.simulation.result import Result

# the frames that are shown, and the camera: the cape from behind
SHOWN: dict[str, tuple[tuple[int, ...], dict[str, float]]] = {
    "cape": ((0, 10, 20, 34, 45, 59), {"azimuth": 2.5, "elevation": 0.15}),
    "t-shirt": ((0, 9, 14, 20, 45, 59), {"azimuth": 0.7, "elevation": 0.1}),
}
FRAMES, DT, SUBSTEPS = 59, 1.0 / 30.0, 8


@functools.cache
def run(name: str) -> Result:
    """A cape on the shoulders of the walking mannequin, or the two panels of a T-shirt, sewn and worn by it."""
    walker = pliant.shapes.walking_mannequin()
    if name == "cape":
        scene = dress_scene(
            [pliant.shapes.cape(spacing=0.03)], walker, attach="shoulders", lead_in=0.8, loop=True, self_contact="safe"
        )
    else:
        sewn: dict[str, Any] = {"stitches": "lines", "closing": 0.6, "self_contact": "safe", "thickness": 0.003}
        scene = dress_scene([pliant.shapes.shirt_panels(spacing=0.025)], walker, lead_in=1.0, loop=True, **sewn)
    return record(pliant.Simulation(scene, DT, substeps=SUBSTEPS, method="bone-boxes"), FRAMES)


def draw_holding(save: Callable[[str, Any], None]) -> None:
    """Six frames of each run with a common camera."""
    for name, (frames, look) in SHOWN.items():
        clips = run(name).clips
        person = [clip for clip in clips if clip.skin is not None]
        camera = Camera.framing(person, 200 / 360, fill=0.92, **look)
        gap = np.full((360, 6, 3), 255, np.uint8)
        tiles = [render(clips, t, 200, 360, camera, samples=3) for t in frames]
        save(name, np.concatenate([part for tile in tiles for part in (gap, tile)][1:], 1))


def gaps(result: Result) -> Any:
    """(s,) distances of sewn vertices in the last frame, metres."""
    seams, x = StitchSprings(result.scene), result.x[0][-1]
    return np.linalg.norm(np.einsum("ij,ijk->ik", seams.springs.weights, x[seams.rows]), axis=1)


if __name__ == "__main__":
    for name in SHOWN:
        result = run(name)
        print(f"{name}: {result.facts}")
        if name == "t-shirt":
            at = np.percentile(gaps(result), [50, 95, 100])
            print(f"  gaps of {len(gaps(result))} stitches: median, 95 % and largest {1e3 * at} mm")

"""The picture and the figures of docs/character.md.

`python benchmarks/studies/walking.py [FILE.glb]` prints the figures.
CPU time on one thread, best of many runs: set NUMBA_NUM_THREADS=1.
"""

import sys
import time
from collections.abc import Callable

import numpy as np

import pliant
from pliant.motion.clip import Clip
from pliant.report.camera import Camera
from pliant.report.picture import views

WIDE, HIGH, GAP, PHASES = 196, 340, 8, 6
BODY = (0.78, 0.74, 0.70)
# few hues, so that the palette of the picture contains their blends
INKS = {"red": (0.60, 0.22, 0.17), "blue": (0.20, 0.33, 0.55), "sand": (0.80, 0.72, 0.55)}
LOOK = {
    "hips": "sand", "spine": "red", "chest": "blue", "neck": "red", "head": "sand", "shoulder": "sand",
    "upper_arm": "red", "forearm": "blue", "hand": "sand", "thigh": "blue", "shin": "red", "foot": "sand",
}  # fmt: skip


def draw_walk(save: Callable[[str, np.ndarray], None]) -> None:
    from scipy.spatial import cKDTree

    walker = pliant.shapes.walking_mannequin()
    frames = np.stack([walker.shape("walk", k * 1.1 / PHASES) for k in range(PHASES)])
    palette = np.array([INKS[LOOK[name.split(".")[0]]] for name in walker.names])
    shade = np.einsum("nk,nkc->nc", walker.weights, palette[walker.joints])
    near = cKDTree(walker.mesh.vertices)

    def painted(points: np.ndarray) -> np.ndarray:
        distance, index = near.query(points, 3)
        weight = 1.0 / (distance + 1e-4)
        mean = (shade[index] * weight[:, :, None]).sum(1) / weight.sum(1)[:, None]
        return np.where(distance[:, :1] < 0.05, mean, 0.8)

    rest = walker.mesh.vertices[None]
    tiles = []
    for x, paint, azimuth in ((rest, painted, 0.35), *((f[None], None, 0.9) for f in frames)):
        held = frames if paint is None else rest
        width = WIDE if paint is None else WIDE + 60
        camera = Camera.framing([Clip(walker.mesh, held)], width / HIGH, azimuth=azimuth, elevation=0.12, fill=0.9)
        clips = [Clip(walker.mesh, x, BODY)]
        shot = views(clips, 0, width, HIGH, [camera], samples=3, paint=paint)[0]
        tiles += [np.full((HIGH, GAP, 3), 255, np.uint8), shot]
    save("walk", np.concatenate(tiles[1:], 1))


def best_of(call: Callable[[], object], times: int = 300) -> float:
    """Microseconds."""
    spent = []
    for _ in range(times):
        start = time.process_time()
        call()
        spent.append(time.process_time() - start)
    return 1e6 * min(spent)


def figures(character: pliant.Character) -> None:
    clip = next(iter(character.clips))
    middle = 0.37 * character.clips[clip].duration
    bones, out = character.skin_matrices_at(clip, [middle])[0], np.empty((character.mesh.n_vertices, 3))
    skin = best_of(lambda: character.skin(bones, out))
    many = np.linspace(0.3, 0.4, 16) * character.clips[clip].duration
    held = (character.weights > 0.0).sum(1).mean()
    print(f"{character.mesh.name}: {len(out)} vertices, {len(character.names)} bones, {held:.2f} per vertex")
    print(f"skin: {skin:.0f} us, {1e3 * skin / len(out):.1f} ns per vertex")
    alone = best_of(lambda: character.skin_matrices_at(clip, [middle]))
    together = best_of(lambda: character.skin_matrices_at(clip, many))
    print(f"bones: {alone:.0f} us for one time, {together:.0f} us for 16")


def soles() -> None:
    walker = pliant.shapes.walking_mannequin()
    lowest = [walker.shape("walk", t)[:, 1].min() for t in np.linspace(0.0, 1.1, 441)]
    print(f"soles: lowest point from {1e3 * min(lowest):.1f} to {1e3 * max(lowest):.1f} mm")


if __name__ == "__main__":
    if not sys.argv[1:]:
        soles()
    figures(pliant.load_character(sys.argv[1]) if sys.argv[1:] else pliant.shapes.walking_mannequin())

"""The picture of docs/detectors/sphere-surface.md. Called by pictures.py, or alone with the name of a file."""

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from PIL import Image, ImageDraw
from tiles import FINE, LINE, TILE, captioned

import pliant

SIDE = 292  # pixels of a tile
SPHERE, CHOSEN, POINT = (47, 111, 219), (217, 130, 43), (194, 72, 61)
CORNERS = np.array([[0.21, 0.22], [0.84, 0.28], [0.41, 0.77]])
TIP = np.array([0.405, 0.36])
ONE, TWO = np.array([[0.06, 0.2], [0.95, 0.7]]), np.array([[0.1, 0.92], [0.72, 0.1]])


class Tile:
    def __init__(self) -> None:
        self.image = Image.new("RGB", (SIDE * FINE, SIDE * FINE), TILE)
        self.draw = ImageDraw.Draw(self.image, "RGBA")

    def at(self, p: Any) -> tuple[float, float]:
        return float(p[0]) * SIDE * FINE, (1.0 - float(p[1])) * SIDE * FINE

    def disc(self, p: Any, radius: float, fill: Any = None, outline: Any = None, width: float = 1.0) -> None:
        (x, y), r = self.at(p), radius * SIDE * FINE
        self.draw.ellipse((x - r, y - r, x + r, y + r), fill, outline, round(width * FINE))

    def line(self, points: Any, color: Any, width: float = 1.5) -> None:
        self.draw.line([self.at(p) for p in points], color, round(width * FINE), joint="curve")

    def small(self) -> Image.Image:
        return self.image.resize((SIDE, SIDE), Image.Resampling.LANCZOS)


def split(corners: np.ndarray) -> np.ndarray:
    """The four children (4,3,2)."""
    a, b, c = corners
    d, e, f = (a + b) / 2, (b + c) / 2, (c + a) / 2
    return np.array([[a, d, f], [d, b, e], [f, e, c], [e, f, d]])


def reported(level: int) -> np.ndarray:
    """The point of the triangle that the detector reports."""
    flat = np.column_stack([CORNERS, np.zeros(3)])
    triangle = pliant.Mesh(flat, [[0, 1, 2]])
    tip = pliant.Mesh([[*TIP, 0.01]], np.zeros((0, 3), int))
    (hit,) = pliant.detector("sphere-surface", tip, triangle, within=1.0, levels=level).find()
    return -hit["weights"][1:] @ CORNERS


def triangle_tile(level: int) -> Image.Image:
    tile, corners = Tile(), CORNERS
    radius = 2 / 3 * np.linalg.norm(CORNERS - CORNERS.mean(0), axis=1).max()
    tile.line([*CORNERS, CORNERS[0]], LINE)
    for _ in range(level):
        children = split(corners)
        for child in children:
            tile.line([*child, child[0]], (*LINE, 120), 0.8)
        # the tip is over the triangle: the child that contains it
        corners = min(children, key=lambda child: max(_outside(child)))
        radius /= 2
    for centre in (*corners, corners.mean(0)):
        tile.disc(centre, radius, (*SPHERE, 30), (*SPHERE, 150))
    tile.line([*corners, corners[0]], LINE, 2.2)
    for centre in (*corners, corners.mean(0)):
        tile.disc(centre, 0.011, SPHERE)
    q = reported(level)
    tile.line([TIP, q], CHOSEN, 2.5)
    tile.disc(q, 0.014, CHOSEN)
    tile.disc(TIP, 0.014, POINT)
    return tile.small()


def _outside(child: np.ndarray) -> list[float]:
    """Distances of the tip beyond each edge."""
    middle, out = child.mean(0), []
    for a, b in zip(child, np.roll(child, -1, 0)):
        n = np.array([b[1] - a[1], a[0] - b[0]])
        out.append(float((TIP - a) @ n * -np.sign((middle - a) @ n) / np.linalg.norm(n)))
    return out


def edges_tile(levels: int) -> Image.Image:
    tile = Tile()
    rest = [ONE, TWO]
    for edge in rest:
        tile.line(edge, (*LINE, 150), 1.5)
    lone = [pliant.Mesh([[*e[0], z], [*e[1], z], [*e[1], 5.0 + z]], [[0, 1, 2]]) for e, z in ((ONE, 0.0), (TWO, 0.01))]
    for level in range(levels + 1):
        hits = pliant.detector("sphere-surface", *lone, within=2.0, levels=level).find()
        hit = next(h for h in hits if set(h["vertices"]) == {0, 1, 3, 4})
        s, t = hit["weights"][1], -hit["weights"][3]
        ends = ONE[0] + s * (ONE[1] - ONE[0]), TWO[0] + t * (TWO[1] - TWO[0])
        shade = (*CHOSEN, 255) if level == levels else (*SPHERE, 190)
        tile.line(ends, shade, 2.5 if level == levels else 1.5)
        for end in ends:
            tile.disc(end, 0.013, shade)
    return tile.small()


def picture() -> Image.Image:
    tiles = [triangle_tile(0), triangle_tile(1), triangle_tile(3), edges_tile(3)]
    words = ["level 0: in two spheres, their centre", "level 1: three new centres", "level 3"]
    words.append("edges: midpoints, levels 0 to 3")
    return captioned(tiles, words, flat=False)


def draw_sphere_surface(save: Callable[[str, Any], None]) -> None:
    save("sphere-surface", picture())


if __name__ == "__main__":
    picture().save(sys.argv[1])

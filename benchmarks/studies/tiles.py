"""Flat drawings in a row with captions, for the pictures of the methods."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from PIL import Image, ImageDraw, ImageFont

FINE, GAP = 4, 8  # supersampling factor; pixels between tiles
PAPER, TILE, INK, QUIET, LINE = (255, 255, 255), (246, 247, 249), (35, 38, 45), (120, 126, 140), (96, 104, 120)
BLUE, ORANGE, RED, GREEN = (47, 111, 219), (217, 130, 43), (194, 72, 61), (62, 142, 110)


class Tile:
    """A drawing of the plane between `low` and `high`, fitted into `wide` x `tall` pixels; y points up."""

    def __init__(self, wide: int, tall: int, low: Any = (0.0, 0.0), high: Any = (1.0, 1.0), fill: float = 1.0) -> None:
        self.size = wide, tall
        self.image = Image.new("RGB", (wide * FINE, tall * FINE), TILE)
        self.draw = ImageDraw.Draw(self.image, "RGBA")
        low, high = np.asarray(low, float), np.asarray(high, float)
        self.zoom = fill * FINE * min(wide / (high - low)[0], tall / (high - low)[1])
        self.middle = (low + high) / 2

    def at(self, p: Any) -> tuple[float, float]:
        u, v = (np.asarray(p, float)[:2] - self.middle) * self.zoom
        return self.size[0] * FINE / 2 + float(u), self.size[1] * FINE / 2 - float(v)

    def line(self, points: Any, color: Any, width: float = 1.5) -> None:
        self.draw.line([self.at(p) for p in points], color, round(width * FINE), joint="curve")

    def area(self, points: Any, color: Any) -> None:
        self.draw.polygon([self.at(p) for p in points], color)

    def dot(self, p: Any, color: Any, radius: float = 3.0) -> None:
        """`radius` in pixels."""
        (x, y), r = self.at(p), radius * FINE
        self.draw.ellipse((x - r, y - r, x + r, y + r), color)

    def box(self, low: Any, high: Any, color: Any, width: float = 1.5) -> None:
        self.line([low, (high[0], low[1]), high, (low[0], high[1]), low], color, width)

    def word(self, p: Any, words: str, color: Any = QUIET, size: int = 13, anchor: str = "mm") -> None:
        self.draw.text(self.at(p), words, color, ImageFont.load_default(size * FINE), anchor=anchor)

    def points(self) -> np.ndarray:
        """(tall, wide, 2) coordinates of the pixel centres."""
        wide, tall = self.size
        u, v = np.arange(wide) + 0.5 - wide / 2, tall / 2 - np.arange(tall) - 0.5
        return np.stack(np.broadcast_arrays(u[None], v[:, None]), -1) * FINE / self.zoom + self.middle

    def paint(self, colors: np.ndarray) -> None:
        """Paint the pixels (tall, wide, 3) as a background."""
        self.image.paste(Image.fromarray(colors.astype(np.uint8)).resize(self.image.size, Image.Resampling.BICUBIC))

    def small(self) -> Image.Image:
        return self.image.resize(self.size, Image.Resampling.LANCZOS)


def captioned(tiles: Sequence[Image.Image], words: Sequence[str], *, flat: bool = True) -> Image.Image:
    """Tiles of equal height in a row, each with a caption; `flat` drawings have few colours."""
    tall = tiles[0].height
    image = Image.new("RGB", (sum(tile.width + GAP for tile in tiles) - GAP, tall + 30), PAPER)
    draw, left = ImageDraw.Draw(image), 0
    for tile, word in zip(tiles, words, strict=True):
        image.paste(tile, (left, 0))
        draw.text((left + tile.width / 2, tall + 16), word, QUIET, ImageFont.load_default(15), anchor="mm")
        left += tile.width + GAP
    # without dithering, flat areas stay flat and files small
    return (
        image if not flat else image.quantize(96, Image.Quantize.MEDIANCUT, 3, dither=Image.Dither.NONE).convert("RGB")
    )


def dotted(picture: np.ndarray, at: np.ndarray, color: Any, radius: float = 2.6) -> Image.Image:
    """A rendered picture with dots at pixels (n,2)."""
    image = Image.fromarray(picture)
    large = image.resize((FINE * image.width, FINE * image.height), Image.Resampling.BICUBIC)
    draw, r = ImageDraw.Draw(large), radius * FINE
    for x, y in FINE * np.asarray(at)[:, :2]:
        draw.ellipse((x - r, y - r, x + r, y + r), color)
    return large.resize(image.size, Image.Resampling.LANCZOS)

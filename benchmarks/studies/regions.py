"""The regions of a bake: a slice through those of faces, edges and vertices, and through the occupied bricks.

Drawn by `python benchmarks/studies/regions.py OUT.png`.
"""

import sys

import numpy as np
from PIL import Image, ImageDraw, ImageFont

import pliant
from pliant.detect.bvh.wide import blocks_of_surface
from pliant.detect.queries.closest_point import surface_of
from pliant.kernels.queries.closest_point import nearest_range
from pliant.report.slices import Scale, coloured

CELLS, BAND, PIXELS = 24, 3.0, 20  # cells along the longest side; band in cells; pixels per cell
FACE, EDGE, VERTEX = (150, 180, 214), (236, 176, 108), (150, 196, 140)
QUIET = (120, 126, 140)


def body() -> pliant.Mesh:
    """A coarse ball with a dent: few faces, so that the regions of its edges are visible."""
    x, faces = [(0.0, 1.0, 0.0), (0.0, -0.35, 0.0)], []
    for ring, (r, y) in enumerate(((0.8, 0.55), (1.0, -0.1), (0.7, -0.7))):
        x += [(r * np.cos(a), y, r * np.sin(a)) for a in (np.arange(6) + 0.5 * ring) * np.pi / 3]
    for k in range(6):
        n = (k + 1) % 6
        faces += [(0, 2 + n, 2 + k), (1, 14 + k, 14 + n)]
        faces += [(2 + k, 2 + n, 8 + k), (2 + n, 8 + n, 8 + k), (8 + k, 8 + n, 14 + n), (8 + k, 14 + n, 14 + k)]
    return pliant.Mesh(np.array(x) * 0.1, faces)


def drawn() -> Image.Image:
    mesh = body()
    field = pliant.DistanceField.bake(mesh, CELLS, band=BAND)
    h, origin, size = field.spacing, np.array(field.origin), np.array(field.shape)
    wide, high = (size[:2] - 1) * PIXELS
    place = np.stack(np.meshgrid(np.arange(wide) + 0.5, np.arange(high)[::-1] + 0.5), -1) / PIXELS
    depth = size[2] // 2 + 0.31
    points = origin + h * np.concatenate([place, np.full((*place.shape[:2], 1), depth)], -1)
    p = points.reshape(-1, 3)
    found, where = np.full((len(p), 2), -1, np.int64), np.empty((len(p), 3))
    surface = surface_of(mesh)
    nearest_range(blocks_of_surface(surface), surface, p, np.arange(len(p)), found, where)
    near = np.abs(field.exact.query(p)[0]) <= BAND * h
    kind = found[:, 1]
    colour = np.select([kind[:, None] == 0, kind[:, None] >= 4], [np.array(FACE), np.array(EDGE)], np.array(VERTEX))
    regions = np.where(near[:, None], colour, 250).reshape(high, wide, 3).astype(np.uint8)
    distance = field.sample(p)[0].reshape(high, wide)
    bricks = coloured(distance, Scale(h, BAND * h))
    left, right = Image.fromarray(regions), Image.fromarray(bricks)
    for image, dots in ((left, True), (right, False)):
        pen = ImageDraw.Draw(image)
        values = field.values[:, :, int(depth)]
        for i in range(size[0]):
            for j in range(size[1]):
                x, y = i * PIXELS, high - j * PIXELS
                if dots and np.isfinite(values[i, j]):
                    pen.ellipse((x - 2, y - 2, x + 2, y + 2), (40, 44, 56))
                if not dots and i % 4 == j % 4 == 0 and field.grid.index[i // 4, j // 4, int(depth) // 4]:
                    box = (x - PIXELS / 2, y - 3.5 * PIXELS, x + 3.5 * PIXELS, y + PIXELS / 2)
                    pen.rectangle(box, None, (40, 44, 56), 2)
    line = np.abs(field.exact.query(p)[0]).reshape(high, wide) < 1.2 * h / PIXELS
    left.paste((28, 30, 36), (0, 0), Image.fromarray((255 * line).astype(np.uint8)))
    out = Image.new("RGB", (2 * wide + 30, high + 36), (255, 255, 255))
    out.paste(left, (0, 0))
    out.paste(right, (wide + 30, 0))
    pen, font = ImageDraw.Draw(out), ImageFont.load_default(15)
    at, y = wide / 2 - 190, high + 18
    for text, rgb in (("over faces", FACE), ("at edges", EDGE), ("at vertices", VERTEX)):
        pen.rectangle((at, y - 7, at + 14, y + 7), rgb)
        pen.text((at + 22, y), text, QUIET, font, anchor="lm")
        at += 140
    pen.text((1.5 * wide + 30, y), "bricks of 4 x 4 x 4 nodes around the surface", QUIET, font, anchor="mm")
    return out


if __name__ == "__main__":
    drawn().save(sys.argv[1])

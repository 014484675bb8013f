"""The bounding volumes of a BVH over folding cloth, from the side; drawn by `python benchmarks/studies/volumes.py`."""

import itertools
import pathlib

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from pliant.detect.bvh.tree import find_pairs, tree_of
from pliant_bench.trees import folding

OUT = pathlib.Path(__file__).resolve().parents[2] / "docs" / "images" / "tree-volumes.png"
INK, QUIET = (35, 38, 45), (110, 116, 130)
COLOURS = ((196, 74, 62), (58, 104, 168))
SIDE, TALL, SCALE = 460, 190, 3
LEVELS = (3, 5)


def depths(skip):
    depth = np.zeros(len(skip), int)
    for i in range(len(skip)):
        j = i + 1
        while j < skip[i]:
            depth[j], j = depth[i] + 1, skip[j]
    return depth


def outline(volume, b):
    """Corners (c,2) of a volume projected along z."""
    if volume == "sphere":
        a = np.linspace(0.0, 2.0 * np.pi, 90)
        return b[:2] + b[3] * np.stack([np.cos(a), np.sin(a)], 1)
    if volume == "oriented":
        axes = b[6:].reshape(3, 3) * b[3:6, None]
        points = [b[:2] + (np.array(s) @ axes)[:2] for s in itertools.product((-1, 1), repeat=3)]
    else:
        h = len(b) // 2
        rows = [(1, 0, 0), (0, 1, 1)] if h == 3 else [(1, 0, 0), (0, 1, 1), (1, 1, 3), (1, -1, 4)]
        planes = [(s * x, s * y, (b[h + k] if s > 0 else -b[k])) for x, y, k in rows for s in (1, -1)]
        points = []
        for p, q in itertools.combinations(np.array(planes), 2):
            if abs(np.linalg.det([p[:2], q[:2]])) > 1e-9:
                c = np.linalg.solve([p[:2], q[:2]], [p[2], q[2]])
                if all(n[0] * c[0] + n[1] * c[1] <= n[2] + 1e-9 for n in planes):
                    points.append(c)
    points = np.array(points)
    middle = points.mean(0)
    return points[np.argsort(np.arctan2(*(points - middle).T[::-1]))]


def panel(volume, x, faces, within):
    tree = tree_of(x, faces, volume=volume)
    image = Image.new("RGB", (SIDE * SCALE, TALL * SCALE), (255, 255, 255))
    draw = ImageDraw.Draw(image)
    low, high = x[:, :2].min(0), x[:, :2].max(0)
    zoom = 0.78 * SIDE * SCALE / (high - low).max()

    def place(p):
        shifted = (np.asarray(p) - 0.5 * (low + high)) * zoom
        return [(0.5 * SIDE * SCALE + u, 0.44 * TALL * SCALE - v) for u, v in shifted]

    depth = depths(tree.nodes["skip"])
    for level, colour in zip(LEVELS, COLOURS, strict=True):
        for i in np.flatnonzero(depth == level):
            points = place(outline(volume, tree.nodes["bounds"][i]))
            draw.line([*points, points[0]], colour, SCALE + (level == LEVELS[0]) * SCALE // 2)
    rows = np.unique(x[:, :2].round(9), axis=0, return_index=True)[1]
    draw.line(place(x[np.sort(rows), :2]), INK, 2 * SCALE)
    image = image.resize((SIDE, TALL), Image.Resampling.LANCZOS)
    tests = find_pairs(tree, within=within).tests
    at = (SIDE / 2, TALL - 14)
    ImageDraw.Draw(image).text(at, f"{volume}: {tests:,} tests", QUIET, ImageFont.load_default(15), anchor="mm")
    return image


if __name__ == "__main__":
    scene = folding()
    (x,), (faces,) = scene.frames[-3], scene.faces
    panels = [panel(volume, x, faces, scene.within) for volume in ("box", "18-dop", "oriented", "sphere")]
    picture = Image.new("RGB", (2 * SIDE, 2 * TALL), (255, 255, 255))
    for k, part in enumerate(panels):
        picture.paste(part, (k % 2 * SIDE, k // 2 * TALL))
    picture.quantize(64, Image.Quantize.MEDIANCUT).save(OUT, optimize=True)

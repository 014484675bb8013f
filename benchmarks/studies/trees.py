"""Slices through the fields that cover a volume, with the boundaries of their cells; drawn by `pictures.py trees`.

`python benchmarks/studies/trees.py CELLS [MESH ...]` prints the table of all fields instead, and with `equal` before
CELLS the memory of an octree in the band whose error is that of the grid.
"""

import functools
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from PIL import Image, ImageDraw, ImageFont

import pliant
from pliant.detect.fields.bsp import PlanarField
from pliant.detect.fields.fill import filled
from pliant.detect.fields.octree import AdaptiveField
from pliant.detect.fields.sampled import around
from pliant.detect.fields.survey import compare_fields
from pliant.report.slices import Scale, coloured

PIXEL = 0.0005  # metres, drawn at twice the size
INK, QUIET = np.array([20.0, 24.0, 34.0]), (120, 126, 140)


@functools.cache
def middle() -> tuple[pliant.Mesh, np.ndarray]:
    """The bust, and the points of a vertical slice through its centre, rows from the top; as large as the octree."""
    body = pliant.shapes.bust()
    low, high = body.bounds
    half, centre = 0.6 * (high - low).max(), 0.5 * (low + high)
    y, z = (np.arange(c - half + PIXEL / 2, c + half, PIXEL) for c in centre[1:])
    # not exactly in the plane where leaves meet
    return body, np.stack(np.broadcast_arrays(centre[0] + 1e-5, y[::-1, None], z[None]), -1)


def drawn(field: Any, lines: np.ndarray, words: str) -> Image.Image:
    """The slice of a field with `lines` over it, and a caption."""
    body, points = middle()
    d = field.sample(points.reshape(-1, 3))[0].reshape(points.shape[:2])
    rgb = coloured(d, Scale(body.size / 40, body.size / 4)).astype(float)
    rgb[lines] = 0.4 * rgb[lines] + 0.6 * INK
    image = Image.fromarray(rgb.astype(np.uint8))
    image = image.resize((image.width // 2, image.height // 2), Image.Resampling.BOX)
    picture = Image.new("RGB", (image.width, image.height + 32), (255, 255, 255))
    picture.paste(image, (0, 0))
    at = (image.width / 2, image.height + 17)
    ImageDraw.Draw(picture).text(at, words, QUIET, ImageFont.load_default(14), anchor="mm")
    return picture


def borders(cell: np.ndarray) -> np.ndarray:
    """Pixels whose cell differs from that of the pixel to the right or below."""
    lines = np.zeros(cell.shape, bool)
    lines[:, :-1] |= cell[:, 1:] != cell[:, :-1]
    lines[:-1] |= cell[1:] != cell[:-1]
    return lines


def leaf_of(tree: AdaptiveField, x: np.ndarray) -> np.ndarray:
    """The leaf that contains each point (n,3) of the unit cube: eight times its family, plus its number there."""
    family, first, split = np.zeros(len(x), np.int64), tree.families.first, tree.families.split.astype(np.int64)
    leaf = np.full(len(x), -1)
    while (deeper := leaf < 0).any():
        x = np.where(deeper[:, None], 2.0 * x, x)
        octant = (x >= 1.0) & deeper[:, None]
        x = x - octant
        child = octant @ [4, 2, 1]
        inner = split[family] >> child & 1 > 0
        leaf = np.where(deeper & ~inner, 8 * family + child, leaf)
        before = np.bitwise_count(split[family] & ((1 << child) - 1))
        family = np.where(deeper & inner, first[family] + before, family)
    return leaf


def cell_of(field: PlanarField, x: np.ndarray) -> np.ndarray:
    node = np.zeros(len(x), np.int64)
    while (inner := field.child[node] > 0).any():
        plane = field.linear[node[inner]]
        node[inner] = field.child[node[inner]] + (np.einsum("ij,ij->i", x[inner], plane[:, :3]) + plane[:, 3] >= 0.0)
    return node


def draw_trees(save: Callable[[str, Image.Image], None]) -> None:
    """Filled grid, octree and planes of the bust: a colour band every fortieth of the diagonal."""
    body, points = middle()
    rows, shape = points.reshape(-1, 3), points.shape[:2]
    band = pliant.DistanceField.bake(body, 48)
    whole = filled(band)
    beyond = np.isnan(band.sample(rows)[0]).reshape(shape)
    words = f"between the dark lines the band, beyond swept: {whole.values.size:,} nodes, {whole.nbytes / 1e6:.2f} MB"
    save("field-fill", drawn(whole, borders(beyond), words))
    tree = AdaptiveField.bake(body, 0.002 * body.size)
    words = f"{tree.n_leaves:,} leaves, within 1/500 of the diagonal: {tree.nbytes / 1e6:.2f} MB"
    cells = leaf_of(tree, (rows - tree.low) / tree.side).reshape(shape)
    save("field-octree", drawn(tree, borders(cells), words))
    planes = PlanarField.bake(body, 0.002 * body.size)
    words = f"{planes.n_leaves:,} cells, within 1/500 of the diagonal: {planes.nbytes / 1e6:.2f} MB"
    cells = cell_of(planes, (rows - planes.low) / planes.side).reshape(shape)
    save("field-bsp", drawn(planes, borders(cells), words))


def table(mesh: pliant.Mesh, resolution: int) -> None:
    """The rows of `compare_fields` as Markdown."""
    print(f"\n{mesh.name}, {mesh.n_faces:,} faces, {resolution} cells\n")
    print("| field | bytes | build s | p50 | p99 | max | p99 in the volume | known there | ns per query | guarantee |")
    print("|" + "---|" * 10)
    for row in compare_fields(mesh, resolution):
        errors = " | ".join(f"{row[f'error_{q}_cells']:.3f}" for q in ("p50", "p99", "max"))
        print(
            f"| {row['field']} | {row['bytes']:,} | {row['seconds']:.2f} | {errors} | {row['volume_p99_cells']:.2f} "
            f"| {row['volume_known']:.2f} | {row['query_ns']:.0f} | {row['guarantee']} |"
        )


RATIOS = (4.0, 3.0, 2.0, 1.5, 1.2, 1.0, 0.85, 0.7)  # of the tolerance to the error of the grid that is to be met


def equal(mesh: pliant.Mesh, resolution: int) -> None:
    """The octrees in the band with the largest tolerances whose 99th percentile, and whose maximum, of the error is no
    larger than that of the grid, at 20 000 points within three cells of the surface."""
    grid = pliant.DistanceField.bake(mesh, resolution, storage="dense")
    h, band = grid.spacing, grid.band * grid.spacing
    points = around(mesh, 20_000, band, np.random.default_rng(0))
    true = grid.exact.query(points)[0]
    wanted = np.nanquantile(np.abs(grid.sample(points)[0] - true), [0.99, 1.0])
    margin = (grid.band + 2.0) * h / float(np.ptp(mesh.bounds, axis=0).max())
    texts = [f"{mesh.name}, {resolution}", f"{grid.nbytes:,}", *(f"{error / h:.3f}" for error in wanted)]
    for k, error in enumerate(wanted):
        kept = "none | |"
        for ratio in RATIOS:
            field = AdaptiveField.bake(mesh, max(ratio * error, 0.01 * h), margin=margin, band=band)
            reached = np.nanquantile(np.abs(field.sample(points)[0] - true), [0.99, 1.0])
            if reached[k] <= error:
                kept = f"{field.nbytes:,} | {field.nbytes / grid.nbytes:.2f} | {reached[k] / h:.3f}"
                break
        texts.append(kept)
    print(f"| {' | '.join(texts)} |", flush=True)


if __name__ == "__main__":
    show = table
    if sys.argv[1] == "equal":
        show = equal
        del sys.argv[1]
        print("| mesh, cells | dense | p99 | max | octree at p99 | of dense | p99 | octree at max | of dense | max |")
        print("|" + "---|" * 10)
    cells = int(sys.argv[1])
    for path in sys.argv[2:]:
        show(pliant.load(path), cells)
    if not sys.argv[2:]:
        for made in (pliant.shapes.box(), pliant.shapes.bust(), pliant.shapes.mannequin()):
            show(made, cells)

"""Figures and the picture of docs/compare.md.

`NUMBA_NUM_THREADS=1 python benchmarks/studies/comparing.py FOLDER [CASE ...]` writes CASE.json, CASE.md and CASE.html
to the folder, and compare.png from them. The case "exact" prints the cost of the two exact methods for all contacts as
meshes grow.
"""

import argparse
import json
import pathlib
import time

import numpy as np
from PIL import Image, ImageDraw, ImageFont

import pliant
from pliant import shapes
from pliant.audit.compare import compare
from pliant.audit.comparison import Comparison
from pliant.audit.comparison_page_data import shown
from pliant.detect.base import Side
from pliant.detect.methods import METHODS
from pliant.scenes import SCENES
from pliant.state import State

DATA = pathlib.Path(__file__).resolve().parents[3] / "shared" / "data"
HEADS = ("method", "class", "counts", "there", "missed", "extra", "beyond", "recall", "depth, mm: mean", "max", "bound")
MORE = ("normal, °: mean", "max", "CPU ms", "build ms", "memory")
PICTURED = (
    ("skirt", "distance-field", "a walking mannequin in a skirt: distance fields on its bones"),
    ("skirt", "height-grid", "the same: height grids from six sides"),
    ("bunny", "height-grid", "a sheet through the bunny: a height grid from above"),
    ("bunny", "sphere-surface", "the same: spherical implicit surfaces"),
)


def bust() -> Comparison:
    return compare(SCENES["tablecloth-on-bust"](eps=None), frames=6, every=20)


def skirt() -> Comparison:
    return compare(SCENES["walking-skirt"](eps=None), frames=4, every=30)


def cylinders() -> Comparison:
    return compare(SCENES["cylinders"](eps=None, self_contact="off"), frames=4, every=8)


def bunny() -> Comparison:
    """A sheet that intersects the bunny, which is open at the bottom."""
    body = pliant.load(DATA / "meshes" / "bunny_69451.ply")
    with np.load(DATA / "oracles" / "bunny_sheet_dev.npz") as saved:
        body = body.moved((body.vertices - saved["centre"]) / saved["scale"])
        sheet = pliant.Mesh(saved["sheet_vertices"], saved["sheet_faces"], name="sheet")
    return compare(sheet, body, within=0.01)


def exact_methods() -> None:
    """The cost of the two exact methods for all contacts, for the first and for repeated queries, as meshes grow."""
    cases = []
    for count, level in ((3, 0), (4, 0), (12, 1), (36, 3), (100, 4)):
        cloth, ball = shapes.cloth(1.0, 1.0, count, centre=(0.0, 0.25, 0.0)), shapes.ball(0.25, level)
        cases.append(("cloth on a ball", cloth, ball))
    for count in (4, 20, 60, 100):
        cloth = shapes.cloth(1.0, 1.0, count)
        x = cloth.vertices * (0.5, 1.0, 1.0)
        x[:, 1] += 0.05 * np.sin(120.0 * x[:, 0])
        cases.append(("folded cloth", cloth.moved(x), None))
    for name, one, two in cases:
        sides = [Side(one, 0, 0)] if two is None else [Side(one, 0, 0), Side(two, one.n_vertices, 1)]
        state = State.at(np.concatenate([side.mesh.vertices for side in sides]))
        line = [name, *(f"{side.mesh.n_faces}" for side in sides)]
        for method in ("brute-force", "tree"):
            built = asked = np.inf
            for _ in range(5):
                began = time.process_time()
                detector = METHODS[method](*sides, within=0.01)
                middle = time.process_time()
                count = len(detector.update(state).find(state))
                built, asked = min(built, middle - began), min(asked, time.process_time() - middle)
            line.append(f"{method}: {count} contacts, {1e3 * (built + asked):.2f} ms, repeated {1e3 * asked:.2f} ms")
        print("; ".join(line), flush=True)


CASES = {"bust": bust, "skirt": skirt, "cylinders": cylinders, "bunny": bunny}


def table(found: Comparison) -> str:
    """Markdown."""
    lines = []
    for role in found.roles:
        lines += [f"{role.title}, {len(found.states)} states:", ""]
        lines += ["| " + " | ".join((*HEADS, *MORE)) + " |", "|" + "---|" * len((*HEADS, *MORE))]
        for row in role.rows:
            cell = role.table.columns
            texts = {column.key: column.text(row.shown().get(column.key)) for column in cell}
            keys = (
                "method",
                "class",
                "counts",
                "there",
                "missed",
                "extra",
                "beyond",
                "recall",
                "depth_mean_mm",
                "depth_max_mm",
            )
            keys += ("bound_mm", "normal_mean_deg", "normal_max_deg", "cpu_ms", "build_ms", "bytes")
            lines.append("| " + " | ".join(texts[key] for key in keys) + " |")
        lines += ["", *(f"- {row.method}: {row.note}." for row in role.rows if row.note)]
        lines += [f"- {unfit.name} is not applicable: {unfit.why}." for unfit in role.unfit]
        lines.append("")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("cases", nargs="*", default=[])
    told = parser.parse_args()
    told.folder.mkdir(parents=True, exist_ok=True)
    if told.cases == ["exact"]:
        exact_methods()
        return
    for name in told.cases or CASES:
        found = CASES[name]()
        (told.folder / f"{name}.json").write_text(json.dumps(found.to_json(), indent=1, default=float))
        (told.folder / f"{name}.md").write_text(table(found))
        print(table(found), *found.broken, sep="\n", flush=True)
        found.to_html(told.folder / f"{name}.html")
        for part in shown(found).parts:
            for shot in part.shots:
                Image.fromarray(shot.pixels).save(told.folder / f"{name}-{part.table.name}-{shot.method}.png")
    files = [(told.folder / f"{case}-compare-obstacle-{method}.png", words) for case, method, words in PICTURED]
    tiles = [(words, np.asarray(Image.open(file))) for file, words in files if file.exists()]
    if tiles:
        sheet(tiles).save(told.folder / "compare.png", optimize=True)


def sheet(tiles: list[tuple[str, np.ndarray]]) -> Image.Image:
    """Two pictures per row with captions below."""
    (h, w, _), gap, line = tiles[0][1].shape, 12, 34
    rows = -(-len(tiles) // 2)
    out = Image.new("RGB", (gap + 2 * (w + gap), gap + rows * (h + line)), (246, 247, 250))
    draw, font = ImageDraw.Draw(out), ImageFont.load_default(13)
    for k, (text, pixels) in enumerate(tiles):
        x, y = gap + k % 2 * (w + gap), gap + k // 2 * (h + line)
        out.paste(Image.fromarray(pixels), (x, y))
        draw.text((x, y + h + 8), text, (60, 66, 80), font)
    return out


if __name__ == "__main__":
    main()

"""Clothes of the walking human, deformed by skinning alone: pictures.py draws `check` from them.

`python benchmarks/studies/checking.py FOLDER` writes them as npz animations for `pliant check`.
"""

import io
import pathlib
import shutil
import sys
import tempfile
from collections.abc import Callable
from typing import Any

import numpy as np
from PIL import Image

import pliant
from pliant.motion.clip import Clip

HUMAN = pathlib.Path(__file__).resolve().parents[2].parent / "shared" / "data" / "human"
FPS = float(np.load(HUMAN / "skeleton_walk.npz")["fps"]) if HUMAN.is_dir() else 24.0


def clip(name: str) -> Clip:
    """`body`, `tights` or `skirt` in the 48 frames of the walk."""
    kept = np.load(HUMAN / f"{name}.npz")
    return Clip(pliant.Mesh(kept["V_frames"][0], kept["F"], name=name), kept["V_frames"])


def few_colours(image: Image.Image) -> Image.Image:
    """Reduce to 256 colours without losing rare ones, which a palette by frequency would drop from the depth scale."""
    return image.convert("RGB").quantize(256, Image.Quantize.MAXCOVERAGE, 2).convert("RGB")


def seen(path: pathlib.Path, high: int) -> Image.Image:
    """The top of a page in a browser, zoomed to its first place; needs playwright and Chromium."""
    from playwright.sync_api import sync_playwright

    flags = ["--use-gl=angle", "--use-angle=gl-egl", "--ignore-gpu-blocklist", "--no-sandbox", "--disable-gpu-sandbox"]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=flags)
        page = browser.new_page(viewport={"width": 1200, "height": high}, color_scheme="light")
        page.goto(path.as_uri())
        page.evaluate("pliant.ready")
        page.evaluate("pliant.goTo(0)")
        page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        shot = page.screenshot()
        browser.close()
    return few_colours(Image.open(io.BytesIO(shot)))


def draw_check(save: Callable[[str, Any], None]) -> None:
    """The contact sheet, and the page in a browser; needs the shared data."""
    report = pliant.check(clip("tights"), clip("body"), fps=FPS)
    with tempfile.TemporaryDirectory() as folder:
        sheet, path = pathlib.Path(folder) / "check.png", pathlib.Path(folder) / "check.html"
        report.to_png(sheet)
        save("check", few_colours(Image.open(sheet)))
        report.to_html(path)
        save("check-page", seen(path, 1010))


if __name__ == "__main__":
    out = pathlib.Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    for name in ("body", "tights", "skirt"):
        pliant.save_animation(out / f"{name}.npz", [clip(name)], FPS)

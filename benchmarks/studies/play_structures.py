"""The data structures of methods as the page of `pliant play` draws them, for docs/play.md; needs Chromium."""

import io
import shutil
import threading
from collections.abc import Callable

from PIL import Image, ImageDraw, ImageFont
from playing import FLAGS, WAIT, serve

SHOWN = (  # method, level of its data structure (None: the first one), caption
    ("bvh:volume=oriented", 3, "bvh: OBBs"),
    ("bvh:volume=sphere", 3, "bvh: bounding spheres"),
    ("bvh:volume=26-dop", 3, "bvh: 26-DOPs"),
    ("distance-field", None, "distance-field: bricks"),
    ("distance-field:field=adaptive", None, "distance-field: octree"),
    ("stochastic-bvh", 2, "stochastic-bvh: leaf pairs"),
    ("height-grid", 1, "height-grid along +y"),
    ("image-space:test=layers", None, "image-space: layers"),
)
WIDE, HIGH, COLUMNS = 340, 270, 4


def draw_play_structures(save: Callable[[str, Image.Image], None]) -> None:
    """Switch the method of a page while a tablecloth hangs on a ball, and take a picture of each."""
    from playwright.sync_api import sync_playwright

    over, font = threading.Event(), ImageFont.load_default(15)
    url = serve("tablecloth-on-ball", over)
    sheet = Image.new("RGB", (COLUMNS * WIDE, -(-len(SHOWN) // COLUMNS) * HIGH), "white")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        page = browser.new_page(viewport={"width": 560, "height": 640}, color_scheme="light")
        page.set_default_timeout(WAIT)
        page.goto(url)
        page.evaluate("pliant.ready")
        page.wait_for_function("() => pliant.header.time > 0.9")
        page.evaluate("pliant.send({ show: 'structure', on: true })")
        for k, (method, level, caption) in enumerate(SHOWN):
            page.evaluate("m => pliant.send({ choose: 'method', to: m })", method)
            page.wait_for_function("m => pliant.state.chosen.method === m && !pliant.state.waiting", arg=method)
            if level is not None:
                page.evaluate("l => pliant.send({ show: 'structure', on: true, level: l })", level)
            began = page.evaluate("pliant.header.time")
            page.wait_for_function("t => pliant.header.time > t", arg=began)
            page.evaluate("pliant.send({ do: 'pause' })")
            page.wait_for_timeout(5000)  # until the static view is refined
            box = {"x": 20, "y": 120, "width": 520, "height": 520 * HIGH / WIDE}
            shot = Image.open(io.BytesIO(page.screenshot(clip=box, timeout=WAIT))).convert("RGB")
            tile = shot.resize((WIDE, HIGH), Image.Resampling.LANCZOS)
            ImageDraw.Draw(tile).text((8, 6), caption, fill=(35, 38, 45), font=font)
            sheet.paste(tile, (k % COLUMNS * WIDE, k // COLUMNS * HIGH))
            page.evaluate("pliant.send({ do: 'go' })")
        over.set()
        browser.close()
    save("play-structures", sheet)

"""Make every picture of the documents from the code: `python tools/pictures.py [NAME ...]`."""

import functools
import io
import pathlib
import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from figures import G, slope, speeds
from PIL import Image, ImageDraw, ImageFont

import pliant
from pliant.clip import Clip
from pliant.report.camera import Camera
from pliant.report.picture import render
from pliant.report.result import Result, record
from pliant.scenes import SCENES

IMAGES = pathlib.Path(__file__).resolve().parents[1] / "docs" / "images"
PAPER, INK, QUIET, RED = (255, 255, 255), (35, 38, 45), (120, 126, 140), (196, 74, 62)
BODY, CLOTH, BLUE = (0.78, 0.74, 0.70), (0.62, 0.16, 0.13), (0.16, 0.25, 0.42)


def save(name: str, pixels: np.ndarray | Image.Image) -> None:
    """As PNG with a palette: a third of the size, and nobody sees it."""
    image = pixels if isinstance(pixels, Image.Image) else Image.fromarray(pixels)
    path = IMAGES / f"{name}.png"
    path.parent.mkdir(parents=True, exist_ok=True)
    small = image.convert("RGB").quantize(256, Image.Quantize.MEDIANCUT, 3, dither=Image.Dither.FLOYDSTEINBERG)
    small.save(path, optimize=True)
    print(f"{path.name}: {image.width}x{image.height}, {path.stat().st_size / 1000:.0f} kB", file=sys.stderr)


@functools.cache
def run(scene: str, frames: int = 250) -> Result:
    return record(pliant.Simulation(SCENES[scene]()), frames)


def later(clips: Sequence[Clip], first: int) -> list[Clip]:
    """The clips from frame `first` on: a cloth that still lies flat in the air would keep the camera far away."""
    return [clip if clip.still else Clip(clip.mesh, clip.frames[first:], clip.color) for clip in clips]


def strip(
    result: Result, frames: Sequence[int], widths: Sequence[int], height: int, first: int = 0, **look: float
) -> np.ndarray:
    """Frames side by side, one camera and scale for all, as near as the last and narrowest needs."""
    camera = Camera.framing(later(result.clips, first), widths[-1] / height, **look)
    return row([render(result.clips, t, w, height, camera, samples=3) for t, w in zip(frames, widths)])


def row(tiles: Sequence[np.ndarray]) -> np.ndarray:
    gap = np.full((len(tiles[0]), 8, 3), 255, np.uint8)
    return np.concatenate([part for tile in tiles for part in (gap, tile)][1:], axis=1)


def text(
    draw: ImageDraw.ImageDraw, at: tuple[float, float], words: str, size: int = 15, ink: Any = INK, anchor: str = "mm"
) -> None:
    draw.text(at, words, ink, ImageFont.load_default(size), anchor=anchor)


def captioned(tiles: Sequence[np.ndarray], words: Sequence[str]) -> Image.Image:
    """Tiles in a row, a word under each."""
    pixels = row(tiles)
    image = Image.new("RGB", (pixels.shape[1], pixels.shape[0] + 30), PAPER)
    image.paste(Image.fromarray(pixels), (0, 0))
    draw, left = ImageDraw.Draw(image), 0
    for tile, word in zip(tiles, words):
        text(draw, (left + tile.shape[1] / 2, pixels.shape[0] + 16), word, ink=QUIET)
        left += tile.shape[1] + 8
    return image


def drape() -> None:
    widths = (468, 424, 330, 254)
    save("drape", strip(run("tablecloth-on-bust"), (16, 26, 38, 250), widths, 300, 60, azimuth=0.5, elevation=0.25))


def shape(clips: Sequence[Clip], width: int = 240, height: int = 260, **look: float) -> np.ndarray:
    camera = Camera.framing(clips, width / height, **{"fill": 0.78, **look})
    return render(clips, 0, width, height, camera, samples=3)


def still(mesh: pliant.Mesh, color: tuple[float, float, float] = BODY) -> Clip:
    return Clip(mesh, mesh.vertices[None], color)


def shapes() -> None:
    from pliant.shapes import ball, bowl, box, bust, cloth, torus

    tiles = [
        shape([still(cloth(1.0, 1.0, 12), CLOTH)], elevation=0.8, azimuth=0.4),
        shape([still(ball(0.5))]),
        shape([still(box(1.0))], elevation=0.45),
        shape([still(torus())], elevation=0.6),
        shape([still(bowl())], elevation=0.6),
        shape([still(bust())], azimuth=0.5, elevation=0.1),
    ]
    save("shapes", captioned(tiles, ("cloth", "ball", "box", "torus", "bowl", "bust")))


def mannequin() -> None:
    from pliant.shapes import mannequin, skirt, trousers

    person, short, long = still(mannequin()), still(skirt(), CLOTH), still(trousers(), BLUE)
    looks = (([person], 0.35), ([person, short], 0.35), ([person, long], 0.35), ([person, long], 2.7))
    tiles = [shape(clips, 280, 400, azimuth=turn, elevation=0.1, fill=0.9) for clips, turn in looks]
    save("mannequin", captioned(tiles, ("mannequin", "skirt", "trousers", "from behind")))


def scenes() -> None:
    looks = {
        "tablecloth-on-bust": {"azimuth": 0.5, "elevation": 0.25},
        "tablecloth-on-ball": {"elevation": 0.3},
        "cloth-on-box-corner": {"elevation": 0.3},
        "cloth-in-a-bowl": {"elevation": 0.75},
    }
    for name, look in looks.items():
        wide = name != "cloth-in-a-bowl"
        widths, first = ((436, 352, 240, 240), 60) if wide else ((294, 294, 294, 294), 18)
        save(name, strip(run(name), (18, 32, 60, 250), widths, 240, first, **look))


def field() -> None:
    """A slice through the field of the bust: warm outside, cool inside, a line every cell, grey where it says nan."""
    body = pliant.shapes.bust()
    baked = pliant.DistanceField.bake(body, 48, band=6)
    cell, (low, high) = baked.spacing, body.bounds
    pixel, edge = 0.001, 8 * cell
    z = np.arange(low[2] - edge, high[2] + edge, pixel)
    y = np.arange(high[1] + edge, low[1] - edge, -pixel)
    points = np.stack(np.broadcast_arrays(0.0, y[:, None], z[None]), -1)
    d = baked.sample(points.reshape(-1, 3))[0].reshape(points.shape[:2]) / cell
    image = Image.fromarray(coloured(d))
    picture = Image.new("RGB", (image.width + 190, image.height), PAPER)
    picture.paste(image, (0, 0))
    draw = ImageDraw.Draw(picture)
    x, top, tall = image.width + 40, 70, image.height - 140
    scale = np.repeat(np.linspace(6, -6, tall)[:, None], 26, 1)
    picture.paste(Image.fromarray(coloured(scale)), (x, top))
    for k in range(-6, 7, 2):
        at = top + tall * (6 - k) / 12
        draw.line([(x + 26, at), (x + 32, at)], QUIET)
        text(draw, (x + 38, at), f"{k:+d} cells" if k else "surface", 14, INK if k == 0 else QUIET, "lm")
    draw.rectangle([x, top + tall + 20, x + 25, top + tall + 38], tuple(NOTHING.astype(int)))
    text(draw, (x + 38, top + tall + 29), "nan", 14, QUIET, "lm")
    text(draw, (x, top - 26), f"1 cell = {1e3 * cell:.1f} mm", 14, QUIET, "lm")
    save("distance-field", picture)


NOTHING = np.array([233.0, 235.0, 239.0])
WARM, COOL, WHITE = np.array([190.0, 72.0, 58.0]), np.array([48.0, 84.0, 146.0]), np.array([252.0, 250.0, 247.0])


def coloured(d: np.ndarray) -> np.ndarray:
    """Distances in cells as colours, a fine line at every cell and a dark one at 0."""
    t = np.clip(np.abs(d) / 6.5, 0, 1)[..., None] ** 0.8
    rgb = WHITE + t * (np.where(d[..., None] > 0, WARM, COOL) - WHITE)
    step = np.maximum(np.hypot(*np.gradient(d)), 1e-6)  # cells a pixel
    fine = np.clip(1.0 - np.abs(d - np.rint(d)) / step, 0, 1)[..., None] * 0.25
    dark = np.clip(1.6 - np.abs(d) / step, 0, 1)[..., None]
    rgb = rgb * (1 - fine) + fine * 90
    rgb = rgb * (1 - dark) + dark * 25
    return np.where(np.isfinite(d)[..., None] & np.isfinite(rgb), rgb, NOTHING).astype(np.uint8)


def friction() -> None:
    """Measured speeds as dots on the lines of the closed form."""
    a, frames = np.radians(20), 40
    scale, width, height = 2, 690, 380
    image = Image.new("RGB", (width * scale, height * scale), PAPER)
    draw = ImageDraw.Draw(image)
    left, right, top, bottom = 70, 560, 30, 330

    def at(t: float, v: float) -> tuple[float, float]:
        return scale * (left + (right - left) * t / 0.4), scale * (bottom - (bottom - top) * v / 1.4)

    for v in np.arange(0, 1.41, 0.2):
        draw.line([at(0, v), at(0.4, v)], (232, 234, 238), scale)
        text(draw, (at(0, v)[0] - 10 * scale, at(0, v)[1]), f"{v:.1f}", 13 * scale, QUIET, "rm")
    for t in np.arange(0, 0.41, 0.1):
        text(draw, (at(t, 0)[0], at(t, 0)[1] + 14 * scale), f"{t:.1f}", 13 * scale, QUIET)
    text(draw, (scale * (left + right) / 2, scale * (bottom + 36)), "seconds", 13 * scale, QUIET)
    text(
        draw,
        (scale * left, scale * 14),
        "speed down a slope of 20 degrees, m/s: dots measured, lines g (sin a - c cos a) t",
        14 * scale,
        INK,
        "lm",
    )
    for share in (0.0, 0.25, 0.5, 0.75, 1.05):
        wanted = G * np.sin(a) * max(1 - share, 0)
        draw.line([at(0, 0), at(0.4, wanted * 0.4)], QUIET, scale)
        for t, v in list(zip(*speeds(slope(a, share * np.tan(a)), a, frames)))[1::3]:
            x, y = at(t, v)
            r = 3.2 * scale
            draw.ellipse([x - r, y - r, x + r, y + r], RED)
        x, y = at(0.4, wanted * 0.4)
        text(draw, (x + 14 * scale, y), f"c = {share:.2f} tan a", 13 * scale, INK, "lm")
    save("friction", image.resize((width, height), Image.Resampling.LANCZOS))


def replay() -> None:
    """The page in a browser; needs playwright and Chromium, like its tests."""
    from playwright.sync_api import sync_playwright

    flags = ["--use-gl=angle", "--use-angle=gl-egl", "--ignore-gpu-blocklist", "--no-sandbox", "--disable-gpu-sandbox"]
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        page_path = pathlib.Path(folder) / "replay.html"
        run("tablecloth-on-bust").to_html(page_path)
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=flags)
        page = browser.new_page(viewport={"width": 1000, "height": 640}, color_scheme="light")
        page.goto(page_path.as_uri())
        page.evaluate("pliant.ready")
        page.evaluate("pliant.play(false)")
        page.evaluate("pliant.setFrame(44)")
        page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        shot = page.screenshot()
        browser.close()
    save("replay", Image.open(io.BytesIO(shot)))


PICTURES: dict[str, Callable[[], None]] = {
    "drape": drape, "scenes": scenes, "shapes": shapes, "mannequin": mannequin, "field": field, "friction": friction,
    "replay": replay,
}  # fmt: skip

if __name__ == "__main__":
    for chosen in sys.argv[1:] or PICTURES:
        PICTURES[chosen]()

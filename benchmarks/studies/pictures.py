"""Generate the pictures of the documentation: `python benchmarks/studies/pictures.py [NAME ...]`."""

import functools
import io
import pathlib
import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from bending_found import draw_found
from blender_tour import draw_blender
from blends import draw_blends
from bone_boxes import draw_bone_boxes
from checking import draw_check
from cones import draw_cones
from consistent_depth import draw_consistent_depth
from continuous import draw_continuous
from crossings import draw_crossings
from dense_garments import draw_proxy
from dressing import draw_dressing
from figures import G, slope, speeds
from fix import draw_fix
from garments import draw_garments
from guesses import draw_guesses
from height_grids import draw_height_grids
from holding import draw_holding
from image_space import draw_image_space
from impact import draw_impact
from nouns import draw_nouns
from PIL import Image, ImageDraw, ImageFont
from piles import draw_piles
from play_structures import draw_play_structures
from playing import draw_play
from primitives import draw_primitives
from responses import draw_responses
from settling import draw_settling
from spatial_hash import draw_spatial_hash
from sphere_surface import draw_sphere_surface
from strain import draw_strain
from stuffing import draw_stuffing
from surgery import SHOWN
from surgery import draw as draw_surgery
from tets import draw_soft
from transfer import draw_bind
from trees import draw_trees
from validation import draw_cusick
from walking import draw_walk

import pliant
from pliant.materials.fabrics import MATERIALS
from pliant.motion.clip import Clip
from pliant.report.camera import Camera
from pliant.report.picture import render
from pliant.scenes import SCENES
from pliant.simulation.record import record
from pliant.simulation.result import Result
from pliant.simulation.swatches import draw_swatches

IMAGES = pathlib.Path(__file__).resolve().parents[2] / "docs" / "images"
PAPER, INK, QUIET, RED = (255, 255, 255), (35, 38, 45), (120, 126, 140), (196, 74, 62)
BODY, CLOTH, BLUE = (0.78, 0.74, 0.70), (0.62, 0.16, 0.13), (0.16, 0.25, 0.42)


def save(name: str, pixels: np.ndarray | Image.Image) -> None:
    """Save as PNG with a palette, which has a third of the size without a visible difference."""
    image = pixels if isinstance(pixels, Image.Image) else Image.fromarray(pixels)
    path = IMAGES / f"{name}.png"
    path.parent.mkdir(parents=True, exist_ok=True)
    small = image
    if image.mode != "P":  # one that has its palette keeps it
        small = image.convert("RGB").quantize(256, Image.Quantize.MEDIANCUT, 3, dither=Image.Dither.FLOYDSTEINBERG)
    small.save(path, optimize=True)
    print(f"{path.name}: {image.width}x{image.height}, {path.stat().st_size / 1000:.0f} kB", file=sys.stderr)


@functools.cache
def run(scene: str, frames: int = 250, **options: Any) -> Result:
    return record(pliant.Simulation(SCENES[scene](**options)), frames)


def later(clips: Sequence[Clip], first: int) -> list[Clip]:
    """The clips from frame `first` on, because the flat cloth of the first frames would keep the camera far away."""
    return [
        Clip(clip.mesh, clip.frames[first:], clip.color)
        if clip.bends
        else Clip(clip.mesh, clip.frames, clip.color, None if clip.poses is None else clip.poses[first:])
        for clip in clips
    ]


def strip(
    result: Result, frames: Sequence[int], widths: Sequence[int], height: int, first: int = 0, **look: float
) -> np.ndarray:
    """Frames side by side with a common camera and scale, as near as the last and narrowest frame allows."""
    camera = Camera.framing(later(result.clips, first), widths[-1] / height, **look)
    clips = result.displayed_clips()
    return row([render(clips, t, w, height, camera, samples=3) for t, w in zip(frames, widths)])


def row(tiles: Sequence[np.ndarray]) -> np.ndarray:
    gap = np.full((len(tiles[0]), 8, 3), 255, np.uint8)
    return np.concatenate([part for tile in tiles for part in (gap, tile)][1:], axis=1)


def text(
    draw: ImageDraw.ImageDraw, at: tuple[float, float], words: str, size: int = 15, ink: Any = INK, anchor: str = "mm"
) -> None:
    draw.text(at, words, ink, ImageFont.load_default(size), anchor=anchor)


def captioned(tiles: Sequence[np.ndarray], words: Sequence[str]) -> Image.Image:
    """Tiles in a row, each with a caption."""
    pixels = row(tiles)
    image = Image.new("RGB", (pixels.shape[1], pixels.shape[0] + 30), PAPER)
    image.paste(Image.fromarray(pixels), (0, 0))
    draw, left = ImageDraw.Draw(image), 0
    for tile, word in zip(tiles, words):
        text(draw, (left + tile.shape[1] / 2, pixels.shape[0] + 16), word, ink=QUIET)
        left += tile.shape[1] + 8
    return image


def tablecloth() -> Result:
    """The run of `make demo`: 10 000 particles of wool."""
    return run("tablecloth-on-bust", resolution=100, material="wool")


def drape() -> None:
    widths = (468, 424, 330, 254)
    save("drape", strip(tablecloth(), (16, 26, 38, 250), widths, 300, 60, azimuth=0.5, elevation=0.25))


def relief() -> np.ndarray:
    """The brightness of two hills on wavy ground, as rows of an image."""
    z, x = np.mgrid[-1.0:1.0:161j, -1.0:1.0:201j]
    hills = 0.75 * np.exp(-((x - 0.3) ** 2 + (z + 0.2) ** 2) / 0.08) + 0.45 * np.exp(
        -((x + 0.45) ** 2 + (z - 0.3) ** 2) / 0.03
    )
    return np.asarray(np.clip(0.15 + hills + 0.06 * np.sin(9.0 * x) * np.sin(7.0 * z), 0.0, 1.0))


def height_image() -> None:
    """A silk cloth on a height image, which is the obstacle by itself, and the image."""
    ground = pliant.Body.height_image(relief(), size=0.6, scale=0.15)
    silk = pliant.shapes.cloth(0.6, 0.6, 48, centre=(0.0, 0.17, 0.0))
    scene = pliant.Scene(
        [pliant.Body(silk, material=pliant.Cloth.named("silk")), ground], eps=0.005, name="height image"
    )
    result = record(pliant.Simulation(scene, method="auto"), 90)
    tile = Image.fromarray((255.0 * relief()).astype(np.uint8)).resize((270, 216), Image.Resampling.LANCZOS)
    image = np.full((300, 270, 3), 255, np.uint8)
    image[42:258] = np.asarray(tile)[:, :, None]
    tiles = strip(result, (15, 36, 90), (300, 300, 300), 300, elevation=0.55)
    save("height-image", row([image, tiles]))


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


def moving() -> None:
    """The scenes with moving bodies, at characteristic times."""
    looks = {
        "rod": ((40, 110, 160, 250), 240, {"azimuth": 0.5, "elevation": 0.25}),
        "spinning-ball": ((75, 130, 190, 250), 240, {"elevation": 0.3}),
        "waving-mannequin": ((14, 80, 140, 194), 330, {"azimuth": 0.3, "elevation": 0.2}),
    }
    for name, (frames, height, look) in looks.items():
        first = 0 if name == "waving-mannequin" else 38
        save(name, strip(run(name), frames, (294, 294, 294, 294), height, first, **look))


def parting(name: str, method: str, response: str, frames: tuple[int, ...]) -> None:
    """Two soft balls that start half inside each other, and the volume that they share."""
    foam = pliant.Solid(young=1e4, density=300.0, damping=0.03)
    balls = [pliant.shapes.tet_ball(0.1, 0.02, centre=(0.101 * k, 0.011 * k, 0.007 * k)) for k in (0, 1)]
    colors = ((0.62, 0.16, 0.13), (0.10, 0.22, 0.42))
    bodies = [pliant.Body(ball, material=foam, color=color) for ball, color in zip(balls, colors)]
    scene = pliant.Scene(bodies, gravity=(0, 0, 0), eps=1e-4, self_contact="push", overlaps=[(0, 1)])
    sim = pliant.Simulation(scene, substeps=16, self_method=method, self_response=response)
    result = record(sim, frames[-1])
    camera = Camera.framing(result.clips, 290 / 200, azimuth=0.2, elevation=0.3)
    clips = result.displayed_clips()
    tiles = [render(clips, t, 290, 200, camera, samples=3) for t in frames]
    words = [f"{0.01 * t:.2f} s, {1e3 * result.shared[0].volume[t]:.3f} l" for t in frames]
    save(name, np.asarray(captioned(tiles, words)))


def field() -> None:
    """Slices through the field of the bust: red outside, blue inside, one band per cell, hatched where it is nan."""
    from pliant.report.slices import slice_sheet

    save("distance-field", slice_sheet(pliant.DistanceField.bake(pliant.shapes.bust(), 48, band=6), side=360))


def reconstruction() -> None:
    """Busts from fields of four resolutions, coloured by their distance from the original."""
    from pliant.detect.fields.reconstruct import distances, reconstruct
    from pliant.detect.queries.closest_point import ClosestPoints
    from pliant.report.heat import Heat, heat_pictures

    body = pliant.shapes.bust()
    heat, exact, tiles, words = Heat(0.002), ClosestPoints(body), [], []
    camera = Camera.framing([still(body)], 300 / 320, azimuth=0.5, elevation=0.1)
    for cells in (24, 48, 96, 192):
        baked = pliant.DistanceField.bake(body, cells)
        made = reconstruct(baked)
        tiles += heat_pictures(made, exact, heat, [camera], 300, 320)
        words.append(f"{cells} cells of {1e3 * baked.spacing:.1f} mm: max {1e3 * distances(made, body).worst:.2f} mm")
    picture = captioned(tiles, words)
    image = Image.new("RGB", (picture.width, picture.height + 44), PAPER)
    image.paste(picture, (0, 0))
    draw, left, top, wide = ImageDraw.Draw(image), picture.width / 2 - 150, picture.height + 2, 300
    bar = heat.rgb(np.linspace(0, heat.top, wide))[None].repeat(14, 0)
    image.paste(Image.fromarray(bar.astype(np.uint8)), (int(left), top))
    for share, word in ((0, "0"), (0.5, f"{500 * heat.top:g} mm"), (1, f"{1e3 * heat.top:g} mm and more")):
        text(draw, (left + share * wide, top + 26), word, 13, QUIET)
    save("reconstruction", image)


def field_page() -> None:
    """The report of `pliant field --report` in a browser."""
    from pliant import cli

    with tempfile.TemporaryDirectory() as folder:
        mesh, page = pathlib.Path(folder) / "bust.ply", pathlib.Path(folder) / "bust.html"
        pliant.save(mesh, pliant.shapes.bust())
        cli.run(["field", str(mesh), "--resolution", "64", "--report", str(page)])
        shot = photographed(page, 1000, 1346)
    image = Image.open(io.BytesIO(shot))
    save("field-report", image.resize((image.width * 4 // 5, image.height * 4 // 5), Image.Resampling.LANCZOS))


def friction() -> None:
    """Measured speeds as dots on the curves of the closed form."""
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


def photographed(path: pathlib.Path, width: int, height: int) -> bytes:
    """The top of a page without a 3D view."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": width, "height": height}, color_scheme="light")
        page.goto(path.as_uri())
        page.evaluate("pliant.ready")
        shot = page.screenshot()
        browser.close()
    return shot


def replay() -> None:
    """The page in a browser; needs playwright and Chromium, like its tests."""
    from playwright.sync_api import sync_playwright

    flags = ["--use-gl=angle", "--use-angle=gl-egl", "--ignore-gpu-blocklist", "--no-sandbox", "--disable-gpu-sandbox"]
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        page_path = pathlib.Path(folder) / "replay.html"
        tablecloth().to_html(page_path)
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


def gradients() -> None:
    """Garments that clip, before and after; imported here, because it needs PyTorch."""
    from clipping import draw_clipping

    draw_clipping(save)


def body_fit() -> None:
    """A body model fitted to a scan; imported here, because it needs PyTorch."""
    from body_fit import draw_body_fit

    draw_body_fit(save)


def garment_network() -> None:
    """Garments by two networks; imported here, because it needs PyTorch."""
    from garment_network import draw_garment_network

    draw_garment_network(save)


def materials() -> None:
    """The same drape in every material, for docs/materials.md."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "materials.png"
        draw_swatches([(name, fabric.cloth) for name, fabric in MATERIALS.items()], path)
        save("materials", Image.open(path))


PICTURES: dict[str, Callable[[], None]] = {
    "drape": drape, "materials": materials, "cusick": lambda: draw_cusick(save),
    "scenes": scenes, "moving": moving, "shapes": shapes, "mannequin": mannequin, "field": field,
    "separate": lambda: parting("separate", "spatial-hash", "separate", (0, 5, 10, 25)),
    "volume": lambda: parting("volume", "image-space", "volume", (0, 1, 3, 6)),
    "trees": lambda: draw_trees(save), "friction": friction, "impact": lambda: draw_impact(save),
    "bone-boxes": lambda: draw_bone_boxes(save), "crossings": lambda: draw_crossings(save),
    "cones": lambda: draw_cones(save),
    "continuous": lambda: draw_continuous(save), "height-grids": lambda: draw_height_grids(save),
    "height-image": height_image,
    "sphere-surface": lambda: draw_sphere_surface(save), "spatial-hash": lambda: draw_spatial_hash(save),
    "image-space": lambda: draw_image_space(save), "consistent-depth": lambda: draw_consistent_depth(save),
    "reconstruction": reconstruction, "field-report": field_page,
    "replay": replay, "play": lambda: draw_play(save), "play-structures": lambda: draw_play_structures(save),
    "self-contact": lambda: draw_piles(save), "walk": lambda: draw_walk(save),
    "holding": lambda: draw_holding(save), "proxy": lambda: draw_proxy(save),
    **{name: functools.partial(draw_surgery, name, save, row) for name in SHOWN},
    "dressing": lambda: draw_dressing(save), "soft": lambda: draw_soft(save), "check": lambda: draw_check(save),
    "primitives": lambda: draw_primitives(save), "blends": lambda: draw_blends(save),
    "settling": lambda: draw_settling(save), "nouns": lambda: draw_nouns(save),
    "guesses": lambda: draw_guesses(save), "strain": lambda: draw_strain(save),
    "gauntlet": lambda: draw_garments(save),
    "responses": lambda: draw_responses(save), "stuffing": lambda: draw_stuffing(save), "fix": lambda: draw_fix(save),
    "gradients": gradients, "body-fit": body_fit, "bending-found": lambda: draw_found(save),
    "garment-network": garment_network,
    "bind": lambda: draw_bind(save), "blender": lambda: draw_blender(save),
}  # fmt: skip

if __name__ == "__main__":
    for chosen in sys.argv[1:] or PICTURES:
        PICTURES[chosen]()

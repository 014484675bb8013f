"""The pictures and the tables of docs/detectors/image-space.md.

`python benchmarks/studies/image_space.py` prints the tables (milliseconds of CPU time on one thread), and
`pictures.py image-space` draws.
"""

import sys
import time
from collections.abc import Callable

import numpy as np
from PIL import Image, ImageDraw, ImageFont

import pliant
from pliant.detect.queries.depth_image import DepthCamera, screen_of
from pliant.detect.queries.overlap import Overlaps
from pliant.detect.queries.ray_winding import RayWinding
from pliant.detect.queries.static_depth_image import StaticDepthCamera
from pliant.kernels import jit
from pliant.report.camera import Camera
from pliant.report.overlay import painted
from pliant.report.picture import render
from pliant.scenes import SCENES
from pliant.simulation import Simulation
from pliant.simulation.record import record
from pliant_bench.models import bumpy_torus

PAPER, INK, QUIET, RED = (255, 255, 255), (35, 38, 45), (120, 126, 140), (206, 44, 38)
BLUE, OCHRE, AMBER = (205, 217, 236), (238, 224, 196), (232, 150, 60)
WIDE, HIGH, FOOT, SCALE = 460, 330, 30, 3
REPEATS = 7


def bodies() -> tuple[pliant.Mesh, pliant.Mesh]:
    """A bumpy torus, and a ball that is half inside it."""
    torus, ball = bumpy_torus(160), pliant.shapes.ball(0.62, 5)
    return torus, ball.moved(ball.vertices + np.array([1.05, 0.0, 0.36]))


def draw_image_space(save: Callable[[str, Image.Image], None]) -> None:
    """Rays through both bodies in a plane, and the figures of the scene."""
    save("image-space", _rays())
    result = record(Simulation(SCENES["two-figures"](), 0.01, substeps=1, method="tree"), 96, measure=False)
    (shared,) = result.shared
    tiles = []
    camera = Camera.framing(result.clips, 460 / 400, azimuth=1.0, fill=0.96)
    for frame in (64, 80, 96):
        pixels = render(result.clips, frame, 460, 400, camera)
        mesh = shared.meshes[frame]
        tile = Image.new("RGB", (460, 430), PAPER)
        tile.paste(Image.fromarray(pixels if mesh is None else painted(pixels, mesh, camera)), (0, 0))
        draw = ImageDraw.Draw(tile)
        text = f"{frame / 100:.2f} s: {shared.readings[frame]}"
        draw.text((230, 415), text, QUIET, ImageFont.load_default(16), anchor="mm")
        tiles.append(tile)
    sheet = Image.new("RGB", (3 * 460 + 20, 430), PAPER)
    for k, tile in enumerate(tiles):
        sheet.paste(tile, (k * 470, 0))
    save("two-figures", sheet)


def _rays() -> Image.Image:
    torus, ball = bodies()
    image = Image.new("RGB", (WIDE * SCALE, (HIGH + FOOT) * SCALE), PAPER)
    draw = ImageDraw.Draw(image)
    box = np.array([[0.05, -0.01, -0.45], [2.05, 0.01, 1.0]])

    def at(x: float, z: float) -> tuple[float, float]:
        return (x - 0.05) / 2.0 * WIDE * SCALE, (1.0 - z) / 2.0 * WIDE * SCALE

    # reference outlines from a very high resolution
    fine = screen_of(box, 2, WIDE * SCALE)._replace(height=1, top=-0.01, down=50.0)
    for mesh, tint in ((ball, OCHRE), (torus, BLUE)):
        layers = DepthCamera(mesh).take(mesh.vertices, fine, box)
        for ends in layers.places(layers.intervals_inside()):
            draw.line([at(ends[0, 0], ends[0, 2]), at(ends[1, 0], ends[1, 2])], tint, 1)
    layers = DepthCamera(ball).take(ball.vertices, fine, box)
    for ends in layers.places(layers.intervals_inside()):  # the outline of the lower body
        for end in ends:
            x, z = at(end[0], end[2])
            draw.ellipse([x - 2, z - 2, x + 2, z + 2], (190, 172, 136))
    found = Overlaps(torus, ball, resolution=24, axis=2).at()
    s = found.screen
    row = int((0.0 - s.top) * s.down)
    half = 0.5 / s.across
    for k, ends in zip(found.pixel, found.ends):
        if k // s.width == row:
            (a, b), (c, d) = at(ends[0, 0] - half, ends[1, 2]), at(ends[0, 0] + half, ends[0, 2])
            draw.rectangle([a, b, c, d], outline=RED, width=2)
            draw.line([at(ends[0, 0], ends[0, 2]), at(ends[1, 0], ends[1, 2])], RED, 5)
    small = image.resize((WIDE, HIGH + FOOT), Image.Resampling.LANCZOS)
    text = "a torus (blue) and a ball: their intersection volume, by rays through 24 pixels"
    ImageDraw.Draw(small).text((WIDE / 2, HIGH + FOOT / 2), text, QUIET, ImageFont.load_default(13), anchor="mm")
    return small


def _least(work: Callable[[], object], repeats: int = REPEATS) -> float:
    """Milliseconds of CPU time, the best of several runs."""
    work()
    best = np.inf
    for _ in range(repeats):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return 1e3 * float(best)


def cost() -> None:
    """The cost of images and of points inside for meshes of several sizes."""
    jit.set_threads(1)
    print(
        "| faces | image of 64 x 64 | static mesh | of 256 x 256 | 100 000 points inside | build |\n" + "|---" * 6 + "|"
    )
    for n in (50, 158, 500, 1000):
        mesh = bumpy_torus(n)
        camera, ask = DepthCamera(mesh), RayWinding(mesh.faces, mesh.n_vertices)
        points = np.random.default_rng(0).uniform(*mesh.bounds, (100_000, 3))
        shots = []
        for size in (64, 256):
            screen = screen_of(mesh.bounds, 2, size)
            shots.append(_least(lambda: camera.take(mesh.vertices, screen, mesh.bounds)))  # noqa: B023
        took = _least(lambda: ask.winding(mesh.vertices, points))  # noqa: B023
        built, standing = _least(lambda: StaticDepthCamera(mesh)), StaticDepthCamera(mesh)  # noqa: B023
        stands = _least(lambda: standing.take(screen_of(mesh.bounds, 2, 64), mesh.bounds))  # noqa: B023
        print(f"| {mesh.n_faces:,} | {shots[0]:.2f} | {stands:.2f} | {shots[1]:.2f} | {took:.1f} | {built:.1f} |")


def bounds() -> None:
    """The intersection volume of a torus and a ball at several resolutions."""
    jit.set_threads(1)
    torus, ball = bodies()
    finest = Overlaps(torus, ball, resolution=1024).at().volume
    print(f"with 1024 pixels: {finest:.7f}")
    print("| pixels | volume | bound | of the volume | difference from 1024 | ms |\n|---|---|---|---|---|---|")
    for n in (16, 32, 64, 128, 256, 512):
        ask = Overlaps(torus, ball, resolution=n)
        found, took = ask.at(), _least(ask.at)
        off = abs(found.volume - finest) / finest
        told = f"{found.volume:.5f} | {found.bound:.5f} | {100 * found.bound / found.volume:.2g} % | {100 * off:.2g} %"
        print(f"| {n} | {told} | {took:.0f} |")


def tests() -> None:
    """The detector with rays and with layers: a ball that touches a torus, one half inside, and both as one body."""
    jit.set_threads(1)
    torus, ball = bumpy_torus(500), pliant.shapes.ball(0.62, 6)
    above, into = (ball.moved(ball.vertices + np.array([1.05, 0.0, z])) for z in (0.95, 0.36))
    both = pliant.Mesh(
        np.concatenate([torus.vertices, into.vertices]), np.concatenate([torus.faces, into.faces + torus.n_vertices])
    )
    print("| query | test | bound, mm | found | missed | deepest missed, mm | ms |\n" + "|---" * 7 + "|")
    for query, sides in (("touching", (torus, above)), ("half inside", (torus, into)), ("with itself", (both,))):
        exact = pliant.detector("image-space", *sides).find()
        for n in (None, 16, 64, 256):
            detector = pliant.detector("image-space", *sides, resolution=n)
            found, took = detector.find(), _least(detector.find, 3)
            lost = exact["distance"][~np.isin(exact[["bodies", "elements"]], found[["bodies", "elements"]])]
            label, bound = ("rays" if n is None else f"layers, {n}"), 1e3 * detector._detector.bounds[0]
            deepest = f"{-1e3 * lost.min():.2g}" if len(lost) else ""
            print(f"| {query} | {label} | {bound:.2g} | {len(found):,} | {len(lost):,} | {deepest} | {took:.1f} |")


TABLES = {"cost": cost, "bounds": bounds, "tests": tests}
if __name__ == "__main__":
    for table in sys.argv[1:] or TABLES:
        TABLES[table]()

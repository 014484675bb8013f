"""The pictures of docs/respond: the recovery of a penalty response, and a ribbon that piles up; also for pictures.py.

`python benchmarks/studies/responses.py --cost` measures responses on the contacts of the falling ribbon, in CPU time.
"""

import pathlib
import sys
import time
from collections.abc import Callable

import numpy as np
from PIL import Image, ImageDraw, ImageFont

import pliant
from pliant.kernels.respond.penalty import spring
from pliant.report.camera import Camera
from pliant.report.picture import render
from pliant.respond import RESPONSES, Geometric, Response
from pliant.scenes import SCENES
from pliant.simulation.deformable_contact import DeformableContact
from pliant.simulation.record import record
from pliant.simulation.result import Result
from pliant.state import State

PAPER, INK, QUIET, GRID = (255, 255, 255), (35, 38, 45), (120, 126, 140), (232, 234, 238)
COLOURS = ((196, 74, 62), (214, 137, 38), (58, 128, 90), (52, 92, 158))
LOOKS, WIDE, HIGH, GAP = (36, 44, 56, 180), 294, 260, 8


def regained(pace: float, end: float) -> tuple[np.ndarray, np.ndarray]:
    """Times in tau, and the share of a missing distance that a pair at rest has recovered by then."""
    missing, out = [1.0], 0.0
    for _ in range(int(end / pace)):
        now = missing[-1] - out
        out += spring(now, out, pace) if now > 0.0 else 0.0
        missing.append(missing[-1] - out)
    return pace * np.arange(len(missing)), 1.0 - np.array(missing)


def penalty_chart() -> Image.Image:
    scale, width, height = 2, 690, 330
    image = Image.new("RGB", (scale * width, scale * height), PAPER)
    draw = ImageDraw.Draw(image)
    left, right, top, bottom, end = 60, 520, 34, 286, 12.0

    def at(t: float, y: float) -> tuple[float, float]:
        return scale * (left + (right - left) * t / end), scale * (bottom - (bottom - top) * y)

    def text(where: tuple[float, float], words: str, ink: tuple[int, int, int] = QUIET, anchor: str = "mm") -> None:
        draw.text(where, words, ink, ImageFont.load_default(13 * scale), anchor=anchor)

    for y in np.linspace(0.0, 1.0, 6):
        draw.line([at(0, y), at(end, y)], GRID, scale)
        text((at(0, y)[0] - 8 * scale, at(0, y)[1]), f"{100 * y:.0f} %", anchor="rm")
    for t in range(0, 13, 2):
        text((at(t, 0)[0], at(t, 0)[1] + 14 * scale), f"{t}")
    text((scale * (left + right) / 2, scale * (bottom + 34)), "time, in tau")
    text((scale * left, scale * 14), "share of the missing distance that a pair at rest recovers", INK, "lm")
    t = np.linspace(0.0, end, 300)
    draw.line([at(a, 1.0 - (1.0 + a) * np.exp(-a)) for a in t], QUIET, scale)
    text((scale * (right + 14), scale * 60), "line: 1 - (1 + t) exp(-t)", anchor="lm")
    for k, pace in enumerate((0.1, 0.5, 2.0, 5.0)):
        times, share = regained(pace, end)
        for a, b in list(zip(times, share))[:: max(1, round(0.5 / pace))]:
            x, y = at(a, b)
            r = 3.2 * scale
            draw.ellipse([x - r, y - r, x + r, y + r], COLOURS[k])
        y = scale * (86 + 24 * k)
        draw.ellipse([scale * (right + 14), y - 6, scale * (right + 14) + 13, y + 7], COLOURS[k])
        text((scale * (right + 30), y), f"dt = {pace:g} tau", INK, "lm")
    return image.resize((width, height), Image.Resampling.LANCZOS)


def fall(frames: int = LOOKS[-1]) -> Result:
    """The ribbon of 30 x 100 particles as in the paper: spheres, penalty and geometric response, no safe mode."""
    between = {"self_method": "sphere-surface", "self_response": "penalty+geometric"}
    return record(pliant.Simulation(SCENES["ribbon"](self_contact="push"), **between), frames, measure=False)


def section(result: Result, frame: int, width: int, height: int) -> np.ndarray:
    """A lengthwise section of the ribbon's middle at `frame`, as thick as the distance kept between layers."""
    (b,) = result.scene.deformable
    rest, thick = result.scene.bodies[b].mesh.welded.vertices, result.scene.thickness
    column = np.flatnonzero(np.abs(rest[:, 0] - rest[np.abs(rest[:, 0]).argmin(), 0]) < 1e-9)
    line = result.x[b][frame][column[np.argsort(rest[column, 1])]][:, [2, 1]]
    scale = 3
    low, high = line.min(0) - 3 * thick, line.max(0) + 3 * thick
    size = scale * min(width / (high - low)[0], height / (high - low)[1])
    middle = 0.5 * (low + high)
    flat = np.array([0.5 * width * scale, 0.5 * height * scale]) + (line - middle) * np.array([size, -size])
    image = Image.new("RGB", (scale * width, scale * height), (246, 246, 248))
    draw = ImageDraw.Draw(image)
    ground = 0.5 * height * scale + middle[1] * size
    draw.rectangle([0, ground, scale * width, scale * height], (224, 218, 210))
    wide = thick * size
    points = [tuple(p) for p in flat]
    for share, colour in ((1.0, (120, 40, 34)), (0.8, (222, 150, 140))):
        draw.line(points, colour, max(1, round(share * wide)), joint="curve")
    return np.asarray(image.resize((width, height), Image.Resampling.LANCZOS))


def ribbon_strip(result: Result) -> np.ndarray:
    clips = result.clips
    held = [type(c)(c.mesh, c.frames[LOOKS[0] :], c.color) for c in clips if c.bends]
    camera = Camera.framing(held, WIDE / HIGH, azimuth=0.7, elevation=0.3)
    gap = np.full((HIGH, GAP, 3), 255, np.uint8)
    tiles = [part for t in LOOKS for part in (gap, render(clips, t, WIDE, HIGH, camera, samples=3))]
    row = np.concatenate(tiles[1:], 1)
    below = section(result, LOOKS[-1], row.shape[1], 240)
    return np.concatenate([row, np.full((GAP, row.shape[1], 3), 255, np.uint8), below], 0)


def draw_responses(save: Callable[[str, np.ndarray | Image.Image], None]) -> None:
    save("penalty", penalty_chart())
    save("ribbon-spheres", ribbon_strip(fall()))


def cost() -> None:
    scene = SCENES["ribbon"](self_contact="push")
    sim = pliant.Simulation(scene, self_method="tree", self_response="penalty")
    for _ in sim.run(52):
        pass
    soft, dt = sim.self_contact, sim.dt / sim.substeps
    assert isinstance(soft, DeformableContact)
    found = soft.detect(sim.state)

    def best(act: Callable[[State], object], count: int = 30) -> float:
        spent = []
        for _ in range(count):
            state = sim.state.copy()
            begin = time.process_time()
            act(state)
            spent.append(time.process_time() - begin)
        return 1e6 * min(spent)

    print(f"{len(found)} contacts; detection {best(soft.detect):.0f} us")
    for name in ("projection", "penalty", "geometric"):
        response = RESPONSES[name](scene, eps=soft.thickness)

        def act(state: State, response: Response = response) -> None:
            response.begin(found, state)
            response.apply(found, state, dt)
            response.finish(found, state, dt)

        print(f"{name}: {1e3 * best(act) / len(found):.0f} ns per contact and substep")
    last = Geometric(scene, eps=soft.thickness)
    spent = best(lambda state: last.end_frame(state, dt, soft.detect), 5)
    print(f"until separated: {spent:.0f} us, {last.passes} detection passes")


if __name__ == "__main__":
    if "--cost" in sys.argv:
        cost()
    else:
        folder = pathlib.Path(sys.argv[1])
        penalty_chart().save(folder / "penalty.png")
        made = fall()
        Image.fromarray(ribbon_strip(made)).save(folder / "ribbon-spheres.png")

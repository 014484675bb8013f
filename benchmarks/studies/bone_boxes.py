"""Boxes on a walking mannequin, and the triangles tested for one slab; drawn by `pictures.py bone-boxes`.

`python benchmarks/studies/bone_boxes.py HUMAN_FOLDER` prints tolerances, times and recall on the walking human instead.
"""

import pathlib
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from PIL import Image, ImageDraw, ImageFont

import pliant
from pliant.detect.base import Side
from pliant.detect.detectors.bone_boxes import BoneBoxesDetector
from pliant.kernels import jit
from pliant.motion.clip import Clip
from pliant.motion.deforming import Skinned
from pliant.report.camera import Camera
from pliant.report.picture import render
from pliant.state import State
from pliant_bench.bone_boxes import human_case

BODY, RED, INK, QUIET = (0.78, 0.74, 0.70), (0.75, 0.14, 0.10), (35, 38, 45), (120, 126, 140)
BLUE = (38, 84, 160)
EDGES = [(a, b) for a in range(8) for b in range(a) if (a ^ b) in (1, 2, 4)]
SIZE = (360, 620)
WITHIN = 0.01


def posed(detector: BoneBoxesDetector, motion: Skinned, when: float, points: np.ndarray) -> State:
    sample = motion.sample(np.array([when]))[0]
    state = State.at(np.concatenate([points, motion.shape(sample)]))
    state.bones = {1: sample}
    detector.update(state)
    return state


def corners(detector: BoneBoxesDetector, box: int, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """(8,3) corners of a box between two points in its own coordinates."""
    turn = detector.boxes.placed.to_box[box]
    q = np.array([[(high if k >> a & 1 else low)[a] for a in range(3)] for k in range(8)])
    return (q - turn[:, 3]) @ turn[:, :3]


def over(picture: np.ndarray, camera: Camera, boxes: list[tuple[np.ndarray, tuple[int, int, int], int]]) -> Image.Image:
    """Lines over a picture, drawn at four times its size for anti-aliasing."""
    height, width = picture.shape[:2]
    image = Image.fromarray(picture).resize((4 * width, 4 * height), Image.Resampling.BICUBIC)
    draw = ImageDraw.Draw(image, "RGBA")
    for x, colour, wide in boxes:
        at = camera.project(x, 4 * width, 4 * height)[0][:, :2]
        for a, b in EDGES:
            draw.line([*at[a], *at[b]], (*colour, 200), wide)
    return image.resize((width, height), Image.Resampling.LANCZOS)


def draw_bone_boxes(save: Callable[[str, Any], None]) -> None:
    character = pliant.shapes.walking_mannequin(1.0)
    motion = Skinned(character, "walk")
    mesh, point = character.mesh, np.zeros((1, 3))
    sides = Side(pliant.Mesh(point, np.zeros((0, 3), int)), 0, 0), Side(mesh, 1, 1, motion)
    detector = BoneBoxesDetector(*sides, within=WITHIN)
    panels = []
    for when, words in ((0.0, "boxes at the start of a stride"), (0.7, "0.7 s later: moved rigidly")):
        state = posed(detector, motion, when, point)
        clip = [Clip(mesh, state.x[None, 1:], BODY)]
        camera = Camera.framing(clip, SIZE[0] / SIZE[1], azimuth=0.9, elevation=0.15, fill=0.82)
        boxes = detector.boxes.boxes
        lines = [(corners(detector, b, boxes.low[b], boxes.high[b]), BLUE, 5) for b in range(len(boxes.low))]
        panels.append(labelled(over(render(clip, 0, *SIZE, camera), camera, lines), words))
    save("bone-boxes", beside([*panels, labelled(looked_at(detector, motion), "one slab and its triangles")]))


def looked_at(detector: BoneBoxesDetector, motion: Skinned) -> Image.Image:
    """The box of a thigh with its slabs, the slab that contains a point, and the triangles tested for that point."""
    mesh, boxes = detector.body.mesh, detector.boxes.boxes
    state = posed(detector, motion, 0.7, np.zeros((1, 3)))
    thigh = motion.character.names.index("thigh.left")
    b = int(np.flatnonzero(detector.boxes.bones == thigh)[0])
    slab = boxes.slabs // 2
    s = b * boxes.slabs + slab
    faces = boxes.face[boxes.items[boxes.start[s] : boxes.start[s + 1]]]
    own = np.isin(np.arange(mesh.n_faces), boxes.face[boxes.home[b * boxes.slabs] : boxes.home[(b + 1) * boxes.slabs]])
    x = state.x[None, 1:]
    rest = np.setdiff1d(np.flatnonzero(own), faces)
    clips = [Clip(pliant.Mesh(mesh.vertices, mesh.faces[f]), x, c) for f, c in ((rest, BODY), (faces, RED))]
    only = np.unique(mesh.faces[own])
    frame = [Clip(pliant.Mesh(x[0, only], np.zeros((0, 3), int)), x[:, only])]
    camera = Camera.framing(frame, SIZE[0] / SIZE[1], azimuth=0.9, elevation=0.15, fill=0.72)
    cuts = boxes.begin[b] + np.arange(boxes.slabs + 1) / boxes.per[b]
    lines = []
    for k in range(boxes.slabs):
        low, high = boxes.low[b].copy(), boxes.high[b].copy()
        low[0], high[0] = max(cuts[k], low[0]), min(cuts[k + 1], high[0])
        chosen = k == slab
        lines.append((corners(detector, b, low, high), (170, 30, 20) if chosen else BLUE, 8 if chosen else 3))
    lines.sort(key=lambda line: line[2])
    return over(render(clips, 0, *SIZE, camera), camera, lines)


def labelled(image: Image.Image, words: str) -> Image.Image:
    picture = Image.new("RGB", (image.width, image.height + 30), (255, 255, 255))
    picture.paste(image, (0, 0))
    at = (image.width / 2, image.height + 15)
    ImageDraw.Draw(picture).text(at, words, QUIET, ImageFont.load_default(14), anchor="mm")
    return picture


def beside(panels: list[Image.Image]) -> Image.Image:
    wide = sum(panel.width for panel in panels) + 8 * (len(panels) - 1)
    picture, x = Image.new("RGB", (wide, panels[0].height), (255, 255, 255)), 0
    for panel in panels:
        picture.paste(panel, (x, 0))
        x += panel.width + 8
    return picture


def human(folder: pathlib.Path) -> None:
    """Figures for the walking human in her skirt, as stored in the files; CPU time of one thread."""
    case = human_case(folder)
    if case is None:
        sys.exit(f"no body.npz in {folder}")
    character, skirt = case.character, case.cloth
    worn = np.load(folder / "skirt.npz")["V_frames"].astype(float)
    motion = Skinned(character, "walk")
    jit.set_threads(1)
    sides = Side(skirt, 0, 0), Side(character.mesh, skirt.n_vertices, 1, motion)
    for options in ({"deep": False, "midpoints": False}, {"midpoints": False}, {}):
        start = time.perf_counter()
        detector = BoneBoxesDetector(*sides, within=0.005, **options)
        print(f"\n{options or 'defaults'}: built in {time.perf_counter() - start:.2f} s")
        for name, when in (
            ("frames of 1/48 s", np.arange(47) / 48.0),
            ("steps of 1/1600 s", 0.2 + np.arange(64) / 1600),
        ):
            took, spared, found = np.full(len(when), np.inf), [], []
            states = []
            for t in when:
                k, u = int(48 * t + 1e-9), 48 * t - int(48 * t + 1e-9)
                states.append(posed(detector, motion, t, (1 - u) * worn[k] + u * worn[k + 1]))
            for _ in range(15):
                for k, state in enumerate(states):
                    start = time.process_time()
                    hits = detector.update(state).find(state)
                    took[k] = min(took[k], time.process_time() - start)
                    spared.append(detector.spared)
                    found.append(len(hits))
            ms = 1e6 * np.median(took[1:]) / skirt.n_vertices
            words = f"{ms:.2f} ms per 1000 vertices, {100 * np.mean(spared):.2f} % culled"
            words += f" (least {100 * min(spared):.2f})"
            print(f"  {name}: {words}, {np.mean(found):.0f} contacts, widened {detector.boxes.widened}")
    counts = np.zeros(2)
    for exact in (True, False):
        detector = BoneBoxesDetector(*sides, within=0.005, midpoints=False, deep=False, exact=exact)
        for k in range(48):
            state = posed(detector, motion, k / 48.0, worn[k])
            counts[int(exact)] += len(detector.find(state))
    print(
        f"\nthe paper's projection finds {100 * counts[0] / counts[1]:.1f} % of {counts[1]:.0f} contacts in 48 frames"
    )
    boxes = detector.boxes
    print(f"{len(boxes.bones)} boxes; largest tolerances:")
    for k in np.argsort(-boxes.tolerances.max((1, 2)))[:5]:
        size = boxes.boxes.high[k] - boxes.boxes.low[k]
        text = " ".join(f"{1e3 * v:.1f}" for v in boxes.tolerances[k].max(0))
        print(f"  {character.names[boxes.bones[k]]}: {text} mm of {' x '.join(f'{1e3 * v:.0f}' for v in size)} mm")
    print(f"median tolerance {1e3 * np.median(boxes.tolerances.max((1, 2))):.1f} mm")


if __name__ == "__main__":
    human(pathlib.Path(sys.argv[1]))

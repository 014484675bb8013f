"""The picture of docs/crossings.md: intersecting triangles in red. Called by pictures.py, or alone with a file name."""

import sys
from collections.abc import Callable

import numpy as np
from PIL import Image, ImageDraw, ImageFont

import pliant
from pliant.motion.clip import Clip
from pliant.report.camera import Camera
from pliant.report.picture import render
from pliant.shapes import bust, cloth, torus

PAPER, QUIET = (255, 255, 255), (120, 126, 140)
BODY, BLUE, RED = (0.78, 0.74, 0.70), (0.25, 0.36, 0.55), (0.80, 0.08, 0.06)
WIDE, HIGH, GAP, FOOT = 330, 320, 8, 30


def parts(mesh: pliant.Mesh, met: np.ndarray, color: tuple[float, float, float]) -> list[Clip]:
    """The intersecting faces in red, the others in `color`."""
    red = np.zeros(mesh.n_faces, bool)
    red[met] = True
    pieces = ((mesh.faces[~red], color), (mesh.faces[red], RED))
    return [Clip(pliant.Mesh(mesh.vertices, f), mesh.vertices[None], c) for f, c in pieces if len(f)]


def ring_around_a_bust() -> tuple[list[Clip], int]:
    body = bust()
    low, high = body.bounds
    size = high - low
    ring = torus(0.30 * size[0], 0.07 * size[0])
    x = ring.vertices @ np.array([[1, 0, 0], [0, 0.94, 0.34], [0, -0.34, 0.94]])
    ring = ring.moved(x + low + size * [0.5, 0.36, 0.5])
    pairs = pliant.intersections(body, ring)
    return parts(body, pairs[:, 0], BODY) + parts(ring, pairs[:, 1], BLUE), len(pairs)


def sheet_through_itself() -> tuple[list[Clip], int]:
    """A sheet rolled up until its end passes through it."""
    sheet = cloth(1.0, 0.5, 60)
    u, v = sheet.vertices[:, 0], sheet.vertices[:, 2]
    angle = 2.45 * np.pi * (u - u.min()) / np.ptp(u)
    radius = 0.2 + 0.03 * np.cos(1.9 * angle) + 0.02 * angle * v
    mesh = sheet.moved(np.stack([radius * np.cos(angle), v, radius * np.sin(angle)], 1))
    pairs = pliant.intersections(mesh)
    return parts(mesh, pairs.ravel(), BLUE), len(pairs)


def draw_crossings(save: Callable[[str, Image.Image], None]) -> None:
    image = Image.new("RGB", (2 * WIDE + GAP, HIGH + FOOT), PAPER)
    draw = ImageDraw.Draw(image)
    looks = ((ring_around_a_bust, 0.6, 0.45), (sheet_through_itself, 0.9, 0.75))
    for k, (scene, azimuth, elevation) in enumerate(looks):
        clips, count = scene()
        camera = Camera.framing(clips, WIDE / HIGH, fill=0.85, azimuth=azimuth, elevation=elevation)
        left = k * (WIDE + GAP)
        image.paste(Image.fromarray(render(clips, 0, WIDE, HIGH, camera, samples=3)), (left, 0))
        words = f"{count} pairs " + ("with each other", "with itself")[k]
        draw.text((left + WIDE / 2, HIGH + 16), words, QUIET, ImageFont.load_default(15), anchor="mm")
    save("crossings", image)


if __name__ == "__main__":
    draw_crossings(lambda name, image: image.save(sys.argv[1] if len(sys.argv) > 1 else f"{name}.png"))

"""One picture of the same drape in several materials: a square of cloth over a round pedestal."""

import os
from collections.abc import Callable, Sequence

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from ..files import atomic_write
from ..materials import Cloth
from ..mesh import Mesh
from ..motion.clip import Clip
from ..report.camera import Camera
from ..report.picture import render
from ..scene import CLOTH_COLOUR, Body, Scene
from ..shapes import cloth
from ..shapes.revolve import resampled, revolved
from .step import Simulation

SIDE, RADIUS, HEIGHT = 0.42, 0.09, 0.24  # m: of the cloth, of the pedestal
SETTLE = 0.97  # share of the velocities kept per frame, so that the cloth comes to rest
PAPER, INK = (250, 251, 253), (35, 38, 45)


def swatch(material: Cloth, resolution: int = 39, frames: int = 240) -> list[Clip]:
    """Return cloth of this material and the pedestal it fell on, after `frames` hundredths of a second."""
    sheet = cloth(SIDE, SIDE, resolution, centre=(0.0, HEIGHT + 0.004, 0.0))
    stand = Body(pedestal(), obstacle=True)
    grip = max(material.friction or 0.3, 0.5)  # enough that it does not slide off
    scene = Scene(
        [Body(sheet, material=material), stand], eps=0.003, friction=grip, self_contact="safe", thickness=0.002
    )
    sim = Simulation(scene, substeps=8, solver="implicit", method="bvh")
    for _ in sim.run(frames):
        sim.state.v *= SETTLE
    x = sim.state.x[scene.rows(0)]
    return [Clip(sheet, x[None], CLOTH_COLOUR), Clip(stand.mesh, stand.mesh.vertices[None])]


def pedestal() -> Mesh:
    """A round pedestal with its top at HEIGHT."""
    r = 0.006  # radius of its rim
    angle = np.linspace(0.0, 0.5 * np.pi, 6)
    rim = np.stack([RADIUS - r + r * np.sin(angle), HEIGHT - r + r * np.cos(angle)], 1)
    profile = np.concatenate([[(0.0, HEIGHT)], rim, [(RADIUS, 0.0), (0.0, 0.0)]])[::-1]
    x, faces = revolved(resampled(profile, 0.012), 0.012)
    return Mesh(x, faces, name="pedestal")


def draw_swatches(
    materials: Sequence[tuple[str, Cloth]], path: str | os.PathLike[str], progress: Callable[[], None] = lambda: None
) -> None:
    """Write a PNG with the drape of each material, with its name below."""
    wide, tall, caption, columns = 300, 260, 30, 4
    rows = -(-len(materials) // columns)
    sheet = Image.new("RGB", (min(columns, len(materials)) * wide, rows * (tall + caption)), PAPER)
    draw, camera = ImageDraw.Draw(sheet), None
    for k, (name, material) in enumerate(materials):
        clips = swatch(material)
        camera = camera or Camera.framing(clips, wide / tall)
        x, y = (k % columns) * wide, (k // columns) * (tall + caption)
        sheet.paste(Image.fromarray(render(clips, 0, wide, tall, camera)), (x, y))
        draw.text((x + wide / 2, y + tall + caption / 2), name, INK, ImageFont.load_default(17), anchor="mm")
        progress()
    with atomic_write(path) as stream:
        sheet.save(stream, format="PNG")

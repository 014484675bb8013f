"""The six garments of the gauntlet on the mannequin, as they are made: the picture of docs/gauntlet.md."""

from typing import Any

from PIL import Image
from tiles import captioned

from pliant.motion.clip import Clip
from pliant.report.camera import Camera
from pliant.report.picture import render
from pliant_bench.garments.characters import PERSON
from pliant_bench.garments.tailor import garment
from pliant_bench.garments.wearing import outline

PARTICLES, SIZE = 1000, (150, 250)
CLOTH, SKIN = (0.62, 0.16, 0.13), (0.80, 0.60, 0.50)


def draw_garments(save: Any) -> None:
    """One tile per garment, the cape from behind."""
    body = outline("mannequin", None, 1.0)
    skin = Clip(body.mesh, body.mesh.vertices[None], SKIN)
    tiles = []
    for name in PERSON:
        mesh = garment(body, name, PARTICLES).mesh
        worn = [skin, Clip(mesh, mesh.vertices[None], CLOTH)]
        look = {"azimuth": 2.6 if name == "cape" else 0.5, "elevation": 0.2}
        camera = Camera.framing(worn[:1], SIZE[0] / SIZE[1], fill=0.95, **look)
        tiles.append(Image.fromarray(render(worn, 0, *SIZE, camera, samples=3)))
    save("gauntlet", captioned(tiles, PERSON, flat=False))

"""A walking mannequin: in a skirt, with a cloth on its shoulder, and in trousers held by friction only."""

import dataclasses
from typing import Any

from .. import shapes
from ..mesh import Mesh
from ..scene import Body, Cloth, Scene
from .dressing import dress_scene
from .material_options import with_own

ELASTIC = Cloth(stretch=60.0, shear=15.0, strain_limit=0.4)  # of trousers whose waist passes over hips


def walking_skirt(*, resolution: int = 24, **options: Any) -> Scene:
    """A skirt on a mannequin that starts to walk (Pelechano et al., figure 7). `resolution`: edges along its length."""
    skirt = shapes.skirt(0.55, 0.25, spacing=min(0.04, max(0.55 / resolution, 0.006)))
    return _worn("walking-skirt", skirt, options)


def cloth_on_shoulder(*, resolution: int = 36, **options: Any) -> Scene:
    """A piece of cloth falls onto the left shoulder of a mannequin that starts to walk (Pelechano et al., figure 8)."""
    irregular = options.pop("irregular", False)
    cloth = shapes.cloth(0.16, 0.6, resolution, irregular=irregular, centre=(0.172, 1.50, -0.03))
    return _on_floor(
        _worn("cloth-on-shoulder", cloth, {"lead_in": 1.2, "hold": "none"} | with_own(options, friction=1.0))
    )


def walking_trousers(*, resolution: int = 36, **options: Any) -> Scene:
    """Elastic trousers held only by friction on a mannequin that starts to walk; with `friction` 0 they slide down
    (Fuhrmann et al. 2003, figure 9). The hips are wider than the waist by a quarter: firm cloth stays."""
    options["material"] = options.get("material") or ELASTIC
    trousers = shapes.trousers(spacing=min(0.025, max(0.9 / resolution, 0.006)))
    return _on_floor(
        _worn("walking-trousers", trousers, {"lead_in": 1.2, "hold": "none"} | with_own(options, friction=0.8))
    )


def _worn(name: str, garment: Mesh, options: dict[str, Any]) -> Scene:
    options.pop("irregular", None)
    return dress_scene([garment], shapes.walking_mannequin(), loop=True, name=name, **options)


def _on_floor(scene: Scene) -> Scene:
    """The scene with a slab under the soles."""
    slab = shapes.box((1.6, 0.1, 1.6), 4, centre=(0.0, -0.05 - 2.0 * scene.eps, 0.0))
    return dataclasses.replace(scene, bodies=[*scene.bodies, Body(slab, obstacle=True, name="floor")])

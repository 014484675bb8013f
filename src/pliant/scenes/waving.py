"""A mannequin of rigid parts raises an arm and waves under a poncho; each part has its own distance field."""

import dataclasses
import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import shapes, validate
from ..mesh import Mesh
from ..motion.rigid import Motion
from ..scene import Body, Scene
from ..shapes.body_parts import ARMS, FLOOR, HEAD, LEGS, NECK, PALMS, STANDING, THUMBS, TORSO
from ..shapes.implicit import Part, moved
from ..shapes.mannequin import ZOOM
from ..shapes.polygonise import NO_ZOOM, polygonised
from .moving import cloth_on_bodies

# parts that exist left and right; limbs have round ends, so that two parts cover their joint at every angle
_SIDES = {
    "upper arm": ARMS[:2],
    "forearm": ARMS[2:],
    "hand": PALMS + THUMBS,
    "thigh": LEGS[:3],
    "shin": LEGS[3:5],
    "foot": LEGS[5:] + FLOOR,
}
_SHOULDER, _ELBOW, _WRIST = (0.165, 1.398, -0.034), (0.352, 1.176, -0.036), (0.525, 0.998, -0.016)
_EDGE = 0.0162  # metres


def waving_mannequin(*, resolution: int = 36, **options: Any) -> Scene:
    """A poncho of 1 m on a mannequin of 14 rigid parts, which raises its left arm after 0.7 s and waves."""
    motions = _wave()
    bodies = [
        Body(mesh, obstacle=True, motion=motions.get(mesh.name), group="mannequin", name=mesh.name)
        for mesh in mannequin_parts()
    ]
    cloth = poncho(1.0, 0.125, resolution, irregular=options.pop("irregular", False))
    cloth = cloth.moved(cloth.vertices + np.array([0.0, 1.545, 0.0]))
    return cloth_on_bodies("waving-mannequin", cloth, bodies, options)


@functools.lru_cache(1)
def mannequin_parts() -> tuple[Mesh, ...]:
    """The standing mannequin as 14 closed pieces that overlap at the joints; `left` is +x."""
    found = [_piece("head", moved(HEAD + NECK, (0, STANDING, 0))), _piece("torso", TORSO)]
    for name, parts in _SIDES.items():
        left = _piece(f"left {name}", [dataclasses.replace(part, mirror=False) for part in parts])
        x, faces = left.vertices * (-1.0, 1.0, 1.0), left.faces[:, ::-1]
        found += [left, Mesh(x, faces, name=f"right {name}")]
    return tuple(found)


def _piece(name: str, parts: Sequence[Part]) -> Mesh:
    ends = np.array([p for part in parts if not part.carve for p in (part.a, part.b)])
    reach = max(max(part.r_a, part.r_b) * max(part.stretch) for part in parts if not part.carve) + 2.0 * _EDGE
    if any(part.mirror for part in parts):
        ends = np.concatenate([ends, ends * (-1.0, 1.0, 1.0)])
    low, high = ends.min(0) - reach, ends.max(0) + reach
    zoom = ZOOM if name == "head" else NO_ZOOM
    if zoom is ZOOM:  # the box is given in zoomed width and depth
        low, high = low * (zoom.scale, 1.0, zoom.scale), high * (zoom.scale, 1.0, zoom.scale)
    x, faces = polygonised(parts, low, high, _EDGE, zoom=zoom)
    return Mesh(x, faces, name=name)


def poncho(side: float, hole: float, resolution: int, irregular: bool = False) -> Mesh:
    """A flat square of cloth with a hole of radius `hole` for the head, metres."""
    resolution = validate.whole("resolution", resolution, low=8, high=2000)  # the collar needs this many vertices
    mesh = shapes.cloth(side, side, resolution, irregular=irregular)
    # a square of whole cells is removed; around it squares are warped into circles, so that the collar is round
    cell = side / (resolution - 1)
    square = (round(hole / cell - 0.5 * side / cell) + 0.5 * side / cell) * cell
    x = mesh.vertices * (1.0, 0.0, 1.0)
    outside = np.abs(x[mesh.faces].mean(1)).max(1) > square
    across = np.abs(x).max(1)
    bent = np.clip((3.0 * square - across) / (2.0 * square), 0.0, 1.0)
    round_off = hole / square * across / np.maximum(np.linalg.norm(x, axis=1), 1e-9)
    x *= (1.0 - bent + bent * round_off)[:, None]
    faces = mesh.faces[outside]
    used = np.unique(faces)
    uv = None if mesh.uv is None else mesh.uv[outside]
    return Mesh(x[used], np.searchsorted(used, faces), name="poncho", uv=uv)


def _wave() -> dict[str, Motion]:
    """Motions of the left arm: the upper arm rises, the forearm swings to and fro, and the hand lags behind."""
    axis, swing = (0.0, 0.0, 1.0), np.arange(12)
    raised = Motion.hinge(axis, _SHOULDER, (0.0, 0.7, 1.4), np.radians([0.0, 0.0, 58.0]), smooth=True)
    times = np.concatenate([[0.0, 0.8, 1.4], 1.75 + 0.35 * swing])
    angles = np.radians(np.concatenate([[0.0, 0.0, 62.0], 62.0 + 24.0 * (-1.0) ** swing]))
    bent = Motion.hinge(axis, _ELBOW, times, angles, smooth=True, parent=raised)
    flap = np.radians(np.concatenate([[0.0, 0.0, 0.0], -14.0 * (-1.0) ** swing]))
    return {
        "left upper arm": raised,
        "left forearm": bent,
        "left hand": Motion.hinge(axis, _WRIST, times, flap, smooth=True, parent=bent),
    }

"""Cloth in self-contact: a ribbon piles up (Jung et al. 2005), a twist, a stack, a pinch, a ball in a curtain."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import shapes
from ..mesh import Mesh
from ..motion.rigid import Motion
from ..scene import Body, Grip, Scene
from .material_options import take_cloth, with_own

THIN = 0.003  # default contact offset and thickness, metres


def ribbon(*, resolution: int = 100, **options: Any) -> Scene:
    """A ribbon of 30 x 100 particles, 30 cm x 1 m, falls upright onto the floor and piles up."""
    strip = shapes.cloth(0.3, 1.0, (max(2, round(0.3 * resolution)), resolution), plane="xy")
    y = strip.vertices[:, 1]
    # a slight wave, so that rounding errors do not decide which way it buckles
    wave = 0.01 * np.sin(9.0 * y + 0.7) + 0.004 * strip.vertices[:, 0]
    strip = strip.moved(strip.vertices + np.stack([0.0 * y, 0.0 * y + 0.02 - y.min(), wave], 1))
    return _scene("ribbon", [Body(strip, material=take_cloth(options), name="ribbon")], [_floor(0.9)], options)


def twist(*, resolution: int = 36, **options: Any) -> Scene:
    """50 cm of cloth held at two sides that rotate in opposite directions, by two turns in total."""
    sheet = shapes.cloth(0.5, 0.5, resolution)
    x = sheet.vertices[:, 0]
    ends = []
    for side, sign in ((x < x.min() + 1e-9, -1.0), (x > x.max() - 1e-9, 1.0)):
        turn = Motion.hinge((sign, 0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 0.2, 3.2), (0.0, 0.0, 2.0 * np.pi), smooth=True)
        ends.append(Grip(np.flatnonzero(side), turn))
    return _scene("twist", [Body(sheet, material=take_cloth(options), grips=ends, name="cloth")], [], options)


def stack(*, resolution: int = 24, **options: Any) -> Scene:
    """Five sheets of 40 cm, each rotated a little against the one below, fall on each other and on the floor."""
    material, sheets = take_cloth(options), []
    for k in range(5):
        sheet = shapes.cloth(0.4, 0.4, resolution)
        there = _turned(sheet, 0.35 * k).vertices + np.array([0.02 * k, 0.05 + 0.07 * k, -0.015 * k])
        sheets.append(Body(sheet.moved(there), material=material, name=f"sheet {k + 1}"))
    return _scene("stack", sheets, [_floor(0.8)], options)


def pinch(*, resolution: int = 36, **options: Any) -> Scene:
    """A hanging cloth is pinched between two boxes that close to 5 mm, rub it up and down, and open again."""
    sheet = shapes.cloth(0.5, 0.5, resolution, plane="xy")
    top = np.flatnonzero(sheet.vertices[:, 1] > sheet.vertices[:, 1].max() - 1e-9)
    times = np.array([0.0, 0.3, 1.2, 1.7, 2.2, 2.7, 3.2, 4.2])
    gap = np.array([0.12, 0.12, 0.0025, 0.0025, 0.0025, 0.0025, 0.0025, 0.12])
    lift = np.array([0.0, 0.0, 0.0, 0.03, -0.03, 0.03, 0.0, 0.0])
    jaws = []
    for sign in (-1.0, 1.0):
        jaw = shapes.box((0.3, 0.12, 0.06), (12, 5, 3), centre=(0.0, 0.0, sign * 0.03))
        path = np.stack([0.0 * gap, sign * lift, sign * gap], 1)
        jaws.append(
            Body(jaw, obstacle=True, motion=_slide(times, path), name="left jaw" if sign < 0.0 else "right jaw")
        )
    options.setdefault("eps", 0.003)
    cloth = Body(sheet, material=take_cloth(options), pins=top, name="cloth")
    return _scene("pinch", [cloth], jaws, options)


def curtain(*, resolution: int = 36, **options: Any) -> Scene:
    """A ball of 16 cm hits a hanging curtain at about 7 m/s, 5 m/s on average: in a frame of 0.01 s it moves by 70
    times the thickness of 1 mm."""
    sheet = shapes.cloth(0.6, 0.6, resolution, plane="xy")
    top = np.flatnonzero(sheet.vertices[:, 1] > sheet.vertices[:, 1].max() - 1e-9)
    ball = shapes.ball(0.08, 3)
    fly = _slide(np.array([0.0, 0.1, 0.4]), np.array([[0.02, -0.03, -0.6], [0.02, -0.03, -0.6], [0.02, -0.03, 0.9]]))
    options = with_own(options, thickness=0.001)
    options.setdefault("eps", 0.003)
    cloth = Body(sheet, material=take_cloth(options), pins=top, name="curtain")
    return _scene("curtain", [cloth], [Body(ball, obstacle=True, motion=fly, name="ball")], options)


def _scene(name: str, cloths: list[Body], bodies: list[Body], options: dict[str, Any]) -> Scene:
    """A scene with the options of the built-in scenes."""
    options.pop("irregular", None)
    stuff = {"material": cloths[0].material}
    given = {key: value for key, value in options.items() if value is not None}
    given = {"eps": THIN} | with_own(given | stuff, thickness=THIN)
    given.pop("material")
    return Scene([*cloths, *bodies], name=name, **given)


def _floor(width: float) -> Body:
    return Body(shapes.box((width, 0.04, width), (6, 1, 6), centre=(0.0, -0.02, 0.0)), obstacle=True, name="floor")


def _turned(mesh: Mesh, angle: float) -> Mesh:
    c, s = np.cos(angle), np.sin(angle)
    return mesh.moved(mesh.vertices @ np.array([[c, 0.0, -s], [0.0, 1.0, 0.0], [s, 0.0, c]]))


def _slide(times: NDArray[np.float64], path: NDArray[np.float64]) -> Motion:
    """A translation along the points `path` (k,3), with each segment eased in and out."""
    keys, share = 24, np.arange(24) / 24
    ease = share * share * (3.0 - 2.0 * share)
    at, where = [], []
    for k in range(len(times) - 1):
        at.append(times[k] + share * (times[k + 1] - times[k]))
        where.append(path[k] + ease[:, None] * (path[k + 1] - path[k]))
    poses = np.zeros((keys * (len(times) - 1) + 1, 3, 4))
    poses[:, :, :3] = np.eye(3)
    poses[:, :, 3] = np.concatenate([*where, path[-1:]])
    return Motion(np.concatenate([*at, times[-1:]]), poses)

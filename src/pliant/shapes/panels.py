"""Garments for the mannequin that are held or sewn: a cape, and the two panels of a T-shirt."""

import numpy as np
from numpy.typing import NDArray

from .. import validate
from ..arguments import check_arguments
from ..mesh import Mesh
from ..mesh.marks import Marks
from ..validate import Floats
from .sheets import lattice_faces

_NECK = 0.075  # half width of the neckline of a shirt, metres
# outlines of a shirt panel, as x and y of their corners: the upper seam from the neck over the shoulder along the arm,
# the lower seam of the sleeve from the armpit, the side seam from the armpit to the hem
_UPPER = ((_NECK, 1.555), (0.165, 1.535), (0.31, 1.385))
_UNDER = ((0.225, 1.185), (0.31, 1.075))
_SIDE = ((1.185, 0.225), (0.75, 0.275))
_PLANES = (0.115, -0.150)  # z of the front and of the back panel
_SCOOP = (0.095, 0.035)  # depth of the neckline in front and at the back


@check_arguments
def cape(
    length: float = 0.8,
    *,
    centre: tuple[float, float, float] = (0.0, 1.505, -0.025),
    radius: float = 0.085,
    angle: float = 200.0,
    slope: float = 20.0,
    spacing: float = 0.025,
) -> Mesh:
    """A cape for `mannequin()`, open in front: a sector of a cone around the neck, metres and degrees.

    Its upper edge is an arc of `radius` around `centre`, over `angle` about the back; from there it extends by
    `length`, falling off by `slope` below the horizontal. Edges are about `spacing` long near the hem. u runs around,
    v from hem to neck.
    """
    length = validate.number("length", length, low=0.1, high=2.0)
    middle = validate.floats("centre", centre, (3,))
    radius = validate.number("radius", radius, low=0.02, high=1.0)
    span = np.radians(validate.number("angle", angle, low=30.0, high=350.0))
    fall = np.radians(validate.number("slope", slope, low=0.0, high=85.0))
    spacing = validate.number("spacing", spacing, low=0.004, high=0.1)
    rows = max(2, round(length / spacing)) + 1
    columns = max(4, round(0.6 * span * (radius + length * np.cos(fall)) / spacing)) + 1
    s, turn = np.linspace(0.0, length, rows), np.linspace(-0.5, 0.5, columns) * span
    r = radius + s * np.cos(fall)
    x = np.empty((rows, columns, 3))
    x[..., 0] = middle[0] + r[:, None] * np.sin(turn)
    x[..., 1] = (middle[1] - s * np.sin(fall))[:, None]
    x[..., 2] = middle[2] - r[:, None] * np.cos(turn)
    faces = lattice_faces(columns, rows)
    u, v = np.meshgrid(np.linspace(0.0, 1.0, columns), 1.0 - s / length)
    uv = np.stack([u.ravel(), v.ravel()], 1)[faces]
    return Mesh(x.reshape(-1, 3), faces, name="cape", uv=uv)


@check_arguments
def shirt_panels(*, spacing: float = 0.02) -> Mesh:
    """The front and the back panel of a T-shirt for `mannequin()`, flat, before and behind it; edges of about `spacing`
    metres.

    The groups of its `marks` are "front" and "back", and its lines are the stitches: of the shoulders and upper sides
    of the sleeves, of their lower sides, and of the side seams. Neck, sleeves and hem stay open.
    """
    spacing = validate.number("spacing", spacing, low=0.005, high=0.05)
    panels = [_panel(spacing, scoop) for scoop in _SCOOP]
    n = len(panels[0][0])
    _, faces, seam = panels[0]
    x = np.concatenate([np.column_stack([p[0], np.full(n, z)]) for p, z in zip(panels, _PLANES)])
    both = np.concatenate([faces[:, ::-1], faces + n])  # rows run downwards
    rows = np.arange(n, dtype=np.int32)
    marks = Marks({"front": rows, "back": rows + n}, lines=np.stack([seam, seam + n], 1).astype(np.int32))
    uv = np.concatenate([panel[0] for panel in panels])[both]
    return Mesh(x, both, name="shirt", uv=uv, marks=marks)


def _panel(spacing: float, scoop: float) -> tuple[Floats, NDArray[np.int32], NDArray[np.int64]]:
    """Return positions (n,2), faces and the vertices on seams of one panel.

    A block of columns from cuff to cuff, of which those between the armpits continue down to the hem.
    """
    cuff, armpit = _UPPER[-1][0], _UNDER[0][0]
    outer = np.linspace(armpit, cuff, max(2, round(1.4 * (cuff - armpit) / spacing)) + 1)
    inner = np.linspace(_NECK, armpit, max(2, round((armpit - _NECK) / spacing)) + 1)
    neck = np.linspace(0.0, _NECK, max(2, round(_NECK / spacing)) + 1)
    half = np.concatenate([neck, inner[1:], outer[1:]])
    columns = np.concatenate([-half[:0:-1], half])
    away = np.abs(columns)
    top = np.interp(away, *np.transpose(_UPPER))
    top -= np.where(away < _NECK, scoop * np.sqrt(np.maximum(1.0 - (away / _NECK) ** 2, 0.0)), 0.0)
    under = np.interp(away, *np.transpose(_UNDER))
    height = float(_UPPER[1][1] - _UNDER[0][1])
    upper = np.linspace(0.0, 1.0, max(3, round(height / spacing)) + 1)  # from the upper seam down to the armpit
    y = top + upper[:, None] * (under - top)
    first = np.stack([np.broadcast_to(columns, y.shape), y], 2)
    between = np.flatnonzero(away <= armpit + 1e-9)
    long = _SIDE[0][0] - _SIDE[1][0]
    lower = np.linspace(0.0, 1.0, max(3, round(long / spacing)) + 1)[1:]
    width = 1.0 + lower * (_SIDE[1][1] / _SIDE[0][1] - 1.0)
    down = np.broadcast_to((_SIDE[0][0] - lower * long)[:, None], (len(lower), len(between)))
    below = np.stack([width[:, None] * columns[between], down], 2)
    n, across = y.size, len(columns)
    rest = n + np.arange(down.size).reshape(down.shape)
    index = np.concatenate([(len(upper) - 1) * across + between[None], rest])
    block = lattice_faces(across, len(upper)), index.ravel()[lattice_faces(len(between), len(index))]
    seam = np.concatenate(
        [
            np.flatnonzero(away >= _NECK - 1e-9),
            (len(upper) - 1) * across + np.flatnonzero(away > armpit + 1e-9),
            index[:, 0],
            index[:, -1],
        ]
    )
    x = np.concatenate([first.reshape(-1, 2), below.reshape(-1, 2)])
    return x, np.concatenate(block).astype(np.int32), np.unique(seam)

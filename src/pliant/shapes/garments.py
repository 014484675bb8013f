"""Garments that fit the mannequin: open tubes of cloth, everywhere slightly outside of the body."""

import numpy as np
from numpy.typing import NDArray

from .. import validate
from ..arguments import check_arguments
from ..mesh import Mesh
from ..validate import Floats
from .body_parts import FLOOR, LEGS, TORSO
from .implicit import Part, distance, ellipsoid, grown, limb
from .polygonise import polygonised
from .sheets import lattice_faces

LOWER: tuple[Part, ...] = (*TORSO, *LEGS, *FLOOR)  # the body without arms: garments pass under them
DIRECTIONS = 128  # samples around the body when it is measured


@check_arguments
def skirt(
    length: float = 0.5, flare: float = 0.3, *, waist: float = 1.06, ease: float = 0.008, spacing: float = 0.02
) -> Mesh:
    """A skirt for `mannequin()`: an open tube from the height `waist` down by `length`, metres.

    Its clearance to the body is at least `ease`; it hangs straight down from the hips and widens by `flare` metres of
    radius per metre. Edges are about `spacing` long. The first ring of vertices is the waist. The texture seam is at
    the back; u runs around, v from hem to waist.
    """
    waist = validate.number("waist", waist, low=0.95, high=1.15)
    length = validate.number("length", length, low=0.1, high=waist - 0.1)
    flare = validate.number("flare", flare, low=0.0, high=1.0)
    ease = validate.number("ease", ease, low=0.003, high=0.05)
    spacing = validate.number("spacing", spacing, low=0.004, high=0.04)
    rows = max(2, round(length / spacing)) + 1
    y = waist - np.linspace(0.0, length, rows)
    angle = 2 * np.pi * np.arange(DIRECTIONS) / DIRECTIONS
    # each ring is convex and no narrower than the rings above, like cloth that hangs under its own weight
    support = np.maximum.accumulate(_support(_radii(y, angle, ease), angle), axis=0)
    support += flare * (waist - y)[:, None]
    rings = _rings(support, angle)
    around = 2 * max(4, round(0.5 * np.mean([_lengths(ring)[-1] for ring in rings]) / spacing))
    x = np.stack([_spaced(ring, around) for ring in rings])
    vertices = np.concatenate([x[:, :, :1], np.broadcast_to(y[:, None, None], (*x.shape[:2], 1)), x[:, :, 1:]], 2)
    lattice = lattice_faces(around + 1, rows)
    row, column = lattice // (around + 1), lattice % (around + 1)
    uv = np.stack([column / around, 1.0 - row / (rows - 1)], 2)
    return Mesh(vertices.reshape(-1, 3), (row * around + column % around).astype(np.int32), name="skirt", uv=uv)


@check_arguments
def trousers(*, waist: float = 1.04, hem: float = 0.12, ease: float = 0.008, spacing: float = 0.02) -> Mesh:
    """Straight trousers for `mannequin()`: one tube from the height `waist` to the crotch, two down to `hem`, metres.

    Their clearance to the body is at least `ease`; edges are about `spacing` long. The left and the right half have
    one texture chart each; u runs around the leg, v from hem to waist.
    """
    waist = validate.number("waist", waist, low=0.95, high=1.12)
    hem = validate.number("hem", hem, low=0.11, high=0.65)
    ease = validate.number("ease", ease, low=0.003, high=0.03)
    spacing = validate.number("spacing", spacing, low=0.006, high=0.025)
    # marching cubes yields edges of 0.8 cells on average; hem and waist are a whole number of cells apart
    cells = round((waist - hem) / (1.15 * spacing))
    low, high = np.array([-0.32, hem, -0.25]), np.array([0.32, waist, 0.25])
    parts = (*grown(LOWER, ease), *_LEG_TUBES)
    x, faces = polygonised(parts, low, high, (waist - hem) / cells, ends=True, rounds=12)
    for y in (hem, waist):
        x[np.abs(x[:, 1] - y) < 1e-6, 1] = y  # marching cubes returns single precision
    return Mesh(x, faces, name="trousers", uv=_leg_charts(x[faces], hem, waist))


_LEG_TUBES = (
    limb((0.098, 0.840, -0.014), (0.160, 0.060, -0.024), 0.088, 0.066, blend=0.04, mirror=True),
    # the front panel and the gusset around the crotch, where two tubes alone would meet in a crease
    ellipsoid((0, 0.870, -0.012), (0.110, 0.080, 0.096), blend=0.06),
    ellipsoid((0, 0.820, -0.022), (0.055, 0.040, 0.065), blend=0.06),
)


def _radii(y: Floats, angle: Floats, ease: float) -> Floats:
    """(rows, directions) distance from the axis to the outermost surface of the body enlarged by `ease`."""
    aim = np.stack([np.sin(angle), np.zeros_like(angle), -np.cos(angle)], 1)
    r = np.full((len(y), len(angle)), 0.5)
    for _ in range(24):
        p = r[:, :, None] * aim + np.stack([0 * y, y, 0 * y], 1)[:, None, :]
        r = np.maximum(r - 0.95 * (distance(LOWER, p.reshape(-1, 3)).reshape(r.shape) - ease), 0.0)
    return r


def _support(r: Floats, angle: Floats) -> Floats:
    """(rows, directions) support function of the convex hull of each ring."""
    return (r[:, None, :] * np.cos(angle[:, None] - angle[None, :])).max(2)


def _rings(support: Floats, angle: Floats) -> Floats:
    """(rows, directions + 1, 2) closed convex curves x, z with this support, from the back via the left side."""
    cosine = np.cos(angle[:, None] - angle[None, :])
    with np.errstate(divide="ignore"):
        r = np.where(cosine > 1e-6, support[:, None, :] / np.maximum(cosine, 1e-6), np.inf).min(2)
    ring = np.stack([r * np.sin(angle), -r * np.cos(angle)], 2)
    return np.concatenate([ring, ring[:, :1]], 1)


def _lengths(line: Floats) -> Floats:
    return np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(line, axis=0), axis=1))])


def _spaced(ring: Floats, count: int) -> Floats:
    """`count` points at equal arc lengths along a closed curve."""
    along = _lengths(ring)
    at = along[-1] * np.arange(count) / count
    return np.stack([np.interp(at, along, ring[:, k]) for k in range(2)], 1)


def _leg_charts(corners: Floats, hem: float, waist: float) -> Floats:
    """(m,3,2) texture coordinates of faces (m,3,3): u is the angle about the leg's axis, left half below 0.5."""
    left: NDArray[np.bool_] = corners[:, :, 0].mean(1) > 0.0
    side = np.where(left, 1.0, -1.0)[:, None]
    t = (0.9 - corners[:, :, 1]) / 0.8
    angle = np.arctan2(side * corners[:, :, 0] - (0.09 + 0.07 * t), corners[:, :, 2] + 0.016)
    # the chart is cut at the back, where the angle jumps: corners across the cut take the side of the first corner
    turn = (angle - angle[:, :1]) / (2 * np.pi)
    angle = angle - 2 * np.pi * np.round(turn)
    u = 0.25 + 0.23 * angle / np.pi  # slightly less than half, so that corners across the cut fit
    v = (corners[:, :, 1] - hem) / (waist - hem)
    return np.stack([np.where(left[:, None], u, u + 0.5), v], 2)

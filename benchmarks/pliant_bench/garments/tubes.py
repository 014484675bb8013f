"""Tubes around the trunk, of convex rings: skirts, dresses, and the band around an animal."""

import numpy as np
from numpy.typing import NDArray

from pliant.shapes.sheets import lattice_faces

from .outline import Outline, Unfit

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]
DIRECTIONS = 96  # in which a ring is measured
ROWS = 400  # rings of the surface that is sampled


def tube(
    outline: Outline, high: float, low: float, ease: float, flare: float, particles: int, *, axis: int = 1
) -> tuple[Floats, Ints]:
    """Vertices and outward faces of a tube from `high` to `low` along an axis, `ease` metres off the trunk.

    Rings are convex, and where they hang (axis y) no narrower than those above, like cloth under its own weight; their
    radius grows by `flare` metres per metre. The first ring of vertices is the upper one.
    """
    angle = 2.0 * np.pi * np.arange(DIRECTIONS) / DIRECTIONS
    at = np.linspace(high, low, ROWS)
    support, middle = _support(outline, at, angle, axis)
    support = support + ease
    if axis == 1:
        support = np.maximum.accumulate(support, axis=0)
    support = _smoothed(support) + flare * (high - at)[:, None]
    rings = _rings(support, angle)
    along = _lengths(rings)
    slant = np.concatenate([[0.0], np.cumsum(np.hypot(np.diff(at), np.diff(support.mean(1))))])
    # as many rows as give triangles as high as wide at the middle of the tube
    around = max(8, round(float(np.sqrt(particles * np.mean(along[:, -1]) / slant[-1]))))
    around += around % 2
    rows = max(3, round(particles / around))
    wanted = np.interp(np.linspace(0.0, slant[-1], rows), slant, np.arange(ROWS))
    x = np.stack([_at(rings, along, row, around) for row in wanted])
    height = np.interp(wanted, np.arange(ROWS), at)
    vertices = np.empty((rows, around, 3))
    vertices[:, :, axis] = height[:, None]
    others = [0, 2] if axis == 1 else [0, 1]
    vertices[:, :, others] = x + middle
    lattice = lattice_faces(around + 1, rows)
    faces = (lattice // (around + 1) * around + lattice % (around + 1) % around).astype(np.int32)
    flat = vertices.reshape(-1, 3)
    return flat, _outward(flat, faces, middle, others)


def _support(outline: Outline, at: Floats, angle: Floats, axis: int) -> tuple[Floats, Floats]:
    """(rows, directions) support of the slices of the trunk between neighbouring heights, and the middle of all."""
    points = outline.trunk_points if axis == 1 else outline.points
    others = [k for k in range(3) if k != axis]
    reach = np.linspace(at.min(), at.max(), max(4, round(np.ptp(at) / outline.spacing) + 1))
    slices = [points[np.abs(points[:, axis] - height) <= 0.75 * outline.spacing][:, others] for height in reach]
    if not all(len(one) for one in slices):
        raise Unfit("the body has a gap where the tube would be")
    middle = np.mean([0.5 * (one.min(0) + one.max(0)) for one in slices], axis=0)
    ways = np.stack([np.sin(angle), np.cos(angle)], 1)
    found = np.stack([((one - middle) @ ways.T).max(0) for one in slices])
    return np.stack([np.interp(at, reach, column) for column in found.T], 1), middle


def _smoothed(support: Floats) -> Floats:
    """Steps between slices removed, without coming nearer to the body."""
    from scipy.ndimage import gaussian_filter

    smooth = gaussian_filter(support, (12.0, 2.0), mode=("nearest", "wrap"))
    return np.asarray(smooth + np.maximum(support - smooth, 0.0).max(1).mean())


def _rings(support: Floats, angle: Floats) -> Floats:
    """(rows, directions + 1, 2) closed convex curves with this support."""
    cosine = np.cos(angle[:, None] - angle[None, :])
    with np.errstate(divide="ignore"):
        r = np.where(cosine > 1e-6, support[:, None, :] / np.maximum(cosine, 1e-6), np.inf).min(2)
    ring = np.stack([r * np.sin(angle), r * np.cos(angle)], 2)
    return np.concatenate([ring, ring[:, :1]], 1)


def _lengths(rings: Floats) -> Floats:
    """(rows, directions + 1) arc length along each ring."""
    steps = np.linalg.norm(np.diff(rings, axis=1), axis=2)
    return np.concatenate([np.zeros((len(rings), 1)), np.cumsum(steps, 1)], 1)


def _at(rings: Floats, along: Floats, row: float, count: int) -> Floats:
    """`count` points at equal arc lengths of the ring at a fractional row."""
    k = min(int(row), len(rings) - 2)
    t = row - k
    ring, length = (1.0 - t) * rings[k] + t * rings[k + 1], (1.0 - t) * along[k] + t * along[k + 1]
    at = length[-1] * np.arange(count) / count
    return np.stack([np.interp(at, length, ring[:, j]) for j in range(2)], 1)


def _outward(x: Floats, faces: Ints, middle: Floats, others: list[int]) -> Ints:
    corners = x[faces]
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    away = (normal[:, others] * (corners.mean(1)[:, others] - middle)).sum(1).mean()
    return faces if away > 0.0 else np.ascontiguousarray(faces[:, ::-1])

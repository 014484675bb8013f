"""Implicit bodies of blended parts: limbs and ellipsoids, joined or carved with a smooth minimum.

The value is negative inside and approximates the distance near the surface. It is twice differentiable except at
x = 0, where mirrored parts meet; mirrored parts therefore keep away from that plane or are covered there.
"""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..validate import Floats

Point = tuple[float, float, float]


@dataclasses.dataclass(frozen=True)
class Part:
    """A tapered limb from a to b, or an ellipsoid where a = b. Metres."""

    a: Point
    b: Point
    r_a: float  # radius at a, in units of `stretch`
    r_b: float
    stretch: Point  # radii along the part's own axes, as multiples of r
    turn: Point  # rotation of these axes about x, y, z, degrees
    blend: float  # width of the smooth minimum, metres
    mirror: bool  # whether the part is repeated at -x
    carve: bool  # whether the part is subtracted instead of added
    grow: float = 0.0  # metres by which the surface is offset outward


def limb(
    a: Point,
    b: Point,
    r_a: float,
    r_b: float | None = None,
    *,
    stretch: Point = (1, 1, 1),
    turn: Point = (0, 0, 0),
    blend: float = 0.02,
    mirror: bool = False,
    carve: bool = False,
) -> Part:
    return Part(a, b, r_a, r_a if r_b is None else r_b, stretch, turn, blend, mirror, carve)


def ellipsoid(
    centre: Point,
    radii: Point,
    *,
    turn: Point = (0, 0, 0),
    blend: float = 0.02,
    mirror: bool = False,
    carve: bool = False,
) -> Part:
    return Part(centre, centre, 1.0, 1.0, radii, turn, blend, mirror, carve)


def slab(low: float, high: float, *, blend: float = 0.02) -> Part:
    """The region low < y < high, to be carved away."""
    wide = float("inf")
    y = 0.5 * (low + high)
    return Part((0, y, 0), (0, y, 0), 1.0, 1.0, (wide, 0.5 * (high - low), wide), (0, 0, 0), blend, False, True)


def moved(parts: Sequence[Part], by: Point) -> tuple[Part, ...]:
    """The translated parts; mirrored parts can be translated along y and z only."""

    def shift(p: Point) -> Point:
        return (p[0] + by[0], p[1] + by[1], p[2] + by[2])

    return tuple(dataclasses.replace(p, a=shift(p.a), b=shift(p.b)) for p in parts)


def grown(parts: Sequence[Part], by: float) -> tuple[Part, ...]:
    """The parts with their blended value reduced by exactly `by` everywhere: the body offset by that distance."""
    return tuple(dataclasses.replace(p, grow=p.grow - by if p.carve else p.grow + by) for p in parts)


def distance(parts: Sequence[Part], points: Floats) -> Floats:
    """(n,) blended value at points (n,3); each part in turn is joined to or carved from those before it."""
    x, y, z = (np.ascontiguousarray(points[:, k]) for k in range(3))
    fold = np.abs(x)
    total = np.full(len(points), 1e3)
    for part in parts:
        d = _one(part, fold if part.mirror else x, y, z)
        if part.carve:
            total = -smooth_minimum(-total, d, part.blend)
        else:
            total = smooth_minimum(total, d, part.blend)
    return total


def gradient(parts: Sequence[Part], points: Floats, step: float = 1e-5) -> tuple[Floats, Floats]:
    """Value (n,) and gradient (n,3), from four samples at the corners of a small tetrahedron."""
    corners = np.array([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]], float)
    value = np.zeros(len(points))
    slope = np.zeros((len(points), 3))
    for corner in corners:
        f = distance(parts, points + step * corner)
        value += 0.25 * f
        slope += f[:, None] * corner / (4.0 * step)
    return value, slope


def project(parts: Sequence[Part], points: Floats, rounds: int = 2, offset: float = 0.0) -> tuple[Floats, Floats]:
    """Points projected onto the surface (or `offset` outside) by Newton steps along the gradient, and unit normals."""
    x = points
    normal = np.zeros_like(x)
    for _ in range(rounds):
        f, g = gradient(parts, x)
        length = np.maximum(np.linalg.norm(g, axis=1), 0.3)  # bounds the step where the gradient vanishes
        normal = g / length[:, None]
        x = x - normal * ((f - offset) / length)[:, None]
    return x, normal


def smooth_minimum(a: Any, b: Any, k: float) -> Any:
    """The minimum where a and b differ by more than k, and a C2 cubic blend in between."""
    h = np.maximum(k - np.abs(a - b), 0.0) / k
    return np.minimum(a, b) - h * h * h * (k / 6.0)


def rotation(degrees: Point) -> Floats:
    """(3,3) rotation about x, then y, then z."""
    a, b, c = np.radians(degrees)
    rx = np.array([[1, 0, 0], [0, np.cos(a), -np.sin(a)], [0, np.sin(a), np.cos(a)]])
    ry = np.array([[np.cos(b), 0, np.sin(b)], [0, 1, 0], [-np.sin(b), 0, np.cos(b)]])
    rz = np.array([[np.cos(c), -np.sin(c), 0], [np.sin(c), np.cos(c), 0], [0, 0, 1]])
    return rz @ ry @ rx


def _one(part: Part, x: Floats, y: Floats, z: Floats) -> Floats:
    qx, qy, qz = x - part.a[0], y - part.a[1], z - part.a[2]
    r: Any = part.r_a
    if part.a != part.b:
        ux, uy, uz = (q - p for p, q in zip(part.a, part.b))
        t = np.clip((qx * ux + qy * uy + qz * uz) / (ux * ux + uy * uy + uz * uz), 0.0, 1.0)
        qx, qy, qz = qx - t * ux, qy - t * uy, qz - t * uz
        r = part.r_a + t * (part.r_b - part.r_a)
    sx, sy, sz = part.stretch
    if sx == sy == sz == 1:
        return np.sqrt(qx * qx + qy * qy + qz * qz) - (r + part.grow)
    if part.turn != (0, 0, 0):
        m = rotation(part.turn)
        qx, qy, qz = (m[0, k] * qx + m[1, k] * qy + m[2, k] * qz for k in range(3))
    qx, qy, qz = qx / sx, qy / sy, qz / sz
    k0 = np.sqrt(qx * qx + qy * qy + qz * qz)
    k1 = np.sqrt((qx / sx) ** 2 + (qy / sy) ** 2 + (qz / sz) ** 2)
    # (k0 - r) divided by its gradient k1 / k0 is a first-order distance; the tiny terms avoid 0 / 0 at the centre
    return (k0 - r) * (k0 + 1e-9 * min(sx, sy, sz)) / (k1 + 1e-9) - part.grow

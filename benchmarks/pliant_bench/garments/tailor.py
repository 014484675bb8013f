"""Garments that fit a body nobody has seen, at any number of particles: `garment(outline, "skirt", 4000)`."""

import dataclasses
import functools
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from pliant.detect.queries.closest_point import ClosestPoints
from pliant.detect.queries.intersections import intersections
from pliant.mesh import Mesh

from .outline import Outline, Unfit
from .patterns import pattern
from .shells import Shell
from .tubes import tube

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
PERSON = 1.7  # metres: the size for which lengths below are given
EASES = (1.0, 1.4, 2.0, 2.8)  # multiples of the clearance of a garment
LEAST = 0.002  # metres from the body
UPPER = "boundary top"
PROBE = 1000  # particles with which the ease is found


@dataclasses.dataclass(frozen=True, eq=False)
class Garment:
    """A mesh around the body. `attach`: what `--attach` would be given, the first that names a part of this character;
    empty: it is not held. Rows of vertices: `top` and `hem` are the boundaries between which its hanging length is
    measured. `loops`: number of boundary loops. `fitted`: it lies on trunk and arms, and so needs ease to follow them;
    `ease` (n,): the factors by which its rest lengths are larger than those of the mesh."""

    mesh: Mesh
    attach: tuple[str, ...]
    top: Ints
    hem: Ints
    loops: int
    fitted: bool = False
    ease: Floats | None = None


def garment(outline: Outline, name: str, particles: int, *, probe: int = PROBE) -> Garment:
    """The garment of this name with about as many particles; raise `Unfit` where the body has no place for it.

    It starts outside of the body and free of intersections: its ease grows until it does with `probe` particles, so
    that the shape does not depend on the number of particles.
    """
    scale = _size(outline) / PERSON
    first = _ease(outline, name, probe)
    for ease in EASES[EASES.index(first) :]:  # coarser garments than the probe may need more
        made = _made(outline, name, ease * scale, particles)
        why = fault(made.mesh, outline.mesh, LEAST * scale)
        if not why:
            return made
    raise Unfit(f"{name}: {why}")


@functools.lru_cache(8)
def _made(outline: Outline, name: str, scale: float, particles: int) -> Garment:
    return MAKERS[name](outline, scale, particles)


@functools.lru_cache(64)
def _ease(outline: Outline, name: str, probe: int) -> float:
    """The smallest of `EASES` with which the garment fits at this number of particles."""
    scale = _size(outline) / PERSON
    for ease in EASES:
        why = fault(_made(outline, name, ease * scale, probe).mesh, outline.mesh, LEAST * scale)
        if not why:
            return ease
    raise Unfit(f"{name}: {why}")


def fault(cloth: Mesh, body: Mesh, least: float) -> str:
    """Why the garment cannot start here; empty if it can."""
    points = np.concatenate([cloth.vertices, cloth.vertices[cloth.topology.edges].mean(1)])
    near = float(np.abs(ClosestPoints(body).query_by_nearest_face(points)[0]).min())
    if near < least:
        return f"it starts {1e3 * near:.1f} mm from the body"
    if count := len(intersections(cloth, body)):
        return f"{count} pairs of its triangles and of the body intersect"
    if count := len(intersections(cloth)):
        return f"{count} pairs of its triangles intersect"
    return ""


def _size(outline: Outline) -> float:
    low, high = outline.mesh.bounds
    return float(max((high - low)[1:]))


def _shell(outline: Outline, low: float, high: float, wide: float, level: float, particles: int, name: str) -> Garment:
    middle = outline.landmarks.middle[0]
    inner = 2.0 * outline.spacing
    z = outline.origin[2] + inner, outline.origin[2] + (outline.shape[2] - 1) * outline.spacing - inner
    box = np.array([[middle - wide, low, z[0]], [middle + wide, high, z[1]]])
    x, faces, side = Shell(outline, level, *box).mesh(particles)
    hem, collar = np.flatnonzero(side == 2), np.flatnonzero(side == 3)
    loops = len({int(s) for s in side if s >= 0})
    if loops != 4:
        raise Unfit(f"{name}: {loops} of 4 openings: collar, hem and two arms")
    return Garment(Mesh(x, faces, name=name), (), collar, hem, 4, fitted=True)  # nothing holds it


def _snug_top(outline: Outline, scale: float, particles: int) -> Garment:
    """Sleeveless, from the waist to the neck, 1 cm off the body; like a T-shirt, it rests on the shoulders."""
    level = 0.010 * scale
    for share in (0.12, 0.24):
        try:  # farther out where the shoulders are as high as the collar
            wide = _arm(outline, share)
            high = _collar(outline, wide, level)
            return _shell(outline, outline.landmarks.waist, high, wide, level, particles, "snug top")
        except Unfit as error:
            why = error
    raise why


def _t_shirt(outline: Outline, scale: float, particles: int) -> Garment:
    """Sleeves over a third of the arms, from the hips to the neck, 2 cm off the body; it rests on the shoulders."""
    at = outline.landmarks
    low, wide, level = at.crotch + 0.3 * (at.waist - at.crotch), _arm(outline, 0.36), 0.020 * scale
    return _shell(outline, low, _collar(outline, wide, level), wide, level, particles, "T-shirt")


def _collar(outline: Outline, wide: float, level: float) -> float:
    """The height of the collar: between shoulders and neck, and above the arms where they are cut."""
    at, p = outline.landmarks, outline.trunk_points
    cut = p[np.abs(np.abs(p[:, 0] - at.middle[0]) - wide) < outline.spacing]
    arms = float(cut[cut[:, 1] < at.neck, 1].max(initial=at.armpit))
    return max(0.5 * (at.shoulder + at.neck), arms + level + outline.spacing)


def _arm(outline: Outline, share: float) -> float:
    """The distance from the middle at this share of the arms, measured from the side of the chest."""
    at = outline.landmarks
    rows = range(outline.row(at.waist), outline.row(at.armpit) - 1)
    middle = at.middle[0]
    columns = [np.flatnonzero(outline.trunk[:, row].any(1)) for row in rows]
    chest = np.median([np.ptp(one) for one in columns if len(one)]) * 0.5 * outline.spacing
    reach = float(np.abs(outline.points[:, 0] - middle).max())
    return float(chest + share * (reach - chest))


def _skirt(outline: Outline, scale: float, particles: int) -> Garment:
    """From the waist to the knees; its waistband is held."""
    at = outline.landmarks
    hem = at.floor + 0.55 * (at.crotch - at.floor)
    made = _hanging(outline, at.waist, hem, 0.008 * scale, 0.25, particles, "skirt")
    return dataclasses.replace(made, attach=("waist", UPPER))


def _dress(outline: Outline, scale: float, particles: int) -> Garment:
    """From below the arms to the ankles; its upper edge is held."""
    at = outline.landmarks
    high = at.armpit - 0.08 * (at.armpit - at.crotch) - outline.spacing
    return _hanging(outline, high, at.floor + 0.12 * (at.crotch - at.floor), 0.008 * scale, 0.12, particles, "dress")


def _hanging(
    outline: Outline, high: float, low: float, ease: float, flare: float, particles: int, name: str
) -> Garment:
    x, faces = tube(outline, high, low, ease, flare, particles)
    return _ringed(Mesh(x, faces, name=name))


def _ringed(mesh: Mesh) -> Garment:
    """A tube that is held by its first ring of vertices."""
    rim = np.flatnonzero(mesh.topology.boundary_vertices)
    top, hem = rim[rim < mesh.n_vertices // 2], rim[rim >= mesh.n_vertices // 2]
    return Garment(mesh, (UPPER,), top, hem, 2)


def _cape(outline: Outline, scale: float, particles: int) -> Garment:
    """A part of a cone behind the back, from the shoulders to the calves; held at the shoulders, by its upper edge."""
    at, ease, half = outline.landmarks, 0.015 * scale, np.radians(38.0)
    high, low = at.shoulder, at.floor + 0.35 * (at.crotch - at.floor)
    x, y, z = (outline.points[:, k] for k in range(3))
    x = x - at.middle[0]
    wide = 0.8 * _arm(outline, 0.0)
    first = wide / np.sin(half)
    # the axis of the cone is as far back as the shoulders allow
    top = (np.abs(y - high) < 0.04 * scale) & (np.abs(x) < min(wide + ease, first - ease))
    if not top.any():
        raise Unfit("cape: no shoulders")
    middle = np.array([at.middle[0], float((z[top] + np.sqrt((first - ease) ** 2 - x[top] ** 2)).min())])
    r, turned = np.hypot(x, z - middle[1]), np.abs(np.arctan2(x, middle[1] - z))
    below = (turned < half + 0.1) & (y < high - 0.02 * scale) & (y > low)
    slope = max(0.15, float(((r[below] + ease - first) / (high - y[below])).max()))
    lean = np.hypot(1.0, slope)
    near, far, turn = first * lean / slope, first * lean / slope + (high - low) * lean, half * slope / lean
    arc = np.linspace(-turn, turn, 200)[:, None]
    way = np.concatenate([np.sin(arc), np.cos(arc)], 1)
    x, faces = pattern(np.concatenate([near * way, far * way[::-1]]), [], particles)
    rho, angle = np.linalg.norm(x, axis=1), np.arctan2(x[:, 0], x[:, 1]) * lean / slope
    radius = rho * slope / lean
    place = np.stack([radius * np.sin(angle), high - (rho - near) / lean, -radius * np.cos(angle)], 1)
    place[:, [0, 2]] += middle
    upper, lower = np.flatnonzero(rho < near + 1e-4 * far), np.flatnonzero(rho > far * (1.0 - 1e-4))
    return Garment(Mesh(place, faces, name="cape"), ("shoulders", "boundary & top 1mm"), upper, lower, 1)


def _poncho(outline: Outline, scale: float, particles: int) -> Garment:
    """A disc with a hole for the neck, level above the shoulders; nothing holds it."""
    at, ease = outline.landmarks, 0.015 * scale
    angle = 2.0 * np.pi * np.arange(120) / 120
    way = np.stack([np.cos(angle), np.sin(angle)], 1)
    around = outline.points[np.abs(outline.points[:, 1] - at.neck) < ease + outline.spacing][:, [0, 2]]
    radius = 0.8 * (at.neck - at.crotch)
    inner = around[np.linalg.norm(around - at.middle, axis=1) < radius]
    middle = 0.5 * (inner.min(0) + inner.max(0))
    support = ((inner - middle) @ way.T).max(0) + ease
    cosine = np.cos(angle[:, None] - angle[None, :])
    hole = np.where(cosine > 1e-6, support[None, :] / np.maximum(cosine, 1e-6), np.inf).min(1)
    if hole.max() > 0.75 * radius:
        raise Unfit("poncho: no neck that is narrower than the garment")
    x, faces = pattern(radius * way, [hole[:, None] * way], particles)
    place = np.stack([x[:, 0] + middle[0], np.full(len(x), at.neck), x[:, 1] + middle[1]], 1)
    mesh = Mesh(place, np.ascontiguousarray(faces[:, ::-1]), name="poncho")  # its normals point up
    rim = np.flatnonzero(mesh.topology.boundary_vertices)
    far = np.linalg.norm(x[rim], axis=1) > 0.99 * radius
    return Garment(mesh, (), rim[~far], rim[far], 2)


def _belly(outline: Outline) -> tuple[float, float]:
    """The range along z between the hind and the front legs of an animal that faces +z."""
    p = outline.points
    low, high = outline.mesh.bounds
    feet = np.sort(p[p[:, 1] < low[1] + 0.12 * (high - low)[1], 2])
    gap = np.diff(feet)
    k = int(gap.argmax())
    if gap[k] < 0.1 * (high - low)[2]:
        raise Unfit("no room between hind and front legs")
    return float(feet[k]), float(feet[k + 1])


def _tube(outline: Outline, scale: float, particles: int) -> Garment:
    """A band around the trunk of an animal; the upper half of its front edge is held, away from the legs."""
    hind, front = _belly(outline)
    wide = front - hind
    x, faces = tube(outline, front - 0.2 * wide, hind + 0.2 * wide, 0.012 * scale, 0.1, particles, axis=2)
    made = _ringed(Mesh(x, faces, name="tube"))
    height = x[made.top, 1]
    back = made.top[height > 0.5 * (height.min() + height.max())]
    belly = np.flatnonzero(x[:, 1] < x[:, 1].min() + 0.1 * float(np.ptp(x[:, 1])))
    return dataclasses.replace(made, attach=("boundary front & top 50%",), top=back, hem=belly)


def _blanket(outline: Outline, scale: float, particles: int) -> Garment:
    """A rectangle above the back of an animal; a strip along the back is held."""
    hind, front = _belly(outline)
    p, middle = outline.points, 0.5 * float(outline.mesh.bounds[:, 0].sum())
    back = p[(p[:, 2] > hind) & (p[:, 2] < front), 1]
    half, wide = 0.5 * (front - hind), 0.75 * float(np.ptp(back))
    box = np.array([[-wide, -half], [wide, -half], [wide, half], [-wide, half]])
    x, faces = pattern(box, [], particles)
    height = float(p[np.abs(p[:, 2] - 0.5 * (hind + front)) < half + 0.01, 1].max()) + 0.015 * scale
    place = np.stack([x[:, 0] + middle, np.full(len(x), height), x[:, 1] + 0.5 * (hind + front)], 1)
    mesh = Mesh(place, np.ascontiguousarray(faces[:, ::-1]), name="blanket")
    thin = 0.04 * wide + 0.01 * scale
    strip = np.flatnonzero(np.abs(x[:, 0]) < thin)
    around = (middle - thin, height - 1.0, hind, middle + thin, height + 1.0, front)
    attach = f"box:{','.join(f'{edge:.6f}' for edge in around)}"
    return Garment(mesh, (attach,), strip, np.flatnonzero(np.abs(x[:, 0]) > 0.999 * wide), 1)


MAKERS: dict[str, Callable[[Outline, float, int], Garment]] = {
    "snug top": _snug_top,
    "T-shirt": _t_shirt,
    "skirt": _skirt,
    "long dress": _dress,
    "cape": _cape,
    "poncho": _poncho,
    "tube": _tube,
    "blanket": _blanket,
}

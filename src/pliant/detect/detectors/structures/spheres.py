"""Spheres of a spherical implicit surface: one per triangle, and those of the part that each contact descended to."""

from typing import Any

import numpy as np

from ...structure import MOST_SPHERES, Floats, Structure, clamped, millimetres, some

_MOST_PAIRS = 400  # pairs of a vertex and a face that are drawn, of each side


def structure_of_spheres(detector: Any, level: int | None, radius: float) -> Structure:
    """Return the spheres of a `SphereSurfaceDetector` at a level of refinement; radius: of the spheres over the
    distance of the farthest corner from the centroid. Level 0 draws one sphere for each triangle; level k the four of
    the part of a triangle that contains, k - 1 subdivisions below it, the nearest point of each pair in contact."""
    deepest = int(detector.face_levels.max(initial=0))
    level = clamped(level, deepest + 1, 0)
    if level == 0:
        spheres, count = [], 0
        for k, balls in enumerate(detector.face_spheres):
            count += len(balls)
            kept = balls[some(len(balls), MOST_SPHERES)]
            spheres.append(np.column_stack([kept, np.full(len(kept), float(k))]))
        text = f"spheres of {count} triangles (blue: deformable, orange: obstacle)"
        text += f", {MOST_SPHERES} of each drawn" if max(map(len, detector.face_spheres)) > MOST_SPHERES else ""
        found = np.concatenate(spheres)
    else:
        found, count = _refined(detector, level - 1, radius)
        text = f"level {level - 1} of {deepest}: four spheres each of the parts nearest to {count} vertices in contact"
    text += f"; error of a distance at most {millimetres(detector.bound)}"
    return Structure(f"spherical implicit surface: {text}", level, deepest + 1, spheres=found)


def _refined(detector: Any, level: int, radius: float) -> tuple[Floats, int]:
    """Return the spheres (k,5) of the parts of triangles nearest to vertices in contact, and the number of pairs."""
    spheres, count = [np.zeros((0, 5))], 0
    for side, (points, corners, levels) in enumerate(detector.pairs_in_contact()):
        count += len(points)
        kept = some(len(points), _MOST_PAIRS)
        part = parts_at(points[kept], corners[kept], np.minimum(levels[kept], level), detector.child)
        centre = part.mean(1)
        reach = radius * np.linalg.norm(part - centre[:, None], axis=2).max(1)
        at = np.concatenate([part, centre[:, None]], 1).reshape(-1, 3)
        spheres.append(np.column_stack([at, np.repeat(reach, 4), np.full(len(at), float(side))]))
    return np.concatenate(spheres), count


def parts_at(points: Floats, corners: Floats, levels: Any, child: str) -> Floats:
    """Return the corners (n,3,3) of the part of each triangle (n,3,3) that is reached from points (n,3) by `levels`
    (n,) subdivisions at edge midpoints: the one that contains the nearest point, or whose centre is nearest."""
    part = corners.copy()
    for depth in range(int(levels.max(initial=0))):
        middle = 0.5 * (part + np.roll(part, -1, axis=1))  # of the edges from each corner to the next
        children = np.stack([np.stack([part[:, k], middle[:, k], middle[:, k - 1]], 1) for k in range(3)] + [middle], 1)
        goal = points if child == "nearest" else nearest_in(points, part)
        far = _distance_to(goal, children, child == "containing")
        chosen = children[np.arange(len(part)), far.argmin(1)]
        part = np.where((levels > depth)[:, None, None], chosen, part)
    return part


def _distance_to(points: Floats, children: Floats, contained: bool) -> Floats:
    if not contained:
        return np.linalg.norm(children.mean(2) - points[:, None], axis=2)
    each = [np.linalg.norm(nearest_in(points, children[:, k]) - points, axis=1) for k in range(4)]
    return np.stack(each, 1)


def nearest_in(points: Floats, corners: Floats) -> Floats:
    """Return the nearest points (n,3) of triangles (n,3,3)."""
    a, b, c = corners[:, 0], corners[:, 1], corners[:, 2]
    e, f = b - a, c - a
    n = np.cross(e, f)
    area = np.einsum("ij,ij->i", n, n)
    safe = np.where(area > 0.0, area, 1.0)
    v = np.einsum("ij,ij->i", np.cross(points - a, f), n) / safe
    w = np.einsum("ij,ij->i", np.cross(e, points - a), n) / safe
    inside = (v >= 0.0) & (w >= 0.0) & (v + w <= 1.0) & (area > 0.0)
    ends = [(a, b), (b, c), (c, a)]
    on = [_on_segment(points, p, q) for p, q in ends]
    far = np.stack([np.linalg.norm(points - at, axis=1) for at in on], 1)
    edge = np.stack(on, 1)[np.arange(len(points)), far.argmin(1)]
    return np.where(inside[:, None], a + v[:, None] * e + w[:, None] * f, edge)


def _on_segment(points: Floats, p: Floats, q: Floats) -> Floats:
    along = q - p
    whole = np.einsum("ij,ij->i", along, along)
    t = np.einsum("ij,ij->i", points - p, along) / np.where(whole > 0.0, whole, 1.0)
    return p + np.clip(t, 0.0, 1.0)[:, None] * along

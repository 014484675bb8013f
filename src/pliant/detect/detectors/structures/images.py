"""Layered depth images, rays, height grids, and bone-attached boxes with their slabs."""

from typing import Any

import numpy as np

from ...structure import Floats, Structure, box_edges, clamped, corner_edges, dots_at, millimetres, moved, some

_MOST_RAYS = 3000
_MOST_INTERVALS = 400
_MOST_LAYERS = 8000
_MOST_ROWS = 64  # lines of a height grid along each side


def structure_of_images(images: Any, volume: Any) -> Structure:
    """Return the intervals of the rays of layered depth images inside of the bodies, and the volume of interest."""
    if volume is None:
        return Structure("layered depth images: none, since the AABBs of the bodies are disjoint")
    intervals = [image.intervals_inside() for image in images]
    lines = [image.places(each) for image, each in zip(images, intervals, strict=True)]
    inside = np.concatenate([np.zeros((0, 2, 3)), *lines])
    ends = inside[some(len(inside), _MOST_LAYERS // 2)]
    layers = sum(len(image.depth) for image in images)
    axis, screen = "xyz"[volume.screen.axis], volume.screen
    text = f"layered depth image along {axis}, {screen.width} x {screen.height} pixels, {layers} layers"
    text += f"; rays enter a body at blue dots and exit at orange ones, {len(inside)} intervals inside"
    text += f"; orange: volume of interest; bound {millimetres(volume.bound)}"
    box, dots = box_edges(volume.box[:1], volume.box[1:]), dots_at(ends[:, 0], ends[:, 1])
    return Structure(text, lines=inside[some(len(inside), _MOST_INTERVALS)], accents=box, dots=dots)


def structure_of_rays(casts: Any) -> Structure:
    """Return the rays of vertices in the AABB of a closed body, from each vertex to the end of the box, and dots at the
    vertices inside. casts: for each body its box (2,3), the axis, the points (n,3) and which are inside (n,)."""
    lines, found, boxes, axis = [np.zeros((0, 2, 3))], [np.zeros((0, 3))], [np.zeros((0, 2, 3))], 0
    for box, axis, points, inside in casts:
        near = ((points >= box[0]) & (points <= box[1])).all(1)
        ends = points[near].copy()
        ends[:, axis] = box[1, axis]
        lines.append(np.stack([points[near], ends], 1))
        found.append(points[near & inside])
        boxes.append(box_edges(box[:1], box[1:]))
    rays, within = np.concatenate(lines), np.concatenate(found)
    text = f"blue: rays along {'xyz'[axis]} from the {len(rays)} vertices in the AABB of a closed body (orange)"
    text += f"; orange dots: {len(within)} of them are inside, by the faces that their rays pass"
    dots = dots_at(np.zeros((0, 3)), within[some(len(within), _MOST_RAYS)])
    return Structure(text, lines=rays[some(len(rays), _MOST_RAYS)], accents=np.concatenate(boxes), dots=dots)


def structure_of_heights(grids: Any, pose: Floats | None, level: int | None) -> Structure:
    """Return the nodes of height grids, joined along their rows and columns. Level 0 draws all grids, k the k-th."""
    levels = len(grids) if len(grids) > 1 else 0
    level = clamped(level, levels, min(levels, 1))
    shown = [grids[level - 1]] if level else list(grids)
    lines, step = [np.zeros((0, 2, 3))], 1
    for grid in shown:
        nodes = height_nodes(grid)
        step = max(1, -(-max(nodes.shape[:2]) // _MOST_ROWS))
        for axis in (0, 1):
            joined = _along(nodes, axis, step)
            lines.append(joined[np.isfinite(joined).all((1, 2))])
    grid = shown[0]
    ni, nj = grid.heights.shape
    names = ", ".join(one.direction for one in shown)
    text = f"height grid along {names}: {ni} x {nj} nodes of {millimetres(float(max(grid.spacing)))}"
    text += f", every {step}. row and column drawn" if step > 1 else ""
    text += f"; grid {level} of {levels}, 0: all" if levels else ""
    return Structure(text, level, levels, moved(np.concatenate(lines), pose))


def height_nodes(grid: Any) -> Floats:
    """Return the nodes (ni,nj,3) of a height grid in its own coordinates; nan where a column is empty."""
    ni, nj = grid.heights.shape
    k = grid.axis
    out = np.empty((ni, nj, 3))
    out[..., (k + 1) % 3] = grid.origin[(k + 1) % 3] + grid.spacing[0] * np.arange(ni)[:, None]
    out[..., (k + 2) % 3] = grid.origin[(k + 2) % 3] + grid.spacing[1] * np.arange(nj)
    out[..., k] = grid.origin[k] + grid.sign * grid.heights
    return out


def _along(nodes: Floats, axis: int, step: int) -> Floats:
    """Return segments (k,2,3) between neighbours, `step` nodes apart, of every `step`-th line along an axis."""
    lines = nodes[::step] if axis == 1 else nodes[:, ::step].swapaxes(0, 1)
    kept = lines[:, ::step]
    return np.stack([kept[:, :-1], kept[:, 1:]], 2).reshape(-1, 2, 3)


def structure_of_bone_boxes(corners: Floats, slabs: Floats, level: int | None) -> Structure:
    """Return bone-attached boxes by their corners (k,2,2,2,3), at level 1 with their slabs (m,2,2,3), as the corners of
    the rectangles between them."""
    level = clamped(level, 1, 0)
    lines = corner_edges(corners)
    text = f"bone-attached bounding boxes of {len(corners)} bones, in their current pose"
    if level == 0:
        return Structure(text, 0, 1, lines)
    ring = slabs.reshape(-1, 4, 3)[:, [0, 1, 3, 2]]
    cuts = np.stack([ring, np.roll(ring, -1, axis=1)], 2).reshape(-1, 2, 3)
    return Structure(f"{text}; orange: the slabs along their main axes that list triangles", 1, 1, lines, cuts)

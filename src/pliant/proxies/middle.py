"""The middle surface of a shell modelled with thickness: two layers and a rim around every opening.

A ray from the centre of each face into the shell hits the opposite layer; faces of the rim look along the layers and
hit nothing near. The outer layer, the one with the larger area, moves inwards by half of the distance.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..detect.queries.intersections import Intersections
from ..mesh import Mesh
from ..mesh.topology import Topology
from ..shapes.tidy import neighbour_mean
from ..validate import Floats
from .sheets import Sheet, connected, manifold_sheets

THIN = 0.05  # largest thickness of a shell over the square root of the area of a layer
GAP = 0.1  # largest total circumference of holes over the same: such a shell is nearly closed
DEEP = 4.0  # length of the rays, in mean thicknesses
FACING = -0.5  # cosine between the normals of opposite faces, at most
CREASE = 0.5  # cosine between the normals of neighbours of one layer, at least
COVERED = 0.8  # least share of a layer that must have an opposite one


class Middle(NamedTuple):
    """The middle surface of a shell, and its mean thickness in metres."""

    sheets: list[Sheet]
    thickness: float


def middle_surface(sheet: Sheet) -> Middle | None:
    """Return the middle surface of a thin closed shell; None for every other surface."""
    mean = _mean_thickness(sheet)
    if mean is None:
        return None
    area = np.linalg.norm(sheet.face_vectors, axis=1)
    depth, opposite = _opposite(sheet, mean)
    layer = _layers(sheet, area, depth, opposite)
    outer, inner = (layer == k for k in (0, 1))
    hit = depth < np.inf
    if area[inner & hit].sum() < COVERED * area[inner].sum() or area[inner].sum() < 0.5 * area[outer].sum():
        return None  # no two layers: a closed surface that happens to be flat
    if area[outer].sum() + area[inner].sum() < 0.5 * area.sum():
        return None
    part = sheet.part(np.flatnonzero(outer))
    depth = depth[outer]
    half = 0.5 * _at_vertices(part, np.where(depth < np.inf, area[outer], 0.0), depth, mean)
    x = part.x - half[:, None] * Mesh(part.x, part.faces).vertex_normals
    thickness = float((2.0 * half).mean())
    return Middle(manifold_sheets(Mesh(x, part.faces)), thickness)


def _mean_thickness(sheet: Sheet) -> float | None:
    """The volume of a thin shell over the area of a layer, metres; None if it is open or not thin."""
    top, area = Topology.of(sheet.faces, len(sheet.x)), sheet.area
    ends = sheet.x[top.edges[top.boundary]]
    scale = float(np.sqrt(0.5 * area))
    if not area or np.linalg.norm(ends[:, 0] - ends[:, 1], axis=1).sum() > GAP * scale:
        return None
    mean = 2.0 * Mesh(sheet.x, sheet.faces).volume / area
    return mean if 0.0 < mean < THIN * scale else None


def _opposite(sheet: Sheet, mean: float) -> tuple[Floats, NDArray[np.int64]]:
    """(m,) distance of the face opposite each face, inf without one, and its index."""
    vectors = sheet.face_vectors
    normal = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-300)
    centre = sheet.x[sheet.faces].mean(1)
    edge = sheet.x[sheet.faces[:, 1]] - sheet.x[sheet.faces[:, 0]]
    edge /= np.maximum(np.linalg.norm(edge, axis=1, keepdims=True), 1e-300)
    # a ray is a needle, a triangle of nearly no width
    near, far = centre - 1e-3 * mean * normal, centre - DEEP * mean * normal
    m = len(centre)
    needles = Mesh(
        np.concatenate([near, far, far + 1e-4 * mean * edge]), np.arange(3 * m, dtype=np.int32).reshape(3, m).T
    )
    i, j = Intersections(needles, Mesh(sheet.x, sheet.faces)).pairs().T
    facing = (normal[i] * normal[j]).sum(1)
    i, j, facing = (each[(facing < FACING) & (i != j)] for each in (i, j, facing))
    away = ((centre[i] - centre[j]) * normal[j]).sum(1) / facing
    order = np.argsort(away, kind="stable")[::-1]  # the nearest is written last
    depth, opposite = np.full(m, np.inf), np.full(m, -1, np.int64)
    order = order[away[order] > 0.0]
    depth[i[order]], opposite[i[order]] = away[order], j[order]
    return depth, opposite


def _layers(sheet: Sheet, area: Floats, depth: Floats, opposite: NDArray[np.int64]) -> NDArray[np.int64]:
    """(m,) 0 for the outer layer, 1 for the inner one, -1 for the rim."""
    m = len(area)
    top = Topology.of(sheet.faces, len(sheet.x))
    start, beside = top.edge_faces
    e = np.flatnonzero(top.n_faces_at_edge == 2)
    one, two = beside[start[e]], beside[start[e] + 1]
    vectors = sheet.face_vectors
    smooth = (vectors[one] * vectors[two]).sum(1) > CREASE * area[one] * area[two]
    hit = depth < np.inf
    inside = hit[one] & hit[two] & smooth
    patch = connected(m, one[inside], two[inside])
    side = _sides(patch, area, hit, opposite)
    layer = np.where(hit, side[patch], -1)
    # the rest: holes in a layer belong to it, what lies between both layers is the rim
    rest = (layer[one] < 0) & (layer[two] < 0)
    group = connected(m, one[rest], two[rest])
    touches = np.zeros((int(group.max()) + 1, 2), np.bool_)
    for a, b in ((one, two), (two, one)):
        at = (layer[a] < 0) & (layer[b] >= 0)
        touches[group[a[at]], layer[b[at]]] = True
    alone = touches.sum(1) == 1
    layer = np.where((layer < 0) & alone[group], np.argmax(touches, 1)[group], layer)
    total = [area[layer == k].sum() for k in (0, 1)]
    return np.where(layer >= 0, layer ^ 1, layer) if total[1] > total[0] else layer


def _sides(patch: NDArray[Any], area: Floats, hit: NDArray[np.bool_], opposite: NDArray[np.int64]) -> NDArray[np.int64]:
    """(patches,) 0 or 1, assigned from the largest patch on so that opposite patches differ; -1 where it is unknown."""
    count = int(patch.max()) + 1
    size = np.bincount(patch, np.where(hit, area, 0.0), count)
    rows = np.flatnonzero(hit)
    from scipy.sparse import coo_array

    votes = coo_array((area[rows], (patch[rows], patch[opposite[rows]])), shape=(count, count)).tocsr()
    votes = (votes + votes.T).tocsr()
    side = np.full(count, -1, np.int64)
    for k in np.argsort(-size, kind="stable").tolist():
        if not size[k]:
            break
        other = votes.indices[votes.indptr[k] : votes.indptr[k + 1]]
        weight = votes.data[votes.indptr[k] : votes.indptr[k + 1]]
        share = [weight[side[other] == s].sum() for s in (0, 1)]
        if max(share) > 0.0:
            side[k] = int(share[0] >= share[1])
        elif weight[other == k].sum() < 0.5 * weight.sum() and size[k] > 0.02 * size.sum():
            side[k] = 0
    return side


def _at_vertices(sheet: Sheet, area: Floats, depth: Floats, mean: float) -> Floats:
    """(n,) thickness at the vertices, from the faces with an area."""
    n, flat = len(sheet.x), sheet.faces.ravel()
    weight = np.bincount(flat, np.repeat(area, 3), n)
    total = np.bincount(flat, np.repeat(area * np.where(depth < np.inf, depth, 0.0), 3), n)
    found = np.where(weight > 0.0, total / np.maximum(weight, 1e-300), mean)
    for _ in range(3):
        found = neighbour_mean(np.repeat(found[:, None], 3, 1), sheet.faces)[:, 0]
    return found

"""The nearest features of points on deforming bodies, for formulas that a framework differentiates."""

import math
import threading
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import validate
from ..detect.queries.solid_boundary import SignedDistances
from ..detect.queries.winding import INSIDE, bounds_of
from ..kernels.gradients import stencils as _kernels
from ..kernels.gradients.stencils import Limits, Stencils
from ..mesh import Mesh
from .body_queries import BodyQueries
from .creases import find_creases

Floats = NDArray[np.float64]
KEPT = 4_000_000  # faces of all BVHs that are kept for the next call
CLOSE = 0.02  # of the size of a body: up to that distance, finding a nearest face costs less than a ray
FEW = 0.05  # of the points: so many farther ones are searched at any distance, which costs less than to sort them out
DOUBLE = Limits(16.0 * 2.0**-52, 1e-5, 1e-200)
SINGLE = Limits(16.0 * 2.0**-23, 1e-2, 1e-30)


class _Shape(NamedTuple):
    """A surface of fixed connectivity, and one BVH for each body of a batch."""

    faces: NDArray[np.int32]
    n_vertices: int
    queries: list[BodyQueries]


_shapes: list[_Shape] = []  # most recently used first
_lock = threading.RLock()


def find_stencils(
    points: Floats, vertices: Floats, faces: Any, limits: Limits = DOUBLE, within: float = np.inf
) -> Stencils:
    """Return the stencils of points (..., n, 3) on bodies (..., v, 3) of the same faces (m,3).

    Leading axes are broadcast, and are those of the arrays of the result. Bodies whose vertices are those of the last
    call need no new BVH. Points outside that are farther than `within` have no derivatives, and a distance that may be
    any between that and their own.
    """
    lead, n = np.broadcast_shapes(points.shape[:-2], vertices.shape[:-2]), points.shape[-2]
    if not n * math.prod(lead):
        return _empty((*lead, n))
    if vertices.size == math.prod(vertices.shape[-2:]):
        with _lock:
            shape = _fitted(vertices.reshape(1, *vertices.shape[-2:]), faces)
            parts = _of_body(shape.queries[0], shape.faces, points.reshape(-1, 3), limits, within)
        return Stencils(*(part.reshape(*lead, n, *part.shape[1:]) for part in parts))
    out = _empty((*lead, n))
    bodies = vertices.reshape(-1, *vertices.shape[-2:])
    body = np.broadcast_to(np.arange(len(bodies)).reshape(vertices.shape[:-2]), lead).ravel()
    clouds = points.reshape(-1, n, 3)
    cloud = np.broadcast_to(np.arange(len(clouds)).reshape(points.shape[:-2]), lead).ravel()
    flat = Stencils(*(array.reshape(len(body), n, *array.shape[len(lead) + 1 :]) for array in out))
    with _lock:
        shape = _fitted(bodies, faces)
        for k in range(len(bodies)):
            rows = np.flatnonzero(body == k)
            parts = _of_body(shape.queries[k], shape.faces, clouds[cloud[rows]].reshape(-1, 3), limits, within)
            for array, part in zip(flat, parts, strict=True):
                array[rows] = part.reshape(len(rows), *array.shape[1:])
    return out


def signed_distances(points: Floats, vertices: Floats, faces: Any) -> SignedDistances:
    """Return the signed distances of points (n,3) from one body, as `DeformingClosestPoints` does."""
    with _lock:
        return _fitted(vertices[None], faces).queries[0].signed_distances(points)


def winding_numbers(points: Floats, vertices: Floats, faces: Any) -> Floats:
    """Return the winding numbers (..., n) of points (..., n, 3); leading axes as in `find_stencils`."""
    lead = np.broadcast_shapes(points.shape[:-2], vertices.shape[:-2])
    points = validate.floats("points", points, points.shape)
    bodies = np.broadcast_to(vertices, (*lead, *vertices.shape[-2:]))
    clouds = np.broadcast_to(points, (*lead, *points.shape[-2:]))
    out = np.empty((*lead, points.shape[-2]))
    with _lock:
        for k in np.ndindex(lead):
            query = _fitted(bodies[k][None], faces).queries[0]
            query.fitted()
            out[k] = query.solid.winding.numbers(query.surface.x, np.ascontiguousarray(clouds[k]), query.blocks)
    return out


def fitted(bodies: Floats, faces: Any) -> list[tuple[NDArray[np.int32], BodyQueries]]:
    """Return the faces and a query for each of the bodies (b,v,3)."""
    with _lock:
        shape = _fitted(bodies, faces)
        return [(shape.faces, query) for query in shape.queries[: len(bodies)]]


def _fitted(bodies: Floats, faces: Any) -> _Shape:
    """Return the surface of the faces, with a query for each of the bodies (b,v,3), refitted when it is first used."""
    shape = _shape_of(faces, bodies)
    for k, x in enumerate(bodies):
        x = validate.floats("vertices" if len(bodies) == 1 else f"vertices[{k}]", x, x.shape)
        if k < len(shape.queries):
            shape.queries[k].update(x)
        else:
            shape.queries.append(BodyQueries(Mesh(x, shape.faces, name="body")).update(x))
    del shape.queries[max(len(bodies), KEPT // len(shape.faces)) :]
    while len(_shapes) > 1 and sum(len(each.faces) * len(each.queries) for each in _shapes) > KEPT:
        _shapes.pop()
    return shape


def _shape_of(faces: Any, bodies: Floats) -> _Shape:
    count = bodies.shape[1]
    for k, shape in enumerate(_shapes):
        if shape.n_vertices == count and shape.faces.shape == faces.shape and np.array_equal(shape.faces, faces):
            _shapes.insert(0, _shapes.pop(k))
            return shape
    if not len(faces):
        raise ValueError("faces is empty; expected at least one row of three vertices")
    _shapes.insert(0, _Shape(validate.indices("faces", faces, 3, count), count, []))
    return _shapes[0]


def _of_body(query: BodyQueries, faces: NDArray[np.int32], points: Floats, limits: Limits, within: float) -> Stencils:
    points = validate.floats("points", points, (None, 3))
    if within == np.inf:
        return _of_points(query, faces, points, *query.features(points), limits)
    reach = max(within, CLOSE * float(np.ptp(bounds_of(query.x), axis=0).max()))
    limits = limits._replace(most=within)
    found, barycentric = query.features_within(points, reach)
    far = np.flatnonzero(found[:, 0] < 0)
    if len(far) <= FEW * len(points):
        if len(far):
            found[far], barycentric[far] = query.features(points[far])
        return _of_points(query, faces, points, found, barycentric, limits)
    deep = far[query.signs(points[far]) == INSIDE]
    found[deep], barycentric[deep] = query.features(points[deep])
    near = np.flatnonzero(found[:, 0] >= 0)
    parts = _of_points(query, faces, points[near], found[near], barycentric[near], limits)
    out = _empty((len(points),))
    out.kind[:], out.distance[:] = _kernels.CONSTANT, reach
    for array in (out.rows, out.sign, out.weights, out.direction):
        array[:] = 0
    for array, part in zip(out, parts, strict=True):
        array[near] = part
    return out


def _of_points(
    query: BodyQueries,
    faces: NDArray[np.int32],
    points: Floats,
    found: NDArray[np.int64],
    barycentric: Floats,
    limits: Limits,
) -> Stencils:
    """The stencils of points (n,3) with known nearest features."""
    plain = query.plain_for(len(points))
    result = query.signed_distances_of(points, found, barycentric, plain=plain)
    out = _empty((len(points),))._replace(direction=result.normal, distance=result.distance)
    _kernels.fill_stencils(query.surface, faces, _kernels.Nearest(points, found, barycentric), limits, out)
    rows = np.flatnonzero(out.kind == _kernels.CREASE)
    if len(rows):
        find_creases(query, points, result.nearest, rows, out)
    return out


def _empty(shape: tuple[int, ...]) -> Stencils:
    three = (*shape, 3)
    return Stencils(
        np.empty(shape, np.uint8),
        np.empty(three, np.int64),
        np.empty(shape),
        np.empty(three),
        np.empty(three),
        np.full(three, -1, np.int64),
        np.empty(shape),
    )

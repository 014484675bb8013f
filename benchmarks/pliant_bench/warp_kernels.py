"""Kernels for Warp, in a separate file, because Warp reads its source."""

from typing import Any

import numpy as np
import warp as wp
from numpy.typing import NDArray

wp.config.quiet = True


@wp.kernel
def _signed(mesh: wp.uint64, points: wp.array(dtype=wp.vec3), reach: float, found: wp.array(dtype=float)):
    at = wp.tid()
    hit = wp.mesh_query_point_sign_normal(mesh, points[at], reach)
    if hit.result:
        found[at] = hit.sign * wp.length(points[at] - wp.mesh_eval_position(mesh, hit.face, hit.u, hit.v))


@wp.kernel
def _nearest(mesh: wp.uint64, points: wp.array(dtype=wp.vec3), reach: float, found: wp.array(dtype=wp.vec3)):
    at = wp.tid()
    hit = wp.mesh_query_point_no_sign(mesh, points[at], reach)
    if hit.result:
        found[at] = wp.mesh_eval_position(mesh, hit.face, hit.u, hit.v)


@wp.kernel
def _crossings(
    mesh: wp.uint64,
    x: wp.array(dtype=wp.vec3),
    faces: wp.array(dtype=int),
    pairs: wp.array2d(dtype=int),
    count: wp.array(dtype=int),
):
    at = wp.tid()
    a, b, c = x[faces[3 * at]], x[faces[3 * at + 1]], x[faces[3 * at + 2]]
    other = wp.mesh_get(mesh)
    near = wp.mesh_query_aabb(mesh, wp.min(wp.min(a, b), c), wp.max(wp.max(a, b), c))
    face = wp.int32(0)  # a variable; a literal 0 would be a constant
    while wp.mesh_query_aabb_next(near, face):
        d = other.points[other.indices[3 * face]]
        e = other.points[other.indices[3 * face + 1]]
        f = other.points[other.indices[3 * face + 2]]
        if wp.intersect_tri_tri(a, b, c, d, e, f) > 0:
            row = wp.atomic_add(count, 0, 1)
            if row < pairs.shape[0]:
                pairs[row, 0] = at
                pairs[row, 1] = face


@wp.kernel
def _boxes(
    x: wp.array(dtype=wp.vec3), tets: wp.array2d(dtype=int), low: wp.array(dtype=wp.vec3), high: wp.array(dtype=wp.vec3)
):
    at = wp.tid()
    a, b, c, d = x[tets[at, 0]], x[tets[at, 1]], x[tets[at, 2]], x[tets[at, 3]]
    low[at] = wp.min(wp.min(a, b), wp.min(c, d))
    high[at] = wp.max(wp.max(a, b), wp.max(c, d))


@wp.kernel
def _inside(
    tree: wp.uint64,
    x: wp.array(dtype=wp.vec3),
    tets: wp.array2d(dtype=int),
    pairs: wp.array2d(dtype=int),
    count: wp.array(dtype=int),
):
    at = wp.tid()
    p = x[at]
    near = wp.bvh_query_aabb(tree, p, p)
    tet = wp.int32(0)
    while wp.bvh_query_next(near, tet):
        i, j, k, m = tets[tet, 0], tets[tet, 1], tets[tet, 2], tets[tet, 3]
        if i != at and j != at and k != at and m != at:
            a = x[i]
            w = wp.inverse(wp.matrix_from_cols(x[j] - a, x[k] - a, x[m] - a)) * (p - a)
            if w[0] >= 0.0 and w[1] >= 0.0 and w[2] >= 0.0 and w[0] + w[1] + w[2] <= 1.0:
                row = wp.atomic_add(count, 0, 1)
                if row < pairs.shape[0]:
                    pairs[row, 0] = at
                    pairs[row, 1] = tet


def mesh_of(vertices: NDArray[np.float64], faces: NDArray[np.int32], where: str = "cpu") -> Any:
    """A mesh of Warp with its BVH."""
    return wp.Mesh(vectors(vertices, where), wp.array(faces.ravel(), dtype=int, device=where))


def vectors(points: NDArray[np.float64], where: str = "cpu") -> Any:
    return wp.array(points.astype(np.float32), dtype=wp.vec3, device=where)


def signed_on_card(mesh: Any, points: Any, where: str) -> Any:
    """Signed distances (n,) that stay there; `points` from `vectors`."""
    found = wp.empty(len(points), dtype=float, device=where)
    wp.launch(_signed, dim=len(points), inputs=[mesh.id, points, 1e6], outputs=[found], device=where)
    wp.synchronize_device(where)
    return found


def signed_distance(mesh: Any, points: NDArray[np.float64], reach: float) -> NDArray[np.float64]:
    """Signed distances (n,), inf beyond `reach`."""
    asked = vectors(points)
    found = wp.full(len(points), np.inf, dtype=float, device="cpu")
    wp.launch(_signed, dim=len(points), inputs=[mesh.id, asked, float(reach)], outputs=[found], device="cpu")
    return np.asarray(found.numpy(), np.float64)


def nearest(mesh: Any, points: Any) -> Any:
    """Nearest points (n,3) in single precision; `points` from `vectors`."""
    found = wp.empty(len(points), dtype=wp.vec3, device="cpu")
    wp.launch(_nearest, dim=len(points), inputs=[mesh.id, points, 1e6], outputs=[found], device="cpu")
    return found.numpy()


class Intersections:
    """Intersecting triangles of a static mesh and a refitted one by Warp."""

    def __init__(self, x: NDArray[np.float64], mesh: Any, most: int = 200_000) -> None:
        self.x, self.mesh = vectors(x), mesh
        self.pairs = wp.zeros((most, 2), dtype=int, device="cpu")
        self.count = wp.zeros(1, dtype=int, device="cpu")

    def update(self, x: Any) -> None:
        """Refit to positions `x` from `vectors`."""
        wp.copy(self.mesh.points, x)
        self.mesh.refit()

    def find(self) -> NDArray[np.int32]:
        """Pairs of faces (k,2); both meshes have the same faces."""
        self.count.zero_()
        inputs = [self.mesh.id, self.x, self.mesh.indices]
        outputs = [self.pairs, self.count]
        wp.launch(_crossings, dim=len(self.mesh.indices) // 3, inputs=inputs, outputs=outputs, device="cpu")
        return self.pairs.numpy()[: int(self.count.numpy()[0])].copy()


class Inside:
    """Vertices in tets by Warp: a refitted Bvh of boxes, and one point query per vertex."""

    def __init__(self, x: NDArray[np.float64], tets: NDArray[np.int32], most: int = 200_000) -> None:
        self.x, self.tets = vectors(x), wp.array(tets, dtype=int, device="cpu")
        self.low, self.high = (wp.zeros(len(tets), dtype=wp.vec3, device="cpu") for _ in range(2))
        self._fit()
        self.tree = wp.Bvh(self.low, self.high)
        self.pairs = wp.zeros((most, 2), dtype=int, device="cpu")
        self.count = wp.zeros(1, dtype=int, device="cpu")

    def _fit(self) -> None:
        outputs = [self.low, self.high]
        wp.launch(_boxes, dim=len(self.tets), inputs=[self.x, self.tets], outputs=outputs, device="cpu")

    def update(self, x: Any) -> "Inside":
        """Refit to positions `x` from `vectors`."""
        wp.copy(self.x, x)
        self._fit()
        self.tree.refit()
        return self

    def find(self) -> NDArray[np.int32]:
        """Pairs (k,2) of vertex and tet."""
        self.count.zero_()
        inputs, outputs = [self.tree.id, self.x, self.tets], [self.pairs, self.count]
        wp.launch(_inside, dim=len(self.x), inputs=inputs, outputs=outputs, device="cpu")
        return self.pairs.numpy()[: int(self.count.numpy()[0])].copy()


@wp.kernel
def _penalty(
    mesh: wp.uint64,
    points: wp.array(dtype=wp.vec3),
    x: wp.array(dtype=wp.vec3),
    faces: wp.array(dtype=int),
    clearance: float,
    loss: wp.array(dtype=float),
):
    at = wp.tid()
    p = points[at]
    hit = wp.mesh_query_point_sign_normal(mesh, p, 1.0e6)
    if hit.result:
        a, b, c = x[faces[3 * hit.face]], x[faces[3 * hit.face + 1]], x[faces[3 * hit.face + 2]]
        nearest = hit.u * a + hit.v * b + (1.0 - hit.u - hit.v) * c
        deep = wp.max(clearance - hit.sign * wp.length(p - nearest), 0.0)
        wp.atomic_add(loss, 0, deep * deep)


class Penalty:
    """A penetration loss, and its derivatives by the tape."""

    def __init__(self, x: Any, faces: Any, points: Any, clearance: float, device: str = "cpu") -> None:
        self.device = device
        self.points = wp.array(points.astype(np.float32), dtype=wp.vec3, requires_grad=True, device=device)
        self.x = wp.array(x.astype(np.float32), dtype=wp.vec3, requires_grad=True, device=device)
        self.faces = wp.array(np.ascontiguousarray(faces, np.int32).ravel(), dtype=int, device=device)
        self.mesh = wp.Mesh(self.x, self.faces)
        self.loss = wp.zeros(1, dtype=float, requires_grad=True, device=device)
        self.clearance = clearance

    def derivatives(self, x: Any = None) -> Any:
        if x is not None:
            self.x.assign(x.astype(np.float32))
            self.mesh.refit()
        self.loss.zero_()
        tape = wp.Tape()
        with tape:
            given = [self.mesh.id, self.points, self.x, self.faces, self.clearance, self.loss]
            wp.launch(_penalty, dim=len(self.points), inputs=given, device=self.device)
        tape.backward(self.loss)
        found = self.loss.numpy()[0], self.points.grad.numpy().copy(), self.x.grad.numpy().copy()
        tape.zero()
        return found

"""Contacts of many poses as arrays of one shape, with the Jacobians of distances and contact points."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import validate
from ..arguments import check_arguments
from ..contacts import EDGE_EDGE, VERTEX_FACE, Contacts, concatenate_unsorted, nearest_rows
from ..detect.find import detector
from ..mesh import Mesh

Floats = NDArray[np.float64]
_FIRST_SIDE = {VERTEX_FACE: 1, EDGE_EDGE: 2}  # vertices of the first feature of a record; of other kinds, all


class ContactBatch(NamedTuple):
    """Up to k contacts of each pose (...,), those of a pose first. Where a pose has fewer, the rest are not `valid`:
    their weights and normals are zero, and their distance is the limit of the search.

    The contact point of a mesh is the sum of the weights of its vertices times their positions, where those of `b` are
    negative; `distance` is the component along `normal` of the vector from the point of `b` to that of `a`.
    """

    counts: NDArray[np.int64]  # (...,)
    valid: NDArray[np.bool_]  # (..., k)
    kind: NDArray[np.uint8]  # (..., k) one of the constants of `pliant.contacts`
    vertices: NDArray[np.int32]  # (..., k, 4) of `a`, then of `b`; 0 where unused, with weight 0
    weights: Floats  # (..., k, 4) positive for `a`, negative for `b`
    distance: Floats  # (..., k) metres, negative inside
    normal: Floats  # (..., k, 3) unit, towards `a`
    points: Floats  # (..., k, 2, 3) the contact points of `a` and of `b`, metres
    offset: Floats  # (..., k) metres: the distance is normal · (sum of weights times positions) - offset
    nearest: NDArray[np.bool_]  # (..., k) of the contacts of a vertex with faces, that with the nearest: its depth

    def __repr__(self) -> str:
        counts = f"{self.counts.min()} to {self.counts.max()} contacts" if self.counts.size else "no contacts"
        return f"<ContactBatch of {self.counts.size} poses: {counts} each, arrays of shape {self.valid.shape}>"

    def distance_jacobian(self) -> Floats:
        """Return (..., k, 4, 3), the derivatives of the distances with respect to the positions of `vertices`."""
        return self.weights[..., None] * self.normal[..., None, :]

    def point_jacobians(self, dx: Any) -> Floats:
        """Return (..., k, 2, 3, q), the derivatives of both contact points with respect to q coordinates, such as the
        angles of joints.

        dx (..., v, 3, q): the derivatives of the positions of the vertices of `a`, then of `b`. Points keep their
        weights: they are fixed to their features.
        """
        lead = self.counts.shape
        dx = validate.numbers("dx", dx)
        most = int(self.vertices.max(initial=0))
        if dx.ndim < 3 or dx.shape[-2] != 3 or dx.shape[-3] <= most:
            raise ValueError(f"dx has shape {dx.shape}; expected (..., v, 3, q) with v > {most}")
        dx = np.broadcast_to(dx, (*lead, *dx.shape[-3:]))
        at = dx.reshape(-1, *dx.shape[-3:])
        rows = self.vertices.reshape(len(at), -1, 4)
        moved = at[np.arange(len(at))[:, None, None], rows].reshape(*self.vertices.shape, 3, dx.shape[-1])
        sides = np.stack([np.maximum(self.weights, 0.0), np.maximum(-self.weights, 0.0)], -2)
        return np.asarray(np.einsum("...ksc,...kciq->...ksiq", sides, moved))

    def rigid_jacobians(self, centre_a: Any = (0.0, 0.0, 0.0), centre_b: Any = (0.0, 0.0, 0.0)) -> Floats:
        """Return (..., k, 2, 3, 6), the derivatives of the contact points of rigid bodies with respect to the velocity
        of their centres (..., 3) and the angular velocity, in the axes of the world: [1, -(r x)].

        With those of `a` minus those of `b` times the normals, twists give the rate at which distances change.
        """
        out = np.zeros((*self.valid.shape, 2, 3, 6))
        for side, (name, centre) in enumerate((("centre_a", centre_a), ("centre_b", centre_b))):
            centre = validate.numbers(name, centre)
            lead = self.counts.shape
            bodies = centre.shape[:-1]
            fits = len(bodies) <= len(lead) and all(a in (1, b) for a, b in zip(bodies[::-1], lead[::-1]))
            if centre.shape[-1:] != (3,) or not fits:
                expected = f"(3,) or {(*lead, 3)}" if lead else "(3,)"
                raise ValueError(f"{name} has shape {centre.shape}; expected {expected}")
            r = self.points[..., side, :] - centre[..., None, :]
            out[..., side, (0, 1, 2), (0, 1, 2)] = 1.0
            for i, j in ((0, 1), (1, 2), (2, 0)):
                k = 3 - i - j
                out[..., side, i, 3 + j], out[..., side, j, 3 + i] = r[..., k], -r[..., k]
        out[~self.valid] = 0.0
        return out


@check_arguments
def find_contact_batch(
    a: Mesh, b: Mesh | None = None, *, x_a: Any = None, x_b: Any = None, method: str = "auto", within: float = 0.002
) -> ContactBatch:
    """Return the contacts of mesh `a` with mesh `b` (None: with itself) at many poses, as arrays of one shape.

    x_a (..., n, 3), x_b (..., m, 3): positions of the vertices of both; leading axes (bodies, frames) are broadcast.
    None: those of the mesh. `method` and `within` are those of `find_contacts`, and so are the contacts of every pose.
    """
    at = [_positions(name, x, mesh) for name, x, mesh in (("x_a", x_a, a), ("x_b", x_b, b)) if mesh is not None]
    if b is None and x_b is not None:
        raise ValueError("x_b was given, but contacts of one mesh with itself are asked for; pass x_a only")
    try:
        lead = np.broadcast_shapes(*(x.shape[:-2] for x in at))
    except ValueError:
        shapes = f"x_a has shape {at[0].shape} and x_b {at[1].shape}"
        raise ValueError(f"{shapes}; expected leading axes that broadcast") from None
    flat = [np.broadcast_to(x, (*lead, *x.shape[-2:])).reshape(-1, *x.shape[-2:]) for x in at]
    query = detector(method, a, b, within=within)
    found = [query.update(*poses).find() for poses in zip(*flat, strict=True)]
    x = np.concatenate(flat, 1)
    own = a.n_vertices if b is not None else None
    return _batch(found, x, own, within, lead)


def _positions(name: str, x: Any, mesh: Mesh) -> Floats:
    x = mesh.vertices if x is None else validate.numbers(name, x)
    if x.shape[-2:] != mesh.vertices.shape:
        raise ValueError(f"{name} has shape {x.shape}; expected (..., {mesh.n_vertices}, 3)")
    return x


def _batch(found: list[Contacts], x: Floats, own: int | None, within: float, lead: tuple[int, ...]) -> ContactBatch:
    """Arrange records by pose. own: number of vertices of the first of two meshes."""
    counts = np.array([len(each) for each in found], np.int64)
    shape = (len(found), int(counts.max(initial=0)))
    valid = np.arange(shape[1]) < counts[:, None]
    each = concatenate_unsorted(found)
    used = each["vertices"] >= 0
    rows = np.where(used, each["vertices"], 0)
    weights = np.where(used, each["weights"], 0.0)
    normal = each["normal"].copy()
    split = np.full(len(each), 4)
    for kind, first in _FIRST_SIDE.items():
        split[each["kind"] == kind] = first
    turned = rows[:, 0] >= own if own is not None else np.zeros(len(each), np.bool_)  # the first feature is of `b`
    anchored = np.where((split == 4)[:, None], each["anchor"], 0.0)
    corner = x[np.repeat(np.arange(len(found)), counts)[:, None], rows]
    one = np.arange(4) < split[:, None]
    points = [np.einsum("ij,ijk->ik", np.where(side, abs(weights), 0.0), corner) for side in (one, ~one)]
    points[1] += anchored
    offset = (normal * each["anchor"]).sum(1)
    weights[turned], normal[turned] = -weights[turned], -normal[turned]
    pair = np.stack(points, 1)
    pair[turned] = pair[turned][:, ::-1]
    near = np.zeros(len(each), np.bool_)
    for first_row, records in zip(np.cumsum(counts) - counts, found, strict=True):
        near[first_row + nearest_rows(records)] = True
    out = ContactBatch(
        counts=counts,
        valid=valid,
        kind=np.zeros(shape, np.uint8),
        vertices=np.zeros((*shape, 4), np.int32),
        weights=np.zeros((*shape, 4)),
        distance=np.full(shape, within),
        normal=np.zeros((*shape, 3)),
        points=np.zeros((*shape, 2, 3)),
        offset=np.full(shape, -within),
        nearest=np.zeros(shape, np.bool_),
    )
    filled: tuple[NDArray[Any], ...] = (each["kind"], rows, weights, each["distance"], normal, pair, offset, near)
    arrays: list[NDArray[Any]] = list(out[2:])
    for array, values in zip(arrays, filled, strict=True):
        array[valid] = values
    return ContactBatch(*(array.reshape((*lead, *array.shape[1:])) for array in out))

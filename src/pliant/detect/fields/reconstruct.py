"""Surface reconstruction from a field, and its distance from the original mesh (Fuhrmann et al. 2003, section 5)."""

import dataclasses
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ... import validate
from ...mesh import Mesh
from ..queries.closest_point import ClosestPoints

Floats = NDArray[np.float64]
BOUND = 0.866  # cells; error bound of the field
_CLEAR = np.float32(1e-3)  # smallest distance between a vertex and a node, cells: above float32 rounding, invisible
_AT_ONCE = 1 << 20  # points per batch


class Field(Protocol):
    """A field that can be sampled at points: uniform, filled, octree or BSP."""

    @property
    def mesh(self) -> Mesh: ...

    def sample(self, points: Any, /) -> tuple[Floats, Floats]: ...


@dataclasses.dataclass(frozen=True, eq=False)
class Grid:
    """Values (nx,ny,nz) float32 at origin + spacing (i,j,k), in cells; nan where nothing is known."""

    values: NDArray[np.float32]
    origin: Floats
    spacing: float


def reconstruct(field: Field, resolution: int | None = None) -> Mesh:
    """Extract the zero level set of the field by marching cubes, as a mesh with outward normals.

    A `DistanceField` and a `FilledField` are evaluated at their own nodes; other fields, or a given `resolution`, at a
    new grid of that many cells along the longest side of the mesh. Cells with a nan corner, or with nan inside (where
    the sign changes without a surface), get no faces, so no surface is invented at the end of the band or beyond a
    boundary edge. Parts thinner than a cell may lie between the nodes and vanish.
    """
    from skimage.measure import marching_cubes

    own = resolution is None and hasattr(field, "spacing")  # a uniform grid; an octree has cells of many sizes
    grid = _own_nodes(field) if own else _sampled(field, resolution or 128)
    known = _known_cells(field, grid)
    if not known.any():
        raise ValueError(
            f"the field of {field.mesh.name!r} has no cell with a sign change, so there is no surface to reconstruct: "
            f"the mesh is thinner than a cell ({grid.spacing:.3g} m); raise the resolution"
        )
    # scikit-image evaluates the mask at a cell's last corner, not at its first
    mask = np.zeros(grid.values.shape, bool)
    mask[1:, 1:, 1:] = known
    # "descent" gives outward, right-handed faces, although scikit-image documents it as left-handed
    x, faces, _, _ = marching_cubes(_away_from_zero(grid.values), 0.0, gradient_direction="descent", mask=mask)
    return Mesh(x * grid.spacing + grid.origin, faces, name=f"{field.mesh.name} reconstructed")


def _away_from_zero(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """Move values at nodes away from zero, in place; a node on the surface counts as outside, as in the field.

    At such a node several vertices would coincide, which leaves faces without area and spurious boundary edges.
    """
    values[np.isnan(values)] = 1.0
    near = np.abs(values) < _CLEAR
    values[near] = np.where(values[near] >= 0.0, _CLEAR, -_CLEAR)
    return values


def _own_nodes(field: Any) -> Grid:
    h = float(field.spacing)
    values = np.asarray(field.values, np.float32)
    validate.budget("the reconstruction", 8.0 * values.size, "lower the resolution")
    return Grid(values / np.float32(h), np.asarray(field.origin, np.float64), h)


def _sampled(field: Field, resolution: int) -> Grid:
    low, high = field.mesh.bounds
    h = float((high - low).max()) / validate.whole("resolution", resolution, low=2, high=4096)
    origin = low - 2.0 * h
    shape = np.ceil((high - low) / h).astype(np.int64) + 5
    validate.budget("a grid {}x{}x{}".format(*shape), 12.0 * float(np.prod(shape)), "lower the resolution")
    values = np.empty(shape, np.float32)
    slab = max(1, _AT_ONCE // int(shape[1] * shape[2]))
    for first in range(0, int(shape[0]), slab):
        i = np.arange(first, min(first + slab, int(shape[0])))
        nodes = np.stack(np.meshgrid(i, np.arange(shape[1]), np.arange(shape[2]), indexing="ij"), -1)
        d, _ = field.sample(nodes.reshape(-1, 3) * h + origin)
        values[i] = (d / h).reshape(nodes.shape[:3])
    return Grid(values, origin, h)


def _known_cells(field: Field, grid: Grid) -> NDArray[np.bool_]:
    """Return (nx-1,ny-1,nz-1) which cells contain a surface and have a value in the field."""
    inside = grid.values < 0.0  # false for nan
    outside = grid.values >= 0.0
    cells = _any_corner(inside) & _any_corner(outside) & ~_any_corner(~(inside | outside))
    index = np.argwhere(cells)
    for first in range(0, len(index), _AT_ONCE):
        some = index[first : first + _AT_ONCE]
        d, _ = field.sample((some + 0.5) * grid.spacing + grid.origin)
        i, j, k = some[np.isnan(d)].T
        cells[i, j, k] = False
    return cells


def _any_corner(nodes: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return the cells with at least one true corner."""
    nodes = nodes[1:] | nodes[:-1]
    nodes = nodes[:, 1:] | nodes[:, :-1]
    return nodes[:, :, 1:] | nodes[:, :, :-1]


@dataclasses.dataclass(frozen=True, eq=False)
class Distances:
    """Exact distances of sample points of one surface from another.

    points (n,3), distance (n,) metres: first the `n_vertices` vertices, then points distributed evenly over the area.
    """

    points: Floats
    distance: Floats
    n_vertices: int

    @property
    def worst(self) -> float:
        """The largest distance, a lower bound of the one-sided Hausdorff distance."""
        return float(self.distance.max())

    @property
    def where(self) -> Floats:
        """(3,) the farthest point."""
        at: Floats = self.points[int(self.distance.argmax())]
        return at

    @property
    def mean(self) -> float:
        """Mean over the area, without the vertices."""
        return float(self.distance[self.n_vertices :].mean())


def distances(source: Mesh, target: Mesh | ClosestPoints, samples: int = 100_000, seed: int = 0) -> Distances:
    """Measure the distances from every vertex and from `samples` points of `source` to the surface `target`."""
    exact = ClosestPoints(target) if isinstance(target, Mesh) else target
    mesh = source.welded
    vertices = mesh.vertices[np.unique(mesh.faces)]
    count = validate.whole("samples", samples, low=1, high=100_000_000)
    points = np.concatenate([vertices, points_on(mesh, count, np.random.default_rng(seed))])
    return Distances(points, np.abs(exact.query(points)[0]), len(vertices))


def points_on(mesh: Mesh, count: int, rng: np.random.Generator) -> Floats:
    """Return points (count,3) distributed evenly over the area."""
    share = np.cumsum(mesh.face_areas)
    # stratified: one point in each of `count` equal parts of the area, so no face of that size is missed
    at = (np.arange(count) + rng.random(count)) * (share[-1] / count)
    face = np.minimum(np.searchsorted(share, at, side="right"), mesh.n_faces - 1)
    weights = rng.dirichlet((1.0, 1.0, 1.0), count)
    points: Floats = np.einsum("ij,ijk->ik", weights, mesh.vertices[mesh.faces[face]])
    return points


@dataclasses.dataclass(frozen=True, eq=False)
class Fidelity:
    """Distances between a mesh and its reconstruction in both directions, and the reason for large ones."""

    forward: Distances  # from the input to the reconstruction
    backward: Distances  # from the reconstruction to the input
    unknown: NDArray[np.bool_]  # (n,) points of `forward` beyond the bound and next to nan cells (boundary edges)
    spacing: float  # of the grid, metres
    mesh: ClosestPoints
    made: ClosestPoints

    @property
    def lost(self) -> NDArray[np.bool_]:
        """(n,) points of `forward` beyond the bound where values exist: parts thinner or sharper than a cell."""
        return ~self.unknown & (self.forward.distance > BOUND * self.spacing)

    def figures(self) -> dict[str, Any]:
        """Return the figures as plain values: metres, and fractions of the input's area."""
        over = slice(self.forward.n_vertices, None)
        return {
            "forward_max_m": self.forward.worst,
            "forward_mean_m": self.forward.mean,
            "forward_at_m": self.forward.where.tolist(),
            "forward_unknown_share": float(self.unknown[over].mean()),
            "forward_lost_share": float(self.lost[over].mean()),
            "backward_max_m": self.backward.worst,
            "backward_mean_m": self.backward.mean,
            "backward_at_m": self.backward.where.tolist(),
        }


def fidelity(field: Field, made: Mesh, spacing: float, samples: int = 100_000, seed: int = 0) -> Fidelity:
    """Measure `made`, reconstructed from `field` on a grid of `spacing`, against the mesh the field was baked from."""
    exact = getattr(field, "exact", None) or ClosestPoints(field.mesh)
    again = ClosestPoints(made)
    forward = distances(field.mesh, again, samples, seed)
    backward = distances(made, exact, samples, seed)
    unknown = forward.distance > BOUND * spacing
    around = np.array([[i, j, k] for i in (-0.5, 0.5) for j in (-0.5, 0.5) for k in (-0.5, 0.5)]) * spacing
    beside = forward.points[unknown][:, None, :] + around
    unknown[unknown] = np.isnan(field.sample(beside.reshape(-1, 3))[0]).reshape(-1, 8).any(1)
    return Fidelity(forward, backward, unknown, spacing, exact, again)

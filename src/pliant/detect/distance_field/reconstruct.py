"""The surface back out of a field, and how far it is from the mesh that went in (Fuhrmann et al. 2003, section 5)."""

import dataclasses
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ... import validate
from ...mesh import Mesh
from ..surface import ClosestPoints

Floats = NDArray[np.float64]
BOUND = 0.866  # cells; the field is nowhere farther than this from the truth
_CLEAR = np.float32(1e-3)  # cells between a vertex and a node: more than float32 rounds, less than anyone sees
_AT_ONCE = 1 << 20  # points sampled together


class Field(Protocol):
    """Anything that answers for points: a uniform field, a filled one, a tree."""

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
    """Marching cubes of the field's zero: a mesh that looks outward.

    A `DistanceField` is taken at its own nodes; any other field, or a `resolution`, means a new grid of that many cells
    along the longest side of the mesh. Cells with a corner that is nan, or that answer nan inside (where the sign jumps
    without a surface), get no faces: nothing is invented at the end of the band or beyond an open border.
    Parts thinner than a cell may lie between the nodes and vanish.
    """
    from skimage.measure import marching_cubes

    grid = _own_nodes(field) if resolution is None and hasattr(field, "values") else _sampled(field, resolution or 128)
    known = _known_cells(field, grid)
    if not known.any():
        raise ValueError(
            f"the field of {field.mesh.name!r} changes its sign in no cell, so there is no surface to reconstruct: "
            f"the mesh is thinner than a cell ({grid.spacing:.3g} m); raise the resolution"
        )
    # scikit-image asks the mask at a cell's last corner, not at its first
    mask = np.zeros(grid.values.shape, bool)
    mask[1:, 1:, 1:] = known
    # its "descent" is what it documents for left-handed faces; ours are right-handed
    x, faces, _, _ = marching_cubes(_away_from_zero(grid.values), 0.0, gradient_direction="descent", mask=mask)
    return Mesh(x * grid.spacing + grid.origin, faces, name=f"{field.mesh.name} reconstructed")


def _away_from_zero(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """The values, changed in place: a node on the surface counts as outside, as in the field, and gets no vertex.

    There several vertices would fall together, leaving faces without area and borders where there are none.
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
    """(nx-1,ny-1,nz-1): cells with a surface in them that the field answers for."""
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
    """Cells of which at least one of the eight corners is true."""
    nodes = nodes[1:] | nodes[:-1]
    nodes = nodes[:, 1:] | nodes[:, :-1]
    return nodes[:, :, 1:] | nodes[:, :, :-1]


@dataclasses.dataclass(frozen=True, eq=False)
class Distances:
    """How far points of one surface are from another: exact at each point, sampled between the vertices.

    points (n,3), distance (n,) metres: first the `n_vertices` vertices, then points spread evenly over the area.
    """

    points: Floats
    distance: Floats
    n_vertices: int

    @property
    def worst(self) -> float:
        """The largest of all, a lower bound of the one-sided Hausdorff distance."""
        return float(self.distance.max())

    @property
    def where(self) -> Floats:
        """(3,) the point that is farthest."""
        at: Floats = self.points[int(self.distance.argmax())]
        return at

    @property
    def mean(self) -> float:
        """Over the area, hence without the vertices."""
        return float(self.distance[self.n_vertices :].mean())


def distances(source: Mesh, target: Mesh | ClosestPoints, samples: int = 100_000, seed: int = 0) -> Distances:
    """From every vertex of `source` and from `samples` points spread over it to the nearest point of `target`."""
    exact = ClosestPoints(target) if isinstance(target, Mesh) else target
    mesh = source.welded
    vertices = mesh.vertices[np.unique(mesh.faces)]
    count = validate.whole("samples", samples, low=1, high=100_000_000)
    points = np.concatenate([vertices, points_on(mesh, count, np.random.default_rng(seed))])
    return Distances(points, np.abs(exact.query(points)[0]), len(vertices))


def points_on(mesh: Mesh, count: int, rng: np.random.Generator) -> Floats:
    """(count,3) points spread evenly over the area."""
    share = np.cumsum(mesh.face_areas)
    # one point in each of `count` equal pieces of the area: no face of that size is missed
    at = (np.arange(count) + rng.random(count)) * (share[-1] / count)
    face = np.minimum(np.searchsorted(share, at, side="right"), mesh.n_faces - 1)
    weights = rng.dirichlet((1.0, 1.0, 1.0), count)
    points: Floats = np.einsum("ij,ijk->ik", weights, mesh.vertices[mesh.faces[face]])
    return points


@dataclasses.dataclass(frozen=True, eq=False)
class Fidelity:
    """Both directions between a mesh and its reconstruction, and why the input is missed where it is."""

    forward: Distances  # from the input to the reconstruction
    backward: Distances  # from the reconstruction to the input
    unknown: NDArray[np.bool_]  # (n,) points of `forward` beyond the bound and beside cells that say nan (open borders)
    spacing: float  # of the grid, metres
    mesh: ClosestPoints
    made: ClosestPoints

    @property
    def lost(self) -> NDArray[np.bool_]:
        """(n,) points of `forward` beyond the bound where the field knows: parts thinner or sharper than a cell."""
        return ~self.unknown & (self.forward.distance > BOUND * self.spacing)

    def figures(self) -> dict[str, Any]:
        """Plain values: metres, and shares of the input's area."""
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

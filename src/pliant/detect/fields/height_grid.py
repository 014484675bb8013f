"""A height grid: a height field of a surface along one of the six axis directions."""

import functools
import math
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ... import validate
from ...arguments import check_arguments
from ...kernels.fields import height_grid as _kernels
from ...kernels.geometry import raster
from ...mesh import Mesh
from ...mesh.height_image import HeightImage

Floats = NDArray[np.float64]
DIRECTIONS = ("+y", "-y", "+x", "-x", "+z", "-z")  # in the order of queries: most of a cloth lies above a body
_INSET = 1e-3  # cells between the outline of a mesh and the outermost nodes, which must hit it in spite of rounding
_SNAP = 1e-3  # bound, in cells, of the rasteriser's rounding of sample positions, which is 1/4096
_MOST_NODES = 1 << 14  # along a side
_NODE_BYTES = 60.0  # of memory per node while a mesh is rendered
_BANDS = 2  # rendered in parallel; each processes all faces
_SERIAL = 16_384  # points below which one thread is used
# for each direction: how an image, viewed against that direction, is turned into heights[u, v]
_TURNS: dict[str, tuple[bool, bool, bool]] = {  # swap rows and columns first; then reverse u; reverse v
    "+x": (False, True, True),
    "-x": (False, True, False),
    "+y": (False, False, False),
    "-y": (False, True, False),
    "+z": (True, False, True),
    "-z": (True, True, True),
}


@check_arguments
class HeightGrid:
    """Heights (ni,nj) in metres over a plane; nan marks an empty column. Points below the surface are inside.

    `direction`, "+x" to "-z", is the direction of increasing height. Node (i, j) lies i and j times `spacing` (metres;
    one number, or one per side) from `origin` along the next two axes in cyclic order: z and x for "+y", x and y for
    "+z". Heights are relative to the origin and bilinear between nodes; a cell with an empty corner is empty.
    velocity (ni,nj,3), m/s, is the surface velocity, used for friction and response.
    """

    def __init__(
        self, heights: Any, *, spacing: Any, direction: str = "+y", origin: Any = (0, 0, 0), velocity: Any = None
    ) -> None:
        self.direction = validate.choice("direction", direction, DIRECTIONS)
        self.heights = checked_heights("heights", heights, (None, None))
        self.spacing = _pair(spacing)
        self.origin = validate.floats("origin", origin, (3,))
        self.velocity = np.zeros((0, 0, 3))
        if velocity is not None:
            self.velocity = validate.floats("velocity", velocity, (*self.heights.shape, 3))
        self.faces: NDArray[np.int32] | None = None  # (m,3) of the mesh it was rendered from
        self._shape: tuple[int, int] = (0, 3)  # of that mesh's vertices

    @check_arguments
    @classmethod
    def of_mesh(
        cls,
        mesh: Mesh,
        direction: str = "+y",
        *,
        resolution: int = 128,
        spacing: float | None = None,
        max_bytes: float | None = None,
    ) -> Self:
        """Render the topmost surface of `mesh` along `direction` at the nodes of a grid that bounds it tightly.

        `resolution`: nodes along the longer side; or `spacing`: largest distance between nodes, metres.
        """
        validate.choice("direction", direction, DIRECTIONS)
        if not mesh.n_faces:
            raise ValueError(f"mesh {mesh.name!r} has no faces; expected a surface")
        u, v = plane_axes(direction)
        x = mesh.vertices[np.unique(mesh.faces)]
        extent = np.ptp(x, axis=0)[[u, v]]
        if spacing is None:
            count = validate.whole("resolution", resolution, low=2, high=_MOST_NODES)
            h = float(extent.max()) / (count - 1)
        else:
            h = validate.number("spacing", spacing, above=0.0)
        h = max(h, 1e-9 * mesh.size, float(extent.max()) / (_MOST_NODES - 2))
        counts = np.maximum(2, 1 + np.ceil(extent / h * (1.0 - 1e-12)).astype(np.int64))
        what = f"a height grid of {counts[0]} x {counts[1]}"
        advice = "lower the resolution, raise the spacing or raise max_bytes"
        validate.budget(what, _NODE_BYTES * float(counts[0]) * float(counts[1]), advice, max_bytes)
        grid = cls(np.full((int(counts[0]), int(counts[1])), np.nan), spacing=h, direction=direction)
        grid.faces, grid._shape = mesh.faces, mesh.vertices.shape
        return grid._render(mesh.vertices, None)

    @classmethod
    def of_image(cls, image: HeightImage) -> Self:
        """Make a grid of the nodes of a height image, seen from above."""
        return cls(image.heights, spacing=image.spacing, origin=image.origin)

    @check_arguments
    @classmethod
    def of_picture(
        cls,
        picture: Any,
        *,
        spacing: Any,
        scale: float = 1.0,
        direction: str = "+y",
        centre: Any = (0, 0, 0),
        empty: float | None = None,
    ) -> Self:
        """Make a grid from the rows of a grey-scale image, as `load_heights` reads them, viewed against `direction`.

        The first row is the top of the image: +y, or -z or +z when viewed from above or below. `scale`: height of value
        1, metres; `spacing`: metres per pixel; `centre`: position of the image centre at height 0. Pixels not brighter
        than `empty` are empty columns.
        """
        validate.choice("direction", direction, DIRECTIONS)
        values = checked_heights("picture", picture, (None, None))
        if empty is not None:
            values[values <= validate.number("empty", empty)] = np.nan
        swap, back_u, back_v = _TURNS[direction]
        values = values.T if swap else values
        values = values[:: -1 if back_u else 1, :: -1 if back_v else 1] * validate.number("scale", scale)
        origin, pair, axes = validate.floats("centre", centre, (3,)), _pair(spacing), plane_axes(direction)
        origin[list(axes)] -= 0.5 * (np.array(values.shape) - 1) * pair
        return cls(values, spacing=pair, direction=direction, origin=origin)

    @property
    def axis(self) -> int:
        return "xyz".index(self.direction[1])

    @property
    def sign(self) -> float:
        return 1.0 if self.direction[0] == "+" else -1.0

    @property
    def bound(self) -> float:
        """Error bound, metres: the diagonal of a cell. The sign is correct for every point farther than this from the
        sampled surface, whatever its slope or its shape between nodes (docs/detectors/height-grid.md)."""
        return (1.0 + _SNAP) * float(math.hypot(*self.spacing))

    @property
    def nbytes(self) -> int:
        return self.heights.nbytes + self.velocity.nbytes

    def columns(self, reach: float = math.inf, whole: bool = False) -> _kernels.Columns:
        """Return the kernel's view, for points up to `reach` metres outside; `whole`: the grid shows the whole body."""
        u, v = plane_axes(self.direction)
        o, s, h = self.origin, self.sign, self.spacing
        frame = np.array([o[u], o[v], s * o[self.axis], 1.0 / h[0], 1.0 / h[1]])
        roof = np.zeros((0, 0)) if math.isinf(reach) else self._roof(reach)
        return _kernels.Columns(self.heights, self.velocity, roof, frame, reach, self.axis, s, whole)

    def _roof(self, reach: float) -> Floats:
        """Return the largest height (ni-1,nj-1) within `reach` metres plus one cell of each cell; -inf if none."""
        from scipy.ndimage import maximum_filter1d  # imported here because it takes a third of a second

        top = np.where(np.isnan(self.heights), -np.inf, self.heights)
        for axis, h in enumerate(self.spacing):
            nodes = min(math.ceil(min(reach / h, _MOST_NODES)) + 1, self.heights.shape[axis])
            top = maximum_filter1d(top, 2 * nodes + 1, axis=axis, mode="constant", cval=-np.inf)
        return np.maximum(np.maximum(top[:-1, :-1], top[1:, :-1]), np.maximum(top[:-1, 1:], top[1:, 1:]))

    def sample(self, points: Any) -> tuple[Floats, Floats]:
        """Estimated signed distance (n,), metres, negative below the surface, and unit normal (n,3) at points (n,3).

        nan over empty columns and outside the grid.
        """
        return probed([self.columns()], validate.floats("points", points, (None, 3)), self.bound)

    def update(self, x: Any, v: Any = None) -> Self:
        """Render the mesh again with vertices x (n,3) and velocities v (n,3), m/s; keeps the number of nodes."""
        if self.faces is None:
            raise ValueError("this grid was not rendered from a mesh; make a new one, or use HeightSequence")
        p = validate.floats("x", x, self._shape)
        return self._render(p, None if v is None else validate.floats("v", v, self._shape))

    @check_arguments
    def seek(self, time: float) -> Self:
        """Set the heights to those at `time`, seconds; no effect on a static grid."""
        return self

    def _render(self, x: Floats, v: Floats | None) -> Self:
        """Fit the nodes to the mesh, and render the topmost surface at each."""
        assert self.faces is not None
        axes, (ni, nj) = list(plane_axes(self.direction)), self.heights.shape
        used = x[self._used]
        low, high = used.min(0), used.max(0)
        self.origin = np.zeros(3)
        span = np.array([ni, nj]) - 1.0 + 2.0 * _INSET
        least = 1e-9 * max(float(np.linalg.norm(high - low)), 1e-3)  # a mesh seen edge-on has no width
        self.spacing = np.maximum((high - low)[axes] / span, least)
        self.origin[axes] = low[axes] + _INSET * self.spacing
        screen = np.empty((len(x), 3))
        screen[:, 0] = (x[:, axes[1]] - self.origin[axes[1]]) / self.spacing[1] + 0.5
        screen[:, 1] = (x[:, axes[0]] - self.origin[axes[0]]) / self.spacing[0] + 0.5
        screen[:, 2] = -self.sign * x[:, self.axis]  # smaller is nearer
        z, face, bary = raster.depth(screen, self.faces, nj, ni, max(raster.BAND, -(-ni // _BANDS)))
        self.heights = np.negative(z, out=z)
        self.heights[face < 0] = np.nan
        self.velocity = np.zeros((0, 0, 3))
        if v is not None and v.any():
            self.velocity = np.empty((ni, nj, 3))
            _kernels.surface_velocity(face, bary, self.faces, v, self.velocity)
        return self

    @functools.cached_property
    def _used(self) -> NDArray[np.int32]:
        """Vertices used by faces."""
        return np.unique(self.faces) if self.faces is not None else np.zeros(0, np.int32)

    def __repr__(self) -> str:
        ni, nj = self.heights.shape
        kind, seen = type(self).__name__, 100.0 * float(np.isfinite(self.heights).mean())
        return f"<{kind} {self.direction}: {ni} x {nj} nodes, {seen:.0f} % seen, bound {self.bound:.3g} m>"


def plane_axes(direction: str) -> tuple[int, int]:
    """Return the axes u and v of the rows and columns of heights."""
    k = "xyz".index(direction[1])
    return (k + 1) % 3, (k + 2) % 3


def checked_heights(name: str, value: Any, shape: tuple[int | None, ...]) -> Floats:
    """Return a new float64 array of `shape`, at least two nodes per side; nan is an empty column, infinity an error."""
    out = validate.floats(name, value, shape, finite=False)
    if min(out.shape[-2:]) < 2:
        raise ValueError(f"{name} has shape {out.shape}; expected at least 2 nodes along each side")
    bad = np.abs(out) > validate.LARGEST  # infinity too
    if bad.any():
        where = validate.first_index(bad)
        raise ValueError(f"{name}[{where}] = {out[bad][0]:g} is beyond {validate.LARGEST:g}; mark empty columns by nan")
    return out


def probed(grids: list[_kernels.Columns], points: Floats, bound: float) -> tuple[Floats, Floats]:
    """Return the largest distance (n,) over all grids, and its normal (n,3); nan where no grid has one."""
    answers = query_columns(grids, points, blank(len(points)), bound)
    answers.normal[np.isnan(answers.distance)] = np.nan
    return answers.distance, answers.normal


def blank(count: int) -> _kernels.Answers:
    """Return buffers for the results of `count` points."""
    return _kernels.Answers(np.empty(count), np.zeros((count, 3)), np.empty(count, np.int8), np.empty(count, np.uint8))


def query_columns(
    grids: list[_kernels.Columns], points: Floats, room: _kernels.Answers, bound: float
) -> _kernels.Answers:
    """Query all grids at `points` (n,3); the results are in the first n rows of `room`."""
    answers = _kernels.Answers(*(part[: len(points)] for part in room))
    for number, grid in enumerate(grids):
        if len(points) < _SERIAL:
            _kernels.probe_range(grid, number, points, 0, len(points), answers)
        else:
            _kernels.probe_points(grid, number, points, answers)
    if any(grid.whole for grid in grids):
        # all grids cover points deeper than the bound; other points with such a depth lie in an occluded concavity
        answers.distance[(answers.blind > 0) & (answers.distance < -bound)] = np.nan
    return answers


def _pair(spacing: Any) -> Floats:
    """Return the metres between nodes along u and v."""
    values = np.atleast_1d(validate.numbers("spacing", spacing))
    if values.shape not in ((1,), (2,)):
        raise ValueError(f"spacing has shape {values.shape}; expected a number, or one for each side")
    h = [validate.number("spacing", value, low=1e-12, high=validate.LARGEST) for value in values]
    return np.array([h[0], h[-1]])

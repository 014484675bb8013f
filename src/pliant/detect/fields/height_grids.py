"""Several height grids that together represent a body."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from ... import validate
from ...arguments import check_arguments
from ...kernels.fields import height_grid as _kernels
from ...mesh import Mesh
from .height_grid import DIRECTIONS, Floats, HeightGrid, probed


@check_arguments
class HeightGrids:
    """The intersection of height grids: a point is inside if it is below all grids that cover it.

    The largest signed distance counts; ties go to the first grid. A grid covers no point over an empty column or
    outside its boundary. `whole` states that each grid shows the whole body: a point is then outside if it is above all
    columns near it or these are empty, and no deeper than the bound if a grid does not cover it. Holes visible along
    one direction therefore stay open, and points beside a steep side are decided by the grids that face it.
    """

    def __init__(self, grids: Sequence[HeightGrid], *, whole: bool = False) -> None:
        self.grids = tuple(grids)
        if not self.grids or not all(isinstance(grid, HeightGrid) for grid in self.grids):
            raise ValueError("grids must be one or more HeightGrid objects")
        if len(self.grids) > 127:
            raise ValueError(f"{len(self.grids)} grids; expected at most 127")
        self.whole = bool(whole)

    @check_arguments
    @classmethod
    def around(
        cls,
        mesh: Mesh,
        directions: Sequence[str] | None = None,
        *,
        resolution: int = 128,
        spacing: float | None = None,
        max_bytes: float | None = None,
    ) -> Self:
        """Render grids of a mesh from all six directions if it is closed, else from the one nearest to its mean normal.

        `resolution`: nodes along the longest side of the mesh; or `spacing`: largest distance between nodes, metres.
        """
        count = validate.whole("resolution", resolution, low=2, high=1 << 14)
        if spacing is None:
            spacing = max(float(np.ptp(mesh.bounds, axis=0).max()) / (count - 1), 1e-9 * mesh.size, 1e-12)
        if directions is None:
            directions = facing(mesh)
        elif isinstance(directions, str):
            directions = (directions,)
        if not directions:
            raise ValueError("directions is empty; expected one or more of +x, -x, +y, -y, +z, -z")
        made = [HeightGrid.of_mesh(mesh, d, spacing=spacing, max_bytes=max_bytes) for d in directions]
        return cls(made, whole=True)

    @property
    def bound(self) -> float:
        """Largest error bound of the grids, metres. A point deeper in a closed mesh is never found outside."""
        return max(grid.bound for grid in self.grids)

    @property
    def nbytes(self) -> int:
        return sum(grid.nbytes for grid in self.grids)

    def columns(self, reach: float) -> list[_kernels.Columns]:
        """Return the kernel's view of each grid, for points up to `reach` metres outside."""
        return [grid.columns(reach, self.whole and len(self.grids) > 1) for grid in self.grids]

    def sample(self, points: Any, reach: float | None = None) -> tuple[Floats, Floats]:
        """Estimated signed distance (n,), metres, negative inside, and unit normal (n,3) at points (n,3).

        nan where no grid covers a point, and more than `reach` metres outside (default: twice the bound).
        """
        p = validate.floats("points", points, (None, 3))
        far = 2.0 * self.bound if reach is None else validate.number("reach", reach, low=0.0)
        return probed(self.columns(far), p, self.bound)

    def update(self, x: Any, v: Any = None) -> Self:
        """Render again with vertices x (n,3) and velocities v (n,3), m/s; grids of given heights are unchanged."""
        for grid in [grid for grid in self.grids if grid.faces is not None] or self.grids:
            grid.update(x, v)
        return self

    def seek(self, time: float) -> Self:
        for grid in self.grids:
            grid.seek(time)
        return self


def facing(mesh: Mesh) -> tuple[str, ...]:
    """Return all six directions for a closed mesh, and the one nearest to the mean normal for an open one."""
    if mesh.welded.issues.closed:
        return DIRECTIONS
    mean_normal = (mesh.face_areas[:, None] * mesh.face_normals).sum(0)
    axis = int(np.argmax(np.abs(mean_normal)))
    return (("-" if mean_normal[axis] < 0.0 else "+") + "xyz"[axis],)

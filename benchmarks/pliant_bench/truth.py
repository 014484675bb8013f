"""Verification of a baked band: random nodes of the grid against exact distances."""

import dataclasses

import numpy as np
from numpy.typing import NDArray

from pliant.detect.fields.field import DistanceField
from pliant.detect.fields.reconstruct import points_on
from pliant.detect.queries.closest_point import ClosestPoints
from pliant.kernels.fields.bricks import Bricks
from pliant.mesh import Mesh

Floats = NDArray[np.float64]
Nodes = NDArray[np.int32]
_EDGE = (
    1e-3  # cells: nearer to the end of the band or to the surface, rounding to float32 decides, and no result is wrong
)


@dataclasses.dataclass(frozen=True, eq=False)
class Truth:
    """Nodes (n,3) of a grid inside the band of a mesh, and their exact signed distances (n,) in cells."""

    nodes: Nodes
    distance: Floats

    @classmethod
    def of(cls, mesh: Mesh, origin: Floats, h: float, band: float, count: int, seed: int = 0) -> "Truth":
        """About `count` nodes near random surface points, so that the selection does not depend on stored values."""
        rng = np.random.default_rng(seed)
        surface = mesh.welded
        start = points_on(surface, int(1.5 * count), rng) + rng.uniform(-band, band, (int(1.5 * count), 3)) * h
        nodes = np.unique(np.rint((start - origin) / h).astype(np.int32), axis=0)
        nodes = rng.permutation(nodes)[: 2 * count]
        distance = ClosestPoints(surface).query(origin + h * nodes)[0] / h
        inside = np.abs(distance) < band - _EDGE
        return cls(nodes[inside][:count], distance[inside][:count])

    def judge(self, said: Floats) -> dict[str, float | int]:
        """Coverage, maximum error and wrong signs of the values `said` (n,) in cells, nan where there is none."""
        known = np.isfinite(said)
        off = np.abs(np.abs(said) - np.abs(self.distance))[known]
        sure = known & (np.abs(self.distance) > _EDGE)
        wrong = (np.sign(said[sure]) != np.sign(self.distance[sure])).sum()
        return {
            "nodes": len(self.distance),
            "covered": float(known.mean()) if len(known) else float("nan"),
            "error_max_cells": float(off.max(initial=0.0)),
            "wrong_signs": int(wrong),
        }


def node_values(field: DistanceField, nodes: Nodes) -> Floats:
    """Values (n,) that `field` stores at `nodes`, in cells; nan outside of the band. Does not unpack the field."""
    grid = field.grid
    if isinstance(grid, Bricks):
        brick = grid.index[tuple((nodes >> 2).T)]
        values = grid.values[brick, (nodes & 3) @ np.array([16, 4, 1])]
    else:
        values = grid.values[tuple(nodes.T)]
    return values.astype(np.float64) / field.spacing

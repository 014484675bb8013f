"""New normals of a mesh of a USD stage, with the interpolation and the hard edges of those that the stage gives."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..motion.clip import Clip
from .usd_read import Block

Rows = NDArray[np.int64]


class StageNormals:
    """Normals by interpolation: one per point, per corner or per face. Corners that meet in a place with one normal
    share it afterwards, so that smooth edges stay smooth and hard ones hard."""

    def __init__(self, counts: Rows, corners: Rows, row: Rows, group: Rows, total: int, sign: float) -> None:
        self.corners, self.row, self.group, self.total, self.sign = corners, row, group, total, sign
        self.face = np.repeat(np.arange(len(counts)), counts)
        start = np.cumsum(counts) - counts
        self.first, self.next = corners[start][self.face], corners[self._next(counts, start)]
        self.counts = counts

    @staticmethod
    def _next(counts: Rows, start: Rows) -> Rows:
        """The place of the corner after each one around its face."""
        after = np.arange(1, counts.sum() + 1)
        after[start + counts - 1] = start
        return after

    @classmethod
    def of(cls, mesh: Any, name: str, clip: Clip, block: Block) -> "StageNormals | None":
        """None if the mesh has no such normals, or if they do not fit it."""
        from pxr import Usd, UsdGeom

        early = Usd.TimeCode.EarliestTime()
        attribute = mesh.GetPrim().GetAttribute(name)
        if not attribute or not attribute.HasAuthoredValue():
            return None
        counts, corners = (
            np.array(each.Get(early) or (), np.int64)
            for each in (mesh.GetFaceVertexCountsAttr(), mesh.GetFaceVertexIndicesAttr())
        )
        if name == "normals":
            old, how = attribute.Get(early), mesh.GetNormalsInterpolation()
        else:
            primvar = UsdGeom.Primvar(attribute)
            old, how = primvar.ComputeFlattened(early), primvar.GetInterpolation()
        old = np.array(old or (), np.float64).reshape(-1, 3)
        face = np.repeat(np.arange(len(counts)), counts)
        row = {"faceVarying": np.arange(len(corners)), "uniform": face}.get(how, corners)
        if how == "constant" or not len(row) or row.max() >= len(old):
            return None
        place = clip.mesh.weld_index[block.start : block.start + block.points][corners]
        if how == "uniform":
            group = face
        else:
            keys = np.column_stack([place, np.round(old[row] * 1e3)])
            group = np.unique(keys, axis=0, return_inverse=True)[1].reshape(-1)
        left = mesh.GetOrientationAttr().Get() == "leftHanded"
        return cls(counts, corners, row, group, len(old), -1.0 if left else 1.0)

    def at(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Unit normals for points (n,3), area-weighted over the faces of each group."""
        apex = x[self.first]
        crossed = np.cross(x[self.corners] - apex, x[self.next] - apex)
        face = np.stack([np.bincount(self.face, c, len(self.counts)) for c in crossed.T], 1)
        joined = np.stack([np.bincount(self.group, c) for c in face[self.face].T], 1)
        length = np.linalg.norm(joined, axis=1, keepdims=True)
        unit = np.where(length > 0.0, joined / np.where(length > 0.0, length, 1.0), (0.0, 1.0, 0.0))
        out = np.tile((0.0, 1.0, 0.0), (self.total, 1))
        out[self.row] = self.sign * unit[self.group]
        return out

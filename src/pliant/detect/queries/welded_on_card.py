"""Copies of a vertex at the same place, as files have them along seams, for positions on a graphics card."""

from typing import TYPE_CHECKING, Any

import numpy as np

from ...kernels import device as _device

if TYPE_CHECKING:
    from ...mesh import Mesh


class Copies:
    """The copies of the vertices of a mesh. On threads they become independent vertices once they separate."""

    def __init__(self, mesh: "Mesh") -> None:
        weld = mesh.weld_index
        _, representatives = np.unique(weld, return_index=True)
        first = representatives[weld]
        copies = np.flatnonzero(first != np.arange(len(first)))
        self._name = mesh.name
        self._pairs = _device.upload(np.stack([copies, first[copies]], 1).astype(np.int32)) if len(copies) else None

    def check(self, x: Any) -> None:
        """ValueError if copies have separated at positions x (n,3) on the card: other features are then neighbours."""
        if self._pairs is None:
            return
        from ...kernels.gpu import rows as _rows

        count = _device.zeros(1, np.int64)
        _device.launch(_rows.count_different, len(self._pairs), self._pairs, x, count)
        if int(count.copy_to_host()[0]):
            raise ValueError(f"copies of a vertex of mesh {self._name!r} have separated; use threads, or weld the mesh")

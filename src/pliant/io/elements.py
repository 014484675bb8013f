"""Shared by the readers of finite element files: elements of several types become one mesh of tets or triangles.

If the file has tets, the mesh consists of them and their surface; triangles and quadrilaterals (copies of the surface,
or interior) are ignored, as are lines and points. Without tets, triangles and quadrilaterals are the mesh. Other solids
and higher-order elements raise an error rather than leave a hole in the mesh.
"""

import logging
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ..mesh.issues import tet_turns
from ..mesh.polygons import fan
from ..mesh.topology import tet_surface
from .reading import Input, Parts

_log = logging.getLogger(__name__)
# element types and their numbers of nodes
POINT, LINE, TRIANGLE, QUAD, TET = "point", "line", "triangle", "quadrilateral", "tetrahedron"
NODES = {POINT: 1, LINE: 2, TRIANGLE: 3, QUAD: 4, TET: 4}
Where = Callable[[int], str]
Rows = Callable[[NDArray[np.int64]], NDArray[np.int64]]


def refuse(file: Input, where: str, what: str) -> Exception:
    """Return the error for an element type that is not supported."""
    return file.fail(
        where, f"{what} are not read; expected triangles, quadrilaterals or tetrahedra with nodes at their corners only"
    )


class Elements:
    """Blocks of elements in file order, with the node numbers of the file."""

    def __init__(self) -> None:
        self.blocks: dict[str, list[tuple[NDArray[np.int64], Where]]] = {TRIANGLE: [], QUAD: [], TET: []}

    def add(self, kind: str, nodes: NDArray[np.int64], where: Where) -> None:
        """Add node rows (k,n); `where` maps a row to its position in the file. Points and lines are ignored."""
        if kind in self.blocks and len(nodes):
            self.blocks[kind].append((nodes, where))

    def parts(
        self, file: Input, x: NDArray[np.float64], rows: Callable[[NDArray[np.int64]], NDArray[np.int64]]
    ) -> Parts:
        """Return the mesh; `rows` maps node numbers to rows of `x`, -1 for an unknown node."""
        tets = self._rows(file, TET, len(x), rows)
        if len(tets):
            return filled(file, x, tets)
        quads = self._rows(file, QUAD, len(x), rows)
        corners, _ = fan(np.full(len(quads), 4))
        return Parts(x, np.concatenate([self._rows(file, TRIANGLE, len(x), rows), quads.ravel()[corners]]))

    def _rows(self, file: Input, kind: str, count: int, rows: Rows) -> NDArray[np.int64]:
        found = [np.zeros((0, NODES[kind]), np.int64)]
        for nodes, where in self.blocks[kind]:
            index = rows(nodes)
            bad = (index < 0) | (index >= count)
            if bad.any():
                k = int(np.argmax(bad.any(1)))
                node = int(nodes[k][np.argmax(bad[k])])
                raise file.fail(where(k), f"a {kind} has node {node}, but there is no such node among {count}")
            found.append(index)
        return np.concatenate(found)


def by_tag(tags: NDArray[np.int64]) -> Rows:
    """Return a function from node numbers to rows; of nodes with the same number the first is used."""
    order = np.argsort(tags, kind="stable")
    ranked = tags[order]

    def rows(nodes: NDArray[np.int64]) -> NDArray[np.int64]:
        if not len(ranked):
            return np.full(nodes.shape, -1, np.int64)
        at = np.minimum(np.searchsorted(ranked, nodes), len(ranked) - 1)
        return np.where(ranked[at] == nodes, order[at], -1)

    return rows


def filled(file: Input, x: NDArray[np.float64], tets: NDArray[np.int64]) -> Parts:
    """Return a tet mesh with its surface.

    If all tets are inverted, the file uses the opposite corner order, and they are reordered. If only some are, they
    are kept (`mesh.issues` counts them); if, in addition, neighbours disagree about the orientation of a shared side,
    these tets are only listed in the wrong order, and their surface faces are flipped to point outward.
    """
    turn = tet_turns(x, tets)
    if (turn < 0).any() and not (turn > 0).any():
        _log.info("%s: all tets are inverted; their corner order is reversed", file.path)
        tets, turn = tets[:, [0, 1, 3, 2]], -turn
    try:
        faces = tet_surface(tets)
        if (turn < 0).any() and not consistent(tets):
            faces = tet_surface(np.where(turn[:, None] < 0, tets[:, [0, 1, 3, 2]], tets))
    except ValueError as error:
        raise file.fail("", str(error)) from None
    if not len(faces):
        raise file.fail("", f"the {len(tets)} tets have no surface: each side occurs twice (duplicate tets?)")
    return Parts(x, faces, tets=tets)


def consistent(tets: NDArray[np.int64]) -> bool:
    """Return True if neighbours list every shared side with opposite orientations; inverted tets are then geometrically
    inverted, not only listed in the wrong order."""
    sides = tets[:, [[0, 2, 1], [0, 1, 3], [1, 2, 3], [0, 3, 2]]].reshape(-1, 3)
    # rotate the lowest corner to the front: two orientations remain
    first = np.argmin(sides, 1)
    turned = np.take_along_axis(sides, (first[:, None] + np.arange(3)) % 3, 1)
    order = np.lexsort(np.sort(turned, 1).T)
    same = (np.sort(turned, 1)[order][1:] == np.sort(turned, 1)[order][:-1]).all(1)
    return not (turned[order][1:] == turned[order][:-1]).all(1)[same].any()

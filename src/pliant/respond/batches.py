"""The order in which a response handles contacts, see `kernels.respond.batches`."""

import numpy as np
from numpy.typing import NDArray

from ..contacts import Contacts
from ..kernels.dynamics.cloth import colour
from ..kernels.respond import batches as _kernels
from ..kernels.respond.batches import Batches, ColouredEdges
from ..mesh import Mesh
from ..scene import Scene

_UNKNOWN = ColouredEdges(np.zeros((0, 2), np.int32), np.zeros(0, np.uint8), np.zeros(0, np.int64))


def edge_colours(mesh: Mesh) -> NDArray[np.uint8]:
    """Return a colour (m,) for each edge of a mesh, so that edges of one colour share no vertex; `cloth.LAST` where no
    colour was left."""
    edges = mesh.topology.edges
    colours = np.zeros(len(edges), np.int64)
    if len(edges):
        colour(edges, colours)
    return colours.astype(np.uint8)


class ContactBatches:
    """Orders the contacts of the deformable bodies of a scene. coloured: in batches, midpoints by the colour of their
    edge, which are coloured when midpoints first touch; otherwise all contacts are one batch, in their order."""

    def __init__(self, scene: Scene, *, coloured: bool = True) -> None:
        self._scene, self._edges, self._coloured = scene, _UNKNOWN, coloured

    def of(self, contacts: Contacts) -> Batches:
        """Return the batches of contacts (k,)."""
        if not self._coloured:
            return Batches(np.arange(len(contacts)), np.array([0, len(contacts)]), np.zeros(1, np.bool_))
        order, size = np.empty(len(contacts), np.int64), len(contacts) + 1
        start, independent = np.empty(size, np.int64), np.empty(size, np.bool_)
        count = _kernels.batch_contacts(contacts, self._edges, order, start, independent)
        if count < 0:
            self._edges = _coloured(self._scene)
            count = _kernels.batch_contacts(contacts, self._edges, order, start, independent)
        return Batches(order, start[: count + 1], independent[:count])


def _coloured(scene: Scene) -> ColouredEdges:
    ends, colours, first = [np.zeros((0, 2), np.int32)], [np.zeros(0, np.uint8)], [0]
    for b, body in enumerate(scene.bodies):
        if not body.obstacle:
            mesh = body.mesh.surface
            ends.append((mesh.topology.edges + scene.first[b]).astype(np.int32))
            colours.append(edge_colours(mesh))
        first.append(sum(map(len, ends)))
    return ColouredEdges(np.concatenate(ends), np.concatenate(colours), np.array(first, np.int64))

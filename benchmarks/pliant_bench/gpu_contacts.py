"""Contacts of a folded sheet on a graphics card: pliant beside Newton's detector, and nearest points beside Warp."""

import importlib
import importlib.util
from typing import Any

import numpy as np
from numpy.typing import NDArray

import pliant
from pliant import shapes
from pliant.kernels import device
from pliant.mesh import Mesh

Floats = NDArray[np.float64]
NEAR = 0.8  # detection distance, edges of the sheet
LAYERS = 4
SCALE = 1000.0
_ROOM = (64, 96)  # buffered triangles per vertex, and edges per edge, of Newton; more cost it time


def folded_sheet(side: int) -> tuple[Mesh, Floats]:
    """A sheet of side x side particles and its vertices in folds, layers half an edge apart on average."""
    cloth = shapes.cloth(1.0, 1.0, resolution=side)
    x, h = cloth.vertices.copy(), 1.0 / side
    along = (x[:, 0] - x[:, 0].min()) * LAYERS
    x[:, 0] = np.abs(along % 2.0 - 1.0) / LAYERS
    up = int(np.argmin(np.ptp(cloth.vertices, axis=0)))  # the axis across the flat sheet
    x[:, up] = 0.5 * h * along + 0.05 * h * np.random.default_rng(0).normal(size=len(x))
    return cloth, x


class Contacts:
    """The detector `bvh` of pliant: all pairs with distances, normals and weights, on threads and on the card."""

    def __init__(self, side: int) -> None:
        self.cloth, self.x = folded_sheet(side)
        self.within = NEAR / side
        self.detector = pliant.detector("bvh", self.cloth, within=self.within)
        self.there: Any = self.detector.to("cuda")
        self.held = device.upload(self.x)

    def threads(self) -> Any:
        return self.detector.update(self.x).find()

    def card(self) -> Any:
        return self.there.update(self.held).find()

    def pairs(self) -> None:
        """Only the pairs, sorted, without records."""
        self.there.update(self.held)
        self.there._inner._near.within(self.within)


def newton_contacts(case: Contacts) -> Any:
    """The same with Newton on the card: refit, vertices with triangles, edges with edges; None without Newton."""
    if importlib.util.find_spec("newton") is None:
        return None
    from .newton_peer import Proximity

    where = "cpu" if device.SIMULATED else "cuda:0"
    # in other units: it takes edges for parallel below an absolute bound, and lost half of the pairs of a fine sheet
    return Proximity(case.cloth, [SCALE * case.x], SCALE * case.within, where=where, room=_ROOM)


def warp_nearest(body: Mesh, points: Floats) -> Any:
    """A function that asks Warp for the nearest points on the card, in single precision; None without Warp."""
    if importlib.util.find_spec("warp") is None:
        return None
    from . import warp_kernels as peer

    where = "cpu" if device.SIMULATED else "cuda:0"
    mesh, asked = peer.mesh_of(body.vertices, body.faces, where), peer.vectors(points, where)
    return lambda: peer.signed_on_card(mesh, asked, where)

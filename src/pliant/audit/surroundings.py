"""What a garment in repair is kept away from: the body in each frame, and the inner garments on it."""

import numpy as np
from numpy.typing import NDArray

from ..mesh import Mesh
from ..motion.clip import Clip
from .layers import Layers
from .score import DEPTH_TOLERANCE
from .work import Work
from .worn_body import WornBody

Floats = NDArray[np.float64]
LEAST = 1e-3  # of an edge: least height above the skin at which there is room or none


class Surroundings:
    """The body, None without one, and the garments `below`, from which a garment keeps `clearance` metres.

    edge: a length of edges of the garment. first: the first of its vertices at each welded one. Queries spend `work`.
    """

    def __init__(
        self,
        garment: Mesh,
        worn: WornBody | None,
        below: list[Clip],
        clearance: float,
        edge: float,
        first: NDArray[np.int64],
        work: Work,
    ) -> None:
        self.worn, self.clearance = worn, clearance
        self.layers = Layers(garment, below, self.move, lambda x: self.query(x)[0])
        self._edge, self._first, self._work = edge, first, work

    def move(self, t: int) -> None:
        """Move the body to frame t."""
        if self.worn is not None:
            self.worn.move(t)

    def query(self, points: Floats) -> tuple[Floats, Floats]:
        """Signed distances (k,) of points (k,3) from the body, and the directions (k,3) out of it."""
        assert self.worn is not None
        self._work.spend(len(points))
        return self.worn.query(points)

    def required(self, t: int, x: Floats) -> Floats:
        """(n,) required distance of each vertex from the body: outside of the inner garments; none where the body
        leaves no room, because parts of it press into each other."""
        required = np.full(len(x), self.clearance)
        if self.layers.inner:
            required = np.maximum(required, self.layers.tops(t, x, self._edge) + self.clearance)
        return np.where(self.room(t), required, -np.inf)

    def room(self, t: int) -> NDArray[np.bool_]:
        """(n,) vertices that are given where the body, which must be at frame t, leaves room."""
        assert self.worn is not None
        return self.worn.room(t, max(self.clearance, LEAST * self._edge))

    def without_room(self, frames: Floats) -> tuple[int, ...]:
        """Vertices of each of the frames (T,n,3) inside the body where it leaves no room."""
        counts = []
        for t, x in enumerate(frames):
            pinched = None if self.worn is None else self.worn.pinched(t)
            rows = self._first[:0] if pinched is None else self._first[pinched]
            if len(rows):
                self.move(t)
            counts.append(int((self.query(x[rows])[0] < -DEPTH_TOLERANCE).sum()) if len(rows) else 0)
        return tuple(counts)

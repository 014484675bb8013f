"""Volume: pressure along the gradient of the intersection volume (Faure et al. 2008; Teschner et al. 2005, 6)."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from .. import validate
from ..contacts import Contacts
from ..kernels.respond import volume as _kernels
from ..kernels.respond.projection import Friction
from ..scene import Scene
from ..state import State
from .base import Detect, Response

if TYPE_CHECKING:
    from ..detect.queries.volume_gradient import Intersection

Floats = NDArray[np.float64]
Intersect = Callable[[Floats, Floats], "Intersection | None"]
TAU = 0.002  # s
SPEED = 2.0  # m/s


class Volume(Response):
    """Two closed bodies repel each other by one pressure for each connected region of their intersection.

    A pressure p is a force of p times the gradient of the region's volume V, on the surface of each body inside the
    other; the forces on both cancel, and so do their moments. The pressure is that of a critically damped spring on V:
    p = k (V + 2 tau dV/dt), not negative, with k = 1 / (tau^2 sum(w |grad V|^2)) Pa/m3 and the inverse masses w of the
    vertices. `tau` (s) is its time constant; what V alone demands moves no vertex faster than `speed` (m/s). Coulomb or
    simple friction; no restitution, and no contact offset: V, not a distance, is driven to zero.

    `intersect`: for each pair of bodies, a query of the intersection at positions x (n,3) and inverse masses (n,).
    Contacts are not read. After `apply`, `volume` (m3) is the intersection volume that it found, `pressure` (r,) Pa is
    that of each of its regions, and `force` (r,3) N is what the first body of each region gets, without friction.
    """

    needs_closed: ClassVar[bool] = True

    def __init__(
        self,
        scene: Scene,
        *,
        intersect: Sequence[Intersect],
        reads_obstacle_vertices: bool = False,
        eps: float | None = None,
        tau: float = TAU,
        speed: float = SPEED,
    ) -> None:
        self.eps = scene.eps if eps is None else eps
        self.tau = validate.number("tau", tau, above=0.0)
        self.speed = validate.number("speed", speed, above=0.0)
        self.friction = cast(float, scene.friction)
        self.simple = scene.friction_model == "simple"
        self.w = scene.inverse_masses
        self._intersect = tuple(intersect)
        count = len(self.w)
        self._vertices = _kernels.Vertices(np.zeros((count, 3)), np.zeros(count), np.full(count, -1, np.int32))
        self.volume, self.pressure, self.force = 0.0, np.zeros(0), np.zeros((0, 3))

    def begin(self, contacts: Contacts, state: State) -> None:
        """Begin a substep."""
        self.volume, self.pressure, self.force = 0.0, np.zeros(0), np.zeros((0, 3))

    def apply(self, contacts: Contacts, state: State, dt: float, detect: Detect | None = None) -> None:
        """Intersect the bodies, pair by pair, and move x by the effect of pressure and friction in dt."""
        found, pressures, forces = 0.0, [np.zeros(0)], [np.zeros((0, 3))]
        for intersect in self._intersect:
            intersection = intersect(state.x, self.w)
            if intersection is not None:
                found += intersection.volume
                pressure, facing = self._press(intersection, state, dt)
                pressures.append(pressure)
                forces.append(-pressure[:, None] * facing)
        self.volume, self.pressure, self.force = found, np.concatenate(pressures), np.concatenate(forces)

    def _press(self, intersection: "Intersection", state: State, dt: float) -> tuple[Floats, Floats]:
        """Move the vertices of two bodies; return the pressures (r,) of their regions, Pa, and the sums (r,3) of the
        gradient over the first body, square metres."""
        r = intersection.regions
        rows = (np.zeros(r) for _ in range(6))
        volume, change, mobility, tangential, fastest, impulse = rows
        regions = _kernels.Regions(
            volume,
            change,
            np.zeros((r, 3)),
            np.zeros((r, 2)),
            np.zeros((r, 2, 3)),
            mobility,
            tangential,
            fastest,
            impulse,
        )
        _kernels.sum_ends(intersection.ends, state.x, state.x_start, self.w, regions, self._vertices)
        _kernels.sum_vertices(self.w, regions, self._vertices)
        _kernels.press(regions, dt / self.tau, self.speed * dt)
        rubbed = np.zeros((r, 3))
        _kernels.rub_all(regions, Friction(self.friction, self.simple), rubbed)
        _kernels.displace(state.x, self.w, regions, self._vertices, rubbed)
        return impulse / dt**2, regions.facing

    def finish(self, contacts: Contacts, state: State, dt: float) -> None:
        """Leave v unchanged: the effect of the pressure is already contained in the displacement."""

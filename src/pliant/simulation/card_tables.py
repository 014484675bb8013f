"""What changes between the substeps of a frame on a graphics card, as tables; and how much memory a run takes there."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..kernels import device
from ..motion.rigid import IDENTITY_POSE
from .contacts_on_card import field_detector
from .kinematics import Target

if TYPE_CHECKING:
    from .step import Simulation

Floats = NDArray[np.float64]


class Tables:
    """What differs between the substeps of a frame, on the card: gravity (t,s,3), places of bodies, of gripped vertices
    (t+1,k,3), and rest lengths of stitches (t,k). Copied where they have changed since the last frame."""

    def __init__(self) -> None:
        self._host: dict[str, NDArray[Any]] = {}
        self.there: dict[str, Any] = {}

    def put(self, **tables: NDArray[Any]) -> None:
        for name, table in tables.items():
            if name not in self.there:
                self.there[name] = device.upload(table)
            elif not np.array_equal(self._host[name], table):
                self.there[name].copy_to_device(np.ascontiguousarray(table))
            self._host[name] = table

    def __getitem__(self, name: str) -> Any:
        return self.there[name]


class Division:
    """The launches of substeps of one length, in frames of one number of them."""

    def __init__(self, dt: float) -> None:
        self.dt, self.tables = dt, Tables()
        self.rules: Any = None
        self.graph: Callable[[], None] | None = None


def bytes_of(sims: Sequence["Simulation"]) -> int:
    """Return about how many bytes simulations take on the card: positions and velocities with their copies, and those
    of the last two frames; constraints; contacts."""
    total = 0
    for sim in sims:
        cloths = sim.dynamics.cloths
        parts = () if cloths is None else (*cloths.membrane, *cloths.hinges, *cloths.air, *cloths.viscous_pairs)
        total += sum(part.nbytes for part in parts) + 330 * len(sim.dynamics.w)
        for inner in map(field_detector, sim.detectors):
            if inner is not None:
                total += 96 * inner.deformable.mesh.n_vertices + 104 * len(inner.edges)
    return total


def moved_bodies(pose: Floats) -> NDArray[np.bool_]:
    """Return which bodies (t,b) are, at the beginning or at the end of each substep, not where their fields were
    baked; pose (t+1,b,3,4)."""
    there: NDArray[np.bool_] = (pose == IDENTITY_POSE).all((2, 3))
    return ~(there[1:] & there[:-1])


def gripped_places(targets: list[Target]) -> Floats:
    """Return the places (t+1,k,3) of gripped vertices before and after each substep."""
    return np.stack([targets[0].gripped[0], *(target.gripped[1] for target in targets)])


def per_second(sim: "Simulation") -> float:
    lapse = sim.host_state.lapse
    return 1.0 / lapse if lapse > 0.0 else 0.0

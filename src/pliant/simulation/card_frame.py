"""Frames of simulations on a graphics card: positions and contacts are copied to the host when they are asked for."""

import functools
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..contacts import Contacts
from ..errors import CardLostError
from ..kernels import device
from ..scene import Scene
from ..state import State
from .frame import Frame
from .kinematics import Target

if TYPE_CHECKING:
    from .step import Simulation

Floats = NDArray[np.float64]


class CardFrame(Frame):
    """A `Frame` whose x and contacts are on the card until they are asked for. on_card: the positions (n,3) of the
    deformable bodies there, for CuPy, PyTorch or JAX."""

    def __init__(
        self, sim: "Simulation", x: Any, seen: Any, rows: slice, lost: int, substeps: int, seconds: float
    ) -> None:
        state = sim.host_state
        own: dict[str, Any] = {
            "index": sim.index,
            "time": state.time,
            "pose": state.pose.copy(),
            "seconds": seconds,
            "slipped": sim.kinematics.slipped(state),
            "lost": lost,
            "substeps": substeps,
            "_sim": sim,
            "_then": (state.pose_start.copy(), state.lapse, dict(state.bones)),
            "_seen": seen,
            "_rows": rows,
            "on_card": x[rows],
        }
        self.__dict__.update(own)  # the class is frozen

    def _positions(self, there: Any) -> Floats:
        """Return the positions of all bodies, with those of the deformable ones copied from the card."""
        own = self.__dict__
        scene: Scene = own["_sim"].scene
        x: Floats = own["_sim"].host_state.x.copy()
        try:
            x[scene.deformable_rows] = there.copy_to_host()
        except Exception as error:
            if not device.is_driver_error(error):
                raise
            why = " ".join(str(error).split())[:200]
            raise CardLostError(
                f"the positions of frame {self.index} were lost with the graphics card ({why})"
            ) from error
        scene.place(x, self.pose, own["_then"][2])
        return x

    @functools.cached_property
    def x(self) -> Floats:
        return self._positions(self.__dict__["on_card"])

    @functools.cached_property
    def contacts(self) -> Contacts:
        """The contacts of the last substep, which the detectors find again at the positions of that substep."""
        own = self.__dict__
        sim: Simulation = own["_sim"]
        x = self._positions(own["_seen"][own["_rows"]])
        state = State.at(x, time=self.time, pose=self.pose)
        state.pose_start, state.lapse, state.bones = own["_then"]
        return sim._with_self_contacts(sim.detect(state))


def poses_of(scene: Scene, now: Floats, targets: list[Target]) -> Floats:
    """Return the poses (t+1,bodies,3,4) of bodies at the beginning of a frame, and at the end of each substep."""
    posed = [b for b in scene.moving if b not in scene.deforming_motions]
    pose = np.repeat(now[None], len(targets) + 1, 0)
    for k, target in enumerate(targets, 1):
        pose[k, posed] = target.pose
    return pose


def pose_at(state: State, scene: Scene, targets: list[Target], k: int, dt: float) -> None:
    """Set the poses of a state at the beginning of a frame to those of substep `k` of it, as `Kinematics.move` does."""
    if scene.moving:
        pose = poses_of(scene, state.pose, targets)
        state.pose_start, state.pose = pose[k], pose[k + 1]
        state.bones, state.lapse, state.posed = targets[k].bones, dt, frozenset()

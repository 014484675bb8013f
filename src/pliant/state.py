"""State: everything that changes while a scene is simulated."""

import copy
import dataclasses
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from . import validate
from .brief import brief
from .errors import MeshFileError

Floats = NDArray[np.float64]


@dataclasses.dataclass(eq=False)
class State:
    """Positions x, velocities v and positions x_start at the start of the substep, each (n,3), of the vertices of all
    bodies.

    pose, pose_start (bodies,3,4): pose of each body's mesh now, and `lapse` seconds ago; bodies beyond the end of the
    array are at their rest pose. The rows of x of a moving body follow its pose at the end of every frame, and in every
    substep if a detector or the guard reads them.
    slid (n,): how far each vertex of cloth is expected to slide in the next substep along the contacts that repelled it
    in the last one (see `dynamics.contact_springs`), and pressed (n,): by how much these were compressed, both in
    metres, 0 without contact.
    side (n,): the face of a body that each vertex of cloth lies on in safe mode, -1 for none (see `guard.sides`).
    v_start (n,3): velocities of deformable bodies at the start of the last substep, for the motion that the guard of
    safe mode expects.
    bones: per deforming obstacle (by index), its motion sample (k,3,4), see `Deforming`: bone matrices and morph
    weights, or the time. posed: those of them whose rows of x are exactly the shape of this sample.
    """

    x: Floats
    v: Floats
    x_start: Floats
    time: float = 0.0
    pose: Floats = dataclasses.field(default_factory=lambda: np.zeros((0, 3, 4)))
    pose_start: Floats = dataclasses.field(default_factory=lambda: np.zeros((0, 3, 4)))
    lapse: float = 0.0
    bones: dict[int, Floats] = dataclasses.field(default_factory=dict)
    slid: Floats = dataclasses.field(default_factory=lambda: np.zeros(0))
    pressed: Floats = dataclasses.field(default_factory=lambda: np.zeros(0))
    v_start: Floats = dataclasses.field(default_factory=lambda: np.zeros((0, 3)))
    side: NDArray[np.int32] = dataclasses.field(default_factory=lambda: np.zeros(0, np.int32))
    posed: frozenset[int] = frozenset()

    __repr__ = brief

    def __post_init__(self) -> None:
        if len(self.slid) != len(self.x):
            self.slid = np.zeros(len(self.x))
        if len(self.pressed) != len(self.x):
            self.pressed = np.zeros(len(self.x))
        if len(self.side) != len(self.x):
            self.side = np.full(len(self.x), -1, np.int32)
        if self.v_start.shape != self.v.shape:
            self.v_start = self.v.copy()

    @classmethod
    def at(cls, x: Any, v: Any = None, time: float = 0.0, pose: Any = ()) -> Self:
        """Make a state with positions `x` (n,3), velocities `v` (default: at rest) and bodies at `pose`."""
        p = validate.floats("x", x, (None, 3))
        w = np.zeros_like(p) if v is None else validate.floats("v", v, p.shape)
        q = validate.floats("pose", pose, (None, 3, 4)) if len(pose) else np.zeros((0, 3, 4))
        return cls(p, w, p.copy(), validate.number("time", time), q, q.copy())

    def copy(self) -> "State":
        x, v, x_start, v_start = self.x.copy(), self.v.copy(), self.x_start.copy(), self.v_start.copy()
        pose, pose_start, bones = self.pose.copy(), self.pose_start.copy(), dict(self.bones)
        slid, pressed, side = self.slid.copy(), self.pressed.copy(), self.side.copy()
        arrays = slid, pressed, v_start, side
        return State(x, v, x_start, self.time, pose, pose_start, self.lapse, bones, *arrays, self.posed)

    def assign(self, other: "State") -> None:
        """Take the values of another state of the same scene, in the same arrays."""
        for field in dataclasses.fields(self):
            value, own = getattr(other, field.name), getattr(self, field.name)
            if isinstance(value, np.ndarray) and own.shape == value.shape:
                own[...] = value
            else:
                setattr(self, field.name, copy.copy(value))

    def save(self, path: Any) -> None:
        """Write x, v, x_start, v_start, time, pose, slid, pressed and side to an .npz file, atomically; `load` returns
        them bitwise.

        `pose_start` of the loaded state equals its pose, `lapse` is 0 and `bones` is empty; `Simulation` computes poses
        and bones again from the scene. A checkpoint (`Simulation.save`) contains everything that a run needs.
        """
        from .files import atomic_write

        with atomic_write(path) as stream:
            names = "x", "v", "x_start", "v_start", "time", "pose", "slid", "pressed", "side"
            np.savez(stream, **{name: getattr(self, name) for name in names})

    @classmethod
    def load(cls, path: Any) -> Self:
        """Read a file written by `save`; MeshFileError if it is damaged or of another kind."""
        try:
            with open(path, "rb") as file, np.load(file, allow_pickle=False) as saved:  # np.load leaves bad files open
                state = cls.at(saved["x"], saved["v"], float(saved["time"]), saved["pose"])
                state.x_start = validate.floats("x_start", saved["x_start"], state.x.shape)
                if "v_start" in saved:  # otherwise a copy of v: files of older versions do not have it
                    state.v_start = validate.floats("v_start", saved["v_start"], state.x.shape)
                if "pressed" in saved:  # not in files written before contacts repelled cloth
                    state.slid = validate.floats("slid", saved["slid"], (len(state.x),))
                    state.pressed = validate.floats("pressed", saved["pressed"], (len(state.x),))
                if "side" in saved:  # not in files of older versions
                    state.side = validate.floats("side", saved["side"], (len(state.x),)).astype(np.int32)
        except FileNotFoundError:
            raise MeshFileError(path, "", "no such file") from None
        except Exception as error:  # NumPy raises many types of exceptions for foreign files
            raise MeshFileError(path, "", f"not a pliant state, or damaged ({error})") from None
        return state

"""State: all that changes while a scene runs."""

import dataclasses
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from . import validate
from .errors import MeshFileError

Floats = NDArray[np.float64]


@dataclasses.dataclass(eq=False)
class State:
    """Positions x, velocities v and positions at the start of the step, each (n,3), of the vertices of all bodies.

    pose, pose_start (bodies,3,4): where each body's mesh is now, and was `lapse` seconds ago; bodies beyond the end of
    it stand as their mesh was given. The rows of x of a body that moves are brought up to its pose once a frame.
    bones: of each body that bends, by its number, what its shape follows from (see `Deforming`), (k,3,4).
    """

    x: Floats
    v: Floats
    x_start: Floats
    time: float = 0.0
    pose: Floats = dataclasses.field(default_factory=lambda: np.zeros((0, 3, 4)))
    pose_start: Floats = dataclasses.field(default_factory=lambda: np.zeros((0, 3, 4)))
    lapse: float = 0.0
    bones: dict[int, Floats] = dataclasses.field(default_factory=dict)

    @classmethod
    def at(cls, x: Any, v: Any = None, time: float = 0.0, pose: Any = ()) -> Self:
        """A state at rest (or at velocity `v`) at positions `x`, bodies at `pose`."""
        p = validate.floats("x", x, (None, 3))
        w = np.zeros_like(p) if v is None else validate.floats("v", v, p.shape)
        q = validate.floats("pose", pose, (None, 3, 4)) if len(pose) else np.zeros((0, 3, 4))
        return cls(p, w, p.copy(), validate.number("time", time), q, q.copy())

    def copy(self) -> "State":
        x, v, x_start = self.x.copy(), self.v.copy(), self.x_start.copy()
        return State(x, v, x_start, self.time, self.pose.copy(), self.pose_start.copy(), self.lapse, dict(self.bones))

    def save(self, path: Any) -> None:
        """To an .npz file, atomically; `load` gives the same bits back."""
        from .files import atomic_write

        with atomic_write(path) as stream:
            np.savez(stream, x=self.x, v=self.v, x_start=self.x_start, time=self.time, pose=self.pose)

    @classmethod
    def load(cls, path: Any) -> Self:
        """What `save` wrote; MeshFileError when the file is damaged or of another kind."""
        try:
            with open(path, "rb") as file, np.load(file, allow_pickle=False) as saved:  # NumPy leaves bad files open
                state = cls.at(saved["x"], saved["v"], float(saved["time"]), saved["pose"])
                state.x_start = validate.floats("x_start", saved["x_start"], state.x.shape)
        except FileNotFoundError:
            raise MeshFileError(path, "", "no such file") from None
        except Exception as error:  # NumPy raises a dozen kinds for files that are not its own
            raise MeshFileError(path, "", f"not a state of pliant, or damaged ({error})") from None
        return state

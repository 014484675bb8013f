"""Checkpoint: a run on disk, from which it goes on as if it had never stopped.

A scene is not in it, only its fingerprint: what a scene is made of comes from code or files, and a run that goes on in
another scene would be neither of the two.
"""

import dataclasses
import hashlib
import os
import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import contacts as _contacts
from . import validate
from .contacts import Contacts
from .deforming import Deforming
from .errors import MeshFileError
from .motion import Motion
from .scene import Scene, Solid
from .state import State

FORMAT = 5
_PARAMETERS = ("gravity", "wind", "eps", "friction", "friction_model", "elasticity", "self_contact", "thickness")


@dataclasses.dataclass(frozen=True, eq=False)
class Checkpoint:
    """All that a run needs beside its scene. `method` is empty where the detectors were made by hand."""

    state: State
    index: int  # frames that were run
    dt: float
    substeps: int
    method: str
    forced: int  # substeps in which the guard gave pairs up, and how many these were
    unheld: int
    scene: str  # fingerprint
    response: str = "projection"
    memory: Contacts = dataclasses.field(default_factory=_contacts.empty)  # of the response
    self_method: str = ""  # and self_response: empty where the guard keeps soft bodies apart, or nothing does
    self_response: str = ""
    ways: NDArray[np.float64] = dataclasses.field(default_factory=lambda: np.zeros((0, 11)))  # of detectors

    def save(self, path: str | os.PathLike[str]) -> None:
        """To an .npz file, atomically."""
        from .files import atomic_write

        s = self.state
        with atomic_write(path) as stream:
            np.savez(
                stream,
                checkpoint=FORMAT,
                scene=self.scene,
                x=s.x,
                v=s.v,
                x_start=s.x_start,
                pose=s.pose,
                pose_start=s.pose_start,
                times=np.array([s.time, s.lapse, self.dt]),
                counts=np.array([self.index, self.substeps, self.forced, self.unheld], np.int64),
                method=self.method,
                response=self.response,
                memory=np.frombuffer(self.memory.tobytes(), np.uint8),
                between=np.array([self.self_method, self.self_response]),
                ways=self.ways,
            )

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Checkpoint":
        """What `save` wrote; MeshFileError when the file is damaged or of another kind."""
        try:
            with open(path, "rb") as file, np.load(file, allow_pickle=False) as saved:  # NumPy leaves bad files open
                if "checkpoint" not in saved:
                    raise ValueError("it holds no 'checkpoint'")
                found = validate.whole("checkpoint", saved["checkpoint"])
                if found != FORMAT:
                    raise ValueError(f"version {found}; this pliant reads {FORMAT}")
                time, lapse, dt = validate.floats("times", saved["times"], (3,)).tolist()
                state = State.at(saved["x"], saved["v"], time, saved["pose"])
                state.x_start = validate.floats("x_start", saved["x_start"], state.x.shape)
                state.pose_start = validate.floats("pose_start", saved["pose_start"], state.pose.shape)
                state.lapse = lapse
                counts = [validate.whole("counts", n, high=2**53) for n in saved["counts"].tolist()]
                index, substeps, forced, unheld = counts
                validate.number("dt", dt, above=0.0)  # `Simulation` knows what is too short
                validate.whole("substeps", substeps, low=1, high=1000)
                texts = [_text(name, saved[name]) for name in ("method", "scene", "response")]
                if saved["between"].shape != (2,):
                    raise ValueError(f"between has shape {saved['between'].shape}; expected a method and a response")
                own = [_text("between", saved["between"][k]) for k in range(2)]
                ways = validate.floats("ways", saved["ways"], (None, 11))
                memory = _checked(np.frombuffer(saved["memory"].tobytes(), _contacts.CONTACT).copy(), len(state.x))
        except FileNotFoundError:
            raise MeshFileError(path, "", "no such file") from None
        except Exception as error:  # NumPy raises a dozen kinds for files that are not its own
            raise MeshFileError(path, "", f"not a checkpoint of pliant, or damaged ({error})") from None
        return cls(
            state=state,
            index=index,
            dt=dt,
            substeps=substeps,
            method=texts[0],
            forced=forced,
            unheld=unheld,
            scene=texts[1],
            response=texts[2],
            memory=memory,
            self_method=own[0],
            self_response=own[1],
            ways=ways,
        )


def _text(name: str, value: Any) -> str:
    """A text whose letters exist; NumPy takes any number for one, and Python fails on it wherever it is used."""
    array = np.asarray(value)
    if array.dtype.kind != "U" or array.ndim:
        raise ValueError(f"{name} has dtype {array.dtype} and shape {array.shape}; expected one text")
    letters = np.frombuffer(array.tobytes(), np.dtype(np.uint32).newbyteorder(array.dtype.byteorder))
    if (letters > sys.maxunicode).any():
        raise ValueError(f"{name} holds letters that do not exist")
    return str(array)


def _checked(memory: Contacts, count: int) -> Contacts:
    """Contacts among `count` vertices; loops over them look up rows without asking again."""
    rows = memory["vertices"]
    if (rows < -1).any() or (rows >= count).any() or (rows[:, 0] < 0).any():
        raise ValueError(f"memory names vertices beyond the {count} there are")
    floats = [name for name in memory.dtype.names or () if memory.dtype[name].base.kind == "f"]
    if not all(np.isfinite(memory[name]).all() for name in floats):
        raise ValueError("memory holds numbers that are not finite")
    return memory


def fingerprint(scene: Scene) -> str:
    """Of all in a scene that its run depends on; names and colours are not."""
    total = hashlib.sha256()
    for name in _PARAMETERS:
        _add(total, getattr(scene, name))
    for body in scene.bodies:
        mesh = body.mesh
        own = (body.fixed, body.pins, body.velocity, body.flat, body.group, body.layer)
        for part in (mesh.vertices, mesh.faces, *own):
            _add(total, part)
        if isinstance(body.material, Solid):
            _add(total, mesh.tets)
        for value in dataclasses.astuple(body.material):
            _add(total, value)
        _add_motion(total, body.motion)
        for grip in body.grips:
            _add(total, grip.rows)
            _add_motion(total, grip.motion)
    return total.hexdigest()


def _add_motion(total: Any, motion: Motion | Deforming | None) -> None:
    if motion is not None and not isinstance(motion, Motion):
        for value in motion.key:
            _add(total, value)
        return
    while motion is not None:
        for value in (motion.times, motion.poses, motion.pivot, motion.cycle):
            _add(total, value)
        motion = motion.parent
    _add(total, None)


def _add(total: Any, value: Any) -> None:
    """A value and its kind, so that no two lists of values run together to the same bytes."""
    if isinstance(value, np.ndarray):
        total.update(f"{value.dtype.str}{value.shape}".encode())
        total.update(np.ascontiguousarray(value).tobytes())
    else:
        total.update(f"{type(value).__name__} {value!r};".encode())

"""Checkpoint: a file from which a run continues bitwise identically.

It contains the fingerprint of the scene instead of the scene, which is built from code or files; a run cannot be
resumed in a different scene.
"""

import dataclasses
import hashlib
import os
import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import contacts as _contacts
from .. import renamed, validate
from ..contacts import Contacts
from ..errors import MeshFileError
from ..motion.deforming import Deforming
from ..motion.rigid import Motion
from ..scene import Scene, Solid
from ..state import State

FORMAT = 10
_PARAMETERS = (
    "gravity",
    "wind",
    "eps",
    "friction",
    "friction_model",
    "restitution",
    "self_contact",
    "thickness",
    "self_friction",
)


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class Checkpoint:
    """Everything a run needs besides its scene. `method` is empty if the detectors were passed by the caller."""

    state: State
    index: int  # number of completed frames
    dt: float
    substeps: int
    method: str
    failed_substeps: int  # substeps in which the guard gave pairs up
    given_up_pairs: int  # see `Guard`
    scene: str  # fingerprint
    solver: str = "implicit"
    stepping: str = "fixed"
    response: str = "projection"
    response_state: Contacts = dataclasses.field(default_factory=_contacts.empty)
    self_method: str = ""  # and self_response: empty if the guard, or nothing, handles self-contact
    self_response: str = ""
    # of the detectors that have one, each row with the index of its detector
    detector_states: NDArray[np.float64] = dataclasses.field(default_factory=lambda: np.zeros((0, 11)))

    memory = renamed.attribute("memory", "response_state")
    ways = renamed.attribute("ways", "detector_states")

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write to an .npz file, atomically."""
        from ..files import atomic_write

        s = self.state
        with atomic_write(path) as stream:
            np.savez(
                stream,
                checkpoint=FORMAT,
                scene=self.scene,
                x=s.x,
                v=s.v,
                x_start=s.x_start,
                v_start=s.v_start,
                pose=s.pose,
                pose_start=s.pose_start,
                times=np.array([s.time, s.lapse, self.dt]),
                counts=np.array([self.index, self.substeps, self.failed_substeps, self.given_up_pairs], np.int64),
                method=self.method,
                solver=self.solver,
                stepping=self.stepping,
                response=self.response,
                memory=np.frombuffer(self.response_state.tobytes(), np.uint8),
                slid=s.slid,
                pressed=s.pressed,
                side=s.side,
                between=np.array([self.self_method, self.self_response]),
                ways=self.detector_states,
            )

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Checkpoint":
        """Read a file written by `save`; MeshFileError if it is damaged or of another kind."""
        try:
            with open(path, "rb") as file, np.load(file, allow_pickle=False) as saved:  # np.load leaves bad files open
                if "checkpoint" not in saved:
                    raise ValueError("it has no array 'checkpoint'")
                found = validate.whole("checkpoint", saved["checkpoint"])
                if found != FORMAT:
                    raise ValueError(f"version {found}; this pliant reads {FORMAT}")
                time, lapse, dt = validate.floats("times", saved["times"], (3,)).tolist()
                state = State.at(saved["x"], saved["v"], time, saved["pose"])
                state.x_start = validate.floats("x_start", saved["x_start"], state.x.shape)
                state.v_start = validate.floats("v_start", saved["v_start"], state.x.shape)
                state.pose_start = validate.floats("pose_start", saved["pose_start"], state.pose.shape)
                state.lapse = lapse
                counts = [validate.whole("counts", n, high=2**53) for n in saved["counts"].tolist()]
                index, substeps, failed_substeps, given_up_pairs = counts
                validate.number("dt", dt, above=0.0)  # `Simulation` checks the lower limit
                validate.whole("substeps", substeps, low=1, high=1000)
                texts = [_text(name, saved[name]) for name in ("method", "scene", "response", "solver")]
                stepping = _text("stepping", saved["stepping"]) if "stepping" in saved else "fixed"
                if saved["between"].shape != (2,):
                    raise ValueError(f"between has shape {saved['between'].shape}; expected a method and a response")
                own = [_text("between", saved["between"][k]) for k in range(2)]
                detector_states = validate.floats("ways", saved["ways"], (None, 11))
                response_state = _contacts.from_bytes("memory", saved["memory"].tobytes(), len(state.x))
                state.slid = validate.floats("slid", saved["slid"], (len(state.x),))
                state.pressed = validate.floats("pressed", saved["pressed"], (len(state.x),))
                state.side = validate.floats("side", saved["side"], (len(state.x),)).astype(np.int32)
        except FileNotFoundError:
            raise MeshFileError(path, "", "no such file") from None
        except Exception as error:  # NumPy raises many types of exceptions for foreign files
            raise MeshFileError(path, "", f"not a pliant checkpoint, or damaged ({error})") from None
        return cls(
            state=state,
            index=index,
            dt=dt,
            substeps=substeps,
            method=texts[0],
            failed_substeps=failed_substeps,
            given_up_pairs=given_up_pairs,
            scene=texts[1],
            response=texts[2],
            solver=texts[3],
            stepping=stepping,
            response_state=response_state,
            self_method=own[0],
            self_response=own[1],
            detector_states=detector_states,
        )


def _text(name: str, value: Any) -> str:
    """Return a valid string: NumPy accepts invalid code points, on which Python fails later."""
    array = np.asarray(value)
    if array.dtype.kind != "U" or array.ndim:
        raise ValueError(f"{name} has dtype {array.dtype} and shape {array.shape}; expected one string")
    letters = np.frombuffer(array.tobytes(), np.dtype(np.uint32).newbyteorder(array.dtype.byteorder))
    if (letters > sys.maxunicode).any():
        raise ValueError(f"{name} contains invalid Unicode code points")
    return str(array)


def fingerprint(scene: Scene) -> str:
    """Return a hash of everything in a scene that affects its run; names and colours do not."""
    total = hashlib.sha256()
    for name in _PARAMETERS:
        _add(total, getattr(scene, name))
    for body in scene.bodies:
        mesh = body.mesh
        own = (body.obstacle, body.pins, body.velocity, body.flat, body.group, body.layer, body.warp)
        for part in (mesh.vertices, mesh.faces, *own, body.stitches, body.rest_scale):
            _add(total, part)
        if isinstance(body.material, Solid):
            _add(total, mesh.tets)
        elif not body.obstacle and mesh.uv is not None:
            _add(total, mesh.uv)  # the direction of the warp
        for value in dataclasses.astuple(body.material):
            _add(total, value)
        _add_motion(total, body.motion)
        for grip in body.grips:
            _add(total, grip.rows)
            _add_motion(total, grip.motion)
    for each in scene.stitches:
        for part in (each.rows, each.onto, each.share, each.bodies):
            _add(total, part)
    if scene.seams:
        _add(total, scene.closing)
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
    """Add a value with its type, so that different lists of values never give the same bytes."""
    if isinstance(value, np.ndarray):
        total.update(f"{value.dtype.str}{value.shape}".encode())
        total.update(np.ascontiguousarray(value).tobytes())
    else:
        total.update(f"{type(value).__name__} {value!r};".encode())

"""DifferentiableDrape: a scene with one cloth, prepared for runs that are differentiated."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import validate
from ...arguments import check_arguments
from ...dynamics import default_substeps
from ...kernels.gradients.smooth_contacts import Rule
from ...respond.projection import RECOVERY
from ...scene import Scene
from .contacts import Obstacle, obstacles_of
from .elements import ElementModel
from .substep import Constants
from .supported import check_scene, check_solver
from .tape import DrapeTape
from .values import MATERIAL, NAMES, POSITIVE, DrapeValues, check_names

Floats = NDArray[np.float64]
SLOW = 0.01  # times width / dt: interval of separating speeds over which contact takes them away
CONTACT = 169  # bytes per vertex near an obstacle: `Touching` and `ContactRecord`


@check_arguments
class DifferentiableDrape:
    """Runs the cloth of a scene as `Simulation(scene, solver="xpbd")` does, but with smooth contact, and returns
    gradients of any function of the frames (docs/gradients-of-drapes.md).

    dt, substeps: as those of `Simulation`. width: interval of gaps around the contact offset, metres, over which
    contact sets in. memory: bytes of records, a quarter of the free memory if not given; what does not fit is computed
    again from the frames.
    The scene has one cloth, any number of obstacles, and self_contact="off".
    """

    def __init__(
        self,
        scene: Scene,
        dt: float = 0.01,
        *,
        solver: str = "xpbd",
        substeps: int | None = None,
        width: float = 5e-4,
        memory: float | None = None,
    ) -> None:
        check_solver(solver)
        check_scene(scene)
        self.scene = scene
        self.dt = validate.number("dt", dt, low=1e-9, high=3600.0)
        default = default_substeps(scene, self.dt, "xpbd")
        self.substeps = default if substeps is None else validate.whole("substeps", substeps, low=1, high=1000)
        body = scene.bodies[scene.cloths[0]]
        self.eps = scene.eps + scene.layer_offset(scene.cloths[0])
        self.width = validate.number("width", width, above=0.0, high=2.0 * self.eps)
        self.memory = None if memory is None else validate.number("memory", memory, above=0.0)
        self._model = ElementModel(scene, self.dt / self.substeps)
        self._rows = scene.rows(scene.cloths[0])
        first, material = self._rows.start, body.material
        start = scene.start()
        pins = np.setdiff1d(np.unique(body.pins), scene.gripped_rows - first)
        self.held = np.concatenate([pins, scene.gripped_rows - first]).astype(np.int32)
        self.defaults: dict[str, Any] = {
            "x": start.x[self._rows].copy(),
            "v": start.v[self._rows].copy(),
            "rest": body.mesh.vertices.copy(),
            "friction": scene.friction,
        }
        self.defaults |= {name: getattr(material, name) for name in MATERIAL}

    def __repr__(self) -> str:
        sizes = f"{len(self.defaults['x']):,} vertices, dt {self.dt:g} s, {self.substeps} substeps"
        return f"<DifferentiableDrape {self.scene.name!r}: {sizes}, width {self.width:g} m>"

    @property
    def bytes_per_frame(self) -> int:
        """Memory that the records of the substeps of a frame take at most."""
        n, m, h = len(self.defaults["x"]), len(self._model.membrane.faces), len(self._model.hinges.vertices)
        return self.substeps * (8 * (6 * n + 6 * m + 3 * h) + CONTACT * n * len(self.scene.obstacles))

    def run(self, frames: int, **given: Any) -> DrapeTape:
        """Run `frames` frames from the given inputs, and return the frames with what their gradients need.

        given: those inputs of `DrapeValues` that are not those of the scene.
        """
        frames = validate.whole("frames", frames, low=1)
        check_names(given)
        return DrapeTape(self, frames, self.values(frames, given), pins_follow=given.get("pins") is None)

    def values(self, frames: int, given: dict[str, Any]) -> DrapeValues:
        """Return validated inputs of a run, completed by those of the scene."""
        n, k = len(self.defaults["x"]), len(self.held)
        all_of = dict(self.defaults)
        for name in ("x", "v", "rest"):
            if given.get(name) is not None:
                all_of[name] = validate.floats(name, given[name], (n, 3))
        for name in (*MATERIAL, "friction"):
            if given.get(name) is not None:
                value = given[name]
                value = value.item() if isinstance(value, np.ndarray) and value.shape == () else value
                bound = {"above": 0.0} if name in POSITIVE else {"low": 0.0}
                all_of[name] = validate.number(name, value, **bound)
        if given.get("bend") is not None and self.defaults["bend"] == 0.0:
            raise ValueError("bend is given, but the cloth of the scene has none; expected a material with bend > 0")
        pins, body = given.get("pins"), given.get("body")
        at = all_of["x"] = all_of["x"].copy()
        own = self._held_at(frames, at) if pins is None else validate.floats("pins", pins, (frames + 1, k, 3))
        at[self.held], all_of["pins"] = own[0], own
        all_of["body"] = self._bodies_at(frames) if body is None else self._checked_body(frames, body)
        self._check_rest(all_of["rest"])
        return DrapeValues(**{name: all_of.get(name) for name in NAMES})

    def _times(self, frames: int) -> Floats:
        return np.asarray(self.dt * np.arange(frames + 1), np.float64)

    def _held_at(self, frames: int, x: Floats) -> Floats:
        """Return the positions (frames+1,k,3) of the held vertices: those of grips by their motion, pins where x has
        them."""
        grips = len(self.scene.gripped_rows)
        at = np.repeat(x[None, self.held], frames + 1, 0)
        if grips:
            at[:, len(self.held) - grips :] = self.scene.gripped_at(self._times(frames))
        return at

    def _bodies_at(self, frames: int) -> Floats:
        """Return the vertices of all obstacles, (b,3) or, if any moves, (frames+1,b,3)."""
        scene = self.scene
        parts = [scene.bodies[b].mesh.vertices for b in scene.obstacles]
        if not scene.moving:
            return np.concatenate([np.zeros((0, 3)), *parts])
        found = []
        for time in self._times(frames).tolist():
            pose, bones = scene.poses(time), scene.bones(time)
            moved = [
                scene.place_of(b, pose, bones) if b in scene.moving else scene.bodies[b].mesh.vertices
                for b in scene.obstacles
            ]
            found.append(np.concatenate(moved))
        return np.stack(found)

    def _checked_body(self, frames: int, body: Any) -> Floats:
        count = sum(self.scene.bodies[b].mesh.n_vertices for b in self.scene.obstacles)
        array = validate.numbers("body", body)
        if array.shape not in ((count, 3), (frames + 1, count, 3)):
            raise ValueError(
                f"body has shape {array.shape}; expected ({count}, 3), or ({frames + 1}, {count}, 3) if it moves"
            )
        return validate.floats("body", array, array.shape)

    def _check_rest(self, rest: Floats) -> None:
        x = rest[self._model.membrane.faces]
        area = 0.5 * np.linalg.norm(np.cross(x[:, 1] - x[:, 0], x[:, 2] - x[:, 0]), axis=1)
        longest = max(((x[:, k] - x[:, k - 1]) ** 2).sum(1).max() for k in range(3))
        bad = area <= 1e-12 * longest
        if bad.any():
            corners = self._model.membrane.faces[int(np.argmax(bad))].tolist()
            raise ValueError(
                f"rest: the triangle of the vertices {corners} has no area; expected rest shapes with area"
            )

    def constants(self, given: DrapeValues) -> Constants:
        """Return what all substeps of a run have in common."""
        dt = self.dt / self.substeps
        slow = SLOW * self.width / dt
        rule = Rule(self.eps, self.width, slow, float(given.friction), RECOVERY, dt)
        return Constants(self._model.elements(given), rule, self.scene.wind, self.scene.gravity, self.held)

    @property
    def model(self) -> ElementModel:
        return self._model

    def obstacles(self) -> list[Obstacle]:
        """Return the obstacles of a run."""
        return obstacles_of(self.scene, self._model.free, self.eps + 0.5 * self.width)

"""Simulation: the loop, one screen long."""

import dataclasses
import logging
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import contacts as _contacts
from . import validate
from .clock import Clock
from .contacts import Contacts
from .detect.base import Detector, Side
from .detect.methods import METHODS, method_name
from .dynamics import ClothDynamics
from .respond import Projection
from .scene import Scene
from .state import State

log = logging.getLogger("pliant.simulation")


@dataclasses.dataclass(frozen=True, eq=False)
class Frame:
    """What one step of `dt` left: positions (n,3) of all bodies, contacts of its last substep, and how long it took."""

    index: int
    time: float  # s
    x: NDArray[np.float64]
    contacts: Contacts
    seconds: float


class Simulation:
    """Runs a scene in steps of `dt` seconds, each in `substeps` small ones.

    `method` names the detector between every cloth and every fixed body, and `options` goes to each of them; pass
    `detectors` to make them yourself.
    """

    def __init__(
        self,
        scene: Scene,
        dt: float = 0.01,
        *,
        substeps: int = 16,
        method: str = "distance-field",
        options: Mapping[str, Any] | None = None,
        detectors: Sequence[Detector] | None = None,
        state: State | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.scene = scene
        self.dt = validate.number("dt", dt, above=0.0)
        self.substeps = validate.whole("substeps", substeps, low=1, high=1000)
        self.state = scene.start() if state is None else state.copy()
        if self.state.x.shape != (int(scene.first[-1]), 3):
            raise ValueError(f"state has {len(self.state.x)} vertices; the scene has {int(scene.first[-1])}")
        self.clock = clock or Clock(on=False)
        self.dynamics = ClothDynamics(scene)
        self.response = Projection(scene)
        self.detectors = list(detectors) if detectors is not None else _detectors(scene, method, options or {})
        self.index = 0

    def step(self) -> Frame:
        """Advance by dt."""
        began = time.perf_counter()
        dt, state, clock = self.dt / self.substeps, self.state, self.clock
        for _ in range(self.substeps):
            with clock("predict"):
                self.dynamics.predict(state, dt)
            with clock("relax"):
                self.dynamics.relax(state, dt)
            with clock("detect"):
                parts = [detector.update(state).find(state) for detector in self.detectors]
                # each is in canonical order already; several together are not
                found = parts[0] if len(parts) == 1 else _contacts.concatenate(parts)
            with clock("respond"):
                self.response.begin(found, state)
                self.response.apply(found, state, dt)
            with clock("finish"):
                self.dynamics.finish(state, dt)
                self.response.finish(found, state, dt)
        self.index += 1
        return Frame(self.index, state.time, state.x.copy(), found, time.perf_counter() - began)

    def run(self, frames: int) -> Iterator[Frame]:
        """The next `frames` steps, one at a time."""
        for _ in range(validate.whole("frames", frames, low=0)):
            yield self.step()


def _detectors(scene: Scene, method: str, options: Mapping[str, Any]) -> list[Detector]:
    """One detector for every cloth and fixed body."""
    method = method_name(method)
    found = []
    for s in scene.soft:
        for f in scene.fixed:
            soft = Side(scene.bodies[s].mesh.welded, int(scene.first[s]), s)
            rigid = Side(scene.bodies[f].mesh.welded, int(scene.first[f]), f)
            found.append(METHODS[method](soft, rigid, within=scene.eps, **options))
            field = getattr(found[-1], "field", None)
            if field is not None and field.spacing > 1.001 * scene.eps:
                text = "the field's cells are %.3g m, larger than eps = %.3g m: cloth may enter %r; choose a larger eps"
                log.warning(text, field.spacing, scene.eps, scene.bodies[f].label)
    return found

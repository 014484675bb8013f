"""Resume: what a checkpoint stores of a simulation, and how one continues from it."""

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..detect.base import BaseDetector, Detector, with_defaults
from ..errors import MeshFileError
from ..scene import Scene
from .checkpoint import Checkpoint, fingerprint
from .clock import Clock

if TYPE_CHECKING:
    from .step import Simulation


def checkpoint_of(sim: "Simulation") -> Checkpoint:
    """Return everything that a simulation needs to continue, besides its scene."""
    states = [np.insert(one.state(), 0, k, axis=1) for k, one in enumerate(_remembering(sim))]
    return Checkpoint(
        state=sim.state,
        index=sim.index,
        dt=sim.dt,
        substeps=sim.substeps,
        solver=sim.solver,
        method=sim.method,
        stepping=sim.stepping,
        failed_substeps=sim.self_contact.failed_substeps,
        given_up_pairs=sim.self_contact.given_up_pairs,
        scene=fingerprint(sim.scene),
        response=sim.response_name,
        response_state=sim.response.state(),
        self_method=sim.self_contact.method,
        self_response=sim.self_contact.response_name,
        detector_states=np.concatenate([np.zeros((0, 11)), *states]),
    )


def resumed(
    made: "type[Simulation]",
    path: str | os.PathLike[str],
    scene: Scene,
    options: Mapping[str, Any] | None,
    detectors: Sequence[Detector] | None,
    self_options: Mapping[str, Any] | None,
    clock: Clock | None,
) -> "Simulation":
    """Return a simulation of class `made` that continues from the checkpoint at `path`."""
    saved = Checkpoint.load(path)
    if saved.scene != fingerprint(scene):
        why = f"a checkpoint of another scene than {scene.name!r}: build it with the same meshes and parameters"
        raise MeshFileError(path, "", why)
    if not saved.method and detectors is None:
        raise MeshFileError(path, "", "the saved run used its own detectors; pass detectors= again")
    try:
        sim = made(
            scene,
            saved.dt,
            substeps=saved.substeps,
            solver=saved.solver,
            method=saved.method or "distance-field",
            stepping=saved.stepping,
            options=options,
            detectors=detectors,
            response=saved.response,
            self_method=saved.self_method or None,
            self_options=self_options,
            self_response=saved.self_response or None,
            state=saved.state,
            clock=clock,
        )
        for one in map(with_defaults, sim.detectors):
            one.reset()
        for k, one in enumerate(_remembering(sim)):
            one.restore(saved.detector_states[saved.detector_states[:, 0] == k, 1:])
    except ValueError as error:
        raise MeshFileError(path, "", f"cannot be resumed in scene {scene.name!r}: {error}") from None
    sim.index = saved.index
    sim.response.restore(saved.response_state)
    sim.self_contact.failed_substeps, sim.self_contact.given_up_pairs = saved.failed_substeps, saved.given_up_pairs
    return sim


def _remembering(sim: "Simulation") -> list[BaseDetector]:
    """Return the detectors whose results depend on earlier ones."""
    return [one for one in map(with_defaults, (*sim.detectors, *sim.self_contact.detectors)) if one.remembers]

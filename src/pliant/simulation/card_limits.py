"""What of a simulation does not run on a graphics card, said by name with what does."""

import logging
from typing import TYPE_CHECKING

from .. import arrays
from ..detect.detectors.distance_field import DistanceFieldDetector
from ..detect.fields.field import DistanceField
from ..scene import Scene
from .contacts_on_card import field_detector
from .self_contact_interface import NoGuard

if TYPE_CHECKING:
    from .step import Simulation

log = logging.getLogger("pliant.simulation")


def device_for(device: str, why: list[str]) -> str:
    """Return where a simulation runs: "cpu" or "cuda". `why`: what of it does not run on a card; an error for "cuda",
    and the reason for "cpu" for "auto"."""
    chosen = arrays.chosen(device)
    if chosen == "cuda" and why:
        if device == "cuda":
            raise ValueError(f"device = 'cuda': a graphics card does not run {'; '.join(why)}; or use device='cpu'")
        log.info("on threads: a graphics card does not run %s", "; ".join(why))
        return "cpu"
    return chosen


def why_not(sim: "Simulation") -> list[str]:
    """Return what of a simulation does not run on a graphics card, each with what does."""
    why = scene_why_not(sim.scene, sim.solver, sim.response_name, sim.stepping)
    if not isinstance(sim.self_contact, NoGuard):
        why.append("contact among deformable bodies (self_contact='off' runs there)")
    for detector in sim.detectors:
        inner = field_detector(detector)
        if inner is None or type(inner) is not DistanceFieldDetector:
            name = getattr(detector, "name", type(detector).__name__)
            why.append(f"the detector {name!r} (the method 'distance-field' with ungrouped rigid obstacles does)")
        elif not isinstance(inner.field, DistanceField):
            why.append(f"a field of class {type(inner.field).__name__} (the fields 'bricks' and 'dense' do)")
    return list(dict.fromkeys(why))


def scene_why_not(scene: Scene, solver: str, response: str, stepping: str) -> list[str]:
    """Return what of these does not run on a graphics card, with what does."""
    why = []
    if not scene.cloths or scene.solids or scene.strands:
        why.append("scenes of anything but cloth and obstacles")
    elif solver != "xpbd":
        why.append(f"the solver {solver!r} (solver='xpbd' does)")
    if scene.self_contact != "off":
        why.append(f"self_contact={scene.self_contact!r} (self_contact='off' does)")
    if scene.deforming_motions:
        why.append("obstacles that deform (rigid ones do)")
    if response != "projection":
        why.append(f"the response {response!r} (response='projection' does)")
    if stepping != "fixed":
        why.append(f"stepping={stepping!r} (stepping='fixed' does)")
    return why

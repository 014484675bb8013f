"""The description of a scene from which a page builds its content, and the commands valid for it."""

import dataclasses
import json
from typing import Any

import numpy as np

from ..motion.clip import Clip
from ..report.camera import unoccluded_elevation
from ..report.display import cloth_subdivision
from ..report.pack import pack
from ..scene import Scene
from ..simulation.build import refusal_of
from ..simulation.deformable_contact import self_refusal_of
from .commands import Point, ValidCommands
from .interactive_run import FRAME_SECONDS, SPEEDS, InteractiveRun
from .method_menus import option_menus, typed_options
from .overlays import OVERLAYS, Overlays
from .sliders import value_of


class SceneDescription:
    """The bodies of a scene at its start, in the page's format, packed once."""

    def __init__(self, scene: Scene, subdivide: int | None = None) -> None:
        x = scene.start().x
        clips = [
            Clip(
                body.mesh,
                x[scene.rows(b)][body.mesh.weld_index][None],
                body.color or (0.8, 0.8, 0.8),
                subdivision=cloth_subdivision(scene, b, body.mesh, subdivide),
            )
            for b, body in enumerate(scene.bodies)
        ]
        self.packed, self.elevation = [pack(clip) for clip in clips], unoccluded_elevation(clips)
        bounds = np.array([clip.bounds for clip in clips])
        self.box: tuple[Point, Point] = _point(bounds[:, 0].min(0)), _point(bounds[:, 1].max(0))

    def valid_commands(self, run: InteractiveRun) -> ValidCommands:
        """Return the valid names and ranges of commands."""
        choices = {what: tuple(name for name, _, why in rows if not why) for what, rows in _choices(run).items()}
        ranges = {name: (r.low, r.high) for name, r in run.ranges.items()}
        return ValidCommands(choices, ranges, {name: most for name, (_, most) in OVERLAYS.items()}, self.box)

    def hello(self, generation: int, run: InteractiveRun, overlays: Overlays, speed: str) -> str:
        """Return the description as JSON; see docs/play.md for its fields."""
        scene, first = run.scene, run.initial_values
        chosen = {"scene": run.name, "method": run.method, "self": scene.self_contact, "self_method": run.self_method}
        among = {"method": (run.method, refusal_of), "self_method": (run.self_method, self_refusal_of)}
        hello: dict[str, Any] = {
            "generation": generation,
            "scene": run.name,
            "title": scene.name,
            "dt": FRAME_SECONDS,
            "bodies": self.packed,
            "moving": [not body.obstacle or body.motion is not None for body in scene.bodies],
            "deformable": [not body.obstacle for body in scene.bodies],
            "box": self.box,
            "elevation": self.elevation,
            "choices": _choices(run),
            "chosen": chosen | {"response": run.response, "stepping": run.stepping, "speed": speed},
            "options": {what: option_menus(scene, *method) for what, method in among.items()},
            "values": {what: typed_options(method) for what, (method, _) in among.items()},
            "ranges": {
                name: dataclasses.asdict(r) | {"value": first[name], "now": value_of(scene, name)}
                for name, r in run.ranges.items()
            },
            "overlays": {
                name: {"label": label, "levels": most, "on": overlays.on[name], "level": overlays.level[name]}
                for name, (label, most) in OVERLAYS.items()
            },
        }
        return json.dumps({"hello": hello}, separators=(",", ":"), allow_nan=False)


def _choices(run: InteractiveRun) -> dict[str, list[tuple[str, str, str]]]:
    """Return the entries of each menu: name, title, and the reason why it is unavailable (empty: available)."""
    plain = {"scene": run.scenes, "self": run.self_contact_modes, "speed": SPEEDS}
    found = {what: [(name, name, "") for name in names] for what, names in plain.items()}
    reasoned = {
        "method": run.unavailable_reasons(),
        "self_method": run.self_method_reasons(),
        "response": run.response_reasons(),
        "stepping": run.stepping_reasons(),
    }
    for what, reasons in reasoned.items():
        found[what] = [(name, name, why) for name, why in reasons.items()]
    return found


def _point(x: Any) -> Point:
    return float(x[0]), float(x[1]), float(x[2])

"""What Check found, in the scene: the depth of every vertex as attribute and colour, and the list of frames."""

from typing import Any

import bpy
import numpy as np

DEPTH, COLOUR = "pliant_depth", "Pliant Depth"
_OUTSIDE, _SHALLOW, _DEEP = (0.8, 0.8, 0.8, 1.0), (1.0, 0.75, 0.1, 1.0), (0.8, 0.0, 0.05, 1.0)


def show(thing: bpy.types.Object, distances: np.ndarray) -> None:
    """Store the greatest depth of each vertex over all frames, from signed distances (T,n) in Blender's units."""
    depth = np.maximum(-np.nan_to_num(distances), 0.0).max(0).astype(np.float32)
    mesh = thing.data
    _attribute(mesh.attributes, DEPTH, "FLOAT").data.foreach_set("value", depth)
    share = depth / max(float(depth.max()), 1e-12)
    colour = (1.0 - share[:, None]) * np.array(_SHALLOW) + share[:, None] * np.array(_DEEP)
    colour[depth == 0.0] = _OUTSIDE
    layer = _attribute(mesh.color_attributes, COLOUR, "FLOAT_COLOR")
    layer.data.foreach_set("color", colour.astype(np.float32).ravel())
    mesh.color_attributes.active_color = layer
    mesh.update()


def _attribute(group: Any, name: str, kind: str) -> Any:
    """The attribute of that name at vertices; one of another type is replaced."""
    found = group.get(name)
    if found is not None and (found.data_type, found.domain) != (kind, "POINT"):
        group.remove(found)
        found = None
    return group.new(name, kind, "POINT") if found is None else found


def list_findings(scene: bpy.types.Scene, found: dict[str, Any]) -> str:
    """List the frames in which something is wrong, worst first; return the result as one line."""
    settings, metres = scene.pliant, scene.unit_settings.scale_length
    settings.findings.clear()
    settings["chosen"] = -1
    wrong = [f for f in found["frames"] if f["inside"] or f["crossings"] or f["self_pairs"]]
    for each in sorted(wrong, key=lambda f: (-_depth(f), -f["crossings"] - f["self_pairs"], f["frame"])):
        row = settings.findings.add()
        row.frame, row.depth = scene.frame_start + each["frame"], _depth(each) / metres
        row.inside, row.crossings, row.self_pairs = each["inside"] or 0, each["crossings"], each["self_pairs"]
    # the volume of the overlap was not asked for, and garments are open
    notes = "".join(f"; {note['text']}" for note in found["notes"] if note["kind"] != "no-overlap")
    if not wrong:
        return f"no intersections in {len(found['frames'])} frames{notes}"
    deepest = 1e3 * max(map(_depth, wrong))
    return f"intersections in {len(wrong)} of {len(found['frames'])} frames, up to {deepest:.3g} mm deep{notes}"


def _depth(frame: dict[str, Any]) -> float:
    """Metres, of the deepest point at or between vertices; 0 where the body has no inside."""
    return max(frame["deepest"] or 0.0, frame["between"] or 0.0)

"""Scenes that are simulated in a frame that moves with a character, and the facts of it in the summary."""

from typing import Any

import numpy as np

from ..motion.deforming import Frame, Skinned
from ..motion.moving_frame import MovingFrame
from ..scene import Scene


def moving_frame(scene: Scene) -> Frame | None:
    """Return the moving frame of a scene, in which all obstacles must be; None if it is simulated in the world."""
    motions = [scene.bodies[b].motion for b in scene.obstacles]
    frames = [motion.frame if isinstance(motion, Skinned) else None for motion in motions]
    found = next((frame for frame in frames if frame is not None), None)
    if any(frame is not found for frame in frames):
        raise ValueError(
            "a character moves in a frame of its own, and other obstacles of the scene do not; leave out its frame: "
            'teleports="keep" and root_motion="keep"'
        )
    return found


def character_figures(scene: Scene, begin: float = 0.0) -> dict[str, Any]:
    """Return lead-in, teleports and root motion of the first character of a scene, for a run whose first frame is at
    `begin` seconds; empty without one."""
    motion = next((m for m in scene.deforming_motions.values() if isinstance(m, Skinned) and m.clip is not None), None)
    if motion is None:
        return {}
    frame = motion.frame if isinstance(motion.frame, MovingFrame) else None
    jumps = () if frame is None else (*frame.jumps, *(() if frame.seam is None else (frame.seam,)))
    return {
        "lead_in_s": max(motion.lead_in - begin, 0.0),
        "preroll_s": begin,
        "lead_in_travels": frame is not None and frame.travels,
        "teleports": [
            {
                "time_s": motion.lead_in - begin + jump.end,
                "distance_m": jump.distance,
                "turn_degrees": float(np.degrees(jump.turn)),
            }
            for jump in jumps
        ],
        "root_motion": "keep" if frame is None else frame.root_motion,
    }

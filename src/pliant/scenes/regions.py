"""Regions of a character that garments hang from: shoulders, neck, waist, wrists, ankles."""

import numpy as np
from numpy.typing import NDArray

from ..mesh import Mesh
from ..mesh.boundaries import boundary_loops
from ..motion.bones import distance_to_segments, list_bones, region_segments
from ..motion.character import Character

Rows = NDArray[np.int64]
FARTHEST = 0.1  # of the body's size: a boundary farther from all bones of the region does not belong to it
BESIDE = 0.03  # of the body's size: how much farther than the nearest vertex of a boundary another one may be
AROUND = 2.0  # a loop whose mean distance from a bone is at most this multiple of its least goes around the bone


def rows_near_region(garment: Mesh, character: Character, region: str) -> tuple[Rows, list[str]]:
    """Return the boundary vertices of a garment, in the character's rest pose, that lie around the bones of a region,
    and the names of these bones.

    For each bone, the nearest boundary loop counts: all of it if it goes around the bone (a waistband, a cuff, a
    collar), otherwise the part near the bone (the upper edge of a cape).
    """
    size = character.mesh.moved(character.shape(None, 0.0)).size
    loops = boundary_loops(garment)
    if not loops:
        raise ValueError(f"garment {garment.name!r} has no boundary to attach to the {region}; expected a selection")
    bones = region_segments(character, region)
    found, names, least = [np.zeros(0, np.int64)], [], np.inf
    for name, segments in bones.items():
        away = [distance_to_segments(garment.vertices[loop.rows], segments) for loop in loops]
        k = min(range(len(loops)), key=lambda k: float(away[k].min()))
        nearest = float(away[k].min())
        least = min(least, nearest)
        if nearest > FARTHEST * size:
            continue
        around = float(away[k].mean()) <= AROUND * nearest
        found.append(loops[k].rows[around | (away[k] <= nearest + BESIDE * size)])
        names.append(name)
    if not names:
        listed = ", ".join(bones)
        raise ValueError(
            f"the boundary of garment {garment.name!r} is at least {least:.3g} m from the {region} ({listed}); "
            f"place it as it is worn in the rest pose, or attach it to another bone; {list_bones(character)}"
        )
    return np.unique(np.concatenate(found)), names

"""Bones of a character by name: where they are, and points that move rigidly with one of them."""

import dataclasses
import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import validate
from ..arguments import check_arguments
from .character import Character
from .deforming import Skinned

Floats = NDArray[np.float64]
# parts of the body, by the names of bones: the first pattern that any bone matches is used; those after the first stand
# in for them
REGIONS = {
    "shoulders": (r"clavicle|shoulder|collar.?bone", r"(?<!fore)(?<!lower)(?<!lower[ _.])arm(?![a-z])"),
    "neck": (r"neck", r"head"),
    "waist": (r"waist|hips?(?![a-z])|pelvis", r"abdomen|spine|torso"),
    "wrists": (r"wrist", r"hand"),
    "ankles": (r"ankle", r"foot"),
}
_LISTED = 24  # bones in an error message


@check_arguments
@dataclasses.dataclass(frozen=True, eq=False)
class OnBone:
    """Points (k,3) that move rigidly with one bone of a character; they are given in its rest pose, in metres.

    An implementation of `Deforming`, for grips.
    """

    carrier: Skinned
    bone: int
    points: Floats

    def __post_init__(self) -> None:
        validate.whole("bone", self.bone, low=0, high=len(self.carrier.character.names) - 1)
        object.__setattr__(self, "points", validate.floats("points", self.points, (None, 3)))

    def sample(self, times: Floats) -> Floats:
        """Return the motion (t,1,3,4) of the bone since the rest pose."""
        c = self.carrier.character
        matrices = np.zeros((len(times) + 1, 4, 4))
        matrices[0, :3] = c.skin_matrices(c.skeleton.rest[None])[0, self.bone]
        matrices[1:, :3] = self.carrier.sample(times)[:, self.bone]
        matrices[:, 3, 3] = 1.0
        return (matrices[1:] @ np.linalg.inv(matrices[0]))[:, None, :3]

    def shape(self, sample: Floats) -> Floats:
        return np.asarray(self.points @ sample[0, :, :3].T + sample[0, :, 3])

    def taking(self, rows: NDArray[np.int64]) -> "OnBone":
        return OnBone(self.carrier, self.bone, self.points[rows])

    def fastest(self) -> float:
        return self.carrier.fastest()

    @property
    def key(self) -> tuple[Any, ...]:
        return (*self.carrier.key, self.bone, self.points)


def bone_called(character: Character, name: str) -> int | None:
    """Return the bone of that name, or the only one of that name in another case; None if there is neither."""
    if name in character.names:
        return character.names.index(name)
    near = [k for k, each in enumerate(character.names) if each.lower() == name.lower()]
    return near[0] if len(near) == 1 else None


def region_segments(character: Character, region: str) -> dict[str, Floats]:
    """Return segments (k,2,3) in the rest pose, by the names of the bones of a region: those with skin, if any have.

    Bones that only stand in for others, such as upper arms for shoulders, count by their joints, the first of each
    chain. ValueError lists the bones if no name matches.
    """
    skinned = set(np.unique(character.joints[character.weights > 0.0]).tolist())
    for rank, pattern in enumerate(REGIONS[region]):
        found = [k for k, name in enumerate(character.names) if re.search(pattern, name, re.I)]
        found = [k for k in found if k in skinned] or found
        if found and rank:
            found = [k for k in found if character.parents[k] not in found]
            return {character.names[k]: bone_segments(character, k)[:1, [0, 0]] for k in found}
        if found:
            return {character.names[k]: bone_segments(character, k) for k in found}
    raise ValueError(f"no bone of {character.mesh.name!r} belongs to {region!r} by its name; {list_bones(character)}")


def list_bones(character: Character) -> str:
    """Return the names of the bones for an error message."""
    names = character.names
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return f"its bones are: {', '.join(names[:_LISTED])}{more}"


def bone_segments(character: Character, bone: int) -> Floats:
    """Return segments (k,2,3) of a bone in the rest pose: from its joint to its children's, or the joint alone."""
    heads = character.skeleton.world_matrices(character.skeleton.rest[None])[0][character.nodes, :, 3]
    ends = heads[character.parents == bone]
    ends = ends if len(ends) else heads[bone][None]
    return np.stack([np.broadcast_to(heads[bone], ends.shape), ends], 1)


def distance_to_segments(points: Floats, segments: Floats) -> Floats:
    """Return the distance (n,) of points (n,3) from the nearest of segments (k,2,3), metres."""
    best = np.full(len(points), np.inf)
    for a, b in segments:
        along = b - a
        t = np.clip((points - a) @ along / max(float(along @ along), 1e-300), 0.0, 1.0)
        best = np.minimum(best, np.linalg.norm(points - a - t[:, None] * along, axis=1))
    return best

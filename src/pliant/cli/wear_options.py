"""Options of garments that bodies wear, for `pliant drape` and `pliant play`."""

import dataclasses
import pathlib
from typing import TYPE_CHECKING, Literal

from . import output

if TYPE_CHECKING:
    from ..scene import Scene


@dataclasses.dataclass(frozen=True)
class WearOptions:
    """Garments on a body; all but `hold` need a character, a .glb or .gltf file with a clip, or a sequence of
    meshes."""

    clip: str | None = None
    "Clip of the character to play, or of an .npz with several. Default: the first."
    lead_in: float | None = None
    """Seconds of transition from the rest pose, in which the garment is given, to the first pose of the clip; where the
    body is a sequence of meshes without --body-rest, seconds in which it stands in its first frame. Default: 0.5, or
    more where points of the skin would be faster than 3 m/s, or than 1.25 times its size per second if it is larger
    than 2.4 m; 0 for a sequence without --body-rest. 0 for a character starts with the first pose of the clip: a
    transition to it is simulated before the first frame."""
    teleports: Literal["carry", "keep"] = "carry"
    """Where the whole character jumps: carry moves the garments rigidly along, keep simulates the jump as a fast
    motion."""
    root_motion: Literal["keep", "remove"] = "keep"
    """remove simulates the character in place, without its translation, and puts that back into the result; the
    garments then feel neither its acceleration nor the air resistance of its motion."""
    hold: Literal["auto", "none"] = "auto"
    """auto: waistbands, cuffs and collars of a garment stay fixed to the skin, unless --pin, --attach, --stitch or
    --stitches say what holds it; none: only friction holds them."""
    ease: str = "0"
    """Largest growth of a garment where the clip stretches the skin below it: 15% or 0.15. For tops that were modelled
    in another pose than those of the clip and are too tight for it."""
    layer: tuple[pathlib.Path, ...] = ()
    "Mesh file of another garment over the first; repeat for each, inner to outer."
    layer_material: tuple[str, ...] = ()
    """Material of the first --layer by name, or default, that of garments without a name; repeat for the others.
    Default: that of the first garment."""
    body_points: pathlib.Path | None = None
    "A point cache, .pc2 or .mdd, that animates BODY, a mesh file without bones."
    body_rest: pathlib.Path | None = None
    """Mesh file of a BODY that is a sequence of meshes, in the pose for which the garment was made, with the same
    vertices: the body moves from there to its first frame in the lead-in. Default: the garment lies on the first
    frame."""
    fps: float | None = None
    "Frames per second of a BODY that is a sequence of meshes. Default: as stored in the file, otherwise 30."


def refuse_wear_options(wear: WearOptions, why: str) -> None:
    """Raise ValueError for an option of worn garments where it would have no effect."""
    for option, chosen in dataclasses.asdict(wear).items():
        if chosen != getattr(WearOptions, option):
            name = f"--{option.replace('_', '-')}"
            if option in ("fps", "body_points", "body_rest"):
                raise ValueError(f"{name} is for a BODY that is a sequence of meshes; {why}")
            worn = "from a file, on a body" if option == "hold" else "on a character"
            raise ValueError(f"{name} is for a garment {worn}; {why}")


def say_held(scene: "Scene", *, automatic: bool) -> None:
    """Say what was attached automatically to the skin of a body that moves, if that was wanted."""
    for b in scene.cloths if automatic else ():
        held = sum(len(grip.rows) for grip in scene.bodies[b].grips)
        name = repr(scene.bodies[b].label)
        if held:
            what = f"{held} vertices of {name}, boundaries close to the skin, are attached to it"
            output.say(f"note: {what}; --hold none releases them")
        else:
            output.say(f"note: only friction holds {name}; --attach waist, or another region, attaches it")

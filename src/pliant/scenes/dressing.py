"""Garments on a character that plays a clip."""

import logging
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import validate
from ..arguments import check_arguments
from ..binding.bind import bind
from ..detect.queries.closest_point import ClosestPoints
from ..mesh import Mesh
from ..motion.character import Character
from ..motion.deforming import Attached, Skinned, joined
from ..motion.moving_frame import ROOT_MOTIONS
from ..motion.playing import played, preroll_of
from ..scene import Body, Cloth, Grip, Scene, Strands
from .drape import edge_lengths, with_extent
from .holding import Holding, hold_cloths
from .material_options import take_material
from .snug_loops import HOLDS, snug
from .strand_roots import roots

TELEPORTS = ("carry", "keep")
log = logging.getLogger("pliant.scenes")
WORN = Cloth(strain_limit=0.017)  # the default material of garments: firmer than that of cloth that falls on a body
NEAR = 0.0025  # contact offset as a share of the body's size, the diagonal of its bounding box: about 5 mm for a person
LONGEST_PREROLL = 3.0  # s, of the motion before a first frame that has the first pose of a clip


@check_arguments
def dress_scene(
    garments: Sequence[Mesh],
    character: Character,
    *,
    clip: str | None = None,
    lead_in: float | None = None,
    loop: bool = False,
    teleports: str = "carry",
    root_motion: str = "keep",
    hold: str = "auto",
    ease: float = 0.0,
    eps: float | None = None,
    material: Cloth | Strands | str | None = None,
    name: str = "dress",
    **options: Any,
) -> Scene:
    """Return a scene in which `character` plays `clip` and wears `garments`, given inner to outer in its rest pose.

    clip: default: the character's first clip; played once, or repeatedly with `loop`. lead_in: seconds in which the
    character moves from the rest pose to the first pose of the clip; default: 0.5, or longer where needed to keep every
    point of the skin slower than 3 m/s (than 1.25 times its size per second, if it is larger than 2.4 m). teleports:
    "carry" carries the garments rigidly along where the whole character jumps, also on its way to a far first pose;
    "keep" simulates the jump as a fast motion. root_motion: "remove" takes the translation of the character out of the
    simulation and puts it back into the result, so that the garments feel neither its acceleration nor the air
    resistance of its motion. hold: "auto" attaches boundary loops that lie close to the skin all around (waistbands,
    cuffs, collars) to the skin; "none" attaches nothing, so only friction holds the garments. ease: largest growth of a
    garment where the clip stretches the skin below it, 0.15 for 15 % (docs/bind.md); for garments that lie on the body.
    pins, attach, stitch,
    stitches, closing, rest_scale: see `Holding`; the first four replace the automatic attachments. eps: the contact
    offset in metres; default: a quarter of a percent of the body's size, at most half of the median edge. material: a
    Cloth, or the name of one (`pliant materials`); default: `WORN`; for a mesh of lines, Strands. Other options are
    those of Scene (friction, gravity, self_contact ...).
    """
    validate.choice("hold", hold, HOLDS)
    if not garments:
        raise ValueError("garments is empty; expected at least one mesh, inner to outer")
    if clip is None and character.clips:
        clip = next(iter(character.clips))
    validate.choice("teleports", teleports, TELEPORTS)
    validate.choice("root_motion", root_motion, ROOT_MOTIONS)
    ease = validate.number("ease", ease, low=0.0, high=1.0)
    if lead_in is not None:
        lead_in = validate.number("lead_in", lead_in, low=0.0)
    how: dict[str, Any] = {"teleports": teleports == "carry", "root_motion": root_motion, "turn": is_upright(options)}
    motion = played(character, clip, lead_in, loop, **how)
    skin = rest_skin(character)
    if skin.issues.inward:
        raise ValueError(
            f"character {skin.name!r} is inside out (normals point inward); reverse its faces (faces[:, ::-1])"
        )
    distance = default_eps_on_skin(skin, garments) if eps is None else validate.number("eps", eps, above=0.0)
    surface = ClosestPoints(skin)
    holding = Holding.of(options)
    if ease and holding.rest_scale != 1.0:
        raise ValueError("ease and rest_scale both change the rest lengths of the garments; give one of them")
    automatic = hold == "auto" and not holding.holds
    soft = []
    for layer, garment in enumerate(garments):
        hair = bool(len(garment.lines))
        rows = (roots if hair else snug)(garment, surface, skin.size) if automatic else np.zeros(0, np.int64)
        grips = []
        if len(rows):
            points = garment.vertices[rows]
            corners = skin.welded.faces[surface.query(points)[2]]
            grips.append(Grip(rows, Attached.at(_welded(motion, skin), skin.welded.vertices, corners, points)))
        _warn_of_depth(garment, surface)
        stuff = take_material({"material": WORN if material is None and not hair else material}, garment)
        grown = 1.0 if hair or not ease else bind(garment, character, pose="rest").ease(clip, most=ease)
        soft.append(
            Body(garment, material=stuff, grips=grips, layer=0 if hair else layer, flat=False, rest_scale=grown)
        )
    body = Body(skin, obstacle=True, motion=motion, color=(0.80, 0.60, 0.50))
    return hold_cloths(Scene([*soft, body], eps=distance, name=name, **options), holding)


def preroll_of_clip(
    character: Character, clip: str | None, *, teleports: str, root_motion: str, turn: bool
) -> tuple[float, float]:
    """Return how far, in metres, the first pose of a clip (None: the first) is from the rest pose, and for how many
    seconds a character that starts with this pose has to move before it, 0 if it is the rest pose."""
    clip = next(iter(character.clips), None) if clip is None else clip
    if clip is None:
        return 0.0, 0.0
    return preroll_of(
        played(character, clip, None, False, teleports=teleports == "carry", root_motion=root_motion, turn=turn)
    )


def rest_skin(character: Character) -> Mesh:
    """Return the skin of a character in its rest pose."""
    return character.mesh.moved(joined(character.mesh, character.shape(None, 0.0)))


def is_upright(options: dict[str, Any]) -> bool:
    """Whether gravity and wind are the same in a frame that has turned about the vertical."""
    wind, gravity = (validate.floats(name, options.get(name, (0.0, 0.0, 0.0)), (3,)) for name in ("wind", "gravity"))
    return not (gravity[::2].any() or wind[::2].any())


def _welded(motion: Skinned, skin: Mesh) -> Skinned:
    return motion.taking(np.unique(skin.weld_index, return_index=True)[1])


def default_eps_on_skin(skin: Mesh, garments: Sequence[Mesh]) -> float:
    """The default contact offset between skin and cloth, metres; for fine cloth at most half of the median edge."""
    edge = min(float(np.median(edge_lengths(garment))) for garment in garments)
    return with_extent(min(NEAR * skin.size, 0.5 * edge), [skin, *garments])


def _warn_of_depth(garment: Mesh, surface: ClosestPoints) -> None:
    depth = surface.query(garment.vertices[np.unique(garment.faces)])[0]
    inside = int((depth < 0.0).sum())
    if inside:
        text = "garment %r starts with %d vertices inside the body, up to %.3g mm deep; they will be pushed out"
        log.warning(text, garment.name, inside, -1e3 * float(depth.min()))

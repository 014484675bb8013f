"""Garments on a body whose vertices are recorded frame by frame: a sequence of meshes, without bones."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import validate
from ..arguments import check_arguments
from ..detect.queries.closest_point import ClosestPoints
from ..mesh import Mesh
from ..motion.clip import Clip
from ..motion.deforming import Attached, Deforming, Recorded
from ..motion.playing import FASTEST, SIZES
from ..scene import Body, Cloth, Grip, Scene
from .dressing import WORN, default_eps_on_skin
from .holding import Holding, hold_cloths
from .material_options import take_material
from .snug_loops import HOLDS, snug

Floats = NDArray[np.float64]
SHORTEST = 0.5  # s, of a lead-in from a rest pose
EASED = 1.5  # the largest speed on a way that is eased at both ends, relative to its mean
ELSEWHERE, TURNED = 0.5, np.pi / 4.0  # of the body's size, and radians: a first frame beyond is another place
UNLIKE = 8.0  # ratio of median edges beyond which two poses are of different units, not of one body
STEPS = 32  # poses of a lead-in, between which vertices move linearly


@check_arguments
def recorded_scene(
    garments: Sequence[Mesh | Clip],
    body: Clip,
    fps: float,
    *,
    lead_in: float | None = None,
    rest: Mesh | None = None,
    hold: str = "auto",
    eps: float | None = None,
    material: Cloth | str | None = None,
    name: str = "dress",
    **options: Any,
) -> Scene:
    """Return a scene in which `body` moves through its frames, `fps` of them per second, and wears `garments`, given
    inner to outer as they lie on its first frame, or on `rest`.

    rest: the body in the pose for which the garments were made, with the same vertices. lead_in: seconds in which the
    body moves from `rest` to its first frame, each vertex on a straight line, with ease-in and ease-out; default: 0.5,
    or longer where needed to keep every vertex slower than 3 m/s (than 1.25 times the body's size per second, if it is
    larger than 2.4 m), rounded up to frames of the body. Where the first frame is half of the body's size away or
    turned by 45 degrees, rest pose and garments are first put there, by a translation and a turn about the vertical.
    Without `rest`: seconds in which the body stands in its first frame and the garments settle; default: 0. hold:
    "auto" attaches boundary loops that lie close to the skin all around (waistbands, cuffs, collars) to the skin;
    "none" attaches nothing. pins, attach, stitch, stitches, closing, rest_scale: see `Holding`; pins and attachments
    replace the automatic ones of the garments that they name, stitches those of all. A garment with frames of its own,
    as many as the body has, moves its pinned vertices through them; they yield to bodies and other cloth as attached
    ones do. eps, material and other options are those of `dress_scene`.
    """
    validate.choice("hold", hold, HOLDS)
    if not garments:
        raise ValueError("garments is empty; expected at least one mesh or clip, inner to outer")
    way, fps = _way_to_first_frame(body, rest), validate.number("fps", fps, above=0.0)
    put = None if way is None else _placement(way)
    if way is not None and put is not None:
        way[0] = way[0] @ put[0].T + put[1]
    if lead_in is None:  # in whole frames of the body, so that its frames are at multiples of 1/fps
        lead_in = 0.0 if way is None else float(np.ceil(_lead_in(way) * fps - 1e-9)) / fps
    lead_in = validate.number("lead_in", lead_in, low=0.0)
    times = lead_in + np.arange(len(body)) / fps
    clips = [each if isinstance(each, Clip) else Clip(each, each.vertices[None]) for each in garments]
    for clip in clips:
        if not clip.still and len(clip) != len(body):
            raise ValueError(
                f"garment {clip.mesh.name!r} has {len(clip)} frames and the body {len(body)}; expected the same number"
            )
        if not clip.still and way is not None:
            raise ValueError(f"garment {clip.mesh.name!r} has frames of its own; with rest, give it in that pose alone")
    worn = [clip.mesh.moved(np.asarray(clip.at(0), np.float64)) for clip in clips]
    if put is not None:
        worn = [garment.moved(garment.vertices @ put[0].T + put[1]) for garment in worn]
    skin, motion = _skin(body, times) if way is None else _skin_from_rest(body, times, way)
    if skin.issues.inward:
        raise ValueError(f"body {skin.name!r} is inside out (normals point inward); reverse its faces (faces[:, ::-1])")
    distance = default_eps_on_skin(skin, worn) if eps is None else validate.number("eps", eps, above=0.0)
    holding = Holding.of(options)
    bodies = []
    for layer, garment in enumerate(worn):
        stuff = take_material({"material": WORN if material is None else material}, garment)
        bodies.append(Body(garment, material=stuff, layer=layer))
    bodies.append(Body(skin, obstacle=True, motion=motion, color=(0.80, 0.60, 0.50)))
    scene = hold_cloths(Scene(bodies, eps=distance, name=name, **options), holding)
    if hold == "auto" and not holding.sews:
        surface = ClosestPoints(skin)
        bodies = [_held(body, surface, skin, motion) if not body.obstacle else body for body in scene.bodies]
        scene = dataclasses.replace(scene, bodies=bodies)
    return _with_moving_pins(scene, clips, times)


def _with_moving_pins(scene: Scene, clips: Sequence[Clip], times: Floats) -> Scene:
    """Return the scene with the pinned vertices of those garments that have frames of their own, at `times`, moving
    through these; clip k is that of body k."""
    bodies = list(scene.bodies)
    for k, clip in enumerate(clips):
        pins = bodies[k].pins
        if clip.still or not len(pins):
            continue
        path = Recorded(times, np.stack([clip.at(t)[pins] for t in range(len(clip))]).astype(np.float64))
        bodies[k] = dataclasses.replace(bodies[k], pins=(), grips=[*bodies[k].grips, Grip(pins, path)])
    return dataclasses.replace(scene, bodies=bodies)


def _skin(body: Clip, times: Floats) -> tuple[Mesh, Recorded | None]:
    """The body in its first frame, and its motion; None for a body that never moves."""
    skin = body.mesh.moved(np.asarray(body.at(0), np.float64))
    if body.still:
        return skin, None
    return skin, Recorded(times, np.stack([body.at(t) for t in range(len(body))]).astype(np.float64))


def _way_to_first_frame(body: Clip, rest: Mesh | None) -> Floats | None:
    """The positions (2,n,3) of the body at rest and in its first frame; None without a rest pose."""
    if rest is None:
        return None
    if rest.n_vertices != body.mesh.n_vertices:
        raise ValueError(
            f"rest {rest.name!r} has {rest.n_vertices} vertices and the body {body.mesh.n_vertices}; expected the same "
            "vertices in the same order"
        )
    way = np.stack([rest.vertices, np.asarray(body.at(0), np.float64)])
    edges = body.mesh.topology.edges
    lengths = np.median(np.linalg.norm(way[:, edges[:, 0]] - way[:, edges[:, 1]], axis=2), axis=1)
    if not lengths[1] / UNLIKE <= lengths[0] <= UNLIKE * lengths[1]:
        raise ValueError(
            f"rest {rest.name!r} has edges of {lengths[0]:.3g} m, and the first frame of {lengths[1]:.3g} m; "
            "expected the same body in another pose: are both in the same unit?"
        )
    return way


def _placement(way: Floats) -> tuple[Floats, Floats] | None:
    """The rotation about the vertical and the translation that lead from the rest pose to the first frame, where that
    is elsewhere or faces another way; None where it is not. The rest pose and the garments are put there at the start:
    on straight lines, limbs would pass through each other, and cloth be dragged along."""
    middle = way.mean(1)
    one, two = way - middle[:, None]
    turn = np.arctan2((one[:, 2] * two[:, 0] - one[:, 0] * two[:, 2]).sum(), (one[:, ::2] * two[:, ::2]).sum())
    far = float(np.linalg.norm(middle[1] - middle[0]))
    if far < ELSEWHERE * float(np.linalg.norm(np.ptp(way[0], axis=0))) and abs(turn) < TURNED:
        return None
    c, s = np.cos(turn), np.sin(turn)
    rotation = np.array([[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]])
    return rotation, middle[1] - rotation @ middle[0]


def _lead_in(way: Floats) -> float:
    """Seconds of a lead-in in which no vertex exceeds the speed limit of those of characters."""
    limit = max(FASTEST, SIZES * float(np.linalg.norm(np.ptp(way[0], axis=0))))
    farthest = float(((way[1] - way[0]) ** 2).sum(1).max()) ** 0.5
    return max(SHORTEST, EASED * farthest / limit)


def _skin_from_rest(body: Clip, times: Floats, way: Floats) -> tuple[Mesh, Recorded | None]:
    """The body at rest, and its motion from there through its frames, of which the first is at times[0]."""
    skin = body.mesh.moved(way[0])
    if body.still and not np.ptp(way, axis=0).any():
        return skin, None
    steps = np.arange(STEPS if times[0] > 0.0 else 0) / STEPS
    share = (steps * steps * (3.0 - 2.0 * steps))[:, None, None]
    frames = [(1.0 - share) * way[0] + share * way[1], *([body.at(t)] for t in range(len(body)))]
    return skin, Recorded(np.concatenate([steps * times[0], times]), np.concatenate(frames).astype(np.float64))


def _held(garment: Body, surface: ClosestPoints, skin: Mesh, motion: Deforming | None) -> Body:
    """A garment that nothing holds with its waistbands, cuffs and collars attached to the skin, or pinned where that
    never moves."""
    if len(garment.pins) or garment.grips:
        return garment
    rows = snug(garment.mesh, surface, skin.size, static=motion is None)
    if not len(rows):
        return garment
    if motion is None:
        return dataclasses.replace(garment, pins=rows)
    points, welded = garment.mesh.vertices[rows], skin.welded
    carrier = motion.taking(np.unique(skin.weld_index, return_index=True)[1])
    grip = Grip(rows, Attached.at(carrier, welded.vertices, welded.faces[surface.query(points)[2]], points))
    return dataclasses.replace(garment, grips=[grip])

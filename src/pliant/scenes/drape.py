"""Scenes in which a cloth falls over a body."""

import enum
import functools
import logging
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import renamed, validate
from ..detect.queries.closest_point import ClosestPoints
from ..mesh import Mesh
from ..scene import Body, Cloth, Scene, Strands
from .holding import Holding, hold_cloths
from .material_options import take_material
from .snug_loops import HOLDS, snug
from .strand_roots import roots

log = logging.getLogger("pliant.scenes")
PLACES = ("auto", "as-is", "above")
FIELD_CELLS = 320  # along the body's longest side: a dense grid of 160 MB for a body with a cubic bounding box


def drape_scene(
    cloth: Mesh,
    body: Mesh,
    *,
    place: str = "auto",
    eps: float | None = None,
    material: Cloth | Strands | str | None = None,
    hold: str = "auto",
    name: str = "drape",
    **options: Any,
) -> Scene:
    """Return a scene in which `cloth` falls over the static `body`.

    place: "as-is" leaves both where they are; "above" centres the cloth over the body; "auto" does so only if the
    cloth would start beside the body, below it, far from it, or (flat sheets only) inside it. eps: the contact offset,
    metres; default: `default_eps`. hold: "auto" pins the boundary loops of a garment that lie close to the body all
    around (waistbands, cuffs, collars), unless the garment was moved; "none" pins nothing, so only friction holds it.
    pins, attach, stitch, stitches, closing, rest_scale: see `Holding`; the first four replace the automatic pins.
    material: a Cloth, or the name of one (`pliant materials`); Strands for a mesh of lines, of which "auto" leaves the
    place as it is and pins the ends that begin at the body.
    Other options are those of Scene (friction, gravity, wind ...).
    """
    validate.choice("place", place, PLACES)
    validate.choice("hold", hold, HOLDS)
    for mesh in (cloth, body):
        if not mesh.n_faces:
            raise ValueError(f"mesh {mesh.name!r} has no faces; expected a surface")
    if not body.welded.issues.closed:
        log.info("body %r is open; its outside is the side that its face normals point to", body.name)
    if body.issues.inward:
        raise ValueError(f"body {body.name!r} is inside out (normals point inward); reverse its faces (faces[:, ::-1])")
    given, cloth = cloth, place_cloth(cloth, body, place)
    if place == "auto" and cloth is given and not len(cloth.lines) and _start(cloth, body) is _Start.INSIDE:
        log.warning("garment %r starts partly inside body %r and will be pushed out", cloth.name, body.name)
    distance = default_eps(body, cloth) if eps is None else validate.number("eps", eps, above=0.0)
    check_eps(distance, body)
    holding = Holding.of(options)
    found: Any = ()
    worn = bool(len(cloth.lines)) or not _is_sheet(cloth)
    if hold == "auto" and not holding.holds and cloth is given and worn:
        find = roots if len(cloth.lines) else functools.partial(snug, static=True)
        found = find(cloth, ClosestPoints(body), body.size)
    soft = Body(cloth, material=take_material({"material": material}, cloth), pins=found)
    return hold_cloths(Scene([soft, Body(body, obstacle=True)], eps=distance, name=name, **options), holding)


def check_eps(eps: float, body: Mesh) -> None:
    """Raise ValueError for a contact offset that is larger than the body."""
    if eps > body.size:
        raise ValueError(f"eps = {eps:g} m is more than the size of body {body.name!r}, {body.size:.3g} m")


def place_cloth(cloth: Mesh, body: Mesh, place: str) -> Mesh:
    """The cloth where `drape_scene` places it: itself, or moved above the body."""
    if place == "above":
        return above(cloth, body)
    start = _start(cloth, body) if place == "auto" and not len(cloth.lines) else None
    if start is None or (start is _Start.INSIDE and not _is_sheet(cloth)):
        return cloth
    where = (cloth.name, start.value, body.name)
    log.warning("cloth %r starts %s body %r; moved above it (place='as-is' keeps it)", *where)
    return above(cloth, body)


def default_eps(body: Mesh, cloth: Mesh | None = None) -> float:
    """The default contact offset of this body, metres: about 5 mm at human size, at most 1 % of a smaller body's size.

    The chords of coarse cloth cut into the body between vertices, so the offset is at least a tenth of the median edge;
    for fine cloth it is at most half of it. The guarantee of a distance field requires cells no larger than eps, so
    eps is at least the cell size of a grid of FIELD_CELLS cells along its longest side.
    """
    longest = float((body.bounds[1] - body.bounds[0]).max())
    wanted = 0.005
    if cloth is not None:
        edge = float(np.median(edge_lengths(cloth)))
        wanted = min(max(wanted, 0.1 * edge), 0.5 * edge)
    return with_extent(max(min(wanted, 0.01 * body.size), longest / FIELD_CELLS), [body, cloth])


def with_extent(eps: float, meshes: Sequence[Mesh | None]) -> float:
    """Return a default contact offset; raise ValueError if it is zero, because a mesh has no extent."""
    for mesh in meshes if not eps else ():
        if mesh is not None and not float(np.median(edge_lengths(mesh))):
            raise ValueError(f"mesh {mesh.name!r} has no extent: half of its edges or more have length 0")
    return eps


def edge_lengths(mesh: Mesh) -> NDArray[np.float64]:
    """(k,) edge lengths of the welded mesh, metres."""
    ends = mesh.welded.vertices[mesh.welded.topology.edges]
    return np.linalg.norm(ends[:, 0] - ends[:, 1], axis=1)


def above(cloth: Mesh, body: Mesh, gap: float | None = None) -> Mesh:
    """The cloth translated so that it is centred over the body, its lowest point `gap` above the body's highest."""
    # flat cloth falls at little more than 1 m/s, so the gap is bounded over large bodies
    lift = max(min(0.04 * body.size, 0.1), 2.0 * default_eps(body)) if gap is None else gap
    low, high = cloth.bounds
    middle = 0.5 * (low + high)
    target = 0.5 * (body.bounds[0] + body.bounds[1])
    move = np.array([target[0] - middle[0], body.bounds[1][1] + lift - low[1], target[2] - middle[2]])
    return cloth.moved(cloth.vertices + move)


class _Start(enum.Enum):
    """A start from which cloth cannot fall on a body; the value is its preposition in messages."""

    BESIDE = "beside"
    BELOW = "below"
    INSIDE = "inside"
    FAR = "far from"


def _start(cloth: Mesh, body: Mesh) -> _Start | None:
    """Why the cloth cannot fall on the body from where it is; None if it can."""
    low, high = cloth.bounds
    if (low > body.bounds[1])[[0, 2]].any() or (high < body.bounds[0])[[0, 2]].any():
        return _Start.BESIDE
    if high[1] <= body.bounds[0][1] + 1e-6 * body.size:  # also a sheet on the floor, in the plane of the soles
        return _Start.BELOW
    mesh = cloth.welded
    x = mesh.vertices[np.unique(mesh.faces)]
    middles = mesh.vertices[mesh.topology.edges].mean(1)
    least = float(ClosestPoints(body).query(np.concatenate([x, middles]))[0].min())
    if least < 0.0:
        return _Start.INSIDE
    return _Start.FAR if least > 0.5 * body.size else None


def _is_sheet(cloth: Mesh) -> bool:
    """True for flat cloth, as opposed to a garment: its thickness is less than a twentieth of its length."""
    extent = np.sort(np.linalg.svd(cloth.vertices - cloth.vertices.mean(0), compute_uv=False))
    return bool(extent[0] < 0.05 * extent[-1])


# names that moved to the tablecloths
_TABLECLOTHS = ("tablecloth_for", "tablecloth_material", "tablecloth_scene", "tablecloth_side")
__getattr__ = renamed.module(__name__, dict.fromkeys(_TABLECLOTHS, "pliant.scenes.tablecloths"))

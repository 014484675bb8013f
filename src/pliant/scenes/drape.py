"""Any cloth over any body."""

import dataclasses
import logging
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import shapes, validate
from ..detect.surface import ClosestPoints
from ..mesh import Mesh
from ..scene import Body, Cloth, Scene
from .snug import HOLDS, snug

log = logging.getLogger("pliant.scenes")
PLACES = ("auto", "as-is", "above")
COTTON = 0.75  # metres: the side of a tablecloth that is of the default material
FOLD = 1 / 16  # of a tablecloth's side: how far its own weight bends it; so it does 75 cm of cotton
FIELD_CELLS = 320  # along the body's longest side: a dense grid of 160 MB for a body as deep and high as it is wide


def drape_scene(
    cloth: Mesh,
    body: Mesh,
    *,
    place: str = "auto",
    eps: float | None = None,
    material: Cloth | None = None,
    pins: Any = (),
    hold: str = "auto",
    name: str = "drape",
    **options: Any,
) -> Scene:
    """A scene in which `cloth` falls over `body`.

    place: "as-is" leaves both where they are, "above" centres the cloth over the body, "auto" does so only where the
    cloth would start beside the body, far away, or (a flat sheet) inside it. eps: the distance kept, by default
    `default_eps`. hold: "auto" pins the borders of a garment that lie close to the body all around (waistbands, cuffs,
    collars) where it is worn as it is; "none" leaves all to friction. Other options are those of Scene (friction,
    gravity, wind ...).
    """
    validate.choice("place", place, PLACES)
    validate.choice("hold", hold, HOLDS)
    for mesh in (cloth, body):
        if not mesh.n_faces:
            raise ValueError(f"mesh {mesh.name!r} has no faces; expected a surface")
    if not body.welded.issues.closed:
        log.info("body %r is open; the outside is where its faces look", body.name)
    if body.issues.inward:
        raise ValueError(f"body {body.name!r} is inside out (its faces look inward); turn them around (faces[:, ::-1])")
    given = cloth
    if place == "above":
        cloth = above(cloth, body)
    elif place == "auto" and (why := _why_move(cloth, body)):
        if why == "starts inside" and not _is_sheet(cloth):
            log.warning("garment %r starts partly inside body %r: left there, it is pushed out", cloth.name, body.name)
        else:
            log.warning("cloth %r %s body %r: moved above it (place as-is leaves it)", cloth.name, why, body.name)
            cloth = above(cloth, body)
    distance = default_eps(body, cloth) if eps is None else validate.number("eps", eps, above=0.0)
    if distance > body.size:
        raise ValueError(f"eps = {distance:g} m is more than the size of body {body.name!r}, {body.size:.3g} m")
    if hold == "auto" and not len(pins) and cloth is given and not _is_sheet(cloth):
        pins = snug(cloth, ClosestPoints(body), body.size, standing=True)
    soft = Body(cloth, material=material or Cloth(), pins=pins)
    return Scene([soft, Body(body, fixed=True)], eps=distance, name=name, **options)


def default_eps(body: Mesh, cloth: Mesh | None = None) -> float:
    """How far cloth is kept from this body, metres: 5 mm for things of human size, at most 1 % of smaller ones.

    Coarse cloth cuts corners between its vertices and keeps a tenth of an edge, fine cloth may come as near as half
    an edge. The field's cells must not be larger than eps, or nothing is promised any more; so eps is never less than
    the cells of a grid of bearable size.
    """
    longest = float((body.bounds[1] - body.bounds[0]).max())
    wanted = 0.005
    if cloth is not None:
        edge = float(np.median(edge_lengths(cloth)))
        wanted = min(max(wanted, 0.1 * edge), 0.5 * edge)
    return max(min(wanted, 0.01 * body.size), longest / FIELD_CELLS)


def edge_lengths(mesh: Mesh) -> NDArray[np.float64]:
    """(k,) metres, of the welded mesh."""
    ends = mesh.welded.vertices[mesh.welded.topology.edges]
    return np.linalg.norm(ends[:, 0] - ends[:, 1], axis=1)


def tablecloth_side(body: Mesh) -> float:
    """Metres: 1.6 times the body's height or its largest width, whatever is more."""
    return 1.6 * float((body.bounds[1] - body.bounds[0]).max())


def tablecloth_material(body: Mesh, **given: float) -> Cloth:
    """Cotton, except that a tablecloth of any size has folds of the same shape. given: what is not to be chosen.

    What it weighs bends it over the same part of its side, whatever that is in metres, and its waves die out within
    the time that it takes to fall as far.
    """
    plain, side = Cloth(**given), tablecloth_side(body)
    chosen = {"bend": plain.density * 9.81 * (FOLD * side) ** 3, "damping": plain.damping * (side / COTTON) ** 1.5}
    return dataclasses.replace(plain, **(chosen | given))


def tablecloth_for(body: Mesh, resolution: int = 36) -> Mesh:
    """A square of cloth that covers a body.

    It is centred over the top of the body, the highest tenth, because cloth that touches off its centre slides down.
    """
    side = tablecloth_side(body)
    cloth = above(shapes.cloth(side, side, resolution), body)
    x = body.vertices[np.unique(body.faces)]
    top = x[x[:, 1] >= x[:, 1].max() - 0.1 * np.ptp(x[:, 1])]
    middle = 0.5 * (top.min(0) + top.max(0)) - 0.5 * (cloth.bounds[0] + cloth.bounds[1])
    return cloth.moved(cloth.vertices + np.array([middle[0], 0.0, middle[2]]))


def tablecloth_scene(
    body: Mesh, *, resolution: int = 36, place: str = "as-is", material: Cloth | None = None, **options: Any
) -> Scene:
    """A tablecloth over any body, and a floor under both: what slides off comes to rest. Options as `drape_scene`.

    Without a material it has that of `tablecloth_material`: over a house its folds are wide enough for its triangles
    to show them, over a coin it hangs and does not stand off like card.
    """
    cloth = tablecloth_for(body, resolution)
    scene = drape_scene(cloth, body, place=place, material=material or tablecloth_material(body), **options)
    width = 1.6 * tablecloth_side(body)
    thick = 8.0 * scene.eps  # a field of it takes room for its thickness
    x, _, z = 0.5 * (body.bounds[0] + body.bounds[1])
    slab = shapes.box((width, thick, width), (8, 1, 8), centre=(x, body.bounds[0, 1] - 0.5 * thick, z))
    return dataclasses.replace(scene, bodies=[*scene.bodies, Body(slab, fixed=True, name="floor")])


def above(cloth: Mesh, body: Mesh, gap: float | None = None) -> Mesh:
    """The cloth moved (not turned) so that it is centred over the body, its lowest point `gap` above the highest."""
    # flat cloth sinks at little more than 1 m/s, so over large bodies it does not wait for long
    lift = max(min(0.04 * body.size, 0.1), 2.0 * default_eps(body)) if gap is None else gap
    low, high = cloth.bounds
    middle = 0.5 * (low + high)
    target = 0.5 * (body.bounds[0] + body.bounds[1])
    move = np.array([target[0] - middle[0], body.bounds[1][1] + lift - low[1], target[2] - middle[2]])
    return cloth.moved(cloth.vertices + move)


def _why_move(cloth: Mesh, body: Mesh) -> str:
    """What keeps the cloth from falling on the body where it is, in words; empty where nothing does."""
    low, high = cloth.bounds
    if (low > body.bounds[1])[[0, 2]].any() or (high < body.bounds[0])[[0, 2]].any():
        return "starts beside"
    if high[1] < body.bounds[0][1]:
        return "starts below"
    mesh = cloth.welded
    x = mesh.vertices[np.unique(mesh.faces)]
    middles = mesh.vertices[mesh.topology.edges].mean(1)
    least = float(ClosestPoints(body).query(np.concatenate([x, middles]))[0].min())
    if least < 0.0:
        return "starts inside"
    return "starts far from" if least > 0.5 * body.size else ""


def _is_sheet(cloth: Mesh) -> bool:
    """Flat cloth, not a garment: twenty times thinner than it is long."""
    extent = np.sort(np.linalg.svd(cloth.vertices - cloth.vertices.mean(0), compute_uv=False))
    return bool(extent[0] < 0.05 * extent[-1])

"""Any cloth over any body."""

import logging
from typing import Any

import numpy as np

from .. import validate
from ..detect.surface import ClosestPoints
from ..mesh import Mesh
from ..scene import Body, Cloth, Scene

log = logging.getLogger("pliant.scenes")
PLACES = ("auto", "as-is", "above")


def drape_scene(
    cloth: Mesh,
    body: Mesh,
    *,
    place: str = "auto",
    eps: float | None = None,
    material: Cloth | None = None,
    pins: Any = (),
    name: str = "drape",
    **options: Any,
) -> Scene:
    """A scene in which `cloth` falls over `body`.

    place: "as-is" leaves both where they are, "above" centres the cloth over the body, "auto" does so only where the
    cloth would start inside the body or beside it. eps: the distance kept, by default 1 % of the body's size, between
    1 and 5 mm for things of human size. Other options are those of Scene (friction, gravity, wind ...).
    """
    validate.choice("place", place, PLACES)
    if not body.welded.issues.closed:
        log.info("body %r is open; the outside is where its faces look", body.name)
    if body.issues.inward:
        raise ValueError(f"body {body.name!r} is inside out (its faces look inward); flip its faces first")
    if place == "above" or (place == "auto" and _must_move(cloth, body)):
        if place == "auto":
            log.warning(
                "cloth %r does not lie above body %r: moved there (--place as-is leaves it)", cloth.name, body.name
            )
        cloth = above(cloth, body)
    distance = default_eps(body) if eps is None else eps
    soft = Body(cloth, material=material or Cloth(), pins=pins)
    return Scene([soft, Body(body, fixed=True)], eps=distance, name=name, **options)


def default_eps(body: Mesh) -> float:
    """How far cloth is kept from a body of this size: 5 mm for a bust, less for small things."""
    return min(0.005, 0.01 * body.size)


def above(cloth: Mesh, body: Mesh, gap: float | None = None) -> Mesh:
    """The cloth moved (not turned) so that it is centred over the body, its lowest point `gap` above the highest."""
    lift = 0.04 * body.size if gap is None else gap
    low, high = cloth.bounds
    middle = 0.5 * (low + high)
    target = 0.5 * (body.bounds[0] + body.bounds[1])
    move = np.array([target[0] - middle[0], body.bounds[1][1] + lift - low[1], target[2] - middle[2]])
    return cloth.moved(cloth.vertices + move)


def _must_move(cloth: Mesh, body: Mesh) -> bool:
    """Does the cloth miss the body from above, or start inside it?"""
    low, high = cloth.bounds
    beside = (low > body.bounds[1])[[0, 2]].any() or (high < body.bounds[0])[[0, 2]].any()
    below = high[1] < body.bounds[0][1]
    if beside or below:
        return True
    x = cloth.welded.vertices
    middles = x[cloth.welded.topology.edges].mean(1)
    return bool((ClosestPoints(body).query(np.concatenate([x, middles]))[0] < 0.0).any())

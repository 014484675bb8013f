"""Hair on a bust that shakes its head: strands as one-dimensional cloth (Fuhrmann et al. 2003, sections 4 and 6)."""

from typing import Any

import numpy as np

from .. import shapes, validate
from ..materials import Strands
from ..mesh import Mesh
from ..motion.rigid import Motion
from ..scene import Body, Grip, Scene
from ..validate import Floats, Ints

THIN = 0.003  # default contact offset, metres
LENGTH, POINTS = 0.26, 20
BROWN = (0.20, 0.11, 0.06)
_CENTRE, _BACK = np.array([0.0, 0.345, -0.01]), np.array([0.0, 0.80, -0.60])  # of the head, and the middle of the scalp
_SPREAD = 0.35  # cosine of the largest angle of a root from the middle of the scalp


def hair_on_bust(*, resolution: int = 120, **options: Any) -> Scene:
    """Strands stand out from the scalp of a bust, fall down over head and shoulders, and follow when it turns from
    side to side. Their first segments are clamped to the moving head. `resolution` is the number of strands."""
    count = validate.whole("resolution", resolution, low=1, high=5000)
    stuff, eps, thickness = _strands(options), options.pop("eps", None), options.pop("thickness", None)
    options.pop("irregular", None)
    eps = THIN if eps is None else validate.number("eps", eps, above=0.0)
    head = shapes.bust(0.7)
    rows = scattered(head, count)
    normals = head.vertex_normals[rows]
    # the clamped segments begin where contact would hold them
    roots = head.vertices[rows] + (eps + stuff.radius) * 1.05 * normals
    mesh = shapes.strands(roots, normals, LENGTH, POINTS, name="hair")
    angles = np.radians([0.0, 0.0, 50.0, -50.0, 50.0, 0.0])
    turn = Motion.hinge((0.0, 1.0, 0.0), (0.0, 0.0, 0.0), (0.0, 0.9, 1.2, 1.65, 2.1, 2.4), angles, smooth=True)
    clamped = (POINTS * np.arange(len(rows))[:, None] + [0, 1]).ravel()
    hair = Body(mesh, material=stuff, grips=[Grip(clamped, turn)], color=BROWN, name="hair")
    options.setdefault("friction", 0.2)
    given = {} if thickness is None else {"thickness": thickness}
    bodies = [hair, Body(head, obstacle=True, motion=turn, name="bust")]
    return Scene(bodies, eps=eps, name="hair-on-bust", **given, **options)


def scattered(head: Mesh, count: int) -> Ints:
    """Rows of vertices of the bust's scalp, each as far from those before as possible."""
    out = head.vertices - _CENTRE
    toward = (out @ _BACK) / np.linalg.norm(out, axis=1)
    rows = np.flatnonzero((toward > _SPREAD) & (head.vertices[:, 1] > 0.30))
    if count > len(rows):
        raise ValueError(f"resolution = {count} strands; the scalp has {len(rows)} vertices, take at most as many")
    x: Floats = head.vertices[rows]
    chosen = [int(np.argmax(x[:, 1]))]
    apart = np.full(len(rows), np.inf)
    for _ in range(count - 1):
        apart = np.minimum(apart, ((x - x[chosen[-1]]) ** 2).sum(1))
        chosen.append(int(np.argmax(apart)))
    return np.asarray(rows[np.sort(chosen)], np.int32)


def _strands(options: dict[str, Any]) -> Strands:
    """Remove the material from the options and return it; default: `Strands()`. Any other is refused."""
    stuff = options.pop("material", None)
    if stuff is None or isinstance(stuff, Strands):
        return stuff or Strands()
    advice = "leave it out, or give a pliant.Strands in Python"
    raise ValueError(f"a material of cloth is given, but scene 'hair-on-bust' has strands; {advice}")

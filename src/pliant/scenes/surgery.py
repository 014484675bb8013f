"""Surgery: a tool with a viewing volume, two organs in contact, a gut with its mesentery (Teschner et al. 2005, 7.2 to
7.4)."""

import dataclasses
from typing import Any

import numpy as np

from .. import shapes, validate
from ..materials import Cloth, Solid
from ..mesh import Mesh
from ..mesh.stitches import Stitches
from ..scene import Body, Scene
from ..shapes.soft import tube_along
from ..validate import Floats
from .material_options import take_solid
from .organs import BROWN, GUT, LIVER, PINK, STEEL, THIN, organ_scene, rod, table, top
from .self_contact import _slide

GLAND = Solid(young=2e4, poisson=0.45, density=1000.0, damping=0.05)
MEMBRANE = Cloth(density=0.3, stretch=400.0, shear=100.0, bend=5e-5, damping=0.05, strain_limit=0.6)
VIOLET, PALE = (0.42, 0.20, 0.36), (0.93, 0.76, 0.62)
_REACH, _SPREAD, _WAVES = 0.09, 1.25, 3  # of the mesentery: length, m; half of its angle; waves of its rim
_GUT_RADIUS = 0.010  # m


def surgical_tool(*, resolution: int = 14, **options: Any) -> Scene:
    """An instrument whose shaft is a truncated pyramid, the viewing volume of a perspective camera, probes a liver:
    its planes clip the organ, and what remains collides (Lombardo et al. 1999). Default method: image-space with the
    test "view-volume". `resolution` is the number of edges of the liver from side to side."""
    count = validate.whole("resolution", resolution, low=5, high=100)
    organ = _resting(shapes.liver(0.22, 0.22 / count))
    at = top(organ, -0.05, 0.0)
    times = np.array([0.0, 0.5, 0.9, 1.5, 1.9, 2.4])
    way = [(0, 0.03, 0), (0, -0.026, 0), (0, -0.026, 0), (0.08, -0.05, 0.01), (0.06, 0.02, 0.01), (0.06, 0.05, 0.01)]
    motion = _slide(times, at + np.array(way, float))
    tool = Body(_frustum(0.007, 0.016, 0.14), obstacle=True, motion=motion, color=STEEL, name="tool")
    liver = Body(
        organ, material=take_solid(options, LIVER, "surgical-tool"), pins=_base(organ), color=BROWN, name="liver"
    )
    options.setdefault("friction", 0.1)
    options.setdefault("self_contact", "off")  # nothing but the viewing volume keeps the tool out of the liver
    return organ_scene("surgical-tool", [liver, tool, table(0.32, 0.22)], options)


def two_organs(*, resolution: int = 14, **options: Any) -> Scene:
    """A rod pushes a gland against a liver, along it and back: contact of two soft bodies with each other and with a
    rigid tool (Debunne and Guy 2004). The volume that they share is measured in every frame. `resolution` is the number
    of edges of the liver from side to side."""
    count = validate.whole("resolution", resolution, low=5, high=100)
    stuff = take_solid(options, LIVER, "two-organs")
    organ = _resting(shapes.liver(0.22, 0.22 / count))
    gland = shapes.tet_ball(0.032, min(0.32 / count, 0.016))
    gland = dataclasses.replace(gland, vertices=gland.vertices * (1.25, 1.0, 1.0), name="gland")
    high = organ.bounds[1]
    gland = _resting(gland.moved(gland.vertices + np.array([-0.01, 0.0, high[2] + 0.034])))
    middle = gland.bounds.mean(0)
    push = rod(0.012, 0.14, 0.007)
    lying = push.moved(push.vertices[:, [2, 0, 1]])  # along z, with its tip at the origin
    times = np.array([0.0, 0.2, 0.9, 1.5, 2.1, 2.5])
    way = [(0, 0, 0.05), (0, 0, 0.05), (0, 0, -0.012), (0.035, 0, -0.012), (0.035, 0, 0.05), (0.035, 0, 0.06)]
    tool = Body(
        lying, obstacle=True, motion=_slide(times, middle + np.array(way, float)), color=STEEL, name="tool"
    )  # fmt: skip
    soft = dataclasses.replace(GLAND, damping=stuff.damping) if stuff is LIVER else stuff
    bodies = [
        Body(organ, material=stuff, pins=_base(organ), color=BROWN, name="liver"),
        Body(gland, material=soft, color=VIOLET, name="gland"),
        tool,
        table(0.34, 0.44),
    ]
    options.setdefault("friction", 0.2)
    return organ_scene("two-organs", bodies, options | {"overlaps": ((0, 1),)})


def gut_with_mesentery(*, resolution: int = 2, **options: Any) -> Scene:
    """A gut lies on a table in waves around its mesentery, a membrane that is held at its root and sewn to the gut; a
    probe pushes it against itself and the membrane (Raghupathi et al. 2004). `resolution` is the number of edges across
    the gut."""
    count = validate.whole("resolution", resolution, low=2, high=12)
    radius = _GUT_RADIUS
    stuff = take_solid(options, GUT, "gut-with-mesentery")
    fine = np.linspace(-_SPREAD, _SPREAD, 161)
    edge, ahead = _rim(fine, _REACH), _rim(fine, 1.001 * _REACH)
    away = (ahead - edge) / np.linalg.norm(ahead - edge, axis=1)[:, None]
    tube = tube_along(edge + (radius + 2.0 * THIN) * away, radius, 2.0 * radius / count, "gut")
    membrane = _fan(2 * round(40 * count / 6) + 1, 4 + 2 * count)
    across = membrane.n_vertices // (5 + 2 * count)
    border = np.arange(membrane.n_vertices - across, membrane.n_vertices)
    seam = _sewn_to_edges(membrane, border, tube)
    probe = shapes.ball(0.014, 3)
    times = np.array([0.0, 0.3, 0.9, 1.6, 2.2])
    path = [(0.01, 0.02, 0.15), (0.01, 0.02, 0.15), (0.0, 0.02, 0.08), (0.05, 0.02, 0.06), (0.06, 0.06, 0.09)]
    bodies = [
        Body(tube, material=stuff, color=PINK, name="gut"),
        Body(membrane, material=MEMBRANE, pins=np.arange(across), color=PALE, name="mesentery"),
        Body(probe, obstacle=True, motion=_slide(times, np.array(path)), color=(0.75, 0.10, 0.08), name="probe"),
        table(0.30, 0.34),
    ]
    options.setdefault("friction", 0.1)
    if options.get("thickness") is None:  # edges at the root are as short as THIN: folds there would never come to rest
        options["thickness"] = 0.5 * THIN
    return organ_scene("gut-with-mesentery", bodies, options | {"stitches": (seam,), "closing": 0.2})


def _sewn_to_edges(sheet: Mesh, rows: Any, body: Mesh) -> Stitches:
    """Stitches from the vertices `rows` of a cloth, body 1 of a scene, to the nearest edges of a soft body, body 0."""
    edges, x = body.topology.edges, sheet.vertices[rows][:, None]
    a, d = body.vertices[edges[:, 0]], body.vertices[edges[:, 1]] - body.vertices[edges[:, 0]]
    share = np.clip(((x - a) * d).sum(2) / (d * d).sum(1), 0.0, 1.0)
    which = np.linalg.norm(x - a - share[:, :, None] * d, axis=2).argmin(1)
    return Stitches(rows, edges[which], share[np.arange(len(rows)), which], (1, 0))


def _rim(angle: Floats, reach: Floats | float) -> Floats:
    """Points at `reach` from the root of the mesentery, in waves that grow with the distance."""
    wave = np.sin(2.0 * np.pi * _WAVES * (angle + _SPREAD) / (2.0 * _SPREAD))
    far = reach * (1.0 + 0.15 * (reach / _REACH) * wave)
    return np.stack([far * np.sin(angle), np.full(len(angle), THIN + _GUT_RADIUS), far * np.cos(angle)], 1)


def _fan(around: int, along: int) -> Mesh:
    """The mesentery: rows of `around` vertices from its root, first, to its rim."""
    sheet = shapes.cloth(1.0, 1.0, (around, along + 1), plane="xy")
    u, v = sheet.vertices[:, 0] + 0.5, sheet.vertices[:, 1] + 0.5
    reach = _REACH * (0.25 + 0.75 * v)
    return dataclasses.replace(sheet, vertices=_rim((2.0 * u - 1.0) * _SPREAD, reach), name="mesentery")


def _resting(mesh: Mesh) -> Mesh:
    """The mesh just above the table."""
    return mesh.moved(mesh.vertices - np.array([0.0, mesh.bounds[0, 1] - THIN, 0.0]))


def _base(mesh: Mesh) -> Any:
    """The vertices in the lowest fifth, which grow to the table."""
    return np.flatnonzero(mesh.vertices[:, 1] < 0.2 * mesh.bounds[1, 1])


def _frustum(near: float, far: float, length: float) -> Mesh:
    """A truncated pyramid that stands on its narrow end at the origin, of half-widths `near` and `far`."""
    box = shapes.box((2.0, 1.0, 2.0), (4, 12, 4), centre=(0.0, 0.5, 0.0))
    width = near + (far - near) * box.vertices[:, 1:2]
    x = np.concatenate([width * box.vertices[:, :1], length * box.vertices[:, 1:2], width * box.vertices[:, 2:]], 1)
    return dataclasses.replace(box, vertices=x, name="tool")

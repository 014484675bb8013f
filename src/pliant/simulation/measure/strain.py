"""Strain of cloth: the elongation of its edges relative to their rest lengths, frame by frame."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...dynamics.rest_scale import scales_of
from ...dynamics.springs import closed_share
from ...scene import Body, Scene

Floats = NDArray[np.float64]


class Strain(NamedTuple):
    """The largest over all frames: of the 95th percentile of the edges, and of a single edge."""

    percentile_95: float
    most: float


def edge_strains(body: Body, x: Floats, time: float, closing: float) -> Floats:
    """Return the relative elongation (k,) of the edges of a deformable body whose welded vertices are at x (n,3), at
    `time` seconds; edges without length are left out.

    A `rest_scale` multiplies rest lengths, the larger of its two factors where these differ: as in the strain limit,
    one above 1 from the start, one below 1 as it is reached in `closing` seconds.
    """
    mesh = body.mesh.welded
    edges = mesh.topology.edges
    rest, now = (np.linalg.norm(p[edges[:, 0]] - p[edges[:, 1]], axis=1) for p in (mesh.vertices, x))
    if np.any(np.asarray(body.rest_scale) != 1.0):
        scale = scales_of(body, edges).max(1)
        rest = rest * np.where(scale > 1.0, scale, 1.0 + (scale - 1.0) * closed_share(time, closing))
    return np.asarray(now[rest > 0.0] / rest[rest > 0.0] - 1.0)


def largest_strain(scene: Scene, x: dict[int, Floats], dt: float, begin: float = 0.0) -> Strain | None:
    """Return the strain of all cloths in the worst of the frames x[b] (t,n,3), `dt` apart from `begin` on; None without
    cloth. Edges whose ends both follow pins or grips do not count."""
    bodies = [b for b in scene.cloths if b in x and len(scene.bodies[b].mesh.welded.topology.edges)]
    free = {b: _free_edges(scene, b) for b in bodies}
    most = Strain(0.0, 0.0)
    for k in range(max((len(x[b]) for b in bodies), default=0)):
        parts = [edge_strains(scene.bodies[b], x[b][k], begin + k * dt, scene.closing)[free[b]] for b in bodies]
        strain = np.concatenate(parts)
        if len(strain):
            now = Strain(float(np.percentile(strain, 95.0)), float(strain.max()))
            most = Strain(max(most[0], now[0]), max(most[1], now[1]))
    return most if any(each.any() for each in free.values()) else None


def _free_edges(scene: Scene, b: int) -> NDArray[np.bool_]:
    """Whether each edge of cloth `b` with a length has an end that moves freely."""
    mesh = scene.bodies[b].mesh.welded
    edges = mesh.topology.edges
    length = np.linalg.norm(mesh.vertices[edges[:, 0]] - mesh.vertices[edges[:, 1]], axis=1)
    held = scene.inverse_masses[scene.rows(b)] == 0.0
    return np.asarray(~held[edges[length > 0.0]].all(1))

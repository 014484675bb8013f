"""The one kernel Warp needs; Warp reads the source of the file, so it has one of its own."""

from typing import Any

import numpy as np
import warp as wp
from numpy.typing import NDArray


@wp.kernel
def _signed(mesh: wp.uint64, points: wp.array(dtype=wp.vec3), reach: float, found: wp.array(dtype=float)):
    at = wp.tid()
    hit = wp.mesh_query_point_sign_normal(mesh, points[at], reach)
    if hit.result:
        found[at] = hit.sign * wp.length(points[at] - wp.mesh_eval_position(mesh, hit.face, hit.u, hit.v))


def signed_distance(mesh: Any, points: NDArray[np.float64], reach: float) -> NDArray[np.float64]:
    """(n,) signed distance, inf beyond `reach`."""
    asked = wp.array(points.astype(np.float32), dtype=wp.vec3, device="cpu")
    found = wp.full(len(points), np.inf, dtype=float, device="cpu")
    wp.launch(_signed, dim=len(points), inputs=[mesh.id, asked, float(reach)], outputs=[found], device="cpu")
    return np.asarray(found.numpy(), np.float64)

"""Encode clips for a page: 16-bit positions, differences of second order, deflate, base64.

A coordinate is rounded to a multiple of the clip's step along each axis, 1/65534 of its largest extent in a single
frame; the error is at most half a step (8 micrometres for a metre of cloth, wherever it goes). A vertex that does not
move keeps its multiple, so that cloth at rest does not flicker. The remaining encoding is lossless, and every frame is
kept. A rigid clip is stored as one frame and its poses.
"""

import base64
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..mesh import Mesh
from ..mesh.subdivision import Subdivision
from ..mesh.tubes import Tubes
from ..motion.clip import Clip
from ..validate import first_index

STEPS = 65535
Floats = NDArray[np.float64]


def checked_frame_count(clips: Sequence[Clip]) -> int:
    """Return the number of frames; raise ValueError where clips are missing, differ in length or are not finite."""
    if not clips:
        raise ValueError("clips is empty; expected at least one Clip")
    lengths = {len(clip) for clip in clips if not clip.still}
    if len(lengths) > 1:
        raise ValueError(f"clips have {sorted(lengths)} frames; expected one length (or 1 for a static clip)")
    for k, clip in enumerate(clips):
        bad = ~np.isfinite(clip.frames)
        if bad.any():
            raise ValueError(f"clips[{k}].frames[{first_index(bad)}] is not finite ({clip.frames[bad][0]})")
    return max(lengths, default=1)


def pack(clip: Clip, heat: NDArray[np.uint8] | None = None, lowest: float = -np.inf) -> dict[str, Any]:
    """A clip as a dict for JSON, decoded by `static/decode.js`. heat: (T,n) colour values per frame and vertex, see
    `static/heat.js`. lowest: lowest height shown, metres."""
    mesh = clip.mesh
    low, extent, step, base, whole = _quantise(clip.frames)
    out: dict[str, Any] = {
        "name": mesh.name,
        "vertices": mesh.n_vertices,
        "faceCount": mesh.n_faces,
        "frameCount": len(clip.frames),
        "low": low.tolist(),
        "extent": extent.tolist(),
        "step": step.tolist(),
        "base": base.tolist(),
        "color": [float(c) for c in clip.color],
        "open": bool(mesh.welded.topology.boundary.any()),
        "faces": planes(row_differences(drawn_faces(mesh).astype(np.uint32))),
        "frames": planes(_steps(whole)),
    }
    if mesh.welded is not mesh:
        out["weld"] = planes(row_differences(mesh.weld_index.astype(np.uint32)))
    if clip.poses is not None:
        # rows of [R | t]; single precision resolves a tenth of a micrometre at one metre
        out["poses"] = planes(clip.poses.reshape(-1, 12).astype("<f4"))
    if clip.poses is not None or clip.bounds[0, 1] < lowest:
        out["box"] = np.maximum(clip.bounds, (-np.inf, lowest, -np.inf)).tolist()
    uv = vertex_uv(clip)
    if uv is not None and out["open"]:  # only cloth is drawn with a weave
        out["uv"] = planes(uv.astype("<f4"))
    if heat is not None:
        out["heat"] = planes(row_differences(heat))
    if isinstance(clip.subdivision, Subdivision):
        out["subdivision"] = _pack_subdivision(clip.subdivision)
    elif len(mesh.lines):
        out["tubes"] = _pack_tubes(clip.subdivision or Tubes(mesh))
    return out


def _pack_tubes(shape: Tubes) -> dict[str, Any]:
    """The order of the vertices along the strands and the size of the tubes around them, for `static/tubes.js`."""
    order, start = shape.strands
    return {
        "radius": shape.radius,
        "sides": shape.sides,
        "order": planes(row_differences(order.astype(np.uint32))),
        "start": planes(row_differences(start.astype(np.uint32))),
    }


def _pack_subdivision(shape: Subdivision) -> dict[str, Any]:
    """The matrices of a subdivision by rows, for `static/subdivide.js`."""
    mesh = shape.mesh
    rim = mesh.welded.topology.boundary_vertices[mesh.weld_index]
    out: dict[str, Any] = {
        "matrices": [
            {
                "counts": planes(np.diff(step.indptr).astype(np.uint16)),
                "columns": planes(row_differences(step.indices.astype(np.uint32))),
                "weights": planes(step.data.astype("<f4")),
            }
            for step in shape.steps
        ],
        "ends": [planes(row_differences(ends.astype(np.uint32))) for ends in shape.flat],
        "rim": planes(row_differences(rim.astype(np.uint8))),
    }
    if np.isfinite(shape.deviation):
        out["deviation"] = shape.deviation
    if mesh.welded is not mesh:
        out["weld"] = planes(row_differences(mesh.weld_index.astype(np.uint32)))
    return out


def drawn_faces(mesh: Mesh) -> NDArray[np.int32]:
    """(m,3) faces for shading: those of a closed mesh that is inside out are flipped, else it would be black."""
    inward = not mesh.welded.topology.boundary.any() and mesh.volume < 0.0
    return mesh.faces[:, ::-1] if inward else mesh.faces


def vertex_uv(clip: Clip) -> Floats | None:
    """(n,2) texture coordinates if all corners at each vertex agree, else None."""
    mesh = clip.mesh
    if mesh.uv is None:
        return None
    uv = np.zeros((mesh.n_vertices, 2))
    uv[mesh.faces] = mesh.uv
    return uv if np.array_equal(uv[mesh.faces], mesh.uv) else None


def _quantise(frames: NDArray[np.floating]) -> tuple[Floats, Floats, Floats, NDArray[np.int64], NDArray[np.uint16]]:
    """Lowest corner and extent of the box over all frames; the step; (T,3) the lowest multiple of it in each frame;
    (T,n,3) the multiples of all vertices modulo 65536, which within a frame differ by less than that."""
    lows, highs = frames.min(1).astype(np.float64), frames.max(1).astype(np.float64)
    low, extent = lows.min(0), highs.max(0) - lows.min(0)
    step = np.maximum((highs - lows).max(0) / (STEPS - 1), extent / 2**24)
    step[step == 0] = 1.0
    base = np.rint((lows - low) / step).astype(np.int64)
    whole = np.empty(frames.shape, np.uint16)
    for t in range(len(frames)):  # frame by frame, to limit peak memory
        whole[t] = np.rint((frames[t] - low) / step).astype(np.int64) & 65535
    return low, extent, step, base, whole


def _steps(whole: NDArray[np.uint16]) -> NDArray[np.uint16]:
    """Differences of second order in time (none for frame 0, of first order for frame 1), then from vertex to vertex;
    modulo 65536, with the sign in the lowest bit."""
    out = whole.copy()
    out[1:] -= whole[:-1]
    out[2:] -= out[1:-1].copy()
    out[:, 1:] -= out[:, :-1].copy()
    signed = out.view(np.int16)
    # one sequence per axis: similar values are adjacent, which compresses better
    return np.ascontiguousarray(((signed << 1) ^ (signed >> 15)).view(np.uint16).transpose(0, 2, 1))


def row_differences(rows: NDArray[Any]) -> NDArray[Any]:
    """Each row minus the one before it, modulo the range of the (unsigned) type."""
    out = rows.copy()
    out[1:] -= rows[:-1]
    return out


def planes(array: NDArray[Any]) -> str:
    """Byte planes (all lowest bytes, then the next ...) of a little-endian array, deflated, in base64."""
    little = np.ascontiguousarray(array.astype(array.dtype.newbyteorder("<"), copy=False))
    planes = little.reshape(-1).view(np.uint8).reshape(-1, array.dtype.itemsize).T
    return base64.b64encode(zlib.compress(planes.tobytes(), 9)).decode("ascii")

"""Per-pixel shading: values interpolated over faces, and light gathered from shadow maps."""

import math

import numpy as np

from ..geometry.raster import fill_depth, snapped
from ..jit import kernel, prange


@kernel
def _mixed(values, faces, f, u, v, w, k):
    return u * values[faces[f, 0], k] + v * values[faces[f, 1], k] + w * values[faces[f, 2], k]


@kernel(parallel=True)
def interpolate(face, bary, faces, inverse, values, out):
    """Fill out (p,k): `values` (n,k) at p pixels with face (p,) and screen weights bary (p,2).

    `inverse` (n,) is 1/w of each vertex, for perspective-correct weights.
    """
    for p in prange(len(face)):
        f = face[p]
        u = bary[p, 0] * inverse[faces[f, 0]]
        v = bary[p, 1] * inverse[faces[f, 1]]
        w = (1.0 - bary[p, 0] - bary[p, 1]) * inverse[faces[f, 2]]
        total = u + v + w
        for k in range(values.shape[1]):
            out[p, k] = _mixed(values, faces, f, u / total, v / total, w / total, k)


@kernel
def _lit_fraction(depth, x, y, z):
    """Lit fraction, 0..1, at (x, y) in pixels of a depth map and depth z: four comparisons, interpolated bilinearly."""
    height, width = depth.shape
    left = math.floor(x - 0.5)
    top = math.floor(y - 0.5)
    s = x - 0.5 - left
    t = y - 0.5 - top
    total = 0.0
    for k in range(4):
        column = left + (k & 1)
        row = top + (k >> 1)
        if row < 0 or row >= height or column < 0 or column >= width or not depth[row, column] < z:
            total += (s if k & 1 else 1.0 - s) * (t if k >> 1 else 1.0 - t)
    return total


@kernel
def _placed(a, x, y, z):
    """Transform a point to the pixels and depth of the map with frame a (3,4)."""
    return (
        a[0, 0] * x + a[0, 1] * y + a[0, 2] * z + a[0, 3],
        a[1, 0] * x + a[1, 1] * y + a[1, 2] * z + a[1, 3],
        a[2, 0] * x + a[2, 1] * y + a[2, 2] * z + a[2, 3],
    )


@kernel
def _shadow_map(x, faces, frame, out):
    points = np.empty((len(x), 3))
    for i in range(len(x)):
        points[i, 0], points[i, 1], points[i, 2] = _placed(frame, x[i, 0], x[i, 1], x[i, 2])
    fill_depth(snapped(points), points, faces, 0, len(out), out)


@kernel(parallel=True)
def shadow_maps(x, faces, frames, maps):
    """Fill maps (m,s,s): depth of the nearest face from each light; frames (m,3,4) metres to pixels and depth."""
    for k in prange(len(maps)):
        _shadow_map(x, faces, frames[k], maps[k])


@kernel(parallel=True)
def gather(x, n, group, lights, frames, maps, offset, out):
    """Fill out (p,2): light that reaches points x (p,3) with unit normals n (p,3), with and without shadows.

    lights (g,m,4) direction towards the light and weight, in g groups of which point p uses only group[p]; frames
    (g,m,3,4) metres to pixels and depth; maps (g,m,s,s) depths; `offset` metres along the normal, against
    self-shadowing.
    """
    for p in prange(len(x)):
        g = group[p]
        px = x[p, 0] + offset * n[p, 0]
        py = x[p, 1] + offset * n[p, 1]
        pz = x[p, 2] + offset * n[p, 2]
        shadowed = 0.0
        full = 0.0
        for k in range(lights.shape[1]):
            cosine = n[p, 0] * lights[g, k, 0] + n[p, 1] * lights[g, k, 1] + n[p, 2] * lights[g, k, 2]
            if cosine > 0.0:
                sx, sy, sz = _placed(frames[g, k], px, py, pz)
                full += cosine * lights[g, k, 3]
                shadowed += cosine * lights[g, k, 3] * _lit_fraction(maps[g, k], sx, sy, sz - 0.5 * offset)
        out[p, 0] = shadowed
        out[p, 1] = full

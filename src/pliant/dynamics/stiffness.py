"""The pattern of the stiffness matrix of cloth: which vertices are coupled, and by which triangles."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..kernels.dynamics.stiffness import Patches, Stiffness
from ..kernels.team import BATCHES

Ints = NDArray[np.int64]
PATCH = 300  # vertices of a patch at least, so that few triangles belong to two
LARGEST = float(np.finfo(np.float32).max)


def patches_of(faces: NDArray[np.int32], n: int) -> Patches:
    """Divide n vertices into patches, which threads share."""
    count, m = max(1, min(BATCHES, n // PATCH)), len(faces)
    keys = np.unique(_patch_of(faces, n, count) * m + np.arange(m)[:, None])
    return Patches(np.searchsorted(keys, m * np.arange(count + 1)).astype(np.int64), keys % max(m, 1))


def _patch_of(rows: NDArray[Any], n: int, count: int) -> Ints:
    return np.asarray(((rows.astype(np.int64) + 1) * count - 1) // max(n, 1))


def number_in_patch(patches: Patches, rows: Ints, faces: Ints, n: int) -> Ints:
    """Return the number of each of `faces` (k,) among those of the patch of the vertex rows[k] of n."""
    count = len(patches.start) - 1
    m = int(patches.faces.max(initial=0)) + 1
    keys = np.repeat(np.arange(count), np.diff(patches.start)) * m + patches.faces
    patch = _patch_of(rows, n, count)
    return np.asarray(np.searchsorted(keys, patch * m + faces) - patches.start[patch])


def stiffness_pattern(faces: NDArray[np.int32], bending: Any, patches: Patches) -> Stiffness:
    """Return the blocks between the ends of the edges of `faces` (m,3), all zero, and the constant `bending` (n,n)."""
    from scipy.sparse import coo_array

    n, m = bending.shape[0], len(faces)
    a, b = faces.ravel().astype(np.int64), np.roll(faces, -1, axis=1).ravel().astype(np.int64)
    key, code = np.concatenate([a * n + b, b * n + a]), 2 * np.arange(3 * m)
    code = np.concatenate([code, code + 1])
    order = np.argsort(key, kind="stable")
    code = code[order]
    local = number_in_patch(patches, key[order] // n, code // 6, n)
    pairs, counts = np.unique(key, return_counts=True)
    linear = coo_array(bending)
    i, j = linear.row.astype(np.int64), linear.col.astype(np.int64)
    # of elements whose stiffness `bounded_by_inertia` has not bounded yet, it may exceed single precision
    value = np.clip(linear.data, -LARGEST, LARGEST)
    beside = (i != j) & (value != 0.0)
    keys, value = (i * n + j)[beside], value[beside]
    by_row = np.argsort(keys)
    keys, value = keys[by_row], value[by_row]
    at = np.searchsorted(pairs, keys)
    is_near = pairs[np.minimum(at, len(pairs) - 1)] == keys
    near = np.zeros(len(pairs), np.float32)
    near[at[is_near]] = value[is_near]
    far = keys[~is_near]
    return Stiffness(
        start=np.searchsorted(pairs, n * np.arange(n + 1)).astype(np.int64),
        place=(pairs % n).astype(np.int32),
        source_start=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        source=(6 * local + code % 6).astype(np.int32),
        near=near,
        blocks=np.zeros((len(pairs), 3, 4), np.float32),
        far_start=np.searchsorted(far, n * np.arange(n + 1)).astype(np.int64),
        far_place=(far % n).astype(np.int32),
        far=value[~is_near].astype(np.float32),
    )

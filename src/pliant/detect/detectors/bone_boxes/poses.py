"""The pairs of a box and a bone that moves vertices of it, and the poses of a clip by their matrices."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....kernels.detectors.bone_boxes import poses as _kernels
from ....kernels.detectors.bone_boxes.poses import Known, Pairs

Floats = NDArray[np.float64]
_ROOM = 1.5  # times the largest distance of poses of the clip from the straight lines between its samples
_STILL = 1e-6  # of the motion of a pair: what holds its centre beside the vertices where every point is at rest


def pairs_of(
    box: NDArray[Any],
    vertex: NDArray[Any],
    skin: tuple[NDArray[Any], Floats, Floats],
    matrices: Floats,
    to_box: Floats,
) -> tuple[Pairs, Floats]:
    """Return the pairs of entries (box, vertex), each (e,), ascending by box, and their matrices (t,p,3,4) in poses
    (t,b,3,4) of the bones with boxes placed by `to_box` (t,k,3,4). skin: joints and weights (n,k), bind pose (n,3)."""
    joints, weights, bind = skin
    bones, count = int(joints.max()) + 1, int(box[-1]) + 1
    row, column = np.nonzero(weights[vertex])
    keys = box[row].astype(np.int64) * bones + joints[vertex[row], column]
    order = np.argsort(keys, kind="stable")
    keys, starts, each = np.unique(keys[order], return_index=True, return_counts=True)
    points, share = bind[vertex[row]][order], weights[vertex[row], column][order]
    first = np.searchsorted(keys, bones * np.arange(count + 1, dtype=np.int64)).astype(np.int32)
    weight, zero = np.maximum.reduceat(share, starts), np.zeros((len(keys), 3))
    pairs = Pairs(
        first, (keys % bones).astype(np.int32), zero, np.zeros(len(keys)), weight, np.zeros((len(keys), 3, 4))
    )
    poses = np.empty((len(matrices), *pairs.now.shape))
    for pose, now, placed in zip(matrices, poses, to_box, strict=True):
        _kernels.relative(np.ascontiguousarray(pose), placed, pairs, now)
    pairs.centre[:] = _quietest(poses, np.add.reduceat(points, starts) / each[:, None])
    poses[:, :, :, 3] += np.einsum("tpaj,pj->tpa", poses[:, :, :, :3], pairs.centre)
    away = share * np.linalg.norm(points - np.repeat(pairs.centre, each, 0), axis=1)
    pairs.radius[:] = np.maximum.reduceat(away, starts) * (1.0 + 1e-12)
    return pairs, poses


def known_poses(pairs: Pairs, poses: Floats, least: Floats, most: Floats) -> Known:
    """Return the poses (t,p,3,4) of a clip. The room that each box needs around them, `least` to `most` (k,), is
    estimated by leaving out each of them."""
    spare, count = least.copy(), len(least)
    for i in range(1, len(poses) - 1):
        for k in range(count):
            # the distance from a chord grows with the square of its length: a quarter of that of two samples
            gap = 0.25 * _kernels.displacement(pairs, k, poses[i], poses[i - 1], poses[i + 1], 0.5)
            spare[k] = max(spare[k], min(_ROOM * gap, most[k]))
    segment, failed, room = np.zeros(count, np.int32), np.zeros(count, np.int32), np.full(count, -np.inf)
    return Known(poses, spare, segment, failed, room)


def _quietest(poses: Floats, beside: Floats) -> Floats:
    """Return the points (p,3) that the matrices (t,p,3,4) move least, such as a joint; of several the one nearest to
    the points `beside` (p,3)."""
    change = poses - poses.mean(0)
    turn, shift = change[:, :, :, :3], change[:, :, :, 3]
    matrix = np.einsum("tpai,tpaj->pij", turn, turn)
    hold = _STILL * np.trace(matrix, axis1=1, axis2=2) + 1e-300
    matrix += hold[:, None, None] * np.eye(3)
    right = hold[:, None] * beside - np.einsum("tpai,tpa->pi", turn, shift)
    return np.asarray(np.linalg.solve(matrix, right[:, :, None])[:, :, 0])

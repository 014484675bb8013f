"""Decomposition of a skinned mesh into one rigid part per bone: meshes and poses."""

import dataclasses

import numpy as np
from numpy.typing import NDArray

from ...mesh import Mesh
from ...motion.deforming import Skinned

Floats = NDArray[np.float64]
# smallest mean weight of a bone on a triangle with which its part contains one that it does not dominate
SHARE = 1.0 / 3.0
_HEIGHT = 0.5  # height of a cap divided by the smallest radius of its boundary loop
_SLIGHT = 1e-3  # largest deviation of a matrix from a rotation for which two Newton steps suffice


@dataclasses.dataclass(frozen=True, eq=False)
class RigidParts:
    """One part for each bone that dominates a triangle; `meshes` are in the character's default pose.

    A part contains the triangles on which its bone has the largest weight and, to overlap its neighbours, all others on
    which it has at least the weight `share`. Cut boundary loops are closed by a flat cone that extends into the
    neighbouring part, so that the part stays closed in every pose; boundary loops of the skin itself stay open. bones
    (k,) are the bones, centres (k,3) the centres of the parts' bounding boxes, metres.
    """

    meshes: tuple[Mesh, ...]
    bones: NDArray[np.int64]
    centres: Floats
    _back: Floats  # (k,4,4) inverse bone matrices of the default pose

    @classmethod
    def of(cls, mesh: Mesh, motion: Skinned, share: float = SHARE) -> "RigidParts":
        """Decompose the skin whose vertices `motion` moves; `mesh` gives its faces."""
        rest = dataclasses.replace(motion, clip=None, lead_in=0.0, frame=None).sample(np.zeros(1))[0]
        skin = mesh.moved(motion.shape(rest))
        face, bone, held = _shares(mesh.faces, motion.joints, motion.weights)
        order = np.lexsort((bone, -held, face))
        first = np.ones(len(order), np.bool_)
        first[1:] = face[order[1:]] != face[order[:-1]]
        most = np.zeros(len(order), np.bool_)
        most[order[first]] = True
        bones = np.unique(bone[most])
        meshes = tuple(_part(skin, face[(bone == b) & (most | (held >= share))], f"bone {b}") for b in bones)
        centres = np.array([part.bounds.mean(0) for part in meshes])
        return cls(meshes, bones, centres, np.asarray(np.linalg.pinv(_square(rest[bones])), np.float64))

    def poses(self, matrices: Floats) -> Floats:
        """Return the rigid poses (k,3,4) of the parts for the matrices (b,3,4) of all bones.

        For a bone that scales or shears relative to the default pose, the nearest rotation is used and the centre of
        its part moves exactly; scale and shear are lost.
        """
        moved = _square(matrices[self.bones]) @ self._back
        out = np.empty((len(moved), 3, 4))
        out[:, :, :3] = _nearest_rotations(moved[:, :3, :3])
        slip = moved[:, :3, :3] - out[:, :, :3]
        out[:, :, 3] = moved[:, :3, 3] + (slip * self.centres[:, None, :]).sum(2)
        return out


def _shares(
    faces: NDArray[np.int32], joints: NDArray[np.int32], weights: Floats
) -> tuple[NDArray[np.int64], NDArray[np.int64], Floats]:
    """Return all pairs of a triangle and a bone that influences it, and the mean weight of each pair, 0..1."""
    bones = int(joints.max()) + 1
    used = weights[faces].ravel() > 0.0
    face = np.repeat(np.arange(len(faces), dtype=np.int64), 3 * joints.shape[1])
    keys, index = np.unique((face * bones + joints[faces].ravel())[used], return_inverse=True)
    return keys // bones, keys % bones, np.bincount(index.reshape(-1), weights[faces].ravel()[used]) / 3.0


def _part(skin: Mesh, faces: NDArray[np.int64], name: str) -> Mesh:
    """Return these faces of a skin as a mesh, closed where they were separated from the others."""
    top = skin.topology
    edges = top.face_edges[faces]
    own = np.bincount(edges.ravel(), minlength=len(top.edges))
    opened = (own[edges] == 1) & (top.n_faces_at_edge[edges] > 1)
    corners = skin.faces[faces]
    # reversed, as the faces on the other side run
    ends = np.stack([np.roll(corners, -1, 1), corners], 2)[opened]
    x, added = _caps(skin.vertices, ends)
    used, index = np.unique(np.concatenate([corners, added]), return_inverse=True)
    return Mesh(np.concatenate([skin.vertices, x])[used], index.reshape(-1, 3).astype(np.int32), name=name)


def _caps(x: Floats, ends: NDArray[np.int32]) -> tuple[Floats, NDArray[np.int64]]:
    """Return apexes (k,3), numbered after the vertices `x`, and faces of cones over the loops of directed edges `ends`
    (m,2)."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    rim, index = np.unique(ends, return_inverse=True)
    a, b = index.reshape(-1, 2).T
    graph = coo_array((np.ones(len(a), np.int8), (a, b)), shape=(len(rim), len(rim)))
    count, loop = connected_components(graph, directed=False)
    tips = np.empty((count, 3))
    for k in range(count):
        ring, edges = x[rim[loop == k]], loop[a] == k
        centre = ring.mean(0)
        # direction away from the part: the sum of the normals of a flat cap
        up = np.cross(x[rim[a[edges]]] - centre, x[rim[b[edges]]] - centre).sum(0)
        narrow = float(np.linalg.norm(ring - centre, axis=1).min())
        tips[k] = centre + _HEIGHT * narrow / max(float(np.linalg.norm(up)), 1e-300) * up
    return tips, np.column_stack([rim[a], rim[b], len(x) + loop[a]]).astype(np.int64)


def _square(matrices: Floats) -> Floats:
    """Return homogeneous matrices (k,4,4) of (k,3,4)."""
    out = np.zeros((len(matrices), 4, 4))
    out[:, :3], out[:, 3, 3] = matrices, 1.0
    return out


def _nearest_rotations(matrices: Floats) -> Floats:
    """Return the rotations (k,3,3) nearest to `matrices` (k,3,3)."""
    r = matrices
    off = np.abs(r.transpose(0, 2, 1) @ r - np.eye(3)).max((1, 2))
    for _ in range(2):
        r = 1.5 * r - 0.5 * r @ (r.transpose(0, 2, 1) @ r)
    far = np.flatnonzero(~((off < _SLIGHT) & (np.linalg.det(matrices) > 0.0)))
    if len(far):
        u, _, v = np.linalg.svd(matrices[far])
        u[:, :, 2] *= np.sign(np.linalg.det(u @ v))[:, None]
        r[far] = u @ v
    return r

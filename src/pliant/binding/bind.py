"""Bind: skinning weights of a garment from the body it was modelled on, with inpainting where that is doubtful.

After R. Abdrashitov, K. Raichstat, J. Monsen, D. Hill: Robust Skin Weights Transfer via Weight Inpainting, 2023.
"""

import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import validate
from ..arguments import check_arguments, wrong
from ..io.gltf import GltfSource
from ..mesh import Mesh
from ..motion.character import Character
from ..validate import Floats
from .bound import INPAINTED, MATCHED, RIGID, Bound
from .inpainting import inpaint, largest_influences, normalised, smooth_seam
from .laplacian import laplacian
from .matching import SurfacePoints, trusted

SHARE = 0.05  # of the size of garment and body, whichever is smaller: largest distance of a match by default
POSES = ("bind", "rest")
FAINT = 1e-3  # inpainted weights below this are set to 0
INFLUENCES = (1, 2, 3, 4, 8)
_SINGULAR = 1e-4  # least ratio of the singular values of a blended skin matrix that is inverted


@check_arguments
def bind(
    garment: Mesh,
    character: Character,
    *,
    pose: str = "bind",
    clip: str | None = None,
    time: float = 0.0,
    max_distance: float | None = None,
    max_angle: float = 30.0,
    influences: int = 4,
    smooth: int = 0,
    progress: Callable[[float], None] | None = None,
) -> Bound:
    """Bind a garment to the skeleton of a character, with weights from the body of the character.

    A vertex takes the weights of the nearest point of the body if that is at most `max_distance` metres away (default:
    5 % of the size of garment or body, whichever is smaller) and the normals there differ by at most `max_angle`
    degrees. All other vertices get the smoothest weights that continue those; connected pieces without any such vertex
    follow the nearest other piece rigidly. `influences`: bones per vertex, at most 4, or 8. `smooth`: steps of
    averaging near the seams between both kinds of vertices.

    The garment is in the bind shape of the character (`pose` "bind"), in the default pose of its nodes ("rest"), or in
    its pose at `time` seconds of `clip`.
    """
    if not isinstance(character, Character):
        raise wrong("character", character, "a Character, as load_character returns it")
    validate.choice("pose", pose, POSES)
    time = validate.number("time", time)
    if clip is not None and pose != "bind":
        raise ValueError(f"pose is {pose!r} and clip is {clip!r}; give one of them, for the pose of the garment")
    if clip is None and time != 0.0:
        raise ValueError(f"time is {time:g}, but there is no clip that has a pose then; give clip, too")
    if influences not in INFLUENCES:
        raise ValueError(f"influences is {influences}; expected 1 to 4, or 8")
    smooth = validate.whole("smooth", smooth, low=0, high=1000)
    cosine = np.cos(np.radians(validate.number("max_angle", max_angle, above=0.0, high=90.0)))
    _check_surfaces(garment, character)
    stage = _stages(progress)
    matrices = None if pose == "bind" and clip is None else character.skin_matrices_at(clip, [time])[0]
    body = character.mesh if matrices is None else character.mesh.moved(character.shape(clip, time))
    size = min(garment.size, body.size)
    reach = SHARE * size if max_distance is None else validate.number("max_distance", max_distance, above=0.0)
    welded = garment.welded
    match = _matched(character, body, welded, (reach, float(cosine)))
    stage(0.2)
    weights, kind = _completed(welded, match, lambda share: stage(0.2 + 0.7 * share))
    weights = smooth_seam(*_edges(welded), weights, kind == INPAINTED, reach, smooth)
    joints, kept, lost = largest_influences(weights, min(influences, weights.shape[1]))
    row = garment.weld_index
    joints, kept = match.bones[joints[row]].astype(np.int32), kept[row]
    to_pose, joints, kept = _blended(matrices, joints, kept)
    vertices = garment.vertices if to_pose is None else _unposed(to_pose, garment.vertices)
    stage(1.0)
    return Bound(
        garment=dataclasses.replace(character, mesh=_placed(garment, vertices), joints=joints, weights=kept, morphs=()),
        character=character,
        to_pose=to_pose,
        kind=kind[row],
        distance=match.distance[row],
        n_pieces=match.n_pieces,
        n_rigid_pieces=len(np.unique(match.piece[(kind == RIGID) & match.in_faces])),
        n_influences=int((weights > 0.0).sum(1).max()),
        lost=lost[row],
        max_distance=reach,
    )


class _Match(NamedTuple):
    """The trusted matches of a welded garment."""

    bones: NDArray[np.int64]  # (b,) bones with a weight somewhere
    weights: Floats  # (n,b) at the nearest point of the body; zero where it is not trusted
    known: NDArray[np.bool_]  # (n,)
    distance: Floats  # (n,)
    piece: NDArray[np.int64]  # (n,) connected piece
    in_faces: NDArray[np.bool_]  # (n,) the vertex belongs to a face
    n_pieces: int  # with faces


def _check_surfaces(garment: Mesh, character: Character) -> None:
    if not garment.n_faces:
        raise ValueError(f"garment {garment.name!r} has no faces; expected a surface")
    if not garment.size > 0.0:
        raise ValueError(f"all vertices of garment {garment.name!r} are at one point; expected a surface")
    if not character.mesh.n_faces:
        raise ValueError(f"character {character.mesh.name!r} has no faces; expected a surface")
    source = character.mesh.source
    if isinstance(source, GltfSource) and not any(block.matrix.ndim == 3 for block in source.blocks):
        raise ValueError(
            f"character {character.mesh.name!r} has no skin: its meshes are attached to nodes; expected a mesh with "
            "joints and weights. Bind the body to a skeleton first"
        )


def _matched(character: Character, body: Mesh, garment: Mesh, limits: tuple[float, float]) -> _Match:
    piece, in_faces = _pieces(garment)
    found, known = trusted(SurfacePoints(body), garment, piece, limits)
    if not known.any():
        near, far = float(found.distance.min()), limits[0]
        why = (
            f"its nearest vertex is {near:.3g} m away and at most {far:.3g} m are allowed"
            if near > far
            else "no vertex near it has a normal like the body's"
        )
        raise ValueError(
            f"garment {garment.name!r} does not lie on {body.name!r}: {why}; check units, axes and pose, or raise "
            "max_distance"
        )
    corners = body.faces[found.face[known]]  # those of the unwelded mesh: only they have weights
    n, count = int(known.sum()), len(character.names)
    share = (found.barycentric[known][:, :, None] * character.weights[corners]).reshape(n, -1)
    joints = character.joints[corners].reshape(n, -1)
    total = np.bincount(joints.ravel(), share.ravel(), count)
    bones = np.flatnonzero(total > 0.0)
    column = np.zeros(count, np.int64)
    column[bones] = np.arange(len(bones))
    flat = np.arange(n)[:, None] * len(bones) + column[joints]
    dense = np.bincount(flat.ravel(), share.ravel(), n * len(bones)).reshape(n, len(bones)).astype(np.float64)
    weights = np.zeros((garment.n_vertices, len(bones)))
    weights[known] = normalised(dense)
    return _Match(bones, weights, known, found.distance, piece, in_faces, len(np.unique(piece[in_faces])))


def _pieces(mesh: Mesh) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return the connected piece of each vertex (n,), and the mask (n,) of those in faces."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    edges, n = mesh.topology.edges, mesh.n_vertices
    graph = coo_array((np.ones(len(edges), np.int8), edges.T), shape=(n, n))
    in_faces = np.zeros(n, np.bool_)
    in_faces[mesh.faces] = True
    return connected_components(graph, directed=False)[1].astype(np.int64), in_faces


def _completed(garment: Mesh, match: _Match, progress: Callable[[float], None]) -> tuple[Floats, NDArray[np.int8]]:
    """Return weights (n,b) of all vertices, and how each was found (n,)."""
    bound = np.bincount(match.piece, match.known, int(match.piece.max()) + 1)[match.piece] > 0.0
    unknown = bound & ~match.known
    operator = laplacian(garment.vertices, garment.faces)
    weights = inpaint(operator, match.weights, match.known, unknown, progress)
    weights[unknown] = normalised(np.where(weights[unknown] < FAINT, 0.0, weights[unknown]))
    kind = np.full(garment.n_vertices, MATCHED, np.int8)
    kind[unknown] = INPAINTED
    loose = np.flatnonzero(~bound)
    if len(loose):
        kind[loose] = RIGID
        rest = Mesh(
            garment.vertices, garment.faces[bound[garment.faces[:, 0]]], groups=np.arange(len(bound), dtype=np.int32)
        )
        found = SurfacePoints(rest).nearest(garment.vertices[loose])
        # the vertex of each piece that is nearest to another piece decides for all of its vertices
        order = np.lexsort((found.distance, match.piece[loose]))
        _, first, row = np.unique(match.piece[loose][order], return_index=True, return_inverse=True)
        nearest = order[first]
        at = np.einsum("pc,pcb->pb", found.barycentric[nearest], weights[rest.faces[found.face[nearest]]])
        weights[loose[order]] = normalised(at)[row.ravel()]
    return weights, kind


def _edges(mesh: Mesh) -> tuple[NDArray[np.int32], Floats]:
    edges = mesh.topology.edges
    edges = edges[edges[:, 0] != edges[:, 1]]
    return edges, np.linalg.norm(mesh.vertices[edges[:, 0]] - mesh.vertices[edges[:, 1]], axis=1)


def _blended(
    matrices: Floats | None, joints: NDArray[np.int32], weights: Floats
) -> tuple[Floats | None, NDArray[np.int32], Floats]:
    """Return the map (n,3,4) of each vertex from the bind shape to the pose, None in the bind shape, with joints and
    weights. Where the blend of bones cannot be inverted, the bone with the largest weight replaces it."""
    if matrices is None:
        return None, joints, weights
    blend = np.einsum("nk,nkij->nij", weights, matrices[joints])
    flat = _flat(blend)
    if flat.any():
        joints, weights = joints.copy(), weights.copy()
        weights[flat], weights[flat, 0] = 0.0, 1.0
        blend[flat] = matrices[joints[flat, 0]]
        if (worse := flat & _flat(blend)).any():
            bad = int(np.count_nonzero(worse))
            raise ValueError(f"bones are scaled to zero in this pose, which {bad} vertices need; choose another pose")
    return blend, joints, weights


def _flat(blend: Floats) -> NDArray[np.bool_]:
    size = np.linalg.svd(blend[:, :, :3], compute_uv=False)
    return ~(size[:, 2] > _SINGULAR * size[:, 0])


def _unposed(to_pose: Floats, x: Floats) -> Floats:
    return np.linalg.solve(to_pose[:, :, :3], (x - to_pose[:, :, 3])[:, :, None])[:, :, 0].astype(np.float64)


def _placed(garment: Mesh, vertices: Floats) -> Mesh:
    return garment if vertices is garment.vertices else garment.moved(vertices)


def _stages(progress: Callable[[float], None] | None) -> Callable[[float], Any]:
    return (lambda share: None) if progress is None else progress

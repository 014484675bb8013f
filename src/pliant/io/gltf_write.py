"""Writing meshes and clips as GLB: into their source document, or as new nodes with one morph target per frame."""

import logging
import os
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..files import atomic_write
from ..mesh import Mesh
from ..motion.character import Character
from ..motion.clip import Clip
from .gltf import GltfSource
from .gltf_build import DAMAGED, VERTICES, Builder
from .gltf_character import in_document
from .gltf_character_write import put_character, put_keys
from .gltf_document import Json
from .gltf_patch import Patch, inverses
from .gltf_shape import Normals, Track, morph_targets, paint_material, split_seams
from .gltf_texture import put_surfaces

_log = logging.getLogger(__name__)
LINES = 1  # mode of a primitive
MOST_TARGETS = 512  # per node; longer clips continue in another node (viewers store targets in texture layers)


def write_mesh(path: str | os.PathLike[str], mesh: Mesh) -> None:
    """Write one static mesh; its source document keeps its skins and animations."""
    track = Track(Builder(), 1.0)
    track = _put(Clip(mesh, mesh.vertices[None]), track, animations=True)
    with atomic_write(path) as stream:
        track.builder.write(stream)


def write_clips(path: str | os.PathLike[str], clips: Sequence[Clip], fps: float, *, normals: bool = True) -> None:
    """Write all clips into one scene with one animation. Without `normals` the file has half the size, and shading
    stays as in the first frame."""
    track = Track(Builder(), fps)
    for clip in clips:
        track = _put(clip, track, animations=False, normals=normals)
    track.finish()
    with atomic_write(path) as stream:
        track.builder.write(stream)


def _put(clip: Clip, track: Track, *, animations: bool, normals: bool = True) -> Track:
    """Add a clip; return the track to continue with, because a failed attempt is discarded with its builder."""
    if clip.skin is not None and len(clip.skin.clips) == 1:
        return _put_played(clip.skin, track, clip.color)
    source = clip.mesh.source
    if isinstance(source, GltfSource) and source.fits(clip.mesh):
        back = inverses(source, clip.still)
        try:
            if back is not None:
                # its nodes may have parents: animate the vertices instead of the nodes
                clip = clip.unrolled()
                attempt = track.onto(track.builder.trial())
                with np.errstate(invalid="ignore"):  # old normals may be invalid; they only mark hard edges
                    Patch(attempt, clip, source, back, normals).put(animations=animations, paint=not animations)
                return attempt
        except DAMAGED as error:
            # the reader validates only the geometry; other entries of the document may be damaged
            _log.warning("%s: not written into its source document (%s); written alone", clip.mesh.name, error)
    if animations and isinstance(source, GltfSource) and source.partly:
        _log.warning("%s: written alone, without the other parts of its file", clip.mesh.name)
    _put_new(track.builder, clip, track, normals)
    return track


def _put_played(character: Character, track: Track, color: tuple[float, float, float]) -> Track:
    """Add a character that plays its only clip, with one keyframe per frame: in its own document, which keeps its
    meshes, materials and textures, or anew if it came from none. Returns the track to continue with."""
    source, (animation,) = character.mesh.source, character.clips.values()
    if isinstance(source, GltfSource) and in_document(character):
        try:
            attempt = track.onto(track.builder.trial())
            still = Clip(character.mesh.moved(source.vertices), source.vertices[None], color)
            nodes = Patch(attempt, still, source, [], True).put(animations=False, paint=True)
            put_keys(attempt, animation, [nodes.get(k) for k in source.row_nodes])
            return attempt
        except DAMAGED as error:
            _log.warning("%s: not written into its source document (%s); written anew", character.mesh.name, error)
    first, before = track.builder.count("nodes"), track.builder.count("materials")
    put_character(track.builder, character, color)
    put_surfaces(track.builder, character.mesh, before)
    put_keys(track, animation, [first + k for k in range(len(character.skeleton.parents))])
    return track


def write_for_texture(path: str | os.PathLike[str], clip: Clip, second_uv: NDArray[np.float64]) -> None:
    """Write the first frame as a new mesh with a second set of texture coordinates (n,2), v down, of its vertices."""
    track = Track(Builder(), 1.0)
    _put_new(track.builder, Clip(clip.mesh, clip.frames[:1], clip.color), track, True, second_uv)
    with atomic_write(path) as stream:
        track.builder.write(stream)


def _put_new(
    builder: Builder, clip: Clip, track: Track, normals: bool, more_uv: NDArray[np.float64] | None = None
) -> None:
    """Add a new mesh: vertices in order, duplicates for texture seams after them, one primitive per material; lines
    are one primitive of mode LINES, without normals. more_uv (n,2): a second set of texture coordinates, v down."""
    mesh = clip.mesh
    take, faces, uv = split_seams(mesh)
    material = np.zeros(mesh.n_faces, np.int64) if mesh.material is None else mesh.material
    primitives: list[Json] = []
    shared: Json = {}
    before = builder.count("materials")
    if uv is not None:
        shared["TEXCOORD_0"] = builder.accessor(uv.astype(np.float32), VERTICES)
    if more_uv is not None:
        if uv is None:  # sets are numbered without gaps
            shared["TEXCOORD_0"] = builder.accessor(np.zeros((len(take), 2), np.float32), VERTICES)
        shared["TEXCOORD_1"] = builder.accessor(more_uv[take].astype(np.float32), VERTICES)
    tint, color = mesh.marks.tint, clip.color
    if tint is not None:
        shared["COLOR_0"] = builder.accessor(tint[take].astype(np.float32), VERTICES)
        color = (1.0, 1.0, 1.0)
    for k in np.unique(material):
        definition = mesh.materials[k] if mesh.material is not None else {"name": mesh.name}
        primitives.append({
            "attributes": shared,
            "indices": builder.indices(mesh.lines if len(mesh.lines) else faces[material == k]),
            "material": paint_material(builder, definition, color),
            **({"mode": LINES} if len(mesh.lines) else {}),
        })  # fmt: skip
    put_surfaces(builder, mesh, before)
    smooth = Normals(mesh.faces, mesh.weld_index)
    spans = _spans(len(clip.frames), MOST_TARGETS)
    children = []
    for first, last in spans:
        x = clip.frames[first : last + 1].astype(np.float32)[:, take]
        place = {"POSITION": builder.accessor(x[0], VERTICES, bounds=True)}
        n = None
        if not len(mesh.lines):
            n = np.stack([smooth(clip.frames[t]) for t in range(first, last + 1 if normals else first + 1)])[:, take]
            place["NORMAL"] = builder.accessor(n[0], VERTICES)
        targets = morph_targets(builder, x, n if normals else None)
        entry: Json = {"name": mesh.name, "primitives": [dict(p) for p in primitives]}
        for primitive in entry["primitives"]:
            primitive["attributes"] = {**place, **shared}
            if targets:
                primitive["targets"] = targets
        if targets:
            entry["weights"] = [0.0] * len(targets)
        node = builder.add("nodes", {"name": mesh.name, "mesh": builder.add("meshes", entry)})
        if targets:
            track.frames(node, first, last)
        children.append(node)
    if clip.poses is not None:
        _animate_rigid_motion(builder, children[0], clip.poses, track)
    if len(spans) > 1:
        _take_turns(builder, children, spans, track)
        builder.roots.append(builder.add("nodes", {"name": mesh.name, "children": children}))
    else:
        builder.roots.append(children[0])


def _take_turns(builder: Builder, nodes: list[int], spans: list[tuple[int, int]], track: Track) -> None:
    """Show one node at a time by scaling the others to zero."""
    for node, (first, last) in zip(nodes, spans):
        keys = sorted({0, first, last if last < spans[-1][1] else first})
        visible = [1.0 if first <= key and (key < last or last == spans[-1][1]) else 0.0 for key in keys]
        if not visible[0]:
            builder.entry("nodes", node)["scale"] = [0.0, 0.0, 0.0]
        track.add(node, "scale", np.array(keys), np.repeat(np.array(visible)[:, None], 3, 1), "STEP")


def _animate_rigid_motion(builder: Builder, node: int, poses: NDArray[np.float64], track: Track) -> None:
    """Animate the rigid motion of a node: rotations as quaternions along the shorter arc, and translations."""
    turns, at = quaternions(poses[:, :, :3]), poses[:, :, 3]
    builder.entry("nodes", node).update(rotation=turns[0].tolist(), translation=at[0].tolist())
    if len(poses) > 1:
        track.add(node, "rotation", np.arange(len(poses)), turns, "LINEAR")
        track.add(node, "translation", np.arange(len(poses)), at, "LINEAR")


def quaternions(r: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return quaternions (m,4), x y z w, of rotations (m,3,3), each in the hemisphere of its predecessor."""
    d = np.stack([r[:, 0, 0], r[:, 1, 1], r[:, 2, 2]], 1)
    # four times the squares of x y z w; the largest is bounded away from zero and determines the others
    square = np.concatenate([1.0 + 2.0 * d - d.sum(1, keepdims=True), 1.0 + d.sum(1, keepdims=True)], 1)
    product = np.empty((len(r), 4, 4))
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        product[:, i, i] = square[:, i]
        product[:, i, j] = product[:, j, i] = r[:, i, j] + r[:, j, i]
        product[:, i, 3] = product[:, 3, i] = r[:, k, j] - r[:, j, k]
    product[:, 3, 3] = square[:, 3]
    q = product[np.arange(len(r)), square.argmax(1)]
    q /= np.linalg.norm(q, axis=1, keepdims=True)
    for m in range(1, len(q)):
        if q[m] @ q[m - 1] < 0.0:
            q[m] = -q[m]
    return q


def _spans(count: int, most: int) -> list[tuple[int, int]]:
    """Return first and last frame of each span of at most `most` targets; consecutive spans share a frame."""
    starts = list(range(0, max(count - 1, 1), most))
    return [(start, min(start + most, count - 1)) for start in starts]

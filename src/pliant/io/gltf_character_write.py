"""Writing a character as a skinned GLB: nodes, one mesh, one skin, morph targets and all clips, in float32."""

import logging
import os
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..files import atomic_write
from ..mesh import Mesh
from ..motion.animation import PARTS, Animation, Skeleton
from ..motion.character import Character
from ..motion.clip import Clip
from .gltf import GltfSource
from .gltf_build import DAMAGED, VERTICES, Builder
from .gltf_character import in_document, looks_as_read
from .gltf_document import Json
from .gltf_patch import Patch
from .gltf_shape import Normals, paint_material, split_seams
from .gltf_shape import Track as GltfTrack

_log = logging.getLogger(__name__)
_HOW = {"step": "STEP", "linear": "LINEAR", "cubic": "CUBICSPLINE"}
Floats = NDArray[np.float64]


def write_character(path: str | os.PathLike[str], character: Character) -> None:
    """Write one GLB: a copy of the file that it was loaded from, if it is unchanged, else a new one, in which vertices
    duplicated at texture seams are numbered after the character's own."""
    builder = _copied(character)
    if builder is None:
        builder = Builder()
        body = put_character(builder, character, (0.8, 0.6, 0.5))
        put_clips(builder, character, body)
    with atomic_write(path) as stream:
        builder.write(stream)


def _copied(character: Character) -> Builder | None:
    """Return the whole document of an unchanged character in metres with y up; None if it is another one."""
    source = character.mesh.source
    if not isinstance(source, GltfSource) or source.partly or not in_document(character):
        return None
    if list(source.clips) != list(character.clips) or not looks_as_read(character.mesh, source):
        return None
    if any(source.clips[name] is not clip for name, clip in character.clips.items()):
        return None
    builder = Builder()
    still = Clip(character.mesh.moved(source.vertices), source.vertices[None])
    try:
        Patch(GltfTrack(builder, 1.0), still, source, [], True).put(animations=True, paint=False)
    except DAMAGED as error:
        _log.warning("%s: not written into its source document (%s); written anew", character.mesh.name, error)
        return None
    return builder


def put_character(builder: Builder, character: Character, color: tuple[float, float, float]) -> int:
    """Add its nodes, mesh and skin; return the node of the mesh."""
    before = builder.count("nodes")
    rows = len(character.skeleton.parents)
    nodes = _nodes(builder, character, before)
    mesh = _mesh(builder, character, color)
    inverse = np.tile(np.eye(4, dtype=np.float32), (len(nodes), 1, 1))
    inverse[:, :3] = character.inverse
    skin = {"joints": nodes, "inverseBindMatrices": builder.accessor(inverse.transpose(0, 2, 1).reshape(-1, 16))}
    body = builder.add("nodes", {"name": character.mesh.name, "mesh": mesh, "skin": builder.add("skins", skin)})
    builder.roots += [before + k for k in range(rows) if character.skeleton.parents[k] < 0] + [body]
    return body


def put_keys(track: GltfTrack, clip: Animation, nodes: Sequence[int | None]) -> None:
    """Add a clip with one keyframe per frame to the animation of `track`; `nodes` of the skeleton, None: left out."""
    for part in clip.tracks:
        row, at = divmod(part.column, 10)
        path = next(name for name, columns in PARTS.items() if columns == (at, part.width))
        node = nodes[row]
        if node is not None:
            track.add(node, path, np.arange(len(part.times)), part.values, "LINEAR")


def _nodes(builder: Builder, character: Character, before: int) -> list[int]:
    """Add the skeleton's nodes in order; return the node of each bone."""
    skeleton = character.skeleton
    names = {int(k): name for k, name in zip(reversed(character.nodes), reversed(character.names))}
    numbers = skeleton.rest[: 10 * len(skeleton.parents)].reshape(-1, 10)
    for k, row in enumerate(numbers):
        entry: Json = {"name": names.get(k, f"node {k}")}
        if skeleton.given[k]:
            entry["matrix"] = np.vstack([skeleton.matrices[k], [0.0, 0.0, 0.0, 1.0]]).T.ravel().tolist()
        else:
            for part, (first, width) in PARTS.items():
                entry[part] = row[first : first + width].tolist()
        children = (before + np.flatnonzero(skeleton.parents == k)).tolist()
        if children:
            entry["children"] = children
        builder.add("nodes", entry)
    found: list[int] = []
    for name, k in zip(character.names, (before + character.nodes).tolist()):
        if k in found:  # two bones share a node, but a skin may list it only once
            child = builder.add("nodes", {"name": name})
            builder.entry("nodes", k).setdefault("children", []).append(child)
            k = child
        found.append(k)
    return found


def _mesh(builder: Builder, character: Character, color: tuple[float, float, float]) -> int:
    mesh = character.mesh
    defaults = character.skeleton.rest[10 * len(character.skeleton.parents) :]
    targets = np.zeros((len(defaults), mesh.n_vertices, 3))
    for morph in character.morphs:
        count = morph.targets.shape[1]
        targets[morph.column : morph.column + len(morph.targets), morph.start : morph.start + count] += morph.targets
    index = put_mesh(builder, mesh, (character.joints, character.weights), color, targets, defaults)
    if len(targets):
        builder.entry("meshes", index)["weights"] = defaults.tolist()
    return index


def put_mesh(
    builder: Builder,
    mesh: Mesh,
    influences: tuple[NDArray[Any], Floats],
    color: tuple[float, float, float],
    targets: Floats,
    defaults: Floats,
) -> int:
    """Add a mesh with joints and weights (n,k), and morph targets (m,n,3), at `defaults` (m,) in its vertices."""
    take, faces, uv = split_seams(mesh)
    x = mesh.vertices - np.einsum("m,mij->ij", defaults, targets)
    normal = Normals(mesh.faces, mesh.weld_index)(mesh.vertices)
    attributes: Json = {
        "POSITION": builder.accessor(x[take].astype(np.float32), VERTICES, bounds=True),
        "NORMAL": builder.accessor(normal[take], VERTICES),
    }
    if uv is not None:
        attributes["TEXCOORD_0"] = builder.accessor(uv.astype(np.float32), VERTICES)
    attributes |= skin_attributes(builder, influences[0][take], influences[1][take])
    primitives: list[Json] = []
    material = np.zeros(mesh.n_faces, np.int64) if mesh.material is None else mesh.material
    moved = targets[:, take].astype(np.float32)
    moves = [{"POSITION": k} for k in builder.accessors(moved, VERTICES, bounds=True)] if len(moved) else []
    for k in np.unique(material):
        definition = mesh.materials[k] if mesh.material is not None else {"name": mesh.name}
        primitive: Json = {"attributes": attributes, "indices": builder.indices(faces[material == k])}
        primitive["material"] = paint_material(builder, definition, color)
        primitives.append(primitive | ({"targets": moves} if moves else {}))
    return builder.add("meshes", {"name": mesh.name, "primitives": primitives})


def skin_attributes(builder: Builder, joints: NDArray[Any], weights: Floats) -> Json:
    """Add joints and weights (n,k), four per attribute; return the attributes."""
    index, share = np.zeros((len(joints), 8), np.uint16), np.zeros((len(joints), 8), np.float32)
    width = joints.shape[1]
    index[:, :width], share[:, :width] = joints, weights
    out: Json = {}
    for part in range((width + 3) // 4):
        columns = slice(4 * part, 4 * part + 4)
        out[f"JOINTS_{part}"] = builder.accessor(index[:, columns], VERTICES)
        out[f"WEIGHTS_{part}"] = builder.accessor(share[:, columns], VERTICES)
    return out


def put_clips(builder: Builder, character: Character, body: int) -> None:
    """Add all clips of a character whose nodes come first and whose mesh is at node `body`."""
    for name, clip in character.clips.items():
        _clip(builder, name, clip, character.skeleton, body)


def _clip(builder: Builder, name: str, clip: Animation, skeleton: Skeleton, body: int) -> None:
    numbers = 10 * len(skeleton.parents)
    times: dict[bytes, int] = {}
    samplers: list[Json] = []
    channels: list[Json] = []
    for track in clip.tracks:
        if track.column >= numbers:
            if (track.column - numbers, track.width) != (0, skeleton.n_weights):
                some = f"{track.width} of {skeleton.n_weights}"
                raise ValueError(
                    f"clip {name!r} has a track for {some} morph weights; a mesh in a GLB needs one for all"
                )
            target: Json = {"node": body, "path": "weights"}
        else:
            node, first = divmod(track.column, 10)
            target = {"node": node, "path": next(part for part, at in PARTS.items() if at == (first, track.width))}
        values = track.values.astype(np.float32).reshape(-1, 1 if track.column >= numbers else track.width)
        keys = track.times.astype(np.float32)
        if keys.tobytes() not in times:
            times[keys.tobytes()] = builder.accessor(keys[:, None], bounds=True)
        sampler = {"input": times[keys.tobytes()], "output": builder.accessor(values)}
        samplers.append(sampler | {"interpolation": _HOW[track.interpolation]})
        channels.append({"sampler": len(samplers) - 1, "target": target})
    if channels:
        builder.add("animations", {"name": name, "samplers": samplers, "channels": channels})

"""Writing a garment that is bound to a character as GLB: the file of the character with another skinned mesh."""

import copy
import logging
import os
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..files import atomic_write
from ..mesh import Mesh
from ..motion.character import Character
from .gltf import Block, GltfSource
from .gltf_build import DAMAGED, VERTICES, Builder
from .gltf_character import in_document
from .gltf_character_write import put_character, put_clips, put_mesh, skin_attributes
from .gltf_clips import unique
from .gltf_document import Json
from .gltf_shape import unit
from .gltf_texture import put_surfaces

_log = logging.getLogger(__name__)
Floats = NDArray[np.float64]
COLOR, BODY_COLOR = (0.35, 0.42, 0.55), (0.8, 0.6, 0.5)
_DROPPED_IF_UNUSED = ("meshes", "skins", "materials", "textures", "images", "samplers", "accessors", "bufferViews")


class _Skin(NamedTuple):
    """The skin of the garment in the file under construction."""

    skin: int
    rows: NDArray[np.int64]  # (b,) joint of each bone
    from_mesh: Floats  # (4,4) from the mesh of the character to the bind shape of the skin


def write_bound(
    path: str | os.PathLike[str], character: Character, garment: Character, to_pose: Floats | None, *, alone: bool
) -> str:
    """Write the character and the garment on its skeleton; with `alone` without the meshes of the character.

    to_pose: (n,3,4) maps the garment's bind shape to the pose in which its file has it; None if they are the same.
    Returns the name of the garment's node.
    """
    if os.fspath(path)[-4:].lower() != ".glb":
        raise ValueError(f"cannot write a bound garment as {os.fspath(path)!r}; expected .glb")
    builder, skin = _with_character(character, garment)
    n_nodes = builder.count("nodes")
    if alone:
        _leave_out_meshes(builder, n_nodes)
    nodes = _garment_nodes(builder, garment, to_pose, skin)
    names = [str(entry.get("name", "")) for entry in builder.json["nodes"][:n_nodes]]
    node = str(builder.entry("nodes", nodes[0]).get("name") or "") if len(nodes) == 1 else ""
    name = unique([*dict.fromkeys(names), node or _name_of_object(garment.mesh) or garment.mesh.name])[-1]
    if len(nodes) == 1:
        builder.entry("nodes", nodes[0])["name"] = name
        builder.roots += nodes
    else:
        builder.roots.append(builder.add("nodes", {"name": name, "children": nodes}))
    with atomic_write(path) as stream:
        builder.write(stream)
    return name


def _with_character(character: Character, garment: Character) -> tuple[Builder, _Skin]:
    """Return a builder with the character's source document, or with the character written anew if it has none that can
    be reused, and the skin for the garment."""
    source = character.mesh.source
    if isinstance(source, GltfSource) and in_document(character):
        try:
            builder = Builder()
            builder.merge(source.document, animations=True)
            builder.roots = list(source.roots)
            if not np.array_equal(source.placed, np.eye(3, 4)):
                matrix = np.vstack([source.placed, [0.0, 0.0, 0.0, 1.0]]).T.ravel().tolist()
                entry = {"name": "units and axes", "matrix": matrix, "children": builder.roots}
                builder.roots = [builder.add("nodes", entry)]
            return builder, _skin(builder, character, garment, source)
        except DAMAGED as error:
            # the reader validates only the geometry; other entries of the document may be damaged
            _log.warning("%s: not written into its source document (%s); written anew", character.mesh.name, error)
    builder = Builder()
    body = put_character(builder, character, BODY_COLOR)
    put_clips(builder, character, body)
    return builder, _Skin(builder.entry("nodes", body)["skin"], np.arange(len(character.names)), np.eye(4))


def _skin(builder: Builder, character: Character, garment: Character, source: GltfSource) -> _Skin:
    """Return the skin of the body that has all bones of the garment, or a new one that extends the skin whose
    bones carry most of its weight."""
    share = np.bincount(garment.joints.ravel(), garment.weights.ravel(), len(character.names))
    used = np.flatnonzero(share > 0.0)
    best = max(source.skins, key=lambda k: (share[list(source.skins[k].rows)].sum(), -k), default=-1)
    rows = np.zeros(len(character.names), np.int64)
    if best < 0:
        joints, from_mesh, inverse = [], np.eye(4), np.zeros((0, 4, 4))
    else:
        have, from_mesh = source.skins[best].rows, source.skins[best].from_mesh
        rows[list(have)] = list(have.values())
        if all(int(bone) in have for bone in used):
            return _Skin(best, rows, from_mesh)
        joints = list(source.document.items("skins")[best]["joints"])
        inverse = np.tile(np.eye(4), (len(joints), 1, 1))
        if "inverseBindMatrices" in source.document.items("skins")[best]:
            k = source.document.items("skins")[best]["inverseBindMatrices"]
            inverse = source.document.accessor(k, ("MAT4",), "skins").astype(np.float64)[: len(joints)]
            inverse = inverse.reshape(-1, 4, 4).transpose(0, 2, 1)
        used = np.array([bone for bone in used if int(bone) not in have])
    to_mesh = np.linalg.inv(from_mesh)
    added = []
    for bone in used.tolist():
        node = source.bone_nodes[bone]
        if node in joints:  # a skin lists a node only once
            child = builder.add("nodes", {"name": f"{character.names[bone]} of the garment"})
            builder.entry("nodes", node).setdefault("children", []).append(child)
            node = child
        rows[bone] = len(joints)
        joints.append(node)
        added.append(np.vstack([character.inverse[bone], [0.0, 0.0, 0.0, 1.0]]) @ to_mesh)
    matrices = np.concatenate([inverse, np.array(added)]).transpose(0, 2, 1).reshape(-1, 16).astype(np.float32)
    entry: Json = {"joints": joints, "inverseBindMatrices": builder.accessor(matrices)}
    return _Skin(builder.add("skins", entry), rows, from_mesh)


def _leave_out_meshes(builder: Builder, n_nodes: int) -> None:
    """Remove the meshes of the character, and the animations of their morph targets."""
    for k in range(n_nodes):
        for key in ("mesh", "skin", "weights"):
            builder.entry("nodes", k).pop(key, None)
    animations = builder.json.get("animations", [])
    for animation in animations:
        animation["channels"] = [c for c in animation["channels"] if c["target"].get("path") != "weights"]
    animations[:] = [animation for animation in animations if animation["channels"]]
    builder.dropped = _DROPPED_IF_UNUSED


def _name_of_object(mesh: Mesh) -> str:
    """The name of the object or group that holds all faces of a file such as OBJ; empty where there is none."""
    used = np.unique(mesh.faces)
    whole = (name for name, rows in mesh.marks.groups.items() if np.isin(used, rows).all())
    return next((name for name in whole if name != "default"), "")


def _garment_nodes(builder: Builder, garment: Character, to_pose: Floats | None, skin: _Skin) -> list[int]:
    """Add the garment and return its nodes: one for each mesh node of its source document, or a single one if it is
    written anew."""
    source = garment.mesh.source
    if isinstance(source, GltfSource) and source.fits(garment.mesh):
        attempt = builder.trial()
        try:
            with np.errstate(all="ignore"):  # normals of the file may be invalid
                nodes = _GarmentCopy(attempt, garment, to_pose, skin, source).put()
            builder.json, builder.parts, builder.lights = attempt.json, attempt.parts, attempt.lights
            return nodes
        except DAMAGED as error:
            _log.warning("%s: not copied from its source document (%s); written anew", garment.mesh.name, error)
    x = garment.mesh.vertices @ skin.from_mesh[:3, :3].T + skin.from_mesh[:3, 3]
    mesh = garment.mesh.moved(x)
    influences = skin.rows[garment.joints], garment.weights
    before = builder.count("materials")
    index = put_mesh(builder, mesh, influences, COLOR, np.zeros((0, len(x), 3)), np.zeros(0))
    put_surfaces(builder, mesh, before)
    return [builder.add("nodes", {"mesh": index, "skin": skin.skin})]


class _GarmentCopy:
    """Copies the meshes of the garment's document, with positions and directions in the bind shape of a skin."""

    def __init__(
        self, builder: Builder, garment: Character, to_pose: Floats | None, skin: _Skin, source: GltfSource
    ) -> None:
        self.builder, self.garment, self.skin, self.source = builder, garment, skin, source
        self.to_pose = to_pose
        self.offsets: dict[str, int] = {}

    def put(self) -> list[int]:
        self.offsets = self.builder.merge(self.source.document, animations=False)
        for kind in ("nodes", "skins", "cameras"):  # only meshes and what they refer to are needed
            if kind in self.builder.json:
                del self.builder.json[kind][self.offsets[kind] :]
        entries = self.source.document.items("nodes")
        groups: dict[tuple[int, int], list[Block]] = {}
        for block in self.source.blocks:
            groups.setdefault((block.node, block.mesh), []).append(block)
        nodes = []
        for (k, m), blocks in groups.items():
            mesh = copy.deepcopy(self.builder.entry("meshes", m + self.offsets["meshes"]))
            listed = mesh["primitives"]
            mesh["primitives"] = []
            for block in blocks:
                mesh["primitives"] += self._block(block, [listed[p] for p in block.primitives])
            entry: Json = {"mesh": self.builder.add("meshes", mesh), "skin": self.skin.skin}
            name = (entries[k].get("name") if k >= 0 else None) or mesh.get("name")
            entry |= {"name": name} if name else {}
            if k >= 0 and "weights" in entries[k]:
                entry["weights"] = list(entries[k]["weights"])
            nodes.append(self.builder.add("nodes", entry))
        return nodes

    def _block(self, block: Block, primitives: list[Json]) -> list[Json]:
        rows = slice(block.start, block.start + block.count)
        turn = self.source.placed[:, :3] @ block.matrix[..., :3]  # to the pose of the garment, (3,3) or (count,3,3)
        turn = np.broadcast_to(turn, (block.count, 3, 3))
        if self.to_pose is not None:
            turn = np.linalg.solve(self.to_pose[rows, :, :3], turn).astype(np.float64)
        turn = self.skin.from_mesh[:3, :3] @ turn
        x = self.garment.mesh.vertices[rows] @ self.skin.from_mesh[:3, :3].T + self.skin.from_mesh[:3, 3]
        if block.offset is not None:
            x = x - np.einsum("nij,nj->ni", turn, block.offset)
        position = self.builder.accessor(x.astype(np.float32), VERTICES, bounds=True)
        joints = self.skin.rows[self.garment.joints[rows]]
        skin = skin_attributes(self.builder, joints, self.garment.weights[rows])
        known: dict[tuple[str, int], int | None] = {}
        mirrored = bool(np.median(np.linalg.det(block.matrix[..., :3])) < 0.0)
        for primitive in primitives:
            if mirrored:  # viewers reverse the triangles below a mirroring node, but not those of a skin
                primitive["indices"] = self._reversed(primitive, block.count)
            kept = {
                key: value
                for key, value in primitive["attributes"].items()
                if not key.startswith(("JOINTS_", "WEIGHTS_")) and key not in ("POSITION", "NORMAL", "TANGENT")
            }
            kept["POSITION"] = position
            for key in ("NORMAL", "TANGENT"):
                if key in primitive["attributes"]:
                    value = self._turned(known, key, primitive["attributes"][key], turn, x)
                    kept |= {} if value is None else {key: value}
            primitive["attributes"] = kept | skin
            for target in primitive.get("targets", []):
                for key in [key for key in target if key in ("POSITION", "NORMAL", "TANGENT")]:
                    if key != "POSITION":  # differences of unit vectors; viewers then keep those of the base
                        del target[key]
                        continue
                    value = self._turned(known, "moves", target[key], turn, x)
                    if value is None:
                        raise ValueError("a morph target has another number of vertices")
                    target[key] = value
        return primitives

    def _reversed(self, primitive: Json, count: int) -> int:
        if primitive.get("mode", 4) != 4:
            raise ValueError("strips and fans below a mirroring node")
        index: NDArray[Any] = np.arange(count - count % 3)
        if "indices" in primitive:
            old = primitive["indices"] - self.offsets["accessors"]
            index = self.source.document.accessor(old, ("SCALAR",), "indices").ravel()
        return self.builder.indices(index[: len(index) - len(index) % 3].reshape(-1, 3)[:, ::-1])

    def _turned(
        self, known: dict[tuple[str, int], int | None], key: str, accessor: int, turn: Floats, x: Floats
    ) -> int | None:
        """Return the accessor of directions in the bind shape: those of an accessor of the merged document, turned."""
        if (key, accessor) not in known:
            kinds = ("VEC4",) if key == "TANGENT" else ("VEC3",)
            given = self.source.document.accessor(accessor - self.offsets["accessors"], kinds, key).astype(np.float64)
            known[key, accessor] = None
            if len(given) == len(turn) and np.isfinite(given).all():
                known[key, accessor] = self.builder.accessor(
                    _directions(key, given, turn), VERTICES, bounds=key == "moves"
                )
        return known[key, accessor]


def _directions(key: str, given: Floats, turn: Floats) -> NDArray[Any]:
    """Turn displacements and tangents by `turn` (n,3,3), normals by its inverse transpose, up to a positive factor."""
    if key != "NORMAL":
        moved = np.einsum("nij,nj->ni", turn, given[:, :3])
        if key == "moves":
            return moved.astype(np.float32)
        side = given[:, 3] * np.where(np.linalg.det(turn) < 0.0, -1.0, 1.0)
        return np.column_stack([unit(moved), np.where(side < 0.0, -1.0, 1.0)]).astype(np.float32)
    # the cofactor matrix exists also where the inverse does not
    cofactor = np.stack([np.cross(turn[:, (i + 1) % 3], turn[:, (i + 2) % 3]) for i in range(3)], 1)
    side = np.where(np.linalg.det(turn) < 0.0, -1.0, 1.0)
    return unit(side[:, None] * np.einsum("nij,nj->ni", cofactor, given))

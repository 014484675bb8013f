"""Writing a clip into the document its mesh was loaded from: positions replaced, frames as morph targets."""

import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..motion.clip import Clip
from .gltf import Block, GltfSource
from .gltf_build import VERTICES
from .gltf_document import Json
from .gltf_shape import Normals, Singles, Track, morph_targets, paint_material, unit

Inverse = tuple[NDArray[Any], NDArray[Any]]  # (3,3) and (3,), or one of each per vertex


def inverses(source: GltfSource, still: bool) -> list[Inverse] | None:
    """Return per block the map from mesh to accessor coordinates: subtract the shift, then apply the inverse matrix.

    None if the matrix of a node or skin is singular. Skins are left out of moving clips (`Patch`).
    """
    turn, shift = source.placed[:, :3], source.placed[:, 3]
    found: list[Inverse] = []
    for block in source.blocks:
        if block.matrix.ndim == 3 and not still:
            found.append((np.eye(3), np.zeros(3)))
            continue
        a = turn @ block.matrix[..., :3]
        size = np.abs(a).max((-1, -2))
        if (np.abs(np.linalg.det(a)) <= 1e-9 * size**3).any():
            return None
        found.append((np.linalg.inv(a), np.einsum("ij,...j->...i", turn, block.matrix[..., 3]) + shift))
    return found


class Patch:
    """Writes a clip into the document its mesh was loaded from; everything else in the document is kept.

    A mesh whose frames are morph targets has no skin: bones that do not move would only round its positions, and some
    programs replace a skinned node with animated weights by two objects.
    """

    def __init__(self, track: Track, clip: Clip, source: GltfSource, inverses: list[Inverse], normals: bool) -> None:
        """inverses: of the blocks of the source; not used for a static clip with the positions of its file."""
        self.builder, self.track, self.clip, self.source = track.builder, track, clip, source
        self.inverses, self.normals = inverses, normals
        self.moved = not clip.still or source.moved(clip.frames[0])
        self.offsets: dict[str, int] = {}

    def put(self, *, animations: bool, paint: bool) -> dict[int, int | None]:
        """Add the document; return the node that has the transform of each node of the file, None if none has."""
        self.offsets = self.builder.merge(self.source.document, animations=animations)
        roots = [k + self.offsets["nodes"] for k in self.source.roots]
        nodes = {block: block.node + self.offsets["nodes"] for block in self.source.blocks if block.node >= 0}
        if not nodes:  # a file of meshes without nodes
            for block in self.source.blocks:
                same = next((nodes[other] for other in nodes if other.mesh == block.mesh), None)
                mesh = block.mesh + self.offsets["meshes"]
                nodes[block] = self.builder.add("nodes", {"mesh": mesh}) if same is None else same
            roots = list(dict.fromkeys(nodes.values()))
            if self.source.partly and animations:  # also the meshes outside the part
                replaced = {block.mesh for block in self.source.blocks}
                others = [k for k in range(len(self.source.document.items("meshes"))) if k not in replaced]
                roots += [self.builder.add("nodes", {"mesh": k + self.offsets["meshes"]}) for k in others]
        if self.source.partly and not animations:
            self._leave_out(set(nodes.values()))
        self._separate(list(dict.fromkeys(nodes.values())))
        for k, block in enumerate(self.source.blocks):
            mesh = self.builder.entry("meshes", self.builder.entry("nodes", nodes[block])["mesh"])
            if block.matrix.ndim == 3 and self.clip.still:
                self._normalise_weights(block, mesh)
            if self.moved:
                self._move(block, self.inverses[k], mesh)
            if paint:
                self._color(block, mesh)
        if not self.clip.still:
            for node in dict.fromkeys(nodes.values()):
                self.track.frames(node, 0, len(self.clip.frames) - 1)
                self._fill_targets(node)
        if not np.array_equal(self.source.placed, np.eye(3, 4)):
            matrix = np.vstack([self.source.placed, [0.0, 0.0, 0.0, 1.0]]).T.ravel().tolist()
            roots = [self.builder.add("nodes", {"name": "units and axes", "matrix": matrix, "children": roots})]
        self.builder.roots += roots
        lifted = self._lift_skins(list(dict.fromkeys(nodes.values())))
        if not self.clip.still:
            for node in nodes.values():
                self.builder.entry("nodes", node).pop("skin", None)
        own = {k: k + self.offsets["nodes"] for k in range(len(self.source.document.items("nodes")))}
        return {k: lifted.get(node, node) for k, node in own.items()}

    def _leave_out(self, members: set[int]) -> None:
        """Remove the meshes outside the part, which would be static copies in a scene of clips."""
        for k in range(self.offsets["nodes"], self.builder.count("nodes")):
            if k not in members:
                for key in ("mesh", "skin", "weights"):
                    self.builder.entry("nodes", k).pop(key, None)

    def _separate(self, nodes: list[int]) -> None:
        """Give nodes that share a mesh separate copies, because they deform differently."""
        taken: set[int] = set()
        if self.source.partly:  # nodes outside the part keep the shared mesh
            others = range(self.offsets["nodes"], self.builder.count("nodes"))
            taken = {self.builder.entry("nodes", k).get("mesh", -1) for k in others if k not in nodes}
        for node in nodes if self.moved else []:
            entry = self.builder.entry("nodes", node)
            if entry["mesh"] in taken:
                entry["mesh"] = self.builder.add("meshes", copy.deepcopy(self.builder.entry("meshes", entry["mesh"])))
            taken.add(entry["mesh"])

    def _move(self, block: Block, inverse: Inverse, mesh: Json) -> None:
        matrix, shift = inverse
        stop = block.start + block.count
        x = np.empty((len(self.clip.frames), block.count, 3), np.float32)
        for t, frame in enumerate(self.clip.frames):
            local = np.einsum("...ij,...j->...i", matrix, frame[block.start : stop] - shift)
            x[t] = local if block.offset is None or not self.clip.still else local - block.offset
        primitives = [mesh["primitives"][p] for p in block.primitives]
        position = self.builder.accessor(x[0], VERTICES, bounds=True)
        shared: dict[Any, tuple[int | None, list[Json]]] = {}  # NORMAL accessor -> its replacement and morph targets
        for primitive in primitives:
            attributes = primitive["attributes"]
            key = attributes.get("NORMAL")
            if key not in shared:
                shared[key] = self._shading(block, key, inverse, x)
            normal, targets = shared[key]
            attributes["POSITION"] = position
            for holder in (attributes, *primitive.get("targets", [])):
                holder.pop("TANGENT", None)  # outdated; viewers compute tangents themselves
            if normal is not None:
                attributes["NORMAL"] = normal
            if not self.clip.still:
                primitive["targets"] = targets
                for key in [key for key in attributes if key.startswith(("JOINTS_", "WEIGHTS_"))]:
                    del attributes[key]

    def _shading(self, block: Block, key: int | None, inverse: Inverse, x: Singles) -> tuple[int | None, list[Json]]:
        """Recompute normals if the file has some; vertices with equal position and old normal share one, which keeps
        hard edges."""
        if key is None:
            return None, morph_targets(self.builder, x, None)
        old = key - self.offsets["accessors"]
        given = self.source.document.accessor(old, ("VEC3",), "NORMAL").astype(np.float64)
        if len(given) != block.count:
            return None, morph_targets(self.builder, x, None)
        stop = block.start + block.count
        rows = np.column_stack([self.clip.mesh.vertices[block.start : stop], given]) + 0.0
        _, group = np.unique(np.ascontiguousarray(rows).view("V48").ravel(), return_inverse=True)
        faces = self.source.file_faces(self.clip.mesh.faces)
        own = (faces[:, 0] >= block.start) & (faces[:, 0] < stop)  # no face joins two blocks
        smooth = Normals(faces[own] - block.start, group.ravel())
        frames = self.clip.frames if self.normals else self.clip.frames[:1]
        # normals transform by the inverse transpose, so the inverse map is the transpose
        back = np.linalg.inv(inverse[0])
        n = np.stack([unit(np.einsum("...ji,...j->...i", back, smooth(f[block.start : stop]))) for f in frames])
        return self.builder.accessor(n[0], VERTICES), morph_targets(self.builder, x, n if self.normals else None)

    def _color(self, block: Block, mesh: Json) -> None:
        for p in block.primitives:
            if "material" not in mesh["primitives"][p]:
                entry = {"name": self.clip.mesh.name}
                mesh["primitives"][p]["material"] = paint_material(self.builder, entry, self.clip.color)

    def _fill_targets(self, node: int) -> None:
        """Add zero morph targets to static line and point primitives; glTF requires equal counts within a mesh."""
        count = len(self.clip.frames) - 1
        entry = self.builder.entry("nodes", node)
        entry.pop("weights", None)
        mesh = self.builder.entry("meshes", entry["mesh"])
        mesh["weights"] = [0.0] * count
        if isinstance(mesh.get("extras"), dict):
            mesh["extras"].pop("targetNames", None)
        moving = {p for block in self.source.blocks for p in block.primitives if block.mesh == self._old_mesh(node)}
        for p, primitive in enumerate(mesh["primitives"]):
            if p not in moving:
                like = self.builder.entry("accessors", primitive["attributes"]["POSITION"])
                zero = {"componentType": 5126, "count": like["count"], "type": "VEC3"}
                still = self.builder.add("accessors", zero | {"min": [0.0] * 3, "max": [0.0] * 3})
                primitive["targets"] = [{"POSITION": still}] * count

    def _old_mesh(self, node: int) -> int:
        nodes = self.source.document.items("nodes")
        old = node - self.offsets["nodes"]
        if nodes:
            return int(nodes[old]["mesh"])
        return int(self.builder.entry("nodes", node)["mesh"]) - self.offsets["meshes"]

    def _lift_skins(self, members: list[int]) -> dict[int, int | None]:
        """Move skinned nodes to the root: glTF ignores their own transform, but not all viewers do.

        A node keeps its index and with it the vertex order; its transform and children move to a new node. Returns the
        new node of each moved node, None if nothing needs it.
        """
        moved: dict[int, int | None] = {}
        nodes = self.builder.json["nodes"]
        skins = self.builder.json.get("skins", [])
        for k in members:
            node = nodes[k]
            placed = {"matrix", "translation", "rotation", "scale"} & node.keys()
            if "skin" not in node or (not placed and k in self.builder.roots):
                continue
            rest = {key: value for key, value in node.items() if key not in ("mesh", "skin", "weights")}
            nodes[k] = {key: node[key] for key in ("name", "mesh", "skin", "weights") if key in node}
            used = "children" in node or any(k in (*skin["joints"], skin.get("skeleton")) for skin in skins)
            new = self.builder.add("nodes", rest) if used else None
            for owner in [{"children": self.builder.roots}, *nodes]:
                if k in owner.get("children", []):
                    children = [new if c == k else c for c in owner["children"]]
                    owner["children"][:] = [c for c in children if c is not None]
                    if not owner["children"]:
                        del owner["children"]
            for skin in skins if new is not None else []:
                skin["joints"] = [new if j == k else j for j in skin["joints"]]
                if skin.get("skeleton") == k:
                    skin["skeleton"] = new
            self._retarget(k, new)
            self.builder.roots.append(k)
            moved[k] = new
        return moved

    def _retarget(self, k: int, new: int | None) -> None:
        """Redirect transform animations of node `k` to `new`; remove them if `new` is None."""
        animations = self.builder.json.get("animations", [])
        for animation in animations:
            channels = []
            for channel in animation["channels"]:
                if channel["target"].get("node") == k and channel["target"].get("path") != "weights":
                    if new is None:
                        continue
                    channel["target"]["node"] = new
                channels.append(channel)
            animation["channels"] = channels
        animations[:] = [animation for animation in animations if animation["channels"]]

    def _normalise_weights(self, block: Block, mesh: Json) -> None:
        """Normalise skin weights to sum to 1, as glTF requires and as the reader interpreted them."""
        document = self.source.document
        for p in block.primitives:
            attributes = mesh["primitives"][p]["attributes"]
            names = [name for name in ("WEIGHTS_0", "WEIGHTS_1") if name in attributes]
            accessors = [attributes[name] - self.offsets["accessors"] for name in names]
            if any(k >= len(document.items("accessors")) for k in accessors):
                continue  # already done for another node with this mesh
            old = [document.accessor(k, ("VEC4",), name) for k, name in zip(accessors, names)]
            if not old or any(weights.dtype != np.float32 for weights in old):
                continue
            total = np.sum([weights.astype(np.float64).sum(1) for weights in old], 0)
            if (np.abs(total - 1.0) > 1e-6).any() and (total > 1e-12).all():
                for name, weights in zip(names, old):
                    new = (weights / total[:, None]).astype(np.float32)
                    attributes[name] = self.builder.accessor(new, VERTICES)

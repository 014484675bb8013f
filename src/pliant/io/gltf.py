"""glTF and GLB as one mesh: all triangles of the default scene, transformed by their node or skin."""

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .gltf_document import Document, Json
from .gltf_marks import marks_of
from .gltf_uv import Placement, of_material
from .loaded_file import Source, digest
from .reading import Input, Parts, check_positions

_TRIANGLES, _STRIP, _FAN = 4, 5, 6


@dataclasses.dataclass(eq=False)
class Block:
    """A contiguous range of mesh vertices from one POSITION accessor at one node."""

    node: int  # -1 for a file without nodes
    mesh: int
    primitives: list[int]
    start: int
    count: int
    matrix: NDArray[np.float64]  # (3,4), or (count,3,4) for a skin: from the accessor's to the file's coordinates
    offset: NDArray[np.float64] | None  # (count,3) added by morph targets at their default weights


@dataclasses.dataclass(frozen=True, eq=False)
class SkinBones:
    """A skin of the file and the bones of a character."""

    rows: dict[int, int]  # bone -> its joint in the skin
    from_mesh: NDArray[np.float64]  # (4,4) from the mesh of the character to the bind shape of the skin


@dataclasses.dataclass
class GltfSource(Source):
    """The document and the location of the mesh's vertices in it; for a character also that of its bones."""

    document: Document
    blocks: list[Block]
    roots: list[int]  # nodes of the default scene
    bone_nodes: list[int] = dataclasses.field(default_factory=list, init=False)  # node of each bone
    row_nodes: list[int] = dataclasses.field(default_factory=list, init=False)  # node of each skeleton row, -1: none
    skins: dict[int, SkinBones] = dataclasses.field(default_factory=dict, init=False)
    clips: Mapping[str, Any] = dataclasses.field(default_factory=dict, init=False)  # of the character as read
    rig: tuple[NDArray[Any], ...] = dataclasses.field(default=(), init=False)  # of the character as read (`rig_of`)
    look: tuple[Any, Any, Any] = dataclasses.field(default=(None, None, ()), init=False)  # of it as read (`look_of`)


def read(file: Input) -> Parts:
    """Parse a .gltf or .glb file; materials keep name and base colour, skins are in the pose of their nodes."""
    return Reader(Document(file)).read()


class Reader:
    """Collects the meshes of the default scene, node by node."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.file = document.file
        self.x: list[NDArray[np.float64]] = []
        self.faces: list[NDArray[np.int64]] = []
        self.uv: list[NDArray[np.float64] | None] = []
        self.material: list[int] = []
        self.blocks: list[Block] = []
        self.parent = np.zeros(0, np.int64)  # of every node, -1 for a root
        self.n_vertices = 0
        self.n_faces = 0
        self.work = 0  # vertices moved by morph targets
        self._shapes: dict[tuple[int, int], str] = {}
        self._bones: dict[int, NDArray[np.float64]] = {}

    def read(self) -> Parts:
        nodes = self.document.items("nodes")
        roots, world = self._place(nodes)
        if nodes:
            for k in self._wanted(nodes, self._reached(nodes, roots)):
                self._mesh(k, nodes[k], world)
        else:
            for k in self._wanted_meshes():
                self._mesh(-1, {"mesh": k}, world)
        if not self.faces:
            raise self.file.fail("scene", "no triangles in the default scene")
        faces = np.concatenate(self.faces)
        source = GltfSource(digest(faces), self.document, self.blocks, roots)
        source.partly = self.file.part is not None
        parts = Parts(np.concatenate(self.x), faces, source=source)
        if any(uv is not None for uv in self.uv):
            pieces = [np.zeros((len(f), 3, 2)) if uv is None else uv for uv, f in zip(self.uv, self.faces)]
            parts.uv = np.concatenate(pieces)
        self._materials(parts)
        parts.marks = marks_of(self.document, self.blocks, len(parts.vertices))
        return parts

    def _place(self, nodes: list[Json]) -> tuple[list[int], NDArray[np.float64]]:
        """Return the roots of the default scene and the world matrices (nodes,4,4); raise unless nodes form trees."""
        doc = self.document
        parent = self.parent = np.full(len(nodes), -1)
        for k, node in enumerate(nodes):
            for child in doc.array(node, "children", f"nodes[{k}]"):
                c = doc.checked(child, f"nodes[{k}].children", high=len(nodes) - 1)
                if parent[c] >= 0 or c == k:
                    raise self.file.fail(f"nodes[{c}]", "has two parents, or is its own")
                parent[c] = k
        world = np.zeros((len(nodes), 4, 4))
        stack = [int(k) for k in np.flatnonzero(parent < 0)]
        seen = 0
        while stack:
            k = stack.pop()
            seen += 1
            local = self._local(nodes[k], f"nodes[{k}]")
            world[k] = local if parent[k] < 0 else world[parent[k]] @ local
            stack += [int(c) for c in nodes[k].get("children", [])]
        if seen < len(nodes):
            raise self.file.fail("nodes", "the nodes form a cycle")
        scenes = doc.items("scenes")
        if not scenes:
            return [int(k) for k in np.flatnonzero(parent < 0)], world
        scene = doc.item("scenes", doc.json.get("scene", 0), "scene")
        listed = [doc.checked(k, "scenes.nodes", high=len(nodes) - 1) for k in doc.array(scene, "nodes", "scenes")]
        return list(dict.fromkeys(listed)), world

    def _local(self, node: Json, where: str) -> NDArray[np.float64]:
        doc = self.document
        if "matrix" in node:
            return doc.numbers(node["matrix"], 16, f"{where}.matrix").reshape(4, 4).T
        out = np.eye(4)
        if "rotation" in node:
            q = doc.numbers(node["rotation"], 4, f"{where}.rotation")
            norm = np.linalg.norm(q)
            if not 0 < norm < np.inf:
                raise self.file.fail(f"{where}.rotation", "is not a unit quaternion")
            x, y, z, w = q / norm
            out[:3, :3] = [
                [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
                [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
                [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
            ]
        if "scale" in node:
            out[:3, :3] *= doc.numbers(node["scale"], 3, f"{where}.scale")
        if "translation" in node:
            out[:3, 3] = doc.numbers(node["translation"], 3, f"{where}.translation")
        return out

    def _reached(self, nodes: list[Json], roots: list[int]) -> set[int]:
        """Return `roots` and all their descendants."""
        seen: set[int] = set()
        stack = list(roots)
        while stack:
            k = stack.pop()
            if k not in seen:
                seen.add(k)
                stack += [int(c) for c in nodes[k].get("children", [])]
        return seen

    def _wanted(self, nodes: list[Json], reached: set[int]) -> list[int]:
        """Return the nodes with a mesh in file order; for a part, those below the node of that name."""
        part = self.file.part
        bearing = sorted(k for k in reached if "mesh" in nodes[k])
        if part is None:
            return bearing
        under = self._reached(nodes, [k for k in reached if nodes[k].get("name") == part])
        held = [self.document.item("meshes", nodes[k]["mesh"], f"nodes[{k}].mesh").get("name") for k in bearing]
        found = [k for k in bearing if k in under] or [k for k, name in zip(bearing, held) if name == part]
        if not found:
            raise self.file.no_part(str(nodes[k].get("name") or name or f"node {k}") for k, name in zip(bearing, held))
        return found

    def _wanted_meshes(self) -> list[int]:
        """Return the meshes of a file without nodes, or those of the part."""
        part, names = self.file.part, [mesh.get("name") for mesh in self.document.items("meshes")]
        if part is not None and part not in names:
            raise self.file.no_part(str(name) for name in names if name)
        return [k for k, name in enumerate(names) if part is None or name == part]

    def _mesh(self, k: int, node: Json, world: NDArray[np.float64]) -> None:
        doc = self.document
        mesh = doc.item("meshes", node["mesh"], f"nodes[{k}].mesh")
        m = int(node["mesh"])
        known: dict[str, Block] = {}
        primitives = doc.array(mesh, "primitives", f"meshes[{m}]")
        for p, primitive in enumerate(primitives):
            where = f"meshes[{m}].primitives[{p}]"
            attributes = primitive.get("attributes") if isinstance(primitive, dict) else None
            if not isinstance(attributes, dict):
                raise self.file.fail(where, "has no attributes")
            mode = doc.whole(primitive, "mode", where, _TRIANGLES)
            if mode not in (_TRIANGLES, _STRIP, _FAN) or "POSITION" not in attributes:
                continue  # points and lines are not part of a surface
            if (m, p) not in self._shapes:
                shape = [attributes.get(a) for a in ("POSITION", "JOINTS_0", "WEIGHTS_0", "JOINTS_1", "WEIGHTS_1")]
                self._shapes[m, p] = repr((shape, primitive.get("targets")))
            key = self._shapes[m, p]
            if key in known:
                known[key].primitives.append(p)
            else:
                known[key] = self._vertices(k, node, m, mesh, p, primitive, world, where)
            self._triangles(primitive, known[key], mode, where)

    def _vertices(
        self, k: int, node: Json, m: int, mesh: Json, p: int, primitive: Json, world: NDArray[np.float64], where: str
    ) -> Block:
        doc = self.document
        attributes = primitive["attributes"]
        local = doc.accessor(attributes["POSITION"], ("VEC3",), f"{where}.POSITION").astype(np.float64)
        self.n_vertices += len(local)
        if self.n_vertices > doc.most:
            raise self.file.fail(where, f"more than {doc.most} vertices after instancing, too many for this file")
        name = f"accessors[{attributes['POSITION']}]"
        check_positions(self.file, local, lambda i: name)
        offset = self._morph(node, mesh, primitive, len(local), where)
        matrix = self._skin(k, node, attributes, len(local), world, where)
        if matrix is None:
            matrix = world[k, :3] if k >= 0 else np.eye(3, 4)
        at = local if offset is None else local + offset
        x = np.einsum("...ij,...j->...i", matrix[..., :3], at) + matrix[..., 3]
        check_positions(self.file, x, lambda i: f"nodes[{k}], {name}")
        block = Block(
            node=k,
            mesh=m,
            primitives=[p],
            start=self.n_vertices - len(local),
            count=len(local),
            matrix=matrix,
            offset=offset,
        )
        self.x.append(x)
        self.blocks.append(block)
        return block

    def _morph(self, node: Json, mesh: Json, primitive: Json, count: int, where: str) -> NDArray[np.float64] | None:
        """Return the displacement (count,3) of the morph targets at their default weights, or None."""
        doc = self.document
        targets = doc.array(primitive, "targets", where)
        given = node.get("weights", mesh.get("weights"))
        if not targets or given is None:
            return None
        weights = doc.numbers(given, len(targets), f"{where}.weights")
        total = np.zeros((count, 3))
        for w, target in zip(weights, targets):
            if w and isinstance(target, dict) and "POSITION" in target:
                delta = doc.accessor(target["POSITION"], ("VEC3",), f"{where}.targets")
                if len(delta) != count:
                    raise self.file.fail(f"{where}.targets", f"{len(delta)} entries for {count} vertices")
                self.work += count + 1000
                if self.work > 64 * doc.most:
                    raise self.file.fail(f"{where}.targets", "too many active morph targets for the size of this file")
                total += w * delta
        return total if total.any() else None

    def _skin(
        self, k: int, node: Json, attributes: Json, count: int, world: NDArray[np.float64], where: str
    ) -> NDArray[np.float64] | None:
        """Return blended joint matrices (count,3,4) in the current pose of the nodes, or None without a skin."""
        doc = self.document
        if "skin" not in node or "JOINTS_0" not in attributes or "WEIGHTS_0" not in attributes:
            return None
        bones = self._joints(node["skin"], f"nodes[{k}].skin", world)
        blend = np.zeros((count, 3, 4))
        total = np.zeros(count)
        for suffix in ("_0", "_1"):
            if f"JOINTS{suffix}" not in attributes or f"WEIGHTS{suffix}" not in attributes:
                continue
            index = doc.accessor(attributes[f"JOINTS{suffix}"], ("VEC4",), where)
            weight = doc.accessor(attributes[f"WEIGHTS{suffix}"], ("VEC4",), where).astype(np.float64)
            if len(index) != count or len(weight) != count or index.dtype.kind != "u":
                raise self.file.fail(where, f"JOINTS{suffix} and WEIGHTS{suffix} do not fit the {count} vertices")
            if (index >= len(bones)).any():
                raise self.file.fail(where, f"joint {int(index.max())}, but the skin has {len(bones)}")
            for c in range(4):
                blend += weight[:, c, None, None] * bones[index[:, c], :3]
                total += weight[:, c]
        # a vertex without weights is bound to the first joint with weight 1
        free = ~(np.abs(total) > 1e-12)
        blend[free], total[free] = bones[0, :3], 1.0
        return blend / total[:, None, None]

    def _joints(self, index: Any, where: str, world: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return matrices (j,4,4) from the bind pose to the current pose of the joints."""
        self.document.item("skins", index, where)
        if int(index) not in self._bones:
            joints, inverse = self._bind(index, where, len(world))
            self._bones[int(index)] = world[joints] @ inverse
        return self._bones[int(index)]

    def _bind(self, index: Any, where: str, n_nodes: int) -> tuple[list[int], NDArray[np.float64]]:
        """Return the joints of a skin and their inverse bind matrices (j,4,4)."""
        doc = self.document
        skin = doc.item("skins", index, where)
        name = f"skins[{index}]"
        joints = [doc.checked(j, f"{name}.joints", high=n_nodes - 1) for j in doc.array(skin, "joints", name)]
        if not joints:
            raise self.file.fail(name, "has no joints")
        if "inverseBindMatrices" not in skin:
            return joints, np.tile(np.eye(4), (len(joints), 1, 1))
        inverse = doc.accessor(skin["inverseBindMatrices"], ("MAT4",), name).astype(np.float64)
        if len(inverse) < len(joints):
            raise self.file.fail(name, f"{len(inverse)} inverse bind matrices for {len(joints)} joints")
        return joints, inverse[: len(joints)].reshape(-1, 4, 4).transpose(0, 2, 1)

    def _triangles(self, primitive: Json, block: Block, mode: int, where: str) -> None:
        doc = self.document
        if "indices" in primitive:
            found = doc.accessor(primitive["indices"], ("SCALAR",), f"{where}.indices").ravel()
            if found.dtype.kind != "u":
                raise self.file.fail(f"{where}.indices", "must be unsigned whole numbers")
            if (found >= block.count).any():
                raise self.file.fail(
                    f"{where}.indices", f"vertex index {int(found.max())}, but there are {block.count} vertices"
                )
            index = found.astype(np.int64)
        else:
            index = np.arange(block.count)
        if mode == _TRIANGLES:
            if len(index) % 3:
                raise self.file.fail(f"{where}.indices", f"{len(index)} indices, not a multiple of 3 (truncated?)")
            faces = index.reshape(-1, 3)
        elif mode == _FAN:
            faces = np.stack([np.broadcast_to(index[:1], max(len(index) - 2, 0)), index[1:-1], index[2:]], 1)
        else:
            faces = np.stack([index[:-2], index[1:-1], index[2:]], 1)
            faces[1::2, :2] = faces[1::2, 1::-1]
        if mode != _TRIANGLES:  # strips are joined by degenerate triangles
            a, b, c = faces.T
            faces = faces[(a != b) & (b != c) & (a != c)]
        # glTF: a mirroring node transform reverses the winding order
        if np.median(np.linalg.det(block.matrix[..., :3])) < 0:
            faces = faces[:, ::-1]
        self.n_faces += len(faces)
        if self.n_faces > 3 * doc.most:
            raise self.file.fail(where, f"more than {3 * doc.most} faces after instancing, too many for this file")
        self.faces.append(faces + block.start)
        chosen = primitive.get("material")
        materials = len(doc.items("materials"))
        fallback = materials  # glTF's default material, appended when used
        index_of = fallback if chosen is None else doc.checked(chosen, f"{where}.material", high=materials - 1)
        self.material += [index_of]
        self.uv.append(self._texture(primitive, faces, block.count, None if chosen is None else index_of, where))

    def _texture(
        self, primitive: Json, faces: NDArray[np.int64], count: int, material: int | None, where: str
    ) -> NDArray[np.float64] | None:
        """Return texture coordinates (m,3,2) of the textures of a material, v up as in Mesh; in glTF v points down."""
        placement = of_material(self.document, material)
        name = f"TEXCOORD_{placement.set}"
        if name not in primitive["attributes"]:
            name, placement = "TEXCOORD_0", Placement()
        if name not in primitive["attributes"]:
            return None
        uv = self.document.accessor(primitive["attributes"][name], ("VEC2",), f"{where}.{name}")
        if len(uv) != count:
            raise self.file.fail(f"{where}.{name}", f"{len(uv)} entries for {count} vertices")
        out = placement(uv.astype(np.float64)) + 0.0
        out[:, 1] = 1.0 - out[:, 1]
        return out[faces] if (np.abs(out) <= 1e12).all() else None

    def _materials(self, parts: Parts) -> None:
        listed = self.document.items("materials")
        if not listed:
            return
        table: list[dict[str, Any]] = []
        for k, entry in enumerate(listed):
            material: dict[str, Any] = {"name": str(entry.get("name", f"material {k}"))}
            surface = entry.get("pbrMetallicRoughness")
            if isinstance(surface, dict):
                color = surface.get("baseColorFactor", [1.0, 1.0, 1.0, 1.0])
                material["color"] = self.document.numbers(color, 4, f"materials[{k}]").tolist()[:3]
            table.append(material)
        chosen = np.repeat(self.material, [len(f) for f in self.faces])
        if (chosen == len(listed)).any():
            table.append({"name": "default"})
        parts.material, parts.materials = chosen, tuple(table)

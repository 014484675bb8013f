"""glTF and GLB as a character: bones (joints of skins and nodes with a mesh), weights, morph targets and clips."""

import dataclasses
import functools
import logging
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..mesh import Mesh
from ..motion.animation import Skeleton
from ..motion.character import Character, Morph
from .gltf import Block, GltfSource, Reader, SkinBones
from .gltf_clips import read_clips, unique
from .gltf_document import Document, Json
from .reading import Input, check_positions

LOW, HIGH = 0.5, 2.0  # sums of weights that are normalised to 1; others raise an error
Floats = NDArray[np.float64]
_log = logging.getLogger(__name__)
NO_TURN = [0.0, 0.0, 0.0, 1.0]


def read(file: Input, frame: Floats) -> Character:
    """Parse a .gltf or .glb file; `frame` (3,3) maps its coordinates to metres with y up."""
    return read_document(Document(file), frame)


def read_document(document: Document, frame: Floats) -> Character:
    """Return the character of a parsed file; `frame` as in `read`."""
    return _CharacterReader(document, frame).character()


@dataclasses.dataclass
class _SkinnedBlock:
    """A block of vertices with its joints, weights and morph targets."""

    x: Floats  # (count,3) in the accessor's coordinates, morphs at their defaults
    node: int
    skin: int  # -1: bound to the node itself
    joints: NDArray[Any]  # (count,8) of the skin
    weights: Floats  # (count,8)
    targets: Floats | None  # (m,count,3)


class _CharacterReader(Reader):
    """Reads the mesh as `Reader` does, and the bones of each block of vertices."""

    def __init__(self, document: Document, frame: Floats) -> None:
        super().__init__(document)
        self.nodes = document.items("nodes")
        self.frame = np.eye(4)
        self.frame[:3, :3] = frame
        self.skinned_blocks: list[_SkinnedBlock] = []  # in the order of the blocks
        self.skins: dict[int, tuple[list[int], Floats]] = {}  # joints and inverse bind matrices
        self.skin_bones: dict[int, SkinBones] = {}
        self.bones: list[tuple[int, int, Floats]] = []  # node, skin (-1: none), inverse bind matrix
        self.known: dict[tuple[int, bytes], int] = {}  # node and inverse bind matrix -> bone
        self.shapes: dict[int, tuple[int, Floats]] = {}  # node -> first morph weight, and their defaults
        self.n_targets = 0
        self.world = np.zeros((0, 4, 4))

    def character(self) -> Character:
        parts = self.read()
        source = parts.source
        assert isinstance(source, GltfSource)
        bind_to_world, bones_of = self._bind_to_world()
        x = [h.x @ a[:3, :3].T + a[:3, 3] for h, a in zip(self.skinned_blocks, bind_to_world)]
        check_positions(self.file, np.concatenate(x), lambda i: "bind shape")
        morphs = [
            Morph(block.start, h.targets @ a[:3, :3].T, self.shapes[h.node][0])
            for block, h, a in zip(self.blocks, self.skinned_blocks, bind_to_world)
            if h.targets is not None
        ]
        try:
            mesh = Mesh(
                np.concatenate(x),
                parts.faces,
                name=self.file.name,
                uv=parts.uv,
                material=parts.material,
                materials=parts.materials,
                source=source,
                marks=parts.marks,
            )
            # writers compare positions with the pose of the nodes in the file
            source.placed[:, :3] = self.frame[:3, :3]
            source.vertices = parts.vertices @ self.frame[:3, :3].T
            joints = np.concatenate([bones[h.joints] for bones, h in zip(bones_of, self.skinned_blocks)])
            return self._assembled(mesh, joints, tuple(morphs))
        except ValueError as error:
            raise self.file.fail("", str(error)) from None

    def _vertices(
        self, k: int, node: Json, m: int, mesh: Json, p: int, primitive: Json, world: Floats, where: str
    ) -> Block:
        block = super()._vertices(k, node, m, mesh, p, primitive, world, where)
        self.world = world
        attributes = primitive["attributes"]
        x = self.document.accessor(attributes["POSITION"], ("VEC3",), where).astype(np.float64)
        skin, joints, weights = -1, np.zeros((block.count, 8), np.int64), np.tile(np.eye(1, 8), (block.count, 1))
        if "skin" in node:
            skin = self._skin_at(node["skin"], f"nodes[{k}].skin")
            joints, weights = self._influences(attributes, block.count, where)
        if block.offset is not None:
            x += block.offset
        targets = self._targets(k, node, mesh, primitive, block.count, where)
        self.skinned_blocks.append(
            _SkinnedBlock(x=x, node=k, skin=skin, joints=joints, weights=weights, targets=targets)
        )
        return block

    def _skin_at(self, index: Any, where: str) -> int:
        if not isinstance(index, int) or index not in self.skins:
            joints, inverse = self._bind(index, where, len(self.nodes))
            if not np.abs(inverse[:, 3] - [0.0, 0.0, 0.0, 1.0]).max() < 1e-3:
                raise self.file.fail(f"skins[{index}].inverseBindMatrices", "a matrix whose last row is not 0 0 0 1")
            self.skins[int(index)] = joints, inverse
        return int(index)

    def _bind_to_world(self) -> tuple[list[Floats], list[NDArray[np.int64]]]:
        """Return for every block the matrix (4,4) from its bind shape to the world, and the bones of its joints.

        The bind shape of a skin is placed by the nearest common ancestor of the joints in use, which gives it the size
        and orientation of the character, whatever units and axes the file's bind shape has.
        """
        bind_to_world: dict[tuple[int, int], Floats] = {}
        found: dict[tuple[int, int], NDArray[np.int64]] = {}
        keys = [(h.skin, -1 if h.skin >= 0 else h.node) for h in self.skinned_blocks]
        spare = []
        for key in dict.fromkeys(keys):
            skin, node = key
            if skin < 0:
                bind_to_world[key], back = _with_inverse(self.frame @ (self.world[node] if node >= 0 else np.eye(4)))
                found[key] = np.array([self._bone(node, -1, back)])
                continue
            joints, inverse = self.skins[skin]
            used = np.unique(np.concatenate([h.joints[h.weights > 0.0] for h in self.skinned_blocks if h.skin == skin]))
            top = self._common(joints, used)
            bind_to_world[key], back = _with_inverse(self.frame @ self.world[joints[top]] @ inverse[top])
            found[key] = np.zeros(len(joints), np.int64)
            for row in used:
                found[key][row] = self._bone(joints[row], skin, inverse[row] @ back)
            rows = {int(found[key][row]): int(row) for row in reversed(used)}
            self.skin_bones[skin] = SkinBones(rows, back)
            spare += [(j, skin, inverse[row] @ back) for row, j in enumerate(joints)]
        holding = {node for node, _, _ in self.bones}
        for node, skin, back in spare:  # joints without vertices become bones too, once each
            if node not in holding:
                self._bone(node, skin, back)
                holding.add(node)
        return [bind_to_world[key] for key in keys], [found[key] for key in keys]

    def _common(self, joints: list[int], used: NDArray[Any]) -> int:
        """Return the row of the nearest common ancestor joint (possibly one of `used`), else of the topmost joint."""
        below = np.zeros(len(self.nodes), np.int64)
        below[np.array(joints)[used]] = 1
        total = int(below.sum())
        rows = {j: row for row, j in reversed(list(enumerate(joints)))}
        for k in np.argsort(-self._depths, kind="stable").tolist():  # the deepest common ancestor comes first
            if below[k] == total and k in rows:
                return rows[k]
            if self.parent[k] >= 0:
                below[self.parent[k]] += below[k]
        return int(np.argmin(self._depths[joints]))

    def _bone(self, node: int, skin: int, inverse: Floats) -> int:
        key = node, inverse.tobytes()
        if key not in self.known:
            self.known[key] = len(self.bones)
            self.bones.append((node, skin, inverse))
        return self.known[key]

    @functools.cached_property
    def _depths(self) -> NDArray[np.int64]:
        """Number of ancestors of each node, (nodes,)."""
        depth = np.full(len(self.parent), -1)
        for k in range(len(depth)):
            above, chain = k, []
            while above >= 0 and depth[above] < 0:
                chain.append(above)
                above = int(self.parent[above])
            start = depth[above] + 1 if above >= 0 else 0
            depth[chain[::-1]] = np.arange(start, start + len(chain))
        return depth

    def _influences(self, attributes: Json, count: int, where: str) -> tuple[NDArray[Any], Floats]:
        """Return joints and weights (count,8); the weights of each vertex are normalised to sum to 1."""
        doc = self.document
        joints, weights = np.zeros((count, 8), np.int64), np.zeros((count, 8))
        for part, suffix in enumerate(("_0", "_1")):
            if part and f"JOINTS{suffix}" not in attributes and f"WEIGHTS{suffix}" not in attributes:
                continue
            for name in ("JOINTS", "WEIGHTS"):
                if f"{name}{suffix}" not in attributes:
                    raise self.file.fail(where, f"has a skin, but no {name}{suffix}")
            # `Reader._skin` has validated their sizes
            found = doc.accessor(attributes[f"JOINTS{suffix}"], ("VEC4",), where)
            joints[:, 4 * part : 4 * part + 4] = found
            weights[:, 4 * part : 4 * part + 4] = doc.accessor(attributes[f"WEIGHTS{suffix}"], ("VEC4",), where)
        total = weights.sum(1)
        for wrong, why in (
            (~np.isfinite(weights).all(1), "are not all finite"),
            ((weights < 0.0).any(1), "are not all positive"),
            (total == 0.0, "are all zero"),
            ((total < LOW) | (total > HIGH), "do not sum to 1"),
        ):
            if wrong.any():
                i = int(np.argmax(wrong))
                raise self.file.fail(
                    where, f"the weights of vertex {i} {why}: {' '.join(f'{w:g}' for w in weights[i])}"
                )
        off = float(np.abs(total - 1.0).max())
        if off > 0.01:
            _log.warning("%s: weights of %s sum to 1 only within %.2g; normalised", self.file.name, where, off)
        return joints, weights / total[:, None]

    def _targets(self, k: int, node: Json, mesh: Json, primitive: Json, count: int, where: str) -> Floats | None:
        """Return the displacements (m,count,3) of the morph targets, or None."""
        doc = self.document
        targets = doc.array(primitive, "targets", where)
        if not targets:
            return None
        if k not in self.shapes:
            given = node.get("weights", mesh.get("weights", [0.0] * len(targets)))
            first = sum(len(weights) for _, weights in self.shapes.values())
            self.shapes[k] = first, doc.numbers(given, len(targets), f"{where}.weights")
        _, weights = self.shapes[k]
        if len(weights) != len(targets):
            raise self.file.fail(f"{where}.targets", f"{len(targets)} targets, but {len(weights)} weights")
        self.n_targets += len(targets) * count
        if self.n_targets > 4 * doc.most:
            raise self.file.fail(f"{where}.targets", "more morph targets than a file of this size can hold")
        moves = np.zeros((len(targets), count, 3))
        for t, target in enumerate(targets):
            if isinstance(target, dict) and "POSITION" in target:
                delta = doc.accessor(target["POSITION"], ("VEC3",), f"{where}.targets[{t}]").astype(np.float64)
                if len(delta) != count:
                    raise self.file.fail(f"{where}.targets[{t}]", f"{len(delta)} entries for {count} vertices")
                check_positions(self.file, delta, lambda i, t=t: f"{where}.targets[{t}]")  # type: ignore[misc]
                moves[t] = delta
        return moves

    def _assembled(self, mesh: Mesh, joints: NDArray[Any], morphs: tuple[Morph, ...]) -> Character:
        """Build the character with nodes and bones sorted parents first, below one extra root node, the frame."""
        order = np.argsort(self._depths, kind="stable").tolist()
        row = {-1: 0} | {k: r + 1 for r, k in enumerate(order)}
        skeleton = self._skeleton(order, row)
        sequence = sorted(range(len(self.bones)), key=lambda b: row[self.bones[b][0]])
        rank = np.argsort(sequence)
        source = mesh.source
        source.bone_nodes = [self.bones[b][0] for b in sequence]
        source.row_nodes = [-1, *order]
        for skin, bones in self.skin_bones.items():
            rows = {int(rank[b]): row for b, row in bones.rows.items()}
            source.skins[skin] = SkinBones(rows, bones.from_mesh)
        names = [self.nodes[k].get("name") if k >= 0 else mesh.name for k, _, _ in (self.bones[b] for b in sequence)]
        columns = {k: (row[k], *self.shapes.get(k, (0, np.zeros(0)))) for k in range(len(self.nodes))}
        character = Character(
            mesh=mesh,
            names=tuple(unique([name if isinstance(name, str) and name else "bone" for name in names])),
            parents=self._bone_parents(order, sequence),
            joints=rank[joints].astype(np.int32),
            weights=np.concatenate([h.weights for h in self.skinned_blocks]),
            clips=read_clips(self.document, columns, len(row)),
            skeleton=skeleton,
            nodes=np.array([row[self.bones[b][0]] for b in sequence], np.int32),
            inverse=np.array([self.bones[b][2][:3] for b in sequence]),
            morphs=morphs,
        )
        source.rig, source.clips, source.look = rig_of(character), character.clips, look_of(mesh)
        return character

    def _bone_parents(self, order: list[int], sequence: list[int]) -> NDArray[np.int32]:
        """Return (b,) the bone of the nearest ancestor node that has one; of several, that of the same skin."""
        at: dict[int, dict[int, int]] = {}  # node -> skin -> bone
        for new, b in enumerate(sequence):
            node, skin, _ = self.bones[b]
            at.setdefault(node, {}).setdefault(skin, new)
        near = {-1: -1}  # node -> itself or the nearest ancestor with a bone
        for k in order:
            near[k] = k if k in at else near[int(self.parent[k])]
        out = np.full(len(sequence), -1, np.int32)
        for new, b in enumerate(sequence):
            node, skin, _ = self.bones[b]
            above = near[int(self.parent[node])] if node >= 0 else -1
            if above >= 0:
                out[new] = at[above].get(skin, next(iter(at[above].values())))
        return out

    def _skeleton(self, order: list[int], row: dict[int, int]) -> Skeleton:
        doc = self.document
        parents, given = [-1], [True]
        rest, matrices = [[0.0, 0.0, 0.0, *NO_TURN, 1.0, 1.0, 1.0]], [self.frame[:3]]
        for k in order:
            node, where = self.nodes[k], f"nodes[{k}]"
            parents.append(row[int(self.parent[k])])
            given.append("matrix" in node)
            matrix = self._local(node, where)
            if not np.abs(matrix[3] - NO_TURN).max() < 1e-3:
                raise self.file.fail(f"{where}.matrix", "its last row is not 0 0 0 1")
            matrices.append(matrix[:3])
            move, turn = node.get("translation", [0.0] * 3), node.get("rotation", NO_TURN)
            scale = node.get("scale", [1.0] * 3)
            rest.append([
                *doc.numbers(move, 3, where), *doc.numbers(turn, 4, where), *doc.numbers(scale, 3, where)
            ])  # fmt: skip
        weights = [w for _, defaults in self.shapes.values() for w in defaults]
        return Skeleton(
            np.array(parents, np.int32),
            np.concatenate([np.ravel(rest), weights]),
            np.array(matrices),
            np.array(given),
        )


def rig_of(character: Character) -> tuple[NDArray[Any], ...]:
    """Return what determines the positions of a character: mesh, weights, bones and nodes."""
    c = character
    bones = c.nodes, c.inverse, c.skeleton.parents, c.skeleton.rest, c.skeleton.matrices
    return c.mesh.vertices, c.mesh.faces, c.joints, c.weights, *bones


def look_of(mesh: Mesh) -> tuple[Any, Any, Any]:
    """Return texture coordinates, material of each face, and materials."""
    return mesh.uv, mesh.material, mesh.materials


def looks_as_read(mesh: Mesh, source: GltfSource) -> bool:
    """True if texture coordinates and materials are still those of the file."""
    uv, material, materials = look_of(mesh)
    uv = None if uv is None else source.file_faces(uv)
    same = [a is b or (a is not None and np.array_equal(a, b)) for a, b in zip((uv, material), source.look)]
    return all(same) and repr(materials) == repr(source.look[2])


def in_document(character: Character) -> bool:
    """True if the character is still the one that its document holds; clips may differ."""
    source = character.mesh.source
    if not isinstance(source, GltfSource) or not source.rig:
        return False
    vertices, faces, *rest = rig_of(character)
    pairs = list(zip(source.rig, (vertices, source.file_faces(faces), *rest)))
    # each copy of a character normalises its weights
    return all(a.shape == b.shape and bool((np.abs(a - b) <= 1e-12).all()) for a, b in pairs)


def _with_inverse(matrix: Floats) -> tuple[Floats, Floats]:
    """Return the matrix (4,4) and its inverse, or two identity matrices if it is singular."""
    with np.errstate(all="ignore"):
        try:
            inverse: Floats = np.linalg.inv(matrix).astype(np.float64)
            if np.abs(matrix @ inverse - np.eye(4)).max() < 1e-6:
                return matrix, inverse
        except np.linalg.LinAlgError:
            pass
    return np.eye(4), np.eye(4)

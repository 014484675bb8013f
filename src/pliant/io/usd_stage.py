"""A program of its own that reads a USD stage with usd-core, and writes what pliant needs as arrays.

    python -m pliant.io.usd_stage STAGE FOLDER OPTIONS      options: JSON with part, single, fps, max_bytes

usd-core is written in C++ and may end the process on a damaged file, so it does not run in that of the caller.
"""

import json
import re
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
from pxr import Gf, Tf, Usd, UsdGeom, UsdShade, UsdSkel

from ..errors import one_of
from .converted import Refused, guard_memory, save_converted

_MOST_WORDS = 20


def main(stage: str, folder: str, options: str) -> None:
    save_converted(folder, lambda: _read_or_refuse(stage, **json.loads(options)))


def _read_or_refuse(path: str, max_bytes: int, **options: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """`read_stage`; the errors of usd-core name the line of the file, where it has lines, and none of its sources."""
    guard_memory(2 * max_bytes)
    try:
        return read_stage(path, max_bytes=max_bytes, **options)
    except MemoryError:
        raise Refused("", f"needs more memory than the limit of {max_bytes} bytes") from None
    except UnicodeDecodeError as error:
        raise Refused("", f"a name or text in it is not UTF-8: {error}") from None
    except Tf.ErrorException as error:
        text = _text(error)
        said = re.findall(r"in file \S+ : '(.*?)'\s*(?=Error in|$)", text, re.DOTALL)
        first = " ".join((said or [text])[0].split())  # those after it follow from it
        where, why = re.fullmatch(r"(?:\S*?:(\d+):\d+: )?(.*)", first, re.DOTALL).groups()  # type: ignore[union-attr]
        raise Refused(f"line {where}" if where else "", f"usd-core cannot read it: {why[:300]}") from None


def _text(error: Any) -> str:
    """What an error says; some quote bytes of the file that are no text."""
    try:
        return str(error)
    except UnicodeDecodeError as wrong:
        return wrong.object.decode("utf-8", "replace")


def read_stage(
    path: str, part: str | None, single: bool, fps: float | None, max_bytes: int
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The facts and arrays of the meshes of a stage, in metres with y up; one frame with `single`."""
    stage = Usd.Stage.Open(path)
    prims = list(_meshes(stage, part))
    meshes = [_StageMesh(prim, skeletons) for skeletons in [_skeletons(stage)] for prim in prims]
    rate = float(stage.GetTimeCodesPerSecond()) or 24.0
    first, last = _range(stage, meshes)
    step = 1.0 if fps is None else rate / fps
    count = 1 if single else int(np.floor((last - first) / step + 1e-6)) + 1
    points = sum(mesh.count for mesh in meshes)
    if 24 * points * count > max_bytes:
        raise Refused("", f"{count} frames of {points} points are more than the limit of {max_bytes} bytes")
    frames = np.empty((count, points, 3))
    placed = _to_metres(stage)
    for k in range(count):
        time = Usd.TimeCode(first + k * step)
        cache = UsdGeom.XformCache(time)
        frames[k] = np.concatenate([mesh.shape(time, cache) for mesh in meshes]) @ placed
    if (frames == frames[0]).all():
        frames = frames[:1]
    arrays: dict[str, Any] = {"frames": frames}
    materials = _Materials()
    start, blocks, corners, counts, uv, rows = 0, [], [], [], [], []
    for mesh in meshes:
        keep = mesh.kept_corners(placed)
        corners.append(mesh.corners[keep.corners] + start)
        counts.append(mesh.counts[keep.faces])
        uv.append(mesh.uv[keep.corners])
        rows.append(materials.of(mesh)[keep.faces])
        blocks.append({"path": str(mesh.prim.GetPath()), "start": start, "points": mesh.count})
        start += mesh.count
    arrays |= {"corners": np.concatenate(corners), "counts": np.concatenate(counts)}
    if any(mesh.has_uv for mesh in meshes):
        arrays["uv"] = np.concatenate(uv)
    arrays["material"] = np.concatenate(rows)
    facts = {"fps": rate if fps is None else fps, "blocks": blocks, "materials": materials.found, "first": first}
    return facts | {"notes": _notes(stage, meshes)}, arrays


def _meshes(stage: Any, part: str | None) -> Iterator[Any]:
    """The visible meshes for rendering, also those of instances; of a part: a prim of this name, path or display
    name."""
    names = []
    found = False
    for prim in stage.Traverse(Usd.TraverseInstanceProxies()):
        if not prim.IsA(UsdGeom.Mesh) or prim.IsA(UsdGeom.PointInstancer):
            continue
        imageable = UsdGeom.Imageable(prim)
        if imageable.ComputeVisibility() == "invisible" or imageable.ComputePurpose() in ("guide", "proxy"):
            continue
        path = prim.GetPath()
        if part is not None:
            above = [stage.GetPrimAtPath(prefix) for prefix in path.GetPrefixes()]
            if not any(part in (p.GetName(), str(p.GetPath()), p.GetDisplayName()) for p in above):
                names.append(prim.GetName())
                continue
        found = True
        yield prim
    if not found and part is not None:
        raise Refused("", f"has no part {part!r}; {one_of(part, dict.fromkeys(names), _MOST_WORDS)}")
    if not found:
        raise Refused("", "no visible meshes; pliant reads prims of type Mesh")


def _skeletons(stage: Any) -> Any:
    cache = UsdSkel.Cache()
    for prim in stage.Traverse(Usd.TraverseInstanceProxies()):
        if prim.IsA(UsdSkel.Root):
            cache.Populate(UsdSkel.Root(prim), Usd.TraverseInstanceProxies())
    return cache


class _Kept:
    """Which faces and corners of a mesh are read: none of holes; corners reversed where faces are seen from behind."""

    def __init__(self, counts: Any, holes: Any, reverse: bool) -> None:
        self.faces = np.ones(len(counts), bool)
        self.faces[[h for h in holes if 0 <= h < len(counts)]] = False
        start = np.cumsum(counts) - counts
        face = np.repeat(np.arange(len(counts)), counts)
        step = np.arange(len(face)) - start[face]
        self.corners = (start[face] + (counts[face] - 1 - step if reverse else step))[self.faces[face]]


class _StageMesh:
    """A mesh prim: faces and texture coordinates at the earliest time, and its points at any time."""

    def __init__(self, prim: Any, skeletons: Any) -> None:
        self.prim, self.mesh = prim, UsdGeom.Mesh(prim)
        early = Usd.TimeCode.EarliestTime()
        self.counts = _ints(self.mesh.GetFaceVertexCountsAttr().Get(early))
        self.corners = _ints(self.mesh.GetFaceVertexIndicesAttr().Get(early))
        self.count = len(self.mesh.GetPointsAttr().Get(early) or ())
        where = str(prim.GetPath())
        if not self.count:
            raise Refused(where, "has no points")
        if (self.counts < 3).any() or self.counts.sum() != len(self.corners):
            total = f"the faces have {self.counts.sum()} corners, and {len(self.corners)} are given"
            raise Refused(where, f"{total}; every face needs 3 or more")
        if len(self.corners) and not 0 <= self.corners.min() <= self.corners.max() < self.count:
            raise Refused(where, f"an index is outside of its {self.count} points")
        for attribute in (self.mesh.GetFaceVertexCountsAttr(), self.mesh.GetFaceVertexIndicesAttr()):
            values = {_ints(attribute.Get(t)).tobytes() for t in attribute.GetTimeSamples()[:1000]}
            if len(values) > 1:
                raise Refused(where, "its faces change over time; pliant needs one topology")
        self.has_uv, self.uv = self._texture_coordinates(early)
        self.skin = skeletons.GetSkinningQuery(prim)
        binding = UsdSkel.BindingAPI(prim)
        skeleton = binding.GetInheritedSkeleton()
        self.skeleton: Any = skeletons.GetSkelQuery(skeleton) if skeleton else None
        self.skinned = bool(self.skin and self.skeleton and self.skin.HasJointInfluences())
        self.blended = bool(self.skin and self.skeleton and self.skin.HasBlendShapes() and self.skeleton.GetAnimQuery())
        self.shapes: Any = UsdSkel.BlendShapeQuery(binding) if self.blended else None

    def kept_corners(self, placed: Any) -> _Kept:
        holes = self.mesh.GetHoleIndicesAttr().Get() or ()
        left = self.mesh.GetOrientationAttr().Get() == "leftHanded"
        world = UsdGeom.XformCache(Usd.TimeCode.EarliestTime()).GetLocalToWorldTransform(self.prim)
        mirrored = not self.skinned and np.linalg.det(np.array(world)[:3, :3]) < 0.0
        return _Kept(self.counts, holes, left != mirrored)

    def times(self) -> list[float]:
        """Times at which something is given that moves the mesh."""
        attributes = [self.mesh.GetPointsAttr()]
        prim = self.prim
        while prim and not prim.IsPseudoRoot():
            attributes += [op.GetAttr() for op in UsdGeom.Xformable(prim).GetOrderedXformOps()]
            prim = prim.GetParent()
        query = self.skeleton.GetAnimQuery() if self.skeleton else None
        if query:
            attributes += query.GetPrim().GetAttributes()
        return [time for attribute in attributes for time in attribute.GetTimeSamples()]

    def shape(self, time: Any, cache: Any) -> Any:
        """World positions (n,3): blended, skinned or transformed."""
        points = np.array(self.mesh.GetPointsAttr().Get(time), np.float64).reshape(-1, 3)
        if len(points) != self.count:
            where = f"{self.prim.GetPath()} at time {time.GetValue():g}"
            raise Refused(where, f"has {len(points)} points, and {self.count} before; pliant needs one topology")
        if self.blended:
            self._blend(points, time)
        if not self.skinned:
            return _transformed(points, cache.GetLocalToWorldTransform(self.prim))
        matrices = self.skeleton.ComputeSkinningTransforms(time)
        known = dict(zip(self.skeleton.GetJointOrder(), matrices))
        matrices = [known.get(joint, Gf.Matrix4d(1)) for joint in self.skin.GetJointOrder() or known]
        influences = self.skin.ComputeVaryingJointInfluences(self.count, time)
        if influences is None:
            raise Refused(str(self.prim.GetPath()), f"its joints and weights do not fit its {self.count} points")
        joints, weights = influences
        joints, weights = (np.array(values).reshape(self.count, -1) for values in (joints, weights))
        matrix = np.array(matrices, np.float64).reshape(-1, 4, 4)
        if len(joints) and not 0 <= joints.min() <= joints.max() < len(matrix):
            raise Refused(str(self.prim.GetPath()), f"a joint index is outside of its {len(matrix)} joints")
        bound = _transformed(points, self.skin.GetGeomBindTransform(time))
        bound = np.concatenate([bound, np.ones((self.count, 1))], 1)
        skinned = sum(w[:, None] * np.einsum("ni,nij->nj", bound, matrix[j]) for j, w in zip(joints.T, weights.T))
        return _transformed(skinned[:, :3], cache.GetLocalToWorldTransform(self.skeleton.GetPrim()))

    def _blend(self, points: Any, time: Any) -> None:
        query = self.skeleton.GetAnimQuery()
        known = dict(zip(query.GetBlendShapeOrder(), query.ComputeBlendShapeWeights(time)))
        weights = [known.get(name, 0.0) for name in self.skin.GetBlendShapeOrder()]
        if not weights or len(weights) != self.shapes.GetNumBlendShapes():
            return
        amounts, of_shape, of_part = self.shapes.ComputeSubShapeWeights(weights)
        rows, offsets = self.shapes.ComputeBlendShapePointIndices(), self.shapes.ComputeSubShapePointOffsets()
        for amount, shape, sub in zip(amounts, of_shape, of_part):
            if shape >= len(rows) or sub >= len(offsets):
                raise Refused(str(self.prim.GetPath()), f"blend shape {shape} has no offsets")
            index, offset = np.array(rows[shape], int), np.array(offsets[sub], np.float64).reshape(-1, 3)
            if len(index) and (len(index) != len(offset) or not 0 <= index.min() <= index.max() < self.count):
                raise Refused(str(self.prim.GetPath()), f"blend shape {shape} does not fit its {self.count} points")
            if not len(index) and len(offset) != self.count:
                raise Refused(str(self.prim.GetPath()), f"blend shape {shape} does not fit its {self.count} points")
            np.add.at(points, index if len(index) else np.arange(self.count), amount * offset)

    def _texture_coordinates(self, time: Any) -> tuple[bool, Any]:
        """Per corner: the primvar st or UVMap, or the first of texture coordinates."""
        primvars = UsdGeom.PrimvarsAPI(self.prim).FindPrimvarsWithInheritance()
        able = [
            p for p in primvars if p.GetTypeName().role == "TextureCoordinate" or p.GetPrimvarName() in ("st", "uv")
        ]
        able = sorted(able, key=lambda p: (p.GetPrimvarName() != "st", p.GetPrimvarName() != "UVMap"))
        none = np.zeros((len(self.corners), 2))
        for primvar in able:
            values = _floats(primvar.ComputeFlattened(time))
            if values.ndim != 2 or values.shape[1] != 2 or not np.isfinite(values).all():
                continue
            face = np.repeat(np.arange(len(self.counts)), self.counts)
            rows = {
                "constant": np.zeros(len(self.corners), int),
                "uniform": face,
                "faceVarying": np.arange(len(self.corners)),
            }.get(primvar.GetInterpolation(), self.corners)
            if len(rows) and rows.max() < len(values):
                return True, values[rows]
        return False, none


class _Materials:
    """The materials of all meshes: name, linear colour, and the file of the colour texture."""

    def __init__(self) -> None:
        self.found: list[dict[str, Any]] = []
        self._rows: dict[str, int] = {}

    def of(self, mesh: _StageMesh) -> Any:
        """The material of each face, as an index."""
        binding = UsdShade.MaterialBindingAPI(mesh.prim)
        rows = np.full(len(mesh.counts), self._row(binding.ComputeBoundMaterial()[0], mesh))
        for subset in binding.GetMaterialBindSubsets():
            faces = _ints(subset.GetIndicesAttr().Get(Usd.TimeCode.EarliestTime()))
            bound = UsdShade.MaterialBindingAPI(subset.GetPrim()).ComputeBoundMaterial()[0]
            if bound:
                rows[faces[(faces >= 0) & (faces < len(rows))]] = self._row(bound, mesh)
        return rows

    def _row(self, material: Any, mesh: _StageMesh) -> int:
        prim = material.GetPrim() if material else mesh.prim
        key = str(prim.GetPath())
        if key not in self._rows:
            self._rows[key] = len(self.found)
            entry: dict[str, Any] = {"name": prim.GetDisplayName() or prim.GetName()}
            entry |= _surface(material) if material else _display_colour(mesh.mesh)
            self.found.append(entry)
        return self._rows[key]


def _display_colour(mesh: Any) -> dict[str, Any]:
    values = _floats(mesh.GetDisplayColorPrimvar().ComputeFlattened())
    good = values.ndim == 2 and len(values) and np.isfinite(values[0]).all()
    return {"color": values[0].clip(0.0, 1.0).tolist()} if good else {}


def _surface(material: Any) -> dict[str, Any]:
    """Colour and colour texture of a UsdPreviewSurface."""
    shader = material.ComputeSurfaceSource()[0]
    diffuse = shader.GetInput("diffuseColor") if shader else None
    if not diffuse:
        return {}
    for attribute in UsdShade.Utils.GetValueProducingAttributes(diffuse):
        source = UsdShade.Shader(attribute.GetPrim())
        if source and source.GetShaderId() == "UsdUVTexture":
            asset = source.GetInput("file").Get() if source.GetInput("file") else None
            return {"texture": asset.resolvedPath} if asset and asset.resolvedPath else {}
        value = _floats(attribute.Get())
        if value.shape == (3,) and np.isfinite(value).all():
            return {"color": value.clip(0.0, 1.0).tolist()}
    return {}


def _range(stage: Any, meshes: list[_StageMesh]) -> tuple[float, float]:
    """First and last time code: those of the stage, or of what moves its meshes."""
    first, last = stage.GetStartTimeCode(), stage.GetEndTimeCode()
    if not stage.HasAuthoredTimeCodeRange():
        times = [time for mesh in meshes for time in mesh.times()]
        first, last = (min(times), max(times)) if times else (0.0, 0.0)
    if not np.isfinite([first, last]).all() or not first <= last:
        raise Refused("", f"the time codes from {first:g} to {last:g} are no range")
    return first, last


def _to_metres(stage: Any) -> Any:
    """The matrix (3,3) to the right of world positions that turns them into metres with y up."""
    scale = UsdGeom.GetStageMetersPerUnit(stage)
    if not (np.isfinite(scale) and scale > 0.0):
        raise Refused("", f"metersPerUnit is {scale:g}; expected a positive number")
    up = np.array([[1, 0, 0], [0, 0, -1], [0, 1, 0]]) if UsdGeom.GetStageUpAxis(stage) == "Z" else np.eye(3)
    return up * scale


def _notes(stage: Any, meshes: list[_StageMesh]) -> list[str]:
    notes = []
    if not stage.HasAuthoredMetadata("metersPerUnit"):
        notes.append("gives no metersPerUnit; read in centimetres, the default of USD")
    missing = [" ".join(_text(error).split()) for error in stage.GetCompositionErrors()]
    if missing:
        more = f" (and {len(missing) - 1} more)" if len(missing) > 1 else ""
        notes.append(f"is read without what usd-core cannot compose: {missing[0][:300]}{more}")
    left_out = [p.GetName() for p in stage.Traverse() if p.IsA(UsdGeom.PointInstancer)]
    if left_out:
        notes.append(f"point instancers are not read: {', '.join(left_out[:_MOST_WORDS])}")
    if any(mesh.skinned and mesh.skin.GetSkinningMethod() == "dualQuaternion" for mesh in meshes):
        notes.append("dual quaternion skinning is computed as linear blend skinning")
    return notes


def _transformed(points: Any, matrix: Any) -> Any:
    """Row vectors (n,3) times a matrix of USD."""
    m = np.array(Gf.Matrix4d(matrix), np.float64)
    return points @ m[:3, :3] + m[3, :3]


def _ints(values: Any) -> Any:
    try:
        return np.array(() if values is None else values, np.int64).reshape(-1)
    except (TypeError, ValueError):
        raise Refused("", "the corners or faces of a mesh are no list of integers") from None


def _floats(values: Any) -> Any:
    """An array of what should be numbers, empty where it is not."""
    try:
        return np.array(() if values is None else values, np.float64)
    except (TypeError, ValueError):
        return np.empty(0)


if __name__ == "__main__":
    main(*sys.argv[1:])

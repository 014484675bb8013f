"""Writing meshes of a USD stage as a layer above it, which overrides their points; the stage itself stays as it is.

The layer has the file of the stage as its sublayer. It holds, for each mesh that was read: `points`, and what follows
from them where the stage gives it (`extent`, normals). Velocities, joint influences and blend shapes of these meshes
are blocked, because the points already contain their motion; instances above them become prims of their own.
"""

import logging
import os
import pathlib
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..files import atomic_write
from ..motion.clip import Clip
from .usd_normals import StageNormals
from .usd_read import Block, UsdSource

_log = logging.getLogger("pliant.io")
# metadata of a root layer that speak of that layer alone
_OWN = ("subLayers", "subLayerOffsets", "documentation", "comment", "owner", "hasOwnedSubLayers", "layerRelocates")
_BLOCKED = ("velocities", "accelerations", "primvars:skel:jointIndices", "primvars:skel:jointWeights")
_SHAPES = "skel:blendShapes"


def of_stage(clips: Sequence[Clip]) -> list[Clip]:
    """The clips that are meshes of a stage with the faces that they have there; all are of the first one's stage."""
    found = [c for c in clips if isinstance(c.mesh.source, UsdSource) and c.mesh.source.fits(c.mesh)]
    return [clip for clip in found if clip.mesh.source.stage == found[0].mesh.source.stage]


def write(path: pathlib.Path, clips: Sequence[Clip], worn: Sequence[Clip], fps: float) -> list[pathlib.Path]:
    """Write the clips `worn` of one stage as a layer above it; the other `clips` are left out, with a warning."""
    from pxr import Sdf, Usd

    source = worn[0].mesh.source
    if path.resolve() == source.stage:
        raise ValueError(f"{path} is the stage itself, which stays as it is; name another file")
    for clip in clips:
        if not any(clip is one for one in worn):
            _log.warning("%s is no mesh of %s; left out of %s", clip.mesh.name, source.stage.name, path.name)
    stage = Usd.Stage.Open(str(source.stage))
    layer = Sdf.Layer.CreateAnonymous(".usda")
    root = stage.GetRootLayer().pseudoRoot
    for key in root.ListInfoKeys():
        if key not in _OWN:
            layer.pseudoRoot.SetInfo(key, root.GetInfo(key))
    layer.subLayerPaths = [_beside(source.stage, path)]
    step = (stage.GetTimeCodesPerSecond() or 24.0) / fps
    for clip in worn:
        if clip.still and not clip.mesh.source.moved(clip.frames[0]):
            continue
        for block in clip.mesh.source.blocks:
            _override(layer, stage, clip if clip.poses is None else clip.unrolled(), block, step)
    last = source.first + step * (max(len(clip) for clip in worn) - 1)
    if last > stage.GetEndTimeCode() or (last > source.first and not stage.HasAuthoredTimeCodeRange()):
        layer.pseudoRoot.SetInfo("endTimeCode", last)
        layer.pseudoRoot.SetInfo("startTimeCode", min(source.first, stage.GetStartTimeCode()))
    with tempfile.TemporaryDirectory() as folder:
        made = pathlib.Path(folder) / f"layer{'.usda' if path.suffix.lower() == '.usda' else '.usdc'}"
        if not layer.Export(str(made), "written by pliant"):
            raise OSError(f"usd-core could not write {path}")
        with atomic_write(path) as stream, made.open("rb") as content:
            shutil.copyfileobj(content, stream)
    return [path]


def _beside(stage: pathlib.Path, path: pathlib.Path) -> str:
    """The path of the stage from the folder of the layer; absolute on another drive."""
    try:
        near = pathlib.Path(os.path.relpath(stage, path.resolve().parent)).as_posix()
    except ValueError:
        return stage.as_posix()
    return near if near.startswith("../") else f"./{near}"


def _override(layer: Any, stage: Any, clip: Clip, block: Block, step: float) -> None:
    """Add the points of one mesh, and what follows from them."""
    from pxr import Sdf, Usd, UsdGeom, Vt

    types, prim = Sdf.ValueTypeNames, stage.GetPrimAtPath(block.path)
    mesh = UsdGeom.Mesh(prim)
    early = Usd.TimeCode.EarliestTime()
    if not mesh or len(mesh.GetPointsAttr().Get(early) or ()) != block.points:
        raise ValueError(f"{clip.mesh.source.stage} changed since it was read: {block.path} has other points")
    for above in prim.GetPath().GetPrefixes():
        if stage.GetPrimAtPath(above).IsInstanceable():
            Sdf.CreatePrimInLayer(layer, above).instanceable = False
    spec = Sdf.CreatePrimInLayer(layer, prim.GetPath())
    values: dict[str, Any] = {"points": Sdf.AttributeSpec(spec, "points", types.Point3fArray)}
    if mesh.GetExtentAttr().HasAuthoredValue():
        values["extent"] = Sdf.AttributeSpec(spec, "extent", types.Float3Array)
    normals = {
        name: found for name in ("normals", "primvars:normals") if (found := StageNormals.of(mesh, name, clip, block))
    }
    for name in normals:
        values[name] = Sdf.AttributeSpec(spec, name, types.Normal3fArray)
        indices = prim.GetAttribute(f"{name}:indices")
        if indices and indices.HasAuthoredValue():
            Sdf.AttributeSpec(spec, f"{name}:indices", types.IntArray).default = Sdf.ValueBlock()
    for name in (*_BLOCKED, _SHAPES):
        attribute = prim.GetAttribute(name)
        if attribute and attribute.HasAuthoredValue():
            _blocked(spec, attribute)
    for k, x in enumerate(_local(clip, block, stage, step)):
        now = {"points": x, "extent": np.stack([x.min(0), x.max(0)])}
        now |= {name: one.at(x) for name, one in normals.items()}
        for name, attribute in values.items():
            value = Vt.Vec3fArray.FromNumpy(np.ascontiguousarray(now[name], np.float32))
            if clip.still:
                attribute.default = value
            else:
                layer.SetTimeSample(attribute.path, clip.mesh.source.first + k * step, value)


def _blocked(spec: Any, attribute: Any) -> None:
    from pxr import Sdf

    uniform = attribute.GetVariability()
    Sdf.AttributeSpec(spec, attribute.GetName(), attribute.GetTypeName(), uniform).default = Sdf.ValueBlock()


def _local(clip: Clip, block: Block, stage: Any, step: float) -> Iterator[NDArray[np.float64]]:
    """Yield the points of each frame in the space of the prim."""
    from pxr import Usd, UsdGeom

    source, prim = clip.mesh.source, stage.GetPrimAtPath(block.path)
    metres = np.eye(3) * UsdGeom.GetStageMetersPerUnit(stage)
    if UsdGeom.GetStageUpAxis(stage) == "Z":
        metres = np.array([[1, 0, 0], [0, 0, -1], [0, 1, 0]]) @ metres
    to_stage = np.linalg.inv(metres @ source.placed[:, :3].T)
    for k in range(len(clip.frames)):
        cache = UsdGeom.XformCache(Usd.TimeCode(source.first + k * step))
        world = np.linalg.inv(np.array(cache.GetLocalToWorldTransform(prim)))
        rows = clip.frames[k, block.start : block.start + block.points].astype(np.float64) @ to_stage
        yield rows @ world[:3, :3] + world[3, :3]

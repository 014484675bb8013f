"""Writing meshes and clips as USD: text (`.usda`) directly, binary (`.usdc`, `.usd`) through the extra `[usd]`.

Pixar: Universal Scene Description, schemas UsdGeom and UsdShade. A body is an Xform with one Mesh; a deforming mesh has
points for every frame, a rigidly moving one a transform for every frame. Images of textures are files beside the stage.
"""

import os
import pathlib
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..files import atomic_write
from ..mesh import Mesh
from ..mesh.polylines import polylines
from ..mesh.tubes import THIN
from ..motion.clip import Clip
from . import usd_override
from .gltf_shape import Normals
from .surfaces import ImageFiles
from .usd_core import require
from .usd_materials import Materials
from .usd_text import quoted, unique_words

Path = str | os.PathLike[str]
_ROWS = 4096  # rows formatted per write


def write_mesh(path: Path, mesh: Mesh) -> None:
    """Write one static mesh as text."""
    write_clips(path, [Clip(mesh, mesh.vertices[None])], 24.0)


def write_clips(path: Path, clips: Sequence[Clip], fps: float) -> list[pathlib.Path]:
    """Write all clips on one stage as text; each frame is one time code, starting at 0. Returns the written paths."""
    if worn := usd_override.of_stage(clips):
        return usd_override.write(pathlib.Path(path), clips, worn, fps)
    files = ImageFiles(pathlib.Path(path))
    _write_text(path, clips, fps, files)
    return [pathlib.Path(path), *files.write()]


def _write_text(path: Path, clips: Sequence[Clip], fps: float, files: ImageFiles) -> None:
    with atomic_write(path) as stream:
        for line in _stage(clips, fps, Materials(clips, files)):
            stream.write(line.encode())


def write_mesh_binary(path: Path, mesh: Mesh) -> None:
    """Write one static mesh as a crate file."""
    write_clips_binary(path, [Clip(mesh, mesh.vertices[None])], 24.0)


def write_clips_binary(path: Path, clips: Sequence[Clip], fps: float) -> list[pathlib.Path]:
    """Write the same stage as a crate file, which is smaller and loads faster; needs usd-core."""
    require(path)
    from pxr import Sdf

    if worn := usd_override.of_stage(clips):
        return usd_override.write(pathlib.Path(path), clips, worn, fps)
    files = ImageFiles(pathlib.Path(path))
    with tempfile.TemporaryDirectory() as folder:
        text, crate = pathlib.Path(folder) / "stage.usda", pathlib.Path(folder) / "stage.usdc"
        _write_text(text, clips, fps, files)
        layer = Sdf.Layer.OpenAsAnonymous(str(text))
        if layer is None or not layer.Export(str(crate)):
            raise OSError(f"usd-core could not write {path}; write .usda, which needs no library")
        with atomic_write(path) as stream, crate.open("rb") as made:
            shutil.copyfileobj(made, stream)
    return [pathlib.Path(path), *files.write()]


def _stage(clips: Sequence[Clip], fps: float, materials: Materials) -> Iterator[str]:
    last = max(len(clip) for clip in clips) - 1
    yield '#usda 1.0\n(\n    defaultPrim = "World"\n    doc = "written by pliant"\n'
    if last:
        yield f"    endTimeCode = {last}\n    framesPerSecond = {fps!r}\n"
    yield "    metersPerUnit = 1\n"
    if last:
        yield f"    startTimeCode = 0\n    timeCodesPerSecond = {fps!r}\n"
    yield '    upAxis = "Y"\n)\n\ndef Xform "World" (\n    kind = "component"\n)\n{\n'
    # "Materials" is taken by their scope
    names = list(unique_words(["Materials", *(clip.mesh.name for clip in clips)], "mesh"))[1:]
    for clip, name in zip(clips, names):
        yield f'    def Xform "{name}" (\n        displayName = {quoted(clip.mesh.name)}\n    )\n    {{\n'
        yield from _transforms(clip)
        yield from _curves(clip, name) if len(clip.mesh.lines) else _mesh(clip, name, materials)
        yield "    }\n\n"
    yield from materials.definitions()
    yield "}\n"


def _transforms(clip: Clip) -> Iterator[str]:
    """Yield the transforms; USD uses row vectors, so rows of a matrix are the images of the axes and the origin."""
    if clip.poses is None:
        return
    rows = np.zeros((len(clip.poses), 4, 4))
    rows[:, :, :3], rows[:, 3, 3] = clip.poses.transpose(0, 2, 1), 1.0
    row = "(%.17g, %.17g, %.17g, %.17g)"
    values = [f"({row}, {row}, {row}, {row})" % tuple(matrix.ravel().tolist()) for matrix in rows]
    yield from _attribute("matrix4d", "xformOp:transform", values, 8)
    yield '        uniform token[] xformOpOrder = ["xformOp:transform"]\n\n'


def _mesh(clip: Clip, name: str, materials: Materials) -> Iterator[str]:
    mesh, frames = clip.mesh, clip.frames
    # programs that merge an Xform with its only Mesh keep the name of the Mesh
    yield f'        def Mesh "{name}" (\n            prepend apiSchemas = ["MaterialBindingAPI"]\n'
    yield "        )\n        {\n"
    yield "            uniform bool doubleSided = 1\n"  # cloth is visible from both sides
    yield from _attribute("float3[]", "extent", (_vectors(np.stack([x.min(0), x.max(0)])) for x in frames), 12)
    yield f"            int[] faceVertexCounts = [{', '.join(['3'] * mesh.n_faces)}]\n"
    yield f"            int[] faceVertexIndices = [{', '.join(map(str, mesh.faces.ravel().tolist()))}]\n"
    smooth = Normals(mesh.faces, mesh.weld_index)
    normals = (_vectors(smooth(x), 5) for x in frames)
    yield from _attribute("normal3f[]", "normals", normals, 12, 'interpolation = "vertex"')
    yield from _attribute("point3f[]", "points", map(_vectors, frames), 12)
    yield from _colours(clip)
    if mesh.uv is not None:
        uv = _vectors(mesh.uv.reshape(-1, 2))
        yield from _attribute("texCoord2f[]", "primvars:st", [uv], 12, 'interpolation = "faceVarying"')
    yield '            uniform token subdivisionScheme = "none"\n'
    yield from materials.bindings(clip)
    yield "        }\n"


def _curves(clip: Clip, name: str) -> Iterator[str]:
    """Yield lines as linear curves, their points in order along each of them."""
    order, start = polylines(clip.mesh)
    frames, width = clip.frames[:, order], 2.0 * getattr(clip.subdivision, "radius", THIN * clip.mesh.size)
    yield f'        def BasisCurves "{name}"\n        {{\n'
    yield f"            int[] curveVertexCounts = [{', '.join(map(str, np.diff(start).tolist()))}]\n"
    yield from _attribute("float3[]", "extent", (_vectors(np.stack([x.min(0), x.max(0)])) for x in frames), 12)
    yield from _attribute("point3f[]", "points", map(_vectors, frames), 12)
    yield from _colours(clip)
    yield '            uniform token type = "linear"\n'
    yield from _attribute("float[]", "widths", [f"[{width:.9g}]"], 12, 'interpolation = "constant"')
    yield "        }\n"


def _colours(clip: Clip) -> Iterator[str]:
    """Yield one colour for all faces, or one per face if the mesh has materials; linear RGB."""
    mesh = clip.mesh
    if mesh.material is None or not mesh.materials:
        values, interpolation = np.array([clip.color], np.float64), "constant"
    else:
        colours = np.array([material.get("color", clip.color)[:3] for material in mesh.materials], np.float64)
        values, interpolation = colours[mesh.material], "uniform"
    if mesh.marks.tint is not None:
        values, interpolation = mesh.marks.tint, "vertex"
    yield from _attribute(
        "color3f[]", "primvars:displayColor", [_vectors(values)], 12, f'interpolation = "{interpolation}"'
    )


def _attribute(kind: str, name: str, values: Any, indent: int, metadata: str = "") -> Iterator[str]:
    """Yield an attribute with one value, or with one value per time code; values are consumed one at a time."""
    pad, values = " " * indent, iter(values)
    first, second = next(values), next(values, None)
    end = f" (\n{pad}    {metadata}\n{pad})\n" if metadata else "\n"
    if second is None:
        yield f"{pad}{kind} {name} = {first}{end}"
        return
    if metadata:
        yield f"{pad}{kind} {name}{end}"
    yield f"{pad}{kind} {name}.timeSamples = {{\n{pad}    0: {first},\n{pad}    1: {second},\n"
    for t, value in enumerate(values, 2):
        yield f"{pad}    {t}: {value},\n"
    yield f"{pad}}}\n"


def _vectors(rows: NDArray[Any], digits: int = 9) -> str:
    """Format rows as tuples; nine digits represent a float32 exactly."""
    one = "(" + ", ".join([f"%.{digits}g"] * rows.shape[1]) + "), "
    parts = []
    for k in range(0, len(rows), _ROWS):
        part = rows[k : k + _ROWS].astype(np.float32)
        parts.append((one * len(part)) % tuple(part.ravel().tolist()))
    return f"[{''.join(parts)[:-2]}]"

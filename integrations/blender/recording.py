"""Evaluated meshes over a range of frames, as arrays in the coordinates of pliant: metres, y up."""

import contextlib
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import bpy
import numpy as np

from .process import Problem

FIX, DRAPE = "Pliant Fix", "Pliant Drape"  # modifiers that this extension adds; shape keys begin with the first
# modifiers that keep the number and the order of vertices; for garments, the first other one and all after it are left
# out
_DEFORMING = {
    "ARMATURE", "CAST", "CLOTH", "COLLISION", "CORRECTIVE_SMOOTH", "CURVE", "DATA_TRANSFER", "DISPLACE", "HOOK",
    "LAPLACIANDEFORM", "LAPLACIANSMOOTH", "LATTICE", "MESH_CACHE", "MESH_DEFORM", "MESH_SEQUENCE_CACHE", "NODES",
    "NORMAL_EDIT", "SHRINKWRAP", "SIMPLE_DEFORM", "SMOOTH", "SOFT_BODY", "SURFACE_DEFORM", "UV_PROJECT", "UV_WARP",
    "VERTEX_WEIGHT_EDIT", "VERTEX_WEIGHT_MIX", "VERTEX_WEIGHT_PROXIMITY", "WARP", "WAVE", "WEIGHTED_NORMAL",
}  # fmt: skip


class Recording(NamedTuple):
    """frames (T,n,3) float32 and faces (m,3) of a mesh; matrices (T,4,4) from the object to Blender's world."""

    name: str
    frames: np.ndarray
    faces: np.ndarray
    matrices: np.ndarray

    def save(self, path: str, fps: float) -> None:
        """Write the npz that pliant reads as a clip."""
        np.savez(path, frames_0=self.frames, faces_0=self.faces, name_0=np.array(self.name), fps=np.array(float(fps)))


def record(scene: bpy.types.Scene, things: Sequence[bpy.types.Object]) -> list[Recording]:
    """Evaluate the objects in every frame of the scene's range; the current frame stays."""
    now, numbers = scene.frame_current, range(scene.frame_start, scene.frame_end + 1)
    shapes: dict[str, list[np.ndarray]] = {thing.name: [] for thing in things}
    matrices: dict[str, list[np.ndarray]] = {thing.name: [] for thing in things}
    faces: dict[str, np.ndarray] = {}
    try:
        for number in numbers:
            scene.frame_set(number)
            for thing in things:
                x, triangles, matrix = _evaluated(thing)
                # polygons are divided as in the first frame; how Blender divides them depends on their shape
                first = faces.setdefault(thing.name, triangles)
                if len(first) != len(triangles) or len(x) != len((shapes[thing.name] or [x])[0]):
                    raise Problem(
                        f"{thing.name!r} has other vertices or faces in frame {number} than before; remove or apply "
                        "the modifier that changes them"
                    )
                shapes[thing.name].append(to_pliant(x, matrix, scene.unit_settings.scale_length))
                matrices[thing.name].append(matrix)
    finally:
        scene.frame_set(now)
    return [Recording(t.name, np.stack(shapes[t.name]), faces[t.name], np.stack(matrices[t.name])) for t in things]


def joined(recordings: Sequence[Recording]) -> Recording:
    """All meshes as one, with the name and the matrices of the first."""
    starts = np.cumsum([0, *(each.frames.shape[1] for each in recordings)])
    faces = np.concatenate([each.faces + start for each, start in zip(recordings, starts)])
    frames = np.concatenate([each.frames for each in recordings], 1)
    return Recording(recordings[0].name, frames, faces, recordings[0].matrices)


def deforming(modifier: bpy.types.Modifier) -> bool:
    """Whether a modifier keeps the number and the order of vertices."""
    return modifier.type in _DEFORMING


@contextlib.contextmanager
def with_own_vertices(thing: bpy.types.Object, *, without: Sequence[str] = ()) -> Iterator[None]:
    """Leave out modifiers that change the vertices of a garment, and the results of `without` (FIX, DRAPE)."""
    first = next((k for k, m in enumerate(thing.modifiers) if not deforming(m)), len(thing.modifiers))
    shown = [(k, m) for k, m in enumerate(thing.modifiers) if m.show_viewport]
    hidden = [m for k, m in shown if k >= first or m.name in without]
    muted = [key for key in own_keys(thing) if not key.mute] if FIX in without else []
    for modifier in hidden:
        modifier.show_viewport = False
    for key in muted:
        key.mute = True
    try:
        yield
    finally:
        for modifier in hidden:
            modifier.show_viewport = True
        for key in muted:
            key.mute = False


def own_keys(thing: bpy.types.Object) -> list[bpy.types.ShapeKey]:
    """The shape keys that Fix has added."""
    keys = thing.data.shape_keys
    return [] if keys is None else [key for key in keys.key_blocks if key.name.startswith(FIX)]


def evaluated(thing: bpy.types.Object) -> np.ndarray:
    """Positions (n,3) in the object, as all shown modifiers leave them in the current frame."""
    return _evaluated(thing)[0]


def _evaluated(thing: bpy.types.Object) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Positions (n,3) in the object, triangles (m,3), and the matrix of the object."""
    seen = thing.evaluated_get(bpy.context.evaluated_depsgraph_get())
    mesh = seen.to_mesh()
    try:
        x = np.empty((len(mesh.vertices), 3), np.float32)
        mesh.vertices.foreach_get("co", x.ravel())
        mesh.calc_loop_triangles()
        faces = np.empty((len(mesh.loop_triangles), 3), np.int32)
        mesh.loop_triangles.foreach_get("vertices", faces.ravel())
    finally:
        seen.to_mesh_clear()
    if not len(faces):
        raise Problem(f"{thing.name!r} has no faces")
    return x, faces, np.array(seen.matrix_world, np.float64)


def to_pliant(x: np.ndarray, matrix: np.ndarray, metres: float) -> np.ndarray:
    """From an object (n,3) to metres with y up."""
    world = (x.astype(np.float64) @ matrix[:3, :3].T + matrix[:3, 3]) * metres
    return np.stack([world[:, 0], world[:, 2], -world[:, 1]], 1).astype(np.float32)


def from_pliant(x: np.ndarray, matrix: np.ndarray, metres: float) -> np.ndarray:
    """The inverse of `to_pliant`."""
    world = np.stack([x[:, 0], -x[:, 2], x[:, 1]], 1).astype(np.float64) / metres - matrix[:3, 3]
    return np.linalg.solve(matrix[:3, :3], world.T).T.astype(np.float32)

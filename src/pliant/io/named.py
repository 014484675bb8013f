"""Names of the clips and parts in a file, and of the files that several clips are written to."""

import os
import pathlib
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ..errors import MeshFileError
from ..motion.clip import Clip
from . import extension
from .reading import default_limit, read_input


def clips_of(path: str | os.PathLike[str], max_bytes: int | None = None) -> list[str]:
    """Return the clip names of a GLB or glTF in file order; empty for other formats and unreadable files."""
    target = pathlib.Path(path)
    if extension(target) not in (".glb", ".gltf") or not target.is_file():
        return []
    from .gltf_clips import clip_names
    from .gltf_document import Document

    try:
        return clip_names(Document(read_input(target, default_limit() if max_bytes is None else max_bytes)))
    except MeshFileError:
        return []


def parts_of(path: str | os.PathLike[str], max_bytes: int | None = None) -> list[str]:
    """Return the object names of an OBJ, or the names of the nodes with a mesh of a GLB or glTF, in file order; empty
    for other formats and unreadable files."""
    target = pathlib.Path(path)
    kind = extension(target)
    try:
        if kind == ".obj":
            data = read_input(target, default_limit() if max_bytes is None else max_bytes).data
            names = [
                name.strip().decode("utf-8", "replace") for name in re.findall(rb"^[ \t]*o[ \t]+(.+)$", data, re.M)
            ]
        elif kind in (".glb", ".gltf"):
            from .gltf_document import Document

            document = Document(read_input(target, default_limit() if max_bytes is None else max_bytes))
            meshes = document.items("meshes")
            nodes = [node for node in document.items("nodes") if "mesh" in node]
            held = [document.item("meshes", node["mesh"], "nodes").get("name") for node in nodes]
            names = [str(node.get("name") or name or "") for node, name in zip(nodes, held)]
            names = names if nodes else [str(mesh.get("name") or "") for mesh in meshes]
        else:
            names = []
    except MeshFileError:
        return []
    return [name for name in dict.fromkeys(names) if name]


class ClipName(NamedTuple):
    """What the names of the files of a clip depend on."""

    mesh: str  # name of its mesh
    still: bool  # one file, not one per frame


def file_stems(stem: str, clips: Sequence[Clip | ClipName]) -> Iterator[str]:
    """Yield a distinct file name without extension for each clip; the name of its mesh is appended where needed."""
    used: set[tuple[bool, str]] = set()  # names of frames end with a number, so the two kinds cannot collide
    named = [clip if isinstance(clip, ClipName) else ClipName(clip.mesh.name, clip.still) for clip in clips]
    for mesh, still in named:
        is_only = sum(other.still == still for other in named) == 1
        word = "".join(c if c.isalnum() or c in "-_" else "_" for c in mesh) or "mesh"
        base = name = stem if is_only else f"{stem}-{word}"
        number = 2
        while (still, name) in used:
            name = f"{base}{number}"
            number += 1
        used.add((still, name))
        yield name


def sequence_file(stem: str, still: bool, frame: int) -> str:
    """Return the name of an OBJ file of a clip: one for each frame unless it is still."""
    return f"{stem}.obj" if still else f"{stem}_{frame:04d}.obj"


def animation_files(path: pathlib.Path, clips: Sequence[ClipName], frames: int) -> Iterator[pathlib.Path]:
    """Yield the files that `save_animation` writes for `clips`: with .pc2 and .mdd one per clip, of those that deform
    only; with .obj one per frame, or one for a still clip, and a material file each; as a vertex animation texture
    four per clip that deforms; otherwise `path` itself. `clips` with .pc2, .mdd, .exr and .png: those that deform."""
    kind = path.suffix.lower()
    if kind in (".exr", ".png"):
        from .vat import files_of

        for files in files_of(path, clips):
            yield from files
        return
    if kind not in (".obj", ".pc2", ".mdd"):
        yield path
        return
    for clip, stem in zip(clips, file_stems(path.stem, clips), strict=True):
        if kind != ".obj":
            yield path.with_name(stem + path.suffix)
            continue
        yield path.with_name(f"{stem}.mtl")
        for t in range(1 if clip.still else frames):
            yield path.with_name(sequence_file(stem, clip.still, t))

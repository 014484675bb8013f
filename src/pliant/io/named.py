"""Names of the clips and parts in a file, and of the files that several clips are written to."""

import os
import pathlib
import re
from collections.abc import Iterator, Sequence

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


def file_stems(stem: str, clips: Sequence[Clip]) -> Iterator[str]:
    """Yield a distinct file name without extension for each clip; the name of its mesh is appended where needed."""
    used: set[tuple[bool, str]] = set()  # names of frames end with a number, so the two kinds cannot collide
    for clip in clips:
        is_only = sum(other.still == clip.still for other in clips) == 1
        word = "".join(c if c.isalnum() or c in "-_" else "_" for c in clip.mesh.name) or "mesh"
        base = name = stem if is_only else f"{stem}-{word}"
        number = 2
        while (clip.still, name) in used:
            name = f"{base}{number}"
            number += 1
        used.add((clip.still, name))
        yield name

"""Names of the clips and parts in a file."""

import os
import pathlib
import re

from ..errors import MeshFileError
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

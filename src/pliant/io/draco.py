"""A program of its own that decodes Draco meshes with DracoPy (extra `[gltf]`), and writes them as arrays.

    python -m pliant.io.draco FOLDER OPTIONS      options: JSON with count, limit

Draco is written in C++ and may end the process on damaged data, so it does not run in that of the caller. The file
mesh-I, I from 0 to count - 1, gives the arrays I.faces (m,3) and I.K (n,w), its attribute with the identifier K.
"""

import importlib.util
import json
import pathlib
import sys
from collections.abc import Sequence
from typing import Any

from .converted import Refused, answer, guard_memory, save_converted
from .reading import Input

EXTRA = "pip install 'pliant[gltf]'"


def installed() -> bool:
    return importlib.util.find_spec("DracoPy") is not None


def decode(file: Input, meshes: Sequence[bytes], limit: int) -> list[dict[str, Any]]:
    """Return for each mesh its arrays by name: `faces`, and attributes by the decimal digits of their identifiers."""
    options = json.dumps({"count": len(meshes), "limit": limit})  # a command line has no room for thousands of names
    command = [sys.executable, "-P", "-m", "pliant.io.draco", "{folder}", options]
    _, arrays = answer(file, command, "DracoPy", {f"mesh-{k}": mesh for k, mesh in enumerate(meshes)})
    out: list[dict[str, Any]] = [{} for _ in meshes]
    for key, values in arrays.items():
        k, _, attribute = key.partition(".")
        out[int(k)][attribute] = values
    return out


def main(folder: str, options: str) -> None:
    save_converted(folder, lambda: _decoded(pathlib.Path(folder), **json.loads(options)))


def _decoded(folder: pathlib.Path, count: int, limit: int) -> tuple[dict[str, Any], dict[str, Any]]:
    import DracoPy

    guard_memory(2 * limit)
    arrays: dict[str, Any] = {}
    total = 0
    for k in range(count):
        where = f"Draco mesh {k}"
        try:
            mesh = DracoPy.decode((folder / f"mesh-{k}").read_bytes())
        except MemoryError:
            raise Refused(where, f"needs more memory than the limit of {limit} bytes") from None
        except Exception as error:
            raise Refused(where, f"Draco cannot decode it ({error})") from None
        if getattr(mesh, "faces", None) is None or mesh.points is None or not len(mesh.points):
            raise Refused(where, "has no faces or no positions")
        found = {"faces": mesh.faces.reshape(-1, 3)}
        for attribute in mesh.attributes:
            found[str(attribute["unique_id"])] = attribute["data"].reshape(len(mesh.points), -1)
        total += sum(values.nbytes for values in found.values())
        if total > limit:
            raise Refused(where, f"decodes to more than {limit} bytes, the limit for this file")
        arrays |= {f"{k}.{key}": values for key, values in found.items()}
    return {}, arrays


if __name__ == "__main__":
    main(*sys.argv[1:])

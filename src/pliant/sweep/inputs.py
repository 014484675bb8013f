"""Inputs of a sweep: a file, several files, or a procedural shape, each with a hash of its content."""

import dataclasses
import difflib
import functools
import hashlib
import json
import pathlib
from typing import TYPE_CHECKING, Any

from ..io.links import percent_decoded

if TYPE_CHECKING:
    from ..mesh import Mesh

TABLECLOTH = "tablecloth"  # sized to fit the body
# name -> function of `shapes` and its arguments; resolved lazily, because importing shapes loads the compiler
BODIES: dict[str, tuple[str, tuple[Any, ...]]] = {
    "ball": ("ball", (0.25, 4)),
    "box": ("box", (0.35, 6)),
    "torus": ("torus", ()),
    "bowl": ("bowl", ()),
    "bust": ("bust", ()),
    "mannequin": ("mannequin", ()),
}
GARMENTS: dict[str, tuple[str, tuple[Any, ...]]] = {"skirt": ("skirt", ()), "trousers": ("trousers", ())}


@dataclasses.dataclass(frozen=True)
class Input:
    """An input: its `name` in the sweep, its path (None: procedural) and a hash of its bytes."""

    name: str
    path: str | None
    digest: str

    @property
    def file(self) -> pathlib.Path | None:
        return None if self.path is None else pathlib.Path(self.path)

    def load(self, parameters: dict[str, Any]) -> "Mesh":
        """Load the mesh with the `units` and `up` of the run."""
        if self.file is None:
            from .. import shapes

            function, arguments = (BODIES | GARMENTS)[self.name]
            return getattr(shapes, function)(*arguments)
        from ..io import load

        return load(self.file, units=parameters.get("units", "m"), up=parameters.get("up", "y"))

    def check(self) -> None:
        """Raise ValueError if the files have changed since the sweep was planned."""
        if self.file is not None and digest(self.file) != self.digest:
            raise ValueError(f"{self.name} has changed since the sweep was started; start it again")


def find(where: str, name: Any, folder: pathlib.Path, made: dict[str, Any], extra: tuple[str, ...] = ()) -> Input:
    """Return the file `name` in `folder`, or one of the procedural shapes `made`."""
    if not isinstance(name, str) or not name:
        raise ValueError(f"{where} = {name!r}; expected the name of a file or a shape")
    if name in made or name in extra:
        return Input(name, None, "")
    path = folder / name
    if not path.exists() and not any(c in path.name for c in "*?"):
        known = (*extra, *made)
        near = difflib.get_close_matches(name, known, n=1)
        hint = f"did you mean {near[0]!r}? " if near else ""
        raise ValueError(f"{where}: no such file: {name}; {hint}procedural shapes: {', '.join(known)}")
    stamps = tuple((str(file), file.stat().st_mtime_ns, file.stat().st_size) for file in _files(path))
    return Input(name, str(path.resolve()), _digest_once(str(path.resolve()), stamps))


def exists_or_matches(path: pathlib.Path) -> bool:
    """Return True if the file or folder exists, or the pattern matches a file."""
    return path.exists() or (any(c in path.name for c in "*?") and any(path.parent.glob(path.name)))


@functools.lru_cache(4096)
def _digest_once(path: str, stamps: tuple[tuple[str, int, int], ...]) -> str:
    """Return the digest of `path`, cached until one of its files changes."""
    return digest(pathlib.Path(path))


def digest(path: pathlib.Path) -> str:
    """Return the SHA-256 of a file and its companions; for a folder or pattern, of all files and their names."""
    total = hashlib.sha256()
    for file in _files(path):
        one = hashlib.sha256()
        with open(file, "rb") as stream:
            while block := stream.read(1 << 20):
                one.update(block)
        total.update(f"{file.name if file != path else ''} {one.hexdigest()}\n".encode())
    return total.hexdigest()


def _files(path: pathlib.Path) -> list[pathlib.Path]:
    """The files of an input: of a folder, of a pattern, or a file and those that it refers to."""
    if path.is_dir():
        return sorted(file for file in path.iterdir() if file.is_file())
    if not path.exists():
        found = sorted(file for file in path.parent.glob(path.name) if file.is_file())
        if not found:
            raise ValueError(f"no such files: {path}")
        return found
    return [path, *_companion_files(path)]


def _companion_files(path: pathlib.Path) -> list[pathlib.Path]:
    """Return the external buffers of a .gltf file, or the other file of a TetGen mesh; the reader reports errors."""
    if path.suffix.lower() in (".node", ".ele"):
        other = path.with_suffix(".ele" if path.suffix.lower() == ".node" else ".node")
        return [other] if other.is_file() else []
    if path.suffix.lower() != ".gltf":
        return []
    try:
        names = [buffer.get("uri", "") for buffer in json.loads(path.read_text("utf-8")).get("buffers", [])]
    except (ValueError, AttributeError, RecursionError):
        return []
    near = (
        path.parent / percent_decoded(name) for name in names if isinstance(name, str) and not name.startswith("data:")
    )
    return [file for file in near if "\0" not in str(file) and file.is_file()]

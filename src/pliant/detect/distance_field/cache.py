"""Baked fields kept on disk: the same mesh, parameters and code give the same field, bit for bit.

An entry is one file named after the hash of everything the field depends on. It holds the field's arrays as they are
and ends with a hash of itself; whatever is wrong with it (cut short, a flipped bit, another key, another format, a
folder that cannot be read) makes it a miss, and the field is baked and written again. Writers replace whole files,
so any number of processes may share the folder. Nothing in it is ever unpickled or executed.

A bake that takes less than `WORTH` seconds is not kept: reading it back would hardly be faster. The folder,
`fields` beside the compiled kernels, stays below `PLIANT_CACHE_LIMIT` (2G where it is not set; 0 turns the cache
off); the entries that were used longest ago go first.
"""

import contextlib
import functools
import hashlib
import inspect
import json
import logging
import os
import pathlib
import re
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from ... import __version__, validate
from ...errors import TooBigError
from ...files import atomic_write
from ...kernels.bricks import Bricks
from ...kernels.distance_field import Dense
from ...kernels.jit import cache_root, sources_digest
from ...mesh import Mesh
from .field import DistanceField

MAGIC = b"pliant field 1\n"  # the format; another one is another key
WORTH = 0.3  # s
LIMIT = 2 << 30  # bytes
_PLAIN = ("band", "sign", "seconds", "examined")  # of the field, beside its grid
_GRIDS: dict[str, Any] = {"Bricks": Bricks, "Dense": Dense}
_DIGEST = hashlib.sha256().digest_size
_ABANDONED = 3600.0  # s after which what a killed writer left behind is removed
_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
_log = logging.getLogger(__name__)


def baked(mesh: Mesh, resolution: int = 128, *, cache: bool = True, **options: Any) -> DistanceField:
    """`DistanceField.bake` with the same options, from disk where that field was baked before.

    `cache=False` bakes in any case, and neither reads nor writes the disk.
    """
    return fetch_or_bake(mesh, resolution, cache=cache, **options)[0]


def fetch_or_bake(
    mesh: Mesh,
    resolution: int = 128,
    *,
    cache: bool = True,
    max_bytes: float | None = None,
    progress: Callable[[float], None] | None = None,
    **options: Any,
) -> tuple[DistanceField, float | None]:
    """The field as in `baked`, and the seconds it took to read; None where it was baked now."""
    bake = functools.partial(DistanceField.bake, mesh, resolution, max_bytes=max_bytes, progress=progress, **options)
    # a field that takes its grid from another one is baked often and for a moment
    most = limit() if cache and options.get("like") is None else 0
    if not most:
        return bake(), None
    began = time.perf_counter()
    key = key_of(mesh, resolution, **options)
    found = read(path_of(key), key, mesh, max_bytes)
    if found is not None:
        return found, time.perf_counter() - began
    made = bake()
    if made.seconds >= WORTH:
        write(path_of(key), key, made, most)
    return made, None


def key_of(mesh: Mesh, resolution: int = 128, **options: Any) -> str:
    """Hash of the geometry, all parameters with their defaults, the format and the code."""
    call = inspect.signature(DistanceField.bake).bind(mesh, resolution, **options)
    call.apply_defaults()
    plain = {name: value for name, value in call.arguments.items() if name not in ("mesh", "max_bytes", "progress")}
    digest = hashlib.sha256(MAGIC + _code().encode() + repr(sorted(plain.items())).encode())
    for array in (mesh.vertices, mesh.faces):
        digest.update(f"{array.dtype.str} {array.shape}".encode() + array.tobytes())
    return digest.hexdigest()


@functools.cache
def _code() -> str:
    """What stands for the code that bakes: the version, the kernels, and the sources above them that matter."""
    here = pathlib.Path(__file__).parent
    package = here.parents[1]
    digest = hashlib.sha256(f"{__version__} {sources_digest()} {np.__version__}".encode())
    for source in (
        *sorted(here.glob("*.py")),
        here.parent / "surface.py",
        package / "mesh.py",
        package / "topology.py",
    ):
        digest.update(source.read_bytes())
    return digest.hexdigest()


def folder() -> pathlib.Path:
    return cache_root() / "fields"


def path_of(key: str) -> pathlib.Path:
    return folder() / f"{key[:32]}.field"


def limit() -> int:
    """Bytes the folder may hold: `PLIANT_CACHE_LIMIT`, such as 500M or 4G."""
    text = os.environ.get("PLIANT_CACHE_LIMIT", "")
    if not text.strip():
        return LIMIT
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([kmgt]?)(?:i?b)?", text.strip().lower())
    if found is None:
        raise ValueError(f"PLIANT_CACHE_LIMIT = {text!r}; expected bytes as in 500M or 4G, or 0 for no cache of fields")
    return int(float(found[1]) * _UNITS[found[2]])


def write(path: pathlib.Path, key: str, field: DistanceField, most: int = LIMIT) -> bool:
    """Keep `field`, then make room; False where it is larger than `most` bytes or the folder cannot be written."""
    grid = field.grid._asdict()
    plain = {name: getattr(field, name) for name in _PLAIN} | {"h": grid.pop("h"), "grid": type(field.grid).__name__}
    arrays = [*grid.items(), ("vertices", field.mesh.vertices), ("faces", field.mesh.faces)]
    listed = [(name, array.dtype.str, array.shape) for name, array in arrays]
    head = json.dumps({"key": key, "plain": plain, "arrays": listed}).encode() + b"\n"
    if sum(array.nbytes for _, array in arrays) + len(head) > most:
        return False
    parts: list[bytes | memoryview[int]] = [MAGIC, head]
    parts += [memoryview(array.ravel()).cast("B") for _, array in arrays]
    digest = hashlib.sha256()
    try:
        with atomic_write(path) as stream:
            for part in parts:
                digest.update(part)
                stream.write(part)
            stream.write(digest.digest())
    except OSError as error:
        _log.info("field not kept: %s", error)
        return False
    make_room(most)
    return True


def read(path: pathlib.Path, key: str, mesh: Mesh, max_bytes: float | None = None) -> DistanceField | None:
    """The field kept under `key`, of `mesh` itself; None for anything that is not exactly what `write` left."""
    try:
        size = path.stat().st_size
        validate.budget(f"field {path.name}", size, "raise max_bytes", max_bytes)
        content = memoryview(path.read_bytes())
        found = _parsed(content, key, mesh)
    except FileNotFoundError:
        return None
    except (OSError, TooBigError) as error:
        _log.info("field not read: %s", error)
        return None
    except (ValueError, KeyError, TypeError, RecursionError, OverflowError) as error:
        _log.info("field %s is damaged and will be made again: %s", path.name, error)
        with contextlib.suppress(OSError):
            path.unlink()
        return None
    with contextlib.suppress(OSError):
        os.utime(path)  # used now, so it goes last
    return found


def _parsed(content: memoryview, key: str, mesh: Mesh) -> DistanceField:
    body, end = content[:-_DIGEST], bytes(content[-_DIGEST:])
    if bytes(body[: len(MAGIC)]) != MAGIC or hashlib.sha256(body).digest() != end:
        raise ValueError("its hash is another")
    stop = bytes(body[: 1 << 16]).index(b"\n", len(MAGIC)) + 1
    head = json.loads(bytes(body[len(MAGIC) : stop]))
    if head["key"] != key:
        raise ValueError("it is the field of something else")
    values: dict[str, Any] = {}
    for name, kind, shape in head["arrays"]:
        dtype = np.dtype(kind)
        if dtype.hasobject:
            raise ValueError(f"{name} holds objects")
        count = int(np.prod(shape, dtype=np.int64))
        # a copy of its own, aligned, and free of the file's other arrays
        values[name] = np.frombuffer(body, dtype, count, stop).reshape(shape).copy()
        values[name].flags.writeable = False
        stop += values[name].nbytes
    if stop != len(body):
        raise ValueError(f"{len(body) - stop} bytes too many")
    for name, array in (("vertices", mesh.vertices), ("faces", mesh.faces)):
        if not np.array_equal(values.pop(name), array):
            raise ValueError("it is the field of another mesh")
    plain = head["plain"]
    grid = _GRIDS[plain.pop("grid")](**values, h=plain.pop("h"))
    return DistanceField(mesh, grid, **plain)


def make_room(most: int) -> None:
    """Remove the entries used longest ago until at most `most` bytes are left, and what killed writers left behind."""
    with contextlib.suppress(OSError):
        entries = []
        for path in folder().iterdir():
            with contextlib.suppress(OSError):  # another process may be at it too
                about = path.stat()
                if path.suffix == ".field":
                    entries.append((about.st_mtime, about.st_size, path))
                elif path.suffix == ".pliant-tmp" and time.time() - about.st_mtime > _ABANDONED:
                    path.unlink()
        total = sum(size for _, size, _ in entries)
        for _, size, path in sorted(entries):
            if total <= most:
                break
            with contextlib.suppress(OSError):
                path.unlink()
            total -= size


def usage() -> tuple[int, int]:
    """How many fields are kept, and their bytes."""
    sizes = []
    with contextlib.suppress(OSError):
        for path in folder().glob("*.field"):
            with contextlib.suppress(OSError):
                sizes.append(path.stat().st_size)
    return len(sizes), sum(sizes)

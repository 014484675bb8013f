"""Disk cache of baked fields: the same mesh, parameters and code give a bitwise identical field.

An entry is one file named after the hash of everything the field depends on. It contains the raw arrays of the field
and ends with a checksum; any defect (truncation, a flipped bit, another key or format, an unreadable folder) is a cache
miss, and the field is baked and written again. Files are replaced atomically, so any number of processes may share the
folder. Nothing in it is ever unpickled or executed.

A bake that takes less than `WORTH` seconds is not cached, because reading it would hardly be faster. The folder,
`fields` next to the compiled kernels, stays below `PLIANT_CACHE_LIMIT` (default: 2G; 0 turns the cache off); the least
recently used entries are removed first.
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
from ...kernels.cache_folder import cache_root
from ...kernels.fields.bricks import Bricks
from ...kernels.fields.dense import Dense
from ...kernels.jit import sources_digest
from ...mesh import Mesh
from .field import DistanceField

MAGIC = b"pliant field 1\n"  # format; part of the key
WORTH = 0.3  # s; faster bakes are not cached
LIMIT = 2 << 30  # bytes
_PLAIN = ("band", "sign", "seconds", "examined")  # scalar attributes of the field
_GRIDS: dict[str, Any] = {"Bricks": Bricks, "Dense": Dense}
_DIGEST = hashlib.sha256().digest_size
_ABANDONED = 3600.0  # s after which the temporary file of a killed writer is removed
_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
_log = logging.getLogger(__name__)


def baked(mesh: Mesh, resolution: int = 128, *, cache: bool = True, **options: Any) -> DistanceField:
    """Like `DistanceField.bake` with the same options, but read from disk if that field was baked before.

    `cache=False` always bakes, and neither reads nor writes the disk.
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
    """Return the field as in `baked`, and the seconds it took to read, or None if it was baked."""
    bake = functools.partial(DistanceField.bake, mesh, resolution, max_bytes=max_bytes, progress=progress, **options)
    # fields on the grid of another field are baked often and used briefly
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
    """Return the hash of the geometry, all parameters with their defaults, the format and the code."""
    call = inspect.signature(DistanceField.bake).bind(mesh, resolution, **options)
    call.apply_defaults()
    plain = {name: value for name, value in call.arguments.items() if name not in ("mesh", "max_bytes", "progress")}
    digest = hashlib.sha256(MAGIC + _code().encode() + repr(sorted(plain.items())).encode())
    for array in (mesh.vertices, mesh.faces):
        digest.update(f"{array.dtype.str} {array.shape}".encode() + array.tobytes())
    return digest.hexdigest()


@functools.cache
def _code() -> str:
    """Return a hash of the code that bakes: version, kernels, and the Python sources involved."""
    here = pathlib.Path(__file__).parent
    package = here.parents[1]
    digest = hashlib.sha256(f"{__version__} {sources_digest()} {np.__version__}".encode())
    signs = (here.parent / "queries" / f"{name}.py" for name in ("closest_point", "plain", "solid_boundary", "winding"))
    others = (here.parent / "bvh" / "wide.py", package / "mesh" / "mesh.py", package / "mesh" / "topology.py")
    for source in (*sorted(here.glob("*.py")), *signs, *others):
        digest.update(source.read_bytes())
    return digest.hexdigest()


def folder() -> pathlib.Path:
    return cache_root() / "fields"


def path_of(key: str) -> pathlib.Path:
    return folder() / f"{key[:32]}.field"


def limit() -> int:
    """Return the size limit of the folder in bytes, from `PLIANT_CACHE_LIMIT`, such as 500M or 4G."""
    text = os.environ.get("PLIANT_CACHE_LIMIT", "")
    if not text.strip():
        return LIMIT
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([kmgt]?)(?:i?b)?", text.strip().lower())
    if found is None:
        raise ValueError(f"PLIANT_CACHE_LIMIT = {text!r}; expected bytes as in 500M or 4G, or 0 to turn the cache off")
    return int(float(found[1]) * _UNITS[found[2]])


def write(path: pathlib.Path, key: str, field: DistanceField, most: int = LIMIT) -> bool:
    """Store `field`, then enforce the limit; return False if it exceeds `most` bytes or cannot be written."""
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
        _log.info("field not cached: %s", error)
        return False
    make_room(most)
    return True


def read(path: pathlib.Path, key: str, mesh: Mesh, max_bytes: float | None = None) -> DistanceField | None:
    """Return the field of `mesh` stored under `key`, or None if the entry is missing or defective."""
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
        _log.info("cached field %s is damaged and will be baked again: %s", path.name, error)
        with contextlib.suppress(OSError):
            path.unlink()
        return None
    with contextlib.suppress(OSError):
        os.utime(path)  # marks it as recently used
    return found


def _parsed(content: memoryview, key: str, mesh: Mesh) -> DistanceField:
    body, end = content[:-_DIGEST], bytes(content[-_DIGEST:])
    if bytes(body[: len(MAGIC)]) != MAGIC or hashlib.sha256(body).digest() != end:
        raise ValueError("checksum mismatch")
    stop = bytes(body[: 1 << 16]).index(b"\n", len(MAGIC)) + 1
    head = json.loads(bytes(body[len(MAGIC) : stop]))
    if head["key"] != key:
        raise ValueError("key mismatch")
    values: dict[str, Any] = {}
    for name, kind, shape in head["arrays"]:
        dtype = np.dtype(kind)
        if dtype.hasobject:
            raise ValueError(f"{name} holds objects")
        count = int(np.prod(shape, dtype=np.int64))
        # an aligned copy that does not keep the whole file in memory
        values[name] = np.frombuffer(body, dtype, count, stop).reshape(shape).copy()
        values[name].flags.writeable = False
        stop += values[name].nbytes
    if stop != len(body):
        raise ValueError(f"{len(body) - stop} bytes too many")
    for name, array in (("vertices", mesh.vertices), ("faces", mesh.faces)):
        if not np.array_equal(values.pop(name), array):
            raise ValueError(f"{name} differ from those of the mesh")
    plain = head["plain"]
    grid = _GRIDS[plain.pop("grid")](**values, h=plain.pop("h"))
    return DistanceField(mesh, grid, **plain)


def make_room(most: int) -> None:
    """Remove the least recently used entries until at most `most` bytes are left, and files of killed writers."""
    with contextlib.suppress(OSError):
        entries = []
        for path in folder().iterdir():
            with contextlib.suppress(OSError):  # another process may remove it at the same time
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
    """Return the number of cached fields, and their size in bytes."""
    sizes = []
    with contextlib.suppress(OSError):
        for path in folder().glob("*.field"):
            with contextlib.suppress(OSError):
                sizes.append(path.stat().st_size)
    return len(sizes), sum(sizes)

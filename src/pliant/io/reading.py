"""Reading a file's bytes: size limits are checked before allocation, and all errors are `MeshFileError`."""

import dataclasses
import gzip
import io
import os
import pathlib
import re
import zlib
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import MeshFileError, one_of
from ..mesh.marks import NO_MARKS, Marks
from ..validate import LARGEST, size_text

MAX_RATIO = 1000  # largest compression ratio, 100 beyond 4 MiB; real meshes stay below 40
_CHUNK = 1 << 20
_NAMED = 20  # parts listed in an error
_UTF8, _OTHER_MARKS = b"\xef\xbb\xbf", (b"\xff\xfe", b"\xfe\xff")
_BLANK = re.compile(rb"(?:\s|#[^\n]*(?:\n|\Z))*")


@dataclasses.dataclass(frozen=True)
class Input:
    """The complete, unpacked content of one file; `fail` creates its errors."""

    path: pathlib.Path
    data: bytes
    max_bytes: int
    part: str | None = None  # name of the requested object, for formats with several named objects

    @property
    def name(self) -> str:
        """The name of the part, or of the file without folder and extension."""
        return self.part or self.path.name.split(".")[0] or self.path.name

    def fail(self, where: str, why: str) -> MeshFileError:
        return MeshFileError(self.path, where, why)

    def no_part(self, known: Iterable[str]) -> MeshFileError:
        """Return the error for a requested part that is not among `known`."""
        return self.fail("", f"has no part {self.part!r}; {one_of(str(self.part), dict.fromkeys(known), _NAMED)}")


@dataclasses.dataclass
class Parts:
    """The result of a reader, in the file's order, units and axes; see `Mesh` for the array shapes."""

    vertices: NDArray[np.float64]
    faces: NDArray[Any]
    uv: NDArray[np.float64] | None = None
    material: NDArray[Any] | None = None
    materials: tuple[dict[str, Any], ...] = ()
    tets: NDArray[Any] | None = None
    source: Any = None
    marks: Marks = NO_MARKS


def as_text(file: Input) -> Input:
    """Return the file without a UTF-8 byte order mark, and with LF line endings if it has only CR.

    Line numbers do not change. UTF-16 text raises an error.
    """
    data = file.data
    if data.startswith(_OTHER_MARKS):
        raise file.fail("byte 0", "it is UTF-16 text, which is not read; save it as UTF-8 or ASCII")
    data = data.removeprefix(_UTF8)
    if b"\n" not in data:
        data = data.replace(b"\r", b"\n")
    return file if data is file.data else dataclasses.replace(file, data=data)


def heading(data: bytes) -> int:
    """Return the offset of the first content of a text file, after blank lines and comments (# to end of line)."""
    found = _BLANK.match(data)
    return found.end() if found else 0


def default_limit() -> int:
    """Return the default size limit of an unpacked file: 2 GiB, or a quarter of this machine's memory if it is less."""
    try:
        memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        memory = 8 << 30
    return min(2 << 30, memory // 4)


def read_input(path: pathlib.Path, max_bytes: int, part: str | None = None) -> Input:
    """Read `path`, unpacking `.gz`; raise before allocation if it is too large."""
    try:
        if path.is_dir():
            raise MeshFileError(path, "", "is a folder; give a file name")
        if path.exists() and not path.is_file():
            raise MeshFileError(path, "", "is not a regular file")
        with open(path, "rb") as stream:
            size = os.fstat(stream.fileno()).st_size
            if size > max_bytes:
                raise MeshFileError(path, "", f"the file has {size_text(size)}, limit {size_text(max_bytes)}")
            data = stream.read(size + 1)  # with a size, Python allocates exactly that much
    except FileNotFoundError:
        raise MeshFileError(path, "", "no such file") from None
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else None
        raise MeshFileError(path, "", f"cannot be opened ({why or error})") from None
    if path.suffix.lower() == ".gz":
        data = _gunzip(path, data, max_bytes)
    if not data:
        raise MeshFileError(path, "", "the file is empty")
    return Input(path, data, max_bytes, part)


def unpacked_limit(size: int, max_bytes: int) -> int:
    """Return the largest number of bytes that `size` compressed ones may become."""
    return min(max_bytes, MAX_RATIO * size, max(4 << 20, 100 * size))


def _gunzip(path: pathlib.Path, data: bytes, max_bytes: int) -> bytes:
    """Unpack in chunks, so that a decompression bomb is detected early."""
    limit = unpacked_limit(len(data), max_bytes)
    out = bytearray()
    with gzip.GzipFile(fileobj=io.BytesIO(data)) as stream:
        while True:
            try:
                piece = stream.read(_CHUNK)
            except EOFError:
                raise MeshFileError(path, f"unpacked byte {len(out)}", "the gzip stream is truncated") from None
            except (zlib.error, OSError) as error:
                raise MeshFileError(path, f"unpacked byte {len(out)}", f"bad gzip stream ({error})") from None
            out += piece
            if len(out) > limit:
                raise MeshFileError(path, "", f"unpacks to more than {size_text(limit)}, the limit for this file")
            if not piece:
                return bytes(out)


def check_positions(file: Input, x: NDArray[np.float64], where: Callable[[int], str]) -> None:
    """Raise unless all coordinates are finite and within +-1e12; `where` maps a row to its file position."""
    bad = ~(np.abs(x) <= LARGEST).all(1)
    if bad.any():
        row = int(np.argmax(bad))
        values = ", ".join(f"{v:g}" for v in x[row])
        what = "is not finite" if not np.isfinite(x[row]).all() else f"is beyond {LARGEST:g}"
        raise file.fail(where(row), f"vertex {row} = ({values}) {what}")


def check_frames(file: Input, frames: NDArray[Any], word: str) -> None:
    bad = ~(np.abs(frames) <= LARGEST).all((1, 2))
    if bad.any():
        t = int(np.argmax(bad))
        i = int(np.argmax(~(np.abs(frames[t]) <= LARGEST).all(1)))
        values = ", ".join(f"{v:g}" for v in frames[t, i])
        raise file.fail(f"{word} {t}", f"vertex {i} = ({values}) is not finite, or beyond {LARGEST:g}")


def check_indices(file: Input, index: NDArray[Any], count: int, where: Callable[[int], str]) -> None:
    """Raise unless all entries of a flat `index` are in 0..count-1; `where` maps an entry to its file position."""
    bad = (index < 0) | (index >= count)
    if bad.any():
        k = int(np.argmax(bad))
        raise file.fail(where(k), f"vertex index {int(index[k])} (counted from 0), but there are {count} vertices")

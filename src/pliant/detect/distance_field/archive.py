"""Arrays out of an .npz file that may be damaged: sizes are compared before anything is allocated, no pickles."""

import io
import os
import struct
import tokenize
import zipfile
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import validate
from ...errors import MeshFileError, TooBigError

# what zipfile, zlib and NumPy's header parser say about damage
_DAMAGE = (
    ValueError,
    OSError,
    EOFError,
    KeyError,
    IndexError,
    TypeError,
    OverflowError,
    NotImplementedError,
    RuntimeError,
    SyntaxError,
    MemoryError,
    UnicodeError,
    struct.error,
    tokenize.TokenError,
    zlib.error,
    zipfile.BadZipFile,
)


def read_npz(
    path: str | os.PathLike[str], names: Sequence[str], max_bytes: float | None = None
) -> dict[str, NDArray[Any]]:
    """The arrays `names` of the archive; MeshFileError for whatever is wrong with it."""
    try:
        with zipfile.ZipFile(path) as archive:
            total = sum(member.file_size for member in archive.infolist())
            validate.budget(f"field {os.fspath(path)}", total, "raise max_bytes", max_bytes)
            return {name: _array(archive.read(f"{name}.npy"), name) for name in names}
    except FileNotFoundError:
        raise MeshFileError(path, "", "no such file") from None
    except TooBigError as error:
        raise MeshFileError(path, "", str(error)) from None
    except _DAMAGE as error:
        raise MeshFileError(path, "", f"not a distance field of pliant, or damaged ({error})") from None


def _array(content: bytes, name: str) -> NDArray[Any]:
    stream = io.BytesIO(content)
    version = np.lib.format.read_magic(stream)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, fortran, dtype = read(stream)
    if dtype.hasobject or fortran:
        raise ValueError(f"{name} holds {dtype} objects or columns; expected plain rows")
    count = 1
    for n in shape:
        count *= n
    if count * dtype.itemsize != len(content) - stream.tell():
        raise ValueError(f"{name} declares {shape} of {dtype} but has {len(content) - stream.tell()} bytes")
    return np.frombuffer(content, dtype, count, stream.tell()).reshape(shape).copy()

"""Reader for arrays of an untrusted .npz file: sizes are checked before allocation, pickles are rejected."""

import io
import os
import struct
import tokenize
import warnings
import zipfile
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import validate
from ...errors import MeshFileError, TooBigError
from ...kernels.fields.bricks import BRICK, Bricks
from ...kernels.fields.dense import Dense
from ...kernels.fields.regions import TILE
from ...mesh import Mesh

COMMON = ("format", "storage", "figures", "examined", "sign", "vertices", "faces", "origin")

# exceptions that zipfile, zlib and NumPy's header parser raise for damaged files
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
    """Return the arrays `names` of the archive; raise MeshFileError for any defect."""
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


def read_field(
    path: str | os.PathLike[str], version: int, signs: int, max_bytes: float | None
) -> tuple[Mesh, Bricks | Dense, tuple[float, float], int, int]:
    """Return mesh, grid, (band, seconds), sign and number of examined points of a saved field, validated."""
    saved = read_npz(path, COMMON, max_bytes)
    try:
        found = validate.whole("format", saved["format"])
        if found != version:
            raise MeshFileError(path, "format", f"version {found}; this pliant reads {version}")
        dense = validate.whole("storage", saved["storage"], high=1) == 1
        h, band, seconds = validate.floats("figures", saved["figures"], (3,)).tolist()
        origin = validate.floats("origin", saved["origin"], (3,))
        mesh = Mesh(saved["vertices"], saved["faces"])
        sign = validate.whole("sign", saved["sign"], high=signs - 1)
        examined = validate.whole("examined", saved["examined"], high=2**53)
    except ValueError as error:
        raise MeshFileError(path, "", str(error)) from None
    if not (h > 0.0 and band >= 1.0 and mesh.n_faces):
        text = f"spacing {h:g}, band {band:g} and {mesh.n_faces} faces; expected spacing > 0, band >= 1 and a face"
        raise MeshFileError(path, "figures", text)
    made: Dense | Bricks
    if dense:
        made = _dense(path, read_npz(path, ("values", "jump"), max_bytes), origin, h)
    else:
        made = _bricks(path, read_npz(path, ("values", "index", "rim", "jump", "size"), max_bytes), origin, h)
    return mesh, made, (band, seconds), sign, examined


def _dense(path: str | os.PathLike[str], saved: dict[str, NDArray[Any]], origin: NDArray[Any], h: float) -> Dense:
    values, jump = saved["values"], saved["jump"]
    if values.ndim != 3 or values.dtype != np.float32 or min(values.shape) < 2 or np.isinf(values).any():
        raise MeshFileError(path, "values", f"shape {values.shape} of {values.dtype}; expected a float32 grid")
    cells = tuple(n - 1 for n in values.shape)
    if jump.dtype != np.uint8 or jump.shape not in (cells, (0, 0, 0)):
        raise MeshFileError(path, "jump", f"shape {jump.shape} of {jump.dtype} does not fit values {values.shape}")
    return Dense(values, jump, origin, h)


def _bricks(path: str | os.PathLike[str], saved: dict[str, NDArray[Any]], origin: NDArray[Any], h: float) -> Bricks:
    values, index, rim, jump, size = (saved[name] for name in ("values", "index", "rim", "jump", "size"))
    if values.ndim != 2 or values.dtype != np.float32 or values.shape[1] != BRICK**3 or not len(values):
        raise MeshFileError(path, "values", f"shape {values.shape} of {values.dtype}; expected float32 bricks (n, 64)")
    if np.isinf(values).any() or not np.isnan(values[0]).all():
        raise MeshFileError(path, "values", "holds infinite distances, or its first brick is not empty")
    if size.shape != (3,) or size.dtype != np.int64 or not (size.min() >= 2 and size.max() < 2**20):
        raise MeshFileError(path, "size", f"{size.tolist()}; expected three counts of nodes")
    bricks = tuple((-(-size // TILE) * (TILE // BRICK)).tolist())
    if index.dtype != np.int32 or index.shape != bricks:
        raise MeshFileError(path, "index", f"shape {index.shape} of {index.dtype}; expected {bricks} of int32")
    if index.size and not (index.min() >= 0 and index.max() < len(values)):
        raise MeshFileError(path, "index", f"points to brick {index.max()} or {index.min()} of {len(values)}")
    for name, bits in (("rim", rim), ("jump", jump)):
        if bits.dtype != np.uint64 or bits.shape not in ((len(values),), (0,)):
            raise MeshFileError(path, name, f"shape {bits.shape} of {bits.dtype}; expected ({len(values)},) of uint64")
    return Bricks(values, index, rim, jump, origin, size, h)


def _array(content: bytes, name: str) -> NDArray[Any]:
    stream = io.BytesIO(content)
    version = np.lib.format.read_magic(stream)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # NumPy warns that headers written by Python 2 are slow to parse
        shape, fortran, dtype = read(stream)
    if dtype.hasobject or fortran:
        raise ValueError(f"{name} is of {dtype}, or in Fortran order; expected plain numbers in C order")
    count = 1
    for n in shape:
        count *= n
    if count * dtype.itemsize != len(content) - stream.tell():
        raise ValueError(f"{name} declares {shape} of {dtype} but has {len(content) - stream.tell()} bytes")
    return np.frombuffer(content, dtype, count, stream.tell()).reshape(shape).copy()

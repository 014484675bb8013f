"""Decoding of buffer views compressed with EXT_meshopt_compression or KHR_meshopt_compression (Khronos)."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..kernels.io import meshopt as kernels

MODES = ("ATTRIBUTES", "TRIANGLES", "INDICES")
FILTERS = ("NONE", "OCTAHEDRAL", "QUATERNION", "EXPONENTIAL", "COLOR")
MOST_RATIO = 1024  # a control byte of the newer bitstream stands for four bytes of up to 256 elements
_WHY = {
    kernels.TRUNCATED: "the compressed data end early",
    kernels.UNKNOWN: "the compressed data are of an unknown version or kind",
    kernels.LEFT_OVER: "compressed data are left over at the end",
}


class Packed(NamedTuple):
    """What the extension says of a buffer view."""

    mode: str
    filter: str
    elements: int
    stride: int


def decode(source: bytes, packed: Packed) -> bytes:
    """Return the `count` elements of `stride` bytes; raises ValueError where the data cannot be decoded."""
    data = np.frombuffer(source, np.uint8)
    if packed.mode == "ATTRIBUTES":
        out = np.zeros((packed.elements, packed.stride), np.uint8)
        _check(kernels.decode_attributes(data, out))
        return _FILTERS[packed.filter](out).tobytes()
    index = np.zeros(packed.elements, np.uint32)
    if packed.mode == "TRIANGLES":
        _check(kernels.decode_triangles(data, index.reshape(-1, 3)))
    else:
        _check(kernels.decode_indices(data, index))
    if packed.stride == 2 and int(index.max(initial=0)) > 65535:
        raise ValueError(f"index {int(index.max())} in an array of 16-bit numbers")
    return index.astype(f"<u{packed.stride}").tobytes()


def _check(code: int) -> None:
    if code != kernels.DECODED:
        raise ValueError(_WHY[code])


def _rounded(values: NDArray[Any], dtype: Any) -> NDArray[Any]:
    """Round halves away from zero, as the extensions ask for, and keep the range of the type."""
    info = np.iinfo(dtype)
    return np.clip(np.trunc(values + np.copysign(0.5, values)), info.min, info.max).astype(dtype)


def _octahedral(raw: NDArray[np.uint8]) -> NDArray[Any]:
    """Unit vectors: x and y on an octahedron, in units of the third number; the fourth stays."""
    signed = raw.view("<i1" if raw.shape[1] == 4 else "<i2").copy()
    if (signed[:, 2] == 0).any():
        raise ValueError(f"normal {int(np.argmax(signed[:, 2] == 0))} has no scale")
    values = signed.astype(np.float64)
    xy = values[:, :2] / values[:, 2:3]
    z = 1.0 - np.abs(xy).sum(1)
    xy -= np.copysign(np.maximum(-z, 0.0)[:, None], xy)
    vector = np.column_stack([xy, z])
    scale = np.iinfo(signed.dtype).max / np.linalg.norm(vector, axis=1, keepdims=True)
    signed[:, :3] = _rounded(vector * scale, signed.dtype)
    return signed


def _quaternion(raw: NDArray[np.uint8]) -> NDArray[Any]:
    """Unit quaternions without their largest component, which the last two bits of the fourth number name."""
    signed = raw.view("<i2").astype(np.int64)
    largest = signed[:, 3] & 3
    rest = signed[:, :3] * (np.sqrt(0.5) / (signed[:, 3] | 3))[:, None]
    w = np.sqrt(np.maximum(1.0 - (rest**2).sum(1), 0.0))
    out = np.empty((len(signed), 4), "<i2")
    row = np.arange(len(out))
    for k, values in enumerate((w, *rest.T)):
        out[row, (largest + k) % 4] = _rounded(values * 32767.0, "<i2")
    return out


def _exponential(raw: NDArray[np.uint8]) -> NDArray[Any]:
    """Floats of an exponent in the high eight bits and a whole number in the low 24."""
    word = raw.view("<i4").astype(np.int64)
    mantissa = ((word & 0xFFFFFF) ^ 0x800000) - 0x800000
    with np.errstate(over="ignore"):  # infinite positions are refused where all are
        return np.ldexp(mantissa.astype(np.float64), word >> 24).astype("<f4")


def _color(raw: NDArray[np.uint8]) -> NDArray[Any]:
    """RGBA from luma, two chroma and an alpha whose highest bit gives the number of bits in use."""
    kind = "1" if raw.shape[1] == 4 else "2"
    alpha = raw.view(f"<u{kind}")[:, 3].astype(np.int64)
    if (alpha == 0).any():
        raise ValueError(f"colour {int(np.argmax(alpha == 0))} has no scale")
    y = raw.view(f"<u{kind}")[:, 0].astype(np.int64)
    chroma = raw.view(f"<i{kind}")[:, 1:3].astype(np.int64)
    full = (np.int64(1) << np.frexp(alpha.astype(np.float64))[1]) - 1  # as many one bits as alpha has
    a = alpha & (full >> 1)
    rgba = np.stack([y + chroma[:, 0] - chroma[:, 1], y + chroma[:, 1], y - chroma[:, 0] - chroma[:, 1], 2 * a + a % 2])
    return _rounded((rgba * (np.iinfo(f"<u{kind}").max / full)).T, f"<u{kind}")


_FILTERS = {
    "NONE": lambda raw: raw,
    "OCTAHEDRAL": _octahedral,
    "QUATERNION": _quaternion,
    "EXPONENTIAL": _exponential,
    "COLOR": _color,
}

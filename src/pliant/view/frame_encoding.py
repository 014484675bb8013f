"""Binary encoding of frames: a JSON header followed by arrays; `static/link.js` decodes it."""

import json
import struct
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

MAGIC = 0x504C5932  # "PLY2": version 2 of the wire protocol
_KINDS = {"f": "f4", "u": "u4", "i": "u4", "b": "u1"}


def encode(generation: int, serial: int, header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """Encode a frame, little endian: magic, generation, serial, header length; header padded to four bytes; arrays.

    Floats become f4, integers u4, bytes and booleans u1. An array after a byte array may be unaligned; `link.js` then
    copies it.
    """
    small = {name: _plain(array) for name, array in arrays.items()}
    listed = [[name, a.dtype.str[1:], list(a.shape)] for name, a in small.items()]
    text = json.dumps({**header, "arrays": listed}, separators=(",", ":"), allow_nan=False).encode()
    text += b" " * (-len(text) % 4)
    start = struct.pack("<IIII", MAGIC, generation, serial & 0xFFFFFFFF, len(text))
    return b"".join([start, text, *(a.tobytes() for a in small.values())])


def decode(data: bytes) -> tuple[int, int, dict[str, Any], dict[str, NDArray[Any]]]:
    """Return generation, serial, header and arrays of an encoded frame; for tests and scripts."""
    magic, generation, serial, length = struct.unpack_from("<IIII", data)
    if magic != MAGIC:
        raise ValueError(f"a frame begins with {MAGIC:#x}, not {magic:#x}")
    header = json.loads(data[16 : 16 + length])
    at, arrays = 16 + length, {}
    for name, kind, shape in header["arrays"]:
        count = int(np.prod(shape))
        arrays[name] = np.frombuffer(data, "<" + kind, count, at).reshape(shape)
        at += arrays[name].nbytes
    return generation, serial, header, arrays


def _plain(array: NDArray[Any]) -> NDArray[Any]:
    if array.dtype == np.uint8:
        return np.ascontiguousarray(array)
    return np.ascontiguousarray(array, np.dtype("<" + _KINDS[array.dtype.kind]))

"""Images that hold numbers: OpenEXR with 32-bit floats, PNG with 16 bits. Arrays are (height,width,3), from the top."""

import struct
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

_LINES = 16  # of a chunk of OpenEXR's ZIP compression
_FLOAT, _ZIP = 2, 3


def exr(pixels: NDArray[np.float32]) -> bytes:
    """OpenEXR, scan lines, channels R, G and B, ZIP compression."""
    height, width, _ = pixels.shape
    box = struct.pack("<4i", 0, 0, width - 1, height - 1)
    channels = b"".join(
        name + struct.pack("<B", 0) + struct.pack("<4i", _FLOAT, 0, 1, 1) for name in (b"B", b"G", b"R")
    )
    head = b"\x76\x2f\x31\x01\x02\0\0\0" + b"".join([
        _attribute("channels", "chlist", channels + b"\0"),
        _attribute("compression", "compression", bytes([_ZIP])),
        _attribute("dataWindow", "box2i", box),
        _attribute("displayWindow", "box2i", box),
        _attribute("lineOrder", "lineOrder", b"\0"),
        _attribute("pixelAspectRatio", "float", struct.pack("<f", 1.0)),
        _attribute("screenWindowCenter", "v2f", struct.pack("<2f", 0.0, 0.0)),
        _attribute("screenWindowWidth", "float", struct.pack("<f", 1.0)),
    ])  # fmt: skip
    head += b"\0"
    # each line has its blue values, then the green, then the red ones
    lines = np.ascontiguousarray(pixels[:, :, ::-1].transpose(0, 2, 1), "<f4").view(np.uint8).reshape(height, -1)
    chunks = []
    for first in range(0, height, _LINES):
        data = _packed(lines[first : first + _LINES].ravel())
        chunks.append(struct.pack("<2i", first, len(data)) + data)
    start = len(head) + 8 * len(chunks)
    offsets = start + np.cumsum([0, *map(len, chunks)])[:-1]
    return head + offsets.astype("<u8").tobytes() + b"".join(chunks)


def _attribute(name: str, kind: str, value: bytes) -> bytes:
    return name.encode() + b"\0" + kind.encode() + b"\0" + struct.pack("<i", len(value)) + value


def _packed(data: NDArray[np.uint8]) -> bytes:
    """ZIP compression: even bytes before odd ones, differences plus 128, deflate; unchanged data if not shorter."""
    split = np.concatenate([data[::2], data[1::2]]).astype(np.int64)
    split[1:] = split[1:] - split[:-1] + 128
    small = zlib.compress((split & 255).astype(np.uint8).tobytes())
    return small if len(small) < len(data) else data.tobytes()


def png(pixels: NDArray[Any]) -> bytes:
    """PNG, RGB with 16 bits (uint16)."""
    height, width, _ = pixels.shape
    lines = np.ascontiguousarray(pixels, ">u2").view(np.uint8).reshape(height, -1)
    body = zlib.compress(np.concatenate([np.zeros((height, 1), np.uint8), lines], 1).tobytes())
    head = struct.pack(">2I5B", width, height, 16, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", head) + _chunk(b"IDAT", body) + _chunk(b"IEND", b"")


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

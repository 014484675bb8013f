"""Height maps: grey PNG images whose brightness is the height, 16 bits per pixel (or 8, with visible steps)."""

import io
import os
import pathlib
import struct
import warnings

import numpy as np
from numpy.typing import NDArray

from ..arguments import check_arguments
from ..validate import size_text
from .reading import Input, default_limit, read_input

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_MOST_PACKED = 1040  # upper bound of the compression ratio of deflate
_KINDS = {0: "grey", 2: "colour", 3: "a palette", 4: "grey with transparency", 6: "colour with transparency"}


@check_arguments
def load_heights(path: str | os.PathLike[str], *, max_bytes: int | None = None) -> NDArray[np.float64]:
    """Read the brightness (rows, columns) of a grey PNG, 0 black to 1 white, top row first.

    `HeightGrid.of_picture` builds a grid from it. An invalid file raises MeshFileError.
    """
    limit = default_limit() if max_bytes is None else max_bytes
    file = read_input(pathlib.Path(path), limit)
    width, height, depth = _head(file)
    # the float64 result and the decoded pixels
    if 12.0 * width * height > limit:
        needed = f"{width} x {height} pixels need {size_text(12.0 * width * height)}, limit {size_text(limit)}"
        raise file.fail("", f"{needed}; use a smaller image or raise max_bytes")
    if height * (1 + width * depth // 8) > _MOST_PACKED * len(file.data):
        raise file.fail("byte 16", f"{width} x {height} pixels cannot be in {len(file.data)} bytes; it is damaged")
    values = _pixels(file)
    if values.shape != (height, width):
        raise file.fail("", f"{values.shape} pixels decoded, but the header declares {(height, width)}; it is damaged")
    return values / float((1 << depth) - 1)


def _head(file: Input) -> tuple[int, int, int]:
    """Return width, height and bits per pixel; raise unless the file is a grey PNG."""
    if not file.data.startswith(_SIGNATURE):
        raise file.fail("", "not a PNG file; save the height map as a grey PNG of 16 bits")
    if len(file.data) < 33 or file.data[12:16] != b"IHDR":
        raise file.fail("byte 8", "its header is missing; it is damaged")
    width, height, depth, kind = struct.unpack(">IIBB", file.data[16:26])
    if kind != 0 or depth not in (8, 16):
        what = f"{_KINDS.get(kind, f'of colour type {kind}')}, {depth} bits"
        raise file.fail("byte 24", f"it is {what}; a height map must be grey, 16 (or 8) bits per pixel")
    if width < 2 or height < 2:
        raise file.fail("byte 16", f"{width} x {height} pixels; expected at least 2 x 2")
    return width, height, depth


def _pixels(file: Input) -> NDArray[np.float64]:
    from PIL import Image

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the size was checked above
            with Image.open(io.BytesIO(file.data), formats=("PNG",)) as image:
                image.load()
                return np.asarray(image).astype(np.float64)
    except MemoryError:
        raise file.fail("", "too large to unpack") from None
    except Exception as error:  # Pillow raises OSError, SyntaxError, ValueError and zlib's own for damaged files
        raise file.fail("", f"cannot be unpacked ({error}); it is damaged") from None

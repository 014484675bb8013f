"""Height maps as PNG files: read to the last bit, refused with one clear error."""

import io
import struct
import zlib

import numpy as np
import pytest
from PIL import Image

import pliant
from pliant.errors import MeshFileError


def png(values: np.ndarray) -> bytes:
    stream = io.BytesIO()
    Image.fromarray(values).save(stream, "PNG")
    return stream.getvalue()


def headed(width: int, height: int, depth: int = 16, kind: int = 0) -> bytes:
    """A PNG that declares what it does not hold."""
    head = b"IHDR" + struct.pack(">IIBBBBB", width, height, depth, kind, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + head + struct.pack(">I", zlib.crc32(head)) + bytes(40)


@pytest.mark.parametrize("dtype", [np.uint16, np.uint8])
def test_a_grey_picture_is_read_to_the_last_bit(dtype, rng, tmp_path):
    white = np.iinfo(dtype).max
    values = rng.integers(0, white, (13, 29), dtype, endpoint=True)
    (tmp_path / "map.png").write_bytes(png(values))
    np.testing.assert_array_equal(pliant.load_heights(tmp_path / "map.png") * white, values)


def test_a_grid_that_was_written_as_a_picture_comes_back_within_half_a_step(tmp_path):
    heights = pliant.shapes.face_heights(64)
    steps = np.round(heights / heights.max() * 65535).astype(np.uint16)
    (tmp_path / "face.png").write_bytes(png(steps))
    picture = pliant.load_heights(tmp_path / "face.png")
    grid = pliant.HeightGrid.of_picture(picture, spacing=0.44 / 63, scale=heights.max())
    assert np.abs(grid.heights - heights).max() <= 0.5001 * heights.max() / 65535


BAD = {
    "empty": (b"", "the file is empty"),
    "jpeg": (b"\xff\xd8\xff\xe0" * 20, "not a PNG file"),
    "signature only": (b"\x89PNG\r\n\x1a\n", "its header is missing"),
    "colour": (png(np.zeros((4, 4, 3), np.uint8)), "colour, 8 bits; a height map must be grey"),
    "one pixel": (png(np.zeros((1, 1), np.uint8)), "1 x 1 pixels; expected at least 2 x 2"),
    "bomb": (headed(30_000, 30_000), "need|cannot be in"),
    "huge": (headed(2**31 - 1, 2**31 - 1), "need .* limit"),
    "no pixels": (headed(8, 8), "cannot be unpacked"),
    "truncated": (png(np.arange(4096, dtype=np.uint16).reshape(64, 64) * 37)[:-90], "cannot be unpacked"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_picture_is_one_clear_error(name, tmp_path):
    data, words = BAD[name]
    (tmp_path / "map.png").write_bytes(data)
    with pytest.raises(MeshFileError, match=rf"map\.png.*({words})"):
        pliant.load_heights(tmp_path / "map.png")


def test_a_picture_that_is_not_there_is_named(tmp_path):
    with pytest.raises(MeshFileError, match=r"nowhere\.png: no such file"):
        pliant.load_heights(tmp_path / "nowhere.png")


def test_mutants_load_or_are_a_mesh_file_error(rng, tmp_path):
    whole = png(rng.integers(0, 65535, (16, 16), np.uint16))
    path, refused = tmp_path / "map.png", 0
    for _ in range(400):
        data = bytearray(whole)
        for _ in range(int(rng.integers(1, 4))):
            data[int(rng.integers(len(data)))] = int(rng.integers(256))
        path.write_bytes(data[: int(rng.integers(1, len(data) + 1))] if rng.random() < 0.3 else data)
        try:
            assert np.isfinite(pliant.load_heights(path)).all()
        except MeshFileError:
            refused += 1
    assert refused > 100

"""Blender's own image loader finds the texels of vertex animation textures."""

import json
import subprocess

import numpy as np
import pytest

from blender import opened as blender
from pliant import Clip, save_animation, shapes

pytestmark = blender.needs_blender
LOAD = """
import sys, bpy, numpy as np
found = []
for path in sys.argv[1:3]:
    image = bpy.data.images.load(path)
    image.colorspace_settings.name = "Non-Color"
    pixels = np.empty(len(image.pixels), np.float32)
    image.pixels.foreach_get(pixels)
    found.append(pixels.reshape(image.size[1], image.size[0], image.channels)[::-1, :, :3])
np.savez(sys.argv[3], *found)
"""


@pytest.mark.parametrize("kind", ["exr", "png"])
def test_texels_are_offsets_and_normals(tmp_path, kind):
    sheet = shapes.cloth(1.0, 1.0, 8)
    x = np.stack([sheet.vertices * np.array([1.0, 1.0, 1.0 - 0.1 * t]) + 0.03 * t for t in range(5)])
    positions, normals, _, about = save_animation(tmp_path / f"run.vat.{kind}", [Clip(sheet, x)], 24.0)
    command = [str(blender.PYTHON), "-c", LOAD, str(positions), str(normals), str(tmp_path / "seen.npz")]
    subprocess.run(command, check=True, capture_output=True, timeout=120)
    said = json.loads(about.read_text())
    with np.load(tmp_path / "seen.npz") as found:
        offset, normal = found["arr_0"].astype(np.float64), found["arr_1"].astype(np.float64)
    low, high = (np.array(said[f"offset_{end}"]) for end in ("min", "max"))
    step = 0.51 * (high - low) / 65535 if kind == "png" else 1e-7
    assert (np.abs(low + (high - low) * offset - (x - x[0])) <= step + 1e-7).all()
    low, high = (np.array(said[f"normal_{end}"]) for end in ("min", "max"))
    length = np.linalg.norm(low + (high - low) * normal, axis=2)
    assert np.abs(length - 1.0).max() < 1e-4

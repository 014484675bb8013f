"""What Blender makes of a file: a process of its own Python opens it (`read_scene.py`)."""

import dataclasses
import json
import os
import pathlib
import subprocess
from typing import Any

import numpy as np
import pytest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PYTHON = pathlib.Path(os.environ.get("PLIANT_BLENDER", ROOT / ".venv-blender" / "bin" / "python")).absolute()
needs_blender = [
    pytest.mark.blender,
    pytest.mark.compiled,
    pytest.mark.skipif(not PYTHON.is_file(), reason="no Blender: `make test-blender` installs it"),
]
# Blender computes in single precision: transforms, skinning and morph targets round a few times each
TOLERANCE = 4e-6  # of the size of the scene, largest coordinate included


@dataclasses.dataclass
class Thing:
    """A mesh object: x (T,n,3) in world space with y up, faces (m,3), uv (m,3,2), slots (m,) of the materials."""

    name: str
    materials: list[dict[str, Any]]
    x: np.ndarray
    faces: np.ndarray
    uv: np.ndarray
    slots: np.ndarray

    @property
    def corners(self) -> np.ndarray:
        """(T,m,3,3) positions of the corners of all triangles, which do not depend on the numbering of vertices."""
        return self.x[:, self.faces]


def opened(
    folder: pathlib.Path, *files: tuple[str, pathlib.Path, dict[str, Any]], fps: float, frames: Any, clip: str = ""
) -> dict[str, Thing]:
    """Open files in Blender; return its mesh objects by name, evaluated at `frames`."""
    out = folder / "seen.npz"
    job = {"open": [(how, str(path), options) for how, path, options in files], "fps": fps, "out": str(out)}
    job |= {"frames": [float(t) for t in frames], "clip": clip}
    done = subprocess.run(
        [str(PYTHON), str(HERE / "read_scene.py"), json.dumps(job)], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr
    with np.load(out) as stored:
        meta = json.loads(str(stored["meta"]))
        return {
            thing["name"]: Thing(
                thing["name"], thing["materials"], *(stored[f"{key}_{k}"] for key in ("x", "faces", "uv", "slots"))
            )
            for k, thing in enumerate(meta["objects"])
        }


def assert_equal(seen: np.ndarray, ours: np.ndarray, tolerance: float = TOLERANCE) -> None:
    """Both (T,...,3) are equal within `tolerance` times the largest coordinate, by default within single precision."""
    assert seen.shape == ours.shape
    worst, size = float(np.abs(seen - ours).max()), float(np.abs(ours).max())
    assert worst <= tolerance * size, f"{worst:.3g} m of {size:.3g} m"

"""Mutants of small FBX and Alembic files: `load_clip` gives frames or a MeshFileError, whatever Blender does.

    python tests/io/fuzz_blender.py --cases 20000 --seed 2003 [--only .abc] [--keep FOLDER]

Blender reads them in copies of one process (`tests/blender/serve.py`), in place of a process for each as in use. Needs
Blender, as `make test-blender` installs it. Prints a JSON summary; the exit code is 1, and the offending files lie in
FOLDER, when something else came out.
"""

import os
import pathlib
import subprocess
import sys

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
from copied import Copied  # noqa: E402
from program_fuzz import fuzz  # noqa: E402

import pliant  # noqa: E402
from pliant import Clip, Mesh, shapes  # noqa: E402
from pliant.io import blender  # noqa: E402


class Served(Copied):
    """Blender as a process that reads one file after the other."""

    def begin(self) -> tuple[int, int, int]:
        words = [os.environ["PLIANT_BLENDER"], "-P", HERE.parent / "blender" / "serve.py", blender.__file__]
        words[-1] = pathlib.Path(blender.__file__).with_name("blender_program.py")
        # the object is not kept: `Copied` waits for the process
        child = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        child.returncode = 0
        return child.pid, os.dup(child.stdin.fileno()), os.dup(child.stdout.fileno())


def seeds(folder: pathlib.Path) -> list[tuple[str, bytes]]:
    """A moving sheet with texture coordinates and two materials, and a static body, in each format."""
    sheet = shapes.cloth(1.0, 1.0, 3)
    halves = np.arange(sheet.n_faces, dtype=np.int32) % 2
    paint = ({"name": "red", "color": (1.0, 0.0, 0.0)}, {"name": "blue"})
    mesh = Mesh(sheet.vertices, sheet.faces, name="sheet", uv=sheet.uv, material=halves, materials=paint)
    found = []
    for ending in (".fbx", ".abc"):
        moving = folder / f"moving{ending}"
        pliant.save_animation(moving, [Clip(mesh, np.stack([mesh.vertices + 0.1 * k for k in range(3)]))], 24.0)
        pliant.save(folder / f"still{ending}", shapes.ball(0.3, 0))
        found += [(ending, (folder / f"{name}{ending}").read_bytes()) for name in ("moving", "still")]
    return found


if __name__ == "__main__":
    os.environ.setdefault("PLIANT_BLENDER", str(HERE.parents[1] / ".venv-blender" / "bin" / "python"))
    sys.exit(fuzz(str(__doc__), Served(print, 4), seeds))

"""Mutants of small USD stages, text, crate and package: `load_clip` gives frames or a MeshFileError.

    python tests/io/fuzz_usd.py --cases 20000 --seed 2003 [--only .usdc] [--keep FOLDER]

usd-core reads them in a copy of this process (`copied.py`), in place of a program of its own as in use. Prints a JSON
summary; the exit code is 1, and the offending stages lie in FOLDER, when something else came out.
"""

import pathlib
import sys

import numpy as np

sys.path[:0] = [str(pathlib.Path(__file__).parent), str(pathlib.Path(__file__).parents[1])]
from copied import Copied  # noqa: E402
from program_fuzz import fuzz  # noqa: E402
from pxr import Usd, UsdUtils  # noqa: E402

import pliant  # noqa: E402
import usd_stages  # noqa: E402
from pliant import Clip, Mesh  # noqa: E402
from pliant.io import usd_stage  # noqa: E402


def seeds(folder: pathlib.Path) -> list[tuple[str, bytes]]:
    """What pliant writes, a shot with a reference to a file in `folder`, and a skinned mesh with blend shapes; each as
    text, as a crate and in a package."""
    mesh = Mesh(np.eye(4, 3), np.array([[0, 2, 1], [0, 1, 3], [1, 2, 3], [0, 3, 2]]), uv=np.zeros((4, 3, 2)))
    moving = Clip(mesh, np.stack([mesh.vertices] * 3) * np.array([1.0, 2.0, 3.0])[:, None, None])
    (written,) = pliant.save_animation(folder / "written.usda", [moving], 24.0)
    found = []
    for path in (written, usd_stages.shot(folder), usd_stages.skinned(folder / "hero.usda")):
        found.append((".usda", path.read_bytes()))
        crate = path.with_suffix(".usdc")
        stage = Usd.Stage.Open(str(path))
        stage.GetRootLayer().Export(str(crate))
        found.append((".usdc", crate.read_bytes()))
        package = path.with_suffix(".usdz")
        UsdUtils.CreateNewUsdzPackage(str(crate), str(package))
        found.append((".usdz", package.read_bytes()))
    return found


if __name__ == "__main__":
    sys.exit(fuzz(str(__doc__), Copied(usd_stage.main, 3), seeds))

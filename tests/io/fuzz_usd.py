"""Mutants of small USD stages, text and crate: `load_clip` gives frames or a MeshFileError, whatever usd-core does.

    python tests/io/fuzz_usd.py --cases 20000 --seed 2003

Each case is a process of its own, as in use, but a copy of this one (`copied.py`). Prints a JSON summary;
the exit code is 1 when something else came out.
"""

import argparse
import json
import pathlib
import sys
import tempfile
import time

import numpy as np

sys.path[:0] = [str(pathlib.Path(__file__).parent), str(pathlib.Path(__file__).parents[1])]
from copied import Copied  # noqa: E402
from fuzz import mutate  # noqa: E402

import pliant  # noqa: E402
from pliant import Clip, Mesh  # noqa: E402
from pliant.errors import MeshFileError  # noqa: E402
from pliant.io import converted, usd_stage  # noqa: E402


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=2003)
    parser.add_argument("--minutes", type=float, default=1e9, help="at most so long")
    options = parser.parse_args()
    copied = converted.subprocess = Copied(usd_stage.main, 3)
    end = time.monotonic() + 60.0 * options.minutes
    said: dict = {"frames": 0, "error": 0, "ended": 0, "bad": 0, "complaints": []}
    mesh = Mesh(np.eye(4, 3), np.array([[0, 2, 1], [0, 1, 3], [1, 2, 3], [0, 3, 2]]), uv=np.zeros((4, 3, 2)))
    with tempfile.TemporaryDirectory() as name:
        folder, rng = pathlib.Path(name), np.random.default_rng(options.seed)
        seeds = []
        for ending in (".usda", ".usdc"):
            pliant.save_animation(folder / f"seed{ending}", [Clip(mesh, np.stack([mesh.vertices] * 3))], 24.0)
            seeds.append((ending, (folder / f"seed{ending}").read_bytes()))
        for _ in range(options.cases):
            if time.monotonic() > end:
                break
            ending, data = seeds[int(rng.integers(2))]
            path = folder / f"mutant{ending}"
            path.write_bytes(mutate(rng, data, 1 << 16))
            try:
                clip, fps = pliant.load_clip(path, max_bytes=1 << 24)
                said["frames"] += 1
                if not (np.isfinite(clip.frames).all() and fps > 0.0):
                    raise AssertionError("not finite")
            except MeshFileError as error:
                said["error"] += 1
                said["ended"] += "it ended with" in str(error)
            except Exception as error:
                said["bad"] += 1
                said["complaints"].append(f"{type(error).__name__}: {error}"[:300])
    said["signals"] = copied.signals
    print(json.dumps(said))
    return int(said["bad"] > 0)


if __name__ == "__main__":
    sys.exit(main())

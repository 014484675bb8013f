"""Mutants of small glTF files with Draco meshes: `load` gives a mesh or a MeshFileError, whatever the library does.

    python tests/io/fuzz_draco.py --cases 20000 --seed 2003

Draco decodes in a copy of this process (`copied.py`), in place of a program of its own as in use. Prints a JSON
summary; exit code 1 when something else came out.
"""

import argparse
import json
import os
import pathlib
import sys
import tempfile
import time

import numpy as np

sys.path[:0] = [str(pathlib.Path(__file__).parent), str(pathlib.Path(__file__).parents[1])]
import DracoPy  # noqa: E402, F401
from copied import Copied  # noqa: E402
from fuzz import mutate, try_one  # noqa: E402

import packed_files  # noqa: E402
from pliant.io import converted, draco  # noqa: E402


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=2003)
    parser.add_argument("--minutes", type=float, default=1e9, help="at most so long")
    options = parser.parse_args()
    copied = converted.subprocess = Copied(draco.main, 2)
    rng = np.random.default_rng(options.seed)
    end = time.monotonic() + 60.0 * options.minutes
    count = {"mesh": 0, "error": 0, "bad": 0}
    complaints = copied.odd
    content, _, _ = packed_files.made()["draco"]
    document, stream = packed_files.json_of(content), packed_files.binary_of(content)
    memory = "/dev/shm" if os.path.isdir("/dev/shm") else None
    with tempfile.TemporaryDirectory(dir=memory) as name:
        tempfile.tempdir = name
        path = pathlib.Path(name) / "mutant.glb"
        for k in range(options.cases):
            if time.monotonic() > end:
                break
            if k % 3:  # mostly the stream itself, whose length the file then tells
                data = mutate(rng, stream)
                document["bufferViews"][0]["byteLength"] = document["buffers"][0]["byteLength"] = max(len(data), 1)
                mutant = packed_files.glb(document, data)
            else:
                mutant = mutate(rng, content)
            result, why = try_one(path, mutant)
            count[result] += 1
            if result == "bad":
                complaints.append(f"case {k}: {why}")
        copied.close()
    print(json.dumps(count | {"ended": copied.signals, "seed": options.seed, "complaints": complaints[:20]}))
    return int(bool(complaints))


if __name__ == "__main__":
    sys.exit(main())

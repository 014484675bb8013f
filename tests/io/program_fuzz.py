"""Mutants of files that a program of its own reads for pliant: `load_clip` gives frames or a MeshFileError in one line,
soon and in little memory, whatever becomes of the program."""

import argparse
import hashlib
import json
import os
import pathlib
import tempfile
import time
from collections.abc import Callable

import numpy as np
from copied import Copied
from fuzz import mutate

import pliant
from pliant.errors import MeshFileError
from pliant.io import converted

MOST = 1 << 16  # bytes of a mutant


def fuzz(about: str, copied: Copied, seeds: Callable[[pathlib.Path], list[tuple[str, bytes]]]) -> int:
    """Read mutants of `seeds`, (extension, content) of valid files; print a JSON summary and return the exit code."""
    parser = argparse.ArgumentParser(description=about.splitlines()[0])
    parser.add_argument("--cases", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=2003)
    parser.add_argument("--only", default="", help="one extension")
    parser.add_argument("--keep", type=pathlib.Path, default=None, help="folder for files that broke something")
    parser.add_argument("--minutes", type=float, default=1e9, help="at most so long")
    options = parser.parse_args()
    end = time.monotonic() + 60.0 * options.minutes
    count, done, complaints = {"frames": 0, "error": 0}, 0, list[str]()
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as name:
        tempfile.tempdir = name
        folder, rng = pathlib.Path(name), np.random.default_rng(options.seed)
        inputs = [seed for seed in seeds(folder) if options.only in ("", seed[0])]
        assert all(len(content) <= MOST for _, content in inputs)
        converted.subprocess = copied
        for ending, data in inputs:
            wrong = try_one(folder / f"seed{ending}", data, count)
            assert (wrong, count["error"]) == ("", 0), (ending, wrong)
        count["frames"] = 0
        copied.odd.clear()
        for k in range(options.cases):
            if time.monotonic() > end:
                break
            ending, data = inputs[k % len(inputs)]
            mutant = mutate(rng, data, MOST)
            # libraries keep what they have opened by its name
            wrong = [try_one(folder / f"mutant{k}{ending}", mutant, count), *copied.odd]
            copied.odd.clear()
            done += 1
            if any(wrong):
                digest = hashlib.sha256(mutant).hexdigest()[:12]
                complaints.append(f"case {k} {digest}{ending}: {'; '.join(filter(None, wrong))}")
                if options.keep is not None:
                    options.keep.mkdir(parents=True, exist_ok=True)
                    (options.keep / f"{digest}{ending}").write_bytes(mutant)
        copied.close()
    told = {"cases": done, **count, "ended": copied.signals, "seed": options.seed, "bad": len(complaints)}
    print(json.dumps(told | {"complaints": complaints[:20]}))
    return int(bool(complaints))


def try_one(path: pathlib.Path, data: bytes, count: dict[str, int]) -> str:
    """What is wrong with how a file is read, or nothing; `count` counts what came out."""
    path.write_bytes(data)
    try:
        clip, fps = pliant.load_clip(path, max_bytes=1 << 24)
        count["frames"] += 1
        return "" if np.isfinite(clip.frames).all() and fps > 0.0 else "an invalid clip came out"
    except MeshFileError as error:
        count["error"] += 1
        return "" if str(path) in str(error) and "\n" not in str(error) else f"not one clear line: {error}"
    except Exception as error:
        return f"{type(error).__name__}: {error}"[:300]
    finally:
        path.unlink()

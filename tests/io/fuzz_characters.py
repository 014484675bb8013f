"""Mutants of small characters: `load_character` gives one that stands and moves, or a MeshFileError, soon.

    python tests/io/fuzz_characters.py --cases 20000 --seed 2003 [--keep FOLDER]

Bytes are changed as fuzz.py does it for meshes, and values of the JSON by what they are. Prints a JSON summary; exit
code 1 when something else came out.
"""

import argparse
import base64
import copy
import faulthandler
import hashlib
import json
import logging
import os
import pathlib
import sys
import tempfile
import time
import warnings
from typing import Any

import numpy as np

sys.path[:0] = [str(pathlib.Path(__file__).parent), str(pathlib.Path(__file__).parents[1])]
from fuzz import guard_memory, mutate, soon  # noqa: E402

from characters import small_character  # noqa: E402
from pliant import MeshFileError, load_character, save_character  # noqa: E402


def seeds(folder: pathlib.Path) -> list[tuple[str, bytes]]:
    """(extension, content): one as JSON with its bytes in base64, one as a GLB of our own, one without a skin."""
    text = small_character().save(folder / "seed.gltf")
    save_character(folder / "seed.glb", load_character(text))
    plain = small_character(skin=False).save(folder / "plain.gltf")
    found = [(path.suffix, path.read_bytes()) for path in (text, folder / "seed.glb", plain)]
    assert max(len(data) for _, data in found) < 4096, [len(data) for _, data in found]
    return found


ODD = [0, 1, 2, 3, -1, 0.5, 1e30, -1e300, 10**9, 2**63, None, True, "", "x", [], {}, [0], [1e12] * 3, [0, 0, 0, 1e-300]]


def mutate_structure(rng: np.random.Generator, data: bytes) -> bytes:
    """One to three values of the JSON replaced, dropped or copied elsewhere, or words of its buffer poked."""
    document = json.loads(data)
    for _ in range(int(rng.choice([1, 1, 2, 3]))):
        if rng.random() < 0.3:
            _poke(rng, document)
            continue
        holders: list[tuple[Any, Any]] = []
        _walk(document, holders)
        holder, key = holders[int(rng.integers(len(holders)))]
        other, at = holders[int(rng.integers(len(holders)))]
        value = ODD[int(rng.integers(len(ODD)))] if rng.random() < 0.6 else copy.deepcopy(other[at])
        if rng.random() < 0.15:
            del holder[key]
        else:
            holder[key] = copy.deepcopy(value)
    return json.dumps(document).encode()


def _walk(value: Any, holders: list[tuple[Any, Any]]) -> None:
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in pairs:
        holders.append((value, key))
        _walk(inner, holders)


def _poke(rng: np.random.Generator, document: Any) -> None:
    """Put an odd number into the buffer, where it still is one."""
    try:
        head, body = document["buffers"][0]["uri"].split(",")
        raw = bytearray(base64.b64decode(body))
        odd = np.array([np.nan, np.inf, -1.0, 1e30, 0.0, 2.0, 1e-45], "<f4")[int(rng.integers(7))]
        at = 4 * int(rng.integers(len(raw) // 4))
        raw[at : at + 4] = odd.tobytes()
        document["buffers"][0]["uri"] = head + "," + base64.b64encode(raw).decode()
    except (LookupError, TypeError, AttributeError, ValueError):
        pass  # an earlier edit has broken it


def try_one(path: pathlib.Path) -> tuple[str, str]:
    """("character" | "error" | "bad", what happened)."""
    start = time.process_time()
    said = ("character", "")
    try:
        character = load_character(path)
        ok = character.joints.min() >= 0 and character.joints.max() < len(character.names)
        ok = ok and np.abs(character.weights.sum(1) - 1.0).max() < 1e-9
        for clip in (None, *list(character.clips)[:20]):
            try:
                ok = ok and bool(np.isfinite(character.shape(clip, 0.4)).all())
            except ValueError as error:
                if "moves bones beyond" not in str(error):
                    raise
        if not ok:
            said = ("bad", "an invalid character came out")
    except MeshFileError as error:
        said = ("error", error.why) if "too large to read" not in error.why else ("bad", "out of memory")
    except BaseException as error:
        said = ("bad", f"{type(error).__name__}: {error}")
    spent = time.process_time() - start
    return said if soon(spent) else ("bad", f"took {spent:.1f} s")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=2003)
    parser.add_argument("--keep", type=pathlib.Path, default=None, help="folder for inputs that broke something")
    parser.add_argument("--files", type=pathlib.Path, nargs="*", help="only these, as they are")
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)
    count = {"character": 0, "error": 0, "bad": 0}
    complaints: list[str] = []
    logging.disable(logging.WARNING)
    memory = "/dev/shm" if os.path.isdir("/dev/shm") else None
    with tempfile.TemporaryDirectory(dir=memory) as name:
        folder = pathlib.Path(name)
        inputs = seeds(folder)
        for kind, data in inputs:  # which also compiles what there is to compile
            path = folder / f"seed{kind}"
            path.write_bytes(data)
            try_one(path)
            assert try_one(path)[0] == "character", kind
        warnings.simplefilter("error")
        guard_memory()
        for path in options.files or []:
            result, why = try_one(path)
            count[result] += 1
            complaints += [f"{path.name}: {why}"] * (result == "bad")
            print(path.name, result, why, file=sys.stderr)
        for k in range(0 if options.files else options.cases):
            kind, data = inputs[k % len(inputs)]
            path = folder / f"mutant{kind}"
            mutant = mutate_structure(rng, data) if kind == ".gltf" and k % 4 else mutate(rng, data)
            path.write_bytes(mutant)
            faulthandler.dump_traceback_later(30, exit=True)
            result, why = try_one(path)
            count[result] += 1
            if result == "bad":
                digest = hashlib.sha256(mutant).hexdigest()[:12]
                complaints.append(f"case {k} {digest}{kind}: {why}")
                if options.keep is not None:
                    options.keep.mkdir(parents=True, exist_ok=True)
                    (options.keep / f"{digest}{kind}").write_bytes(mutant)
        faulthandler.cancel_dump_traceback_later()
    print(json.dumps(count | {"seed": options.seed, "complaints": complaints[:20]}))
    return 1 if count["bad"] else 0


if __name__ == "__main__":
    sys.exit(main())

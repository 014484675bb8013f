"""Mutants led by coverage: every public reader gives something valid or its own error, soon and in little memory.

    python tests/io/fuzz_coverage.py [--runs 1000000] [--only mesh.glb ...] [--seed 2003] [--keep FOLDER] [--minutes M]

Needs atheris (`pip install atheris`; wheels for Linux and macOS, Python below 3.14) and says so where it is not there.
Processes of their own for each reader, one after the other; a line for each: runs, coverage before and after, faults.
Inputs that broke something lie in FOLDER (out/fuzz) and the exit code is 1.
"""

import argparse
import contextlib
import hashlib
import importlib.util
import logging
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import time
import warnings

import numpy as np

sys.path[:0] = [str(pathlib.Path(__file__).parent), str(pathlib.Path(__file__).parents[1])]

MAX_LEN = 4096  # bytes of an input
STUCK = 7200  # seconds by the wall; a busy or stopped machine is no fault, slow readers are found by their CPU time
AT_ONCE = 100_000  # runs of one process: atheris keeps up to two kilobytes of each, which is not the reader's
MOST_FAULTS = 20  # of one reader, after which it stops
# what is watched for coverage; the kernels must not be, because the compiler reads their code
WATCHED = (
    "pliant.io",
    "pliant.simulation.checkpoint",
    "pliant.state",
    "pliant.validate",
    "pliant.sweep",
    "pliant.view.commands",
)
WATCHED = (*WATCHED, "pliant.motion.character", "pliant.motion.clip", "pliant.detect.fields.npz_arrays")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=1_000_000)
    parser.add_argument("--minutes", type=float, default=0.0, help="at most so long for each reader")
    parser.add_argument("--only", nargs="*", default=[], help="names of readers")
    parser.add_argument("--seed", type=int, default=2003)
    parser.add_argument("--keep", type=pathlib.Path, default=pathlib.Path("out/fuzz"))
    parser.add_argument("--child", default="", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if importlib.util.find_spec("atheris") is None:
        print("atheris is not installed, so nothing was led by coverage; pip install atheris (Linux, Python < 3.14)")
        return 0
    if options.child:
        _child(options.child, pathlib.Path.cwd(), options)
        return 0
    from readers import READERS

    unknown = set(options.only) - set(READERS)
    if unknown:
        parser.error(f"unknown reader {sorted(unknown)}; one of: {', '.join(READERS)}")
    return max([_one(name, options) for name in options.only or READERS])


def _one(name: str, options: argparse.Namespace) -> int:
    """One reader in a process of its own, in a folder in memory; 1 where something broke."""
    keep = options.keep.resolve() / name
    keep.mkdir(parents=True, exist_ok=True)
    memory = "/dev/shm" if os.path.isdir("/dev/shm") else None
    began, code, done, faults, covered = time.monotonic(), 0, 0, [], ["0"]
    told, kinds = ["--child", name, "--keep", str(keep)], set[str]()
    command = [sys.executable, str(pathlib.Path(__file__).resolve()), *told]
    with tempfile.TemporaryDirectory(dir=memory) as folder:  # what was found to reach more stays there for the next
        for k, first in enumerate(range(0, options.runs, AT_ONCE)):
            part = ["--runs", str(min(AT_ONCE, options.runs - first)), "--seed", str(options.seed + 10_000 * k)]
            left = max(0.02, options.minutes - (time.monotonic() - began) / 60.0) if options.minutes else 0.0
            part += ["--minutes", str(left)]
            with open(keep / f"log-{k}.txt", "wb") as log:
                code = subprocess.run([*command, *part], cwd=folder, stdout=log, stderr=log).returncode
            text = (keep / f"log-{k}.txt").read_text("utf-8", "replace")
            ran = re.findall(r"^#(\d+)", text, re.M)
            done += int((re.findall(r"stat::number_of_executed_units: +(\d+)", text) or ran[-1:] or ["0"])[-1])
            seen = re.findall(r"cov: (\d+)", text) or ["0"]
            covered = [covered[0] if k else seen[0], seen[-1]]
            for fault in re.findall(r"^FAULT (.*)", text, re.M):
                if (kind := _kind(fault.partition(" ")[2])) not in kinds:
                    kinds.add(kind)
                    faults.append(fault)
            if code or len(faults) >= MOST_FAULTS or 0.0 < 60.0 * options.minutes < time.monotonic() - began:
                break
    spent = time.monotonic() - began
    line = f"{name:15} {done:9,d} runs  {spent:5.0f} s  coverage {covered[0]:>4} to {covered[-1]:>4}"
    print(f"{line}  {len(faults)} faults", flush=True)
    if code and not faults:
        faults = [f"ended with code {code}, see {keep / f'log-{k}.txt'}"]
    for fault in faults[:5]:
        print(f"    {fault}; kept in {keep}", flush=True)
    return 1 if faults else 0


def _kind(why: str) -> str:
    """The same fault with other numbers is the same."""
    return re.sub(r"[\d.]+|'[^']*'", "#", why)


def _child(name: str, folder: pathlib.Path, options: argparse.Namespace) -> None:
    import atheris

    package = pathlib.Path(__file__).parents[2] / "src"
    modules = {".".join(p.relative_to(package).with_suffix("").parts) for p in package.glob("pliant/**/*.py")}
    modules = {module.removesuffix(".__init__") for module in modules}
    quiet = {module for module in modules if not module.startswith(WATCHED)}
    with atheris.instrument_imports(include=["pliant", "tomllib"], exclude=sorted(quiet)):
        from fuzz import guard_memory, soon
        from fuzz_characters import mutate_structure
        from readers import READERS

        logging.disable(logging.WARNING)
        reader = READERS[name]
        (folder / "seeds").mkdir(exist_ok=True)
        inputs = reader.seeds(folder)
        for k, data in enumerate(inputs):
            (folder / "seeds" / str(k)).write_bytes(data)
            (folder / f"seed{reader.ending}").write_bytes(data)
            with contextlib.suppress(AssertionError):  # too slow, where it compiles
                reader.read(folder / f"seed{reader.ending}")
            reader.read(folder / f"seed{reader.ending}")
    warnings.simplefilter("error")
    path = folder / f"mutant{reader.ending}"
    seen: set[str] = set()
    unheard: list[str] = []  # such as a file that was left open
    sys.unraisablehook = lambda found: unheard.append(f"{found.exc_type.__name__}: {found.exc_value}")

    def tried() -> str:
        start = time.process_time()
        try:
            reader.read(path)
        except BaseException as error:
            return f"{type(error).__name__}: {error}".splitlines()[0][:200]
        spent = time.process_time() - start
        return "" if soon(spent) else f"took {spent:.0f} s"

    def once(data: bytes) -> None:
        path.write_bytes(data)
        why = tried()
        if "took" in why:  # it may have compiled what no other input needed before
            why = tried()
        why, unheard[:] = why or "".join(unheard[:1]), []
        kind = _kind(why)
        if why and kind not in seen:
            seen.add(kind)
            digest = hashlib.sha256(data).hexdigest()[:12]
            (options.keep / f"{digest}{reader.ending}").write_bytes(data)
            print(f"\nFAULT {digest}{reader.ending} {why}", file=sys.stderr, flush=True)
            if len(seen) >= MOST_FAULTS:
                raise SystemExit("too many faults")

    def mutated(data: bytes, most: int, seed: int) -> bytes:
        """Most mutants of a file with lengths and checksums are mutants of what it holds, packed again."""
        chance = random.Random(seed)
        if reader.inside is not None and chance.random() < 0.7:
            unpack, pack = reader.inside
            try:
                parts = unpack(data)
                which = chance.randrange(len(parts))
                made = pack(data, which, _changed(parts[which], chance))
            except Exception:
                made = b""
            if made and len(made) <= most:
                return made
        return atheris.Mutate(data, most)

    def _changed(part: bytes, chance: random.Random) -> bytes:
        if part[:1] == b"{" and chance.random() < 0.5:
            return mutate_structure(np.random.default_rng(chance.getrandbits(32)), part)
        return atheris.Mutate(part, len(part) + 64)

    words = {w for data in inputs for w in re.findall(rb"[A-Za-z_$<][A-Za-z_0-9]{2,30}", data)}
    numbers = [b"0", b"-1", b"1e999", b"nan", b"4294967295", b"9999999999999999999999", b"1e12", b"null", b"[]", b"{}"]
    (folder / "words").write_bytes(b"".join(b'"%s"\n' % word for word in [*sorted(words), *numbers]))
    limits = [f"-runs={options.runs}", f"-max_len={MAX_LEN}", f"-seed={options.seed}", f"-timeout={STUCK}"]
    limits += [f"-max_total_time={round(60 * options.minutes)}"] if options.minutes else []
    told = [*limits, f"-artifact_prefix={options.keep}/", "-print_final_stats=1", "-dict=words", "seeds"]
    guard_memory()
    more = {} if reader.inside is None else {"custom_mutator": mutated}
    atheris.Setup([sys.argv[0], *told], once, **more)
    atheris.Fuzz()


if __name__ == "__main__":
    sys.exit(main())

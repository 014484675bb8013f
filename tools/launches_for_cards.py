"""Compile what `kernels/gpu` launches, to PTX, without a card: `make ptx`.

Numba's simulator runs these kernels as Python and says nothing about types. The tests in tests/gpu run in it, and every
launch is written down with the types of its arguments; another process compiles each for a card.

    python tools/launches_for_cards.py [--tests PATTERN]
"""

import argparse
import importlib
import os
import pathlib
import pickle
import subprocess
import sys
import tempfile
import time
from typing import Any

import numpy as np

ROOT = pathlib.Path(__file__).parents[1]


def described(value: Any) -> Any:
    """An argument by the name of its type: an array, a number, or a tuple of them."""
    if isinstance(value, tuple):
        kind = type(value)
        return ("tuple", kind.__module__, kind.__qualname__, tuple(described(part) for part in value))
    array = getattr(value, "_ary", value)
    if isinstance(array, np.ndarray):
        return ("array", array.dtype, array.ndim, "C" if array.flags.c_contiguous else "A")
    return ("number", np.dtype(type(value)) if isinstance(value, np.generic | bool | int | float) else None)


def place_of(function: Any, module: Any) -> list[Any] | None:
    """Where a module has a function: its name, or the keys that lead to it in a table."""

    def search(value: Any) -> list[Any] | None:
        if value is function:
            return []
        parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, tuple) else ()
        for key, part in parts:
            if (found := search(part)) is not None:
                return [key, *found]
        return None

    return search({name: value for name, value in vars(module).items() if not name.startswith("__")})


def record(tests: str, path: pathlib.Path) -> int:
    """Run tests in the simulator, and write down the launches."""
    sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "src")]
    import pytest

    from pliant.kernels import device

    device.zeros(1)
    from pliant.kernels.gpu import entries

    seen: dict[Any, None] = {}
    usual = entries.launch_blocks

    def launch_blocks(function: Any, blocks: int, threads: int, *args: Any, **options: Any) -> None:
        code = function.fn
        module = sys.modules[code.__module__]
        place = place_of(function, module)
        if place is not None:
            seen[code.__module__, tuple(place), tuple(described(arg) for arg in args)] = None
        elif code.__module__.startswith("pliant."):  # not a kernel of a test
            raise LookupError(f"{code.__module__} has {code.__name__} neither by its name nor in a table")
        usual(function, blocks, threads, *args, **options)

    entries.launch_blocks = launch_blocks
    for name in ("scan", "sort", "lbvh"):
        module = importlib.import_module(f"pliant.kernels.gpu.{name}")
        if hasattr(module, "launch_blocks"):
            module.launch_blocks = launch_blocks
    folder = str(ROOT / "tests" / "gpu")
    result = pytest.main(["-q", "-p", "no:cacheprovider", folder, *(["-k", tests] if tests else [])])
    path.write_bytes(pickle.dumps(list(seen)))
    return int(result)


def typed(what: Any, types: Any, from_dtype: Any) -> Any:
    """The argument as types of Numba in the tuples that it consists of."""
    if what[0] == "tuple":
        kind: Any = importlib.import_module(what[1])
        for name in what[2].split("."):
            kind = getattr(kind, name)
        parts = [typed(part, types, from_dtype) for part in what[3]]
        return kind(*parts) if hasattr(kind, "_fields") else tuple(parts)
    if what[0] == "array":
        return types.Array(from_dtype(what[1]), what[2], what[3])
    return from_dtype(what[1])


def compile_all(path: pathlib.Path) -> int:
    """Compile the launches that were written down; print those that fail."""
    sys.path.insert(0, str(ROOT / "tools"))
    from compile_for_cards import CAPABILITY, prepare, reason

    cuda, began = prepare(heap=False), time.process_time()
    from numba.cuda import types
    from numba.cuda.np.numpy_support import from_dtype

    from pliant.kernels import device
    from pliant.kernels.gpu import entries

    launches, failed = pickle.loads(path.read_bytes()), 0
    for module, place, described_args in launches:
        if ".twins." in module:
            device.twin(module.partition(".twins.")[2])
        function: Any = vars(importlib.import_module(module))
        for key in place:
            function = function[key]
        args = [typed(each, types, from_dtype) for each in described_args]
        entry = entries.entry(function, tuple(entries.shape_of(arg) for arg in args))
        try:
            cuda.compile(entry.py_func, tuple(entries.flat(args)), cc=CAPABILITY, device=False, abi="numba")
        except Exception as error:  # whatever the compiler raises
            failed += 1
            print(f"{module}: {'.'.join(map(str, place))}: {reason(error)}")
    took = time.process_time() - began
    print(f"{len(launches) - failed} of {len(launches)} launches compile, {took:.0f} s")
    return int(failed > 0 or not launches)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tests", default="", help="of tests/gpu, as -k of pytest; default: all")
    parser.add_argument("--record", type=pathlib.Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.record:
        return record(options.tests, options.record)
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "launches"
        environment = os.environ | {"NUMBA_ENABLE_CUDASIM": "1", "NUMBA_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"}
        command = [sys.executable, __file__, "--tests", options.tests, "--record", str(path)]
        subprocess.run(command, check=True, env=environment, cwd=ROOT, timeout=1200)
        return compile_all(path)


if __name__ == "__main__":
    raise SystemExit(main())

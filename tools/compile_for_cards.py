"""Compile every kernel for graphics cards, to PTX, without a card: `make ptx`.

The types of arguments are those with which the kernels were compiled for the processor: the tests compile nearly all,
and the cache keeps their signatures. A kernel that another one calls is compiled with that one. Results are kept by
the contents of the sources, so that only what changed is compiled again.

    python tools/compile_for_cards.py [--least 95] [--only queries.proximity] [--all]
"""

import argparse
import ast
import contextlib
import functools
import json
import os
import pathlib
import pickle
import time
from typing import Any, NamedTuple

from pliant.kernels import device, jit, sources
from pliant.kernels.cache_folder import cache_root
from pliant.kernels.gpu import card

ROOT = pathlib.Path(jit.__file__).parent
CAPABILITY = (9, 0)
KEPT = ("numba", "llvmlite", "numba-cuda")  # packages whose versions results depend on


class Kernel(NamedTuple):
    module: str
    name: str
    parallel: bool

    @property
    def text(self) -> str:
        return f"{self.module}.{self.name}"


def kernels_of(source: pathlib.Path) -> list[Kernel]:
    """The kernels that a file defines."""
    module = ".".join(source.relative_to(ROOT).with_suffix("").parts)
    found = []
    for node in ast.parse(source.read_text("utf-8")).body:
        if isinstance(node, ast.FunctionDef):
            decorators = [ast.unparse(each) for each in node.decorator_list]
            if any(each.split("(")[0] == "kernel" for each in decorators):
                found.append(Kernel(module, node.name, any("parallel=True" in each for each in decorators)))
    return found


@functools.cache
def indices() -> dict[str, list[pathlib.Path]]:
    """The files of the cache that list signatures, by file and kernel; the latest first."""
    found: dict[str, list[pathlib.Path]] = {}
    for index in sorted(cache_root().glob("kernels/*/**/*.nbi"), key=lambda each: -each.stat().st_mtime):
        found.setdefault(index.name.removeprefix("inner.").split("-")[0], []).append(index)
    return found


def signatures(source: pathlib.Path, kernel: Kernel) -> list[tuple[Any, ...]]:
    """The types of the arguments with which a kernel was compiled for the processor: from these sources, or where the
    tests have not yet compiled them, from earlier ones with as many arguments."""
    count = getattr(device.twin(kernel.module), kernel.name).py_func.__code__.co_argcount
    current, found = jit.kernel_cache(source), {}
    known = indices().get(f"{source.stem}.{kernel.name}", [])
    for index in sorted(known, key=lambda each: current not in each.parents):
        with contextlib.suppress(Exception), index.open("rb") as file:  # a damaged file has no signatures
            pickle.load(file)
            for key in pickle.loads(file.read())[1]:
                types = tuple(key[0])
                if len(types) == count:
                    found.setdefault(str(types), types)
    return list(found.values())


def prepare(heap: bool = True) -> Any:
    """`numba.cuda`, for a card of CAPABILITY that is not there; `heap`: kernels may allocate."""
    os.environ["NUMBA_CUDA_ENABLE_NRT"] = str(int(heap))
    cuda = card.module()
    from numba.cuda import compiler, cuda_paths, dispatcher
    from numba.cuda.cudadrv import nvrtc

    class Device:
        compute_capability = CAPABILITY

    for module in (dispatcher, compiler):
        module.get_current_device = lambda: Device
    nvrtc.get_supported_ccs = lambda: (CAPABILITY,)
    cuda_paths._get_nvrtc_path = lambda: None
    usual = compiler.compile_cuda

    def compile_cuda(*args, nvvm_options=None, **options):
        return usual(*args, nvvm_options={**(nvvm_options or {}), "fma": 0}, **options)

    compiler.compile_cuda = dispatcher.compile_cuda = compile_cuda
    return cuda


def compiled(cuda: Any, kernel: Kernel, types: tuple[Any, ...]) -> str:
    """Compile a kernel; return why that failed, in one line, or nothing."""
    try:
        function = getattr(device.twin(kernel.module), kernel.name)
        code, _ = cuda.compile(function.py_func, types, cc=CAPABILITY, device=True, abi="numba")
    except Exception as error:  # whatever the compiler raises
        return reason(error)
    return HEAP if "NRT_" in code else LIBRARY if "fma.rn.f" in code else ""


# what a kernel that compiles needs beyond what those that run on cards have
HEAP = "+ allocates from the heap of the card, which pliant leaves off"
LIBRARY = "+ calls a function of the card's library, such as acos, whose last digit may differ"


def reason(error: BaseException) -> str:
    """The line of a compiler's message that says most."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    telling = [
        line for line in lines
        if not line.startswith(("Failed in", "During", "File", "- ", "There are", "<source", "***", "Use of unsupp"))
    ]  # fmt: skip
    return f"{type(error).__name__}: {(telling or lines or [''])[0][:160]}"


def digest(source: pathlib.Path) -> str:
    versions = " ".join(f"{name} {card.version(name)}" for name in KEPT)
    seam = [ROOT / "gpu" / name for name in ("jit.py", "scratch.py", "sources.py")]
    return sources.digest({*sources.dependencies(source, ROOT), *seam, pathlib.Path(__file__)}, versions)


def is_callee(cuda: Any, kernel: Kernel) -> bool:
    """Whether another kernel was compiled that calls this one."""
    function = getattr(device.twin(kernel.module), kernel.name, None)
    return bool(getattr(function, "overloads", None))


def compiles(why: str) -> bool:
    return not why or why.startswith("+")


def result(cuda: Any, source: pathlib.Path, kernel: Kernel) -> str:
    """Why a kernel does not compile with any of its signatures; of earlier sources the first may no longer fit."""
    why = "never compiled for the processor: its types are not known"
    for types in signatures(source, kernel)[:3]:
        why = compiled(cuda, kernel, types)
        if compiles(why):
            break
    return why


def file_results(cuda: Any, source: pathlib.Path) -> dict[str, str]:
    """For each kernel of a file why it does not compile; nothing for those that do."""
    kept = cache_root() / "ptx" / f"{digest(source)}.json"
    if kept.exists():
        return dict(json.loads(kept.read_text()))
    results: dict[str, str] = {}
    # the last function of a file usually calls those before it
    for kernel in reversed(kernels_of(source)):
        results[kernel.text] = "" if is_callee(cuda, kernel) else result(cuda, source, kernel)
    if not any("types are not known" in why for why in results.values()):
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text(json.dumps(results))
    return results


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--least", type=float, default=0.0, help="fail below this share, in percent")
    parser.add_argument("--only", default="", help="modules that begin with this")
    options = parser.parse_args()
    if card.version("numba-cuda") is None:
        raise SystemExit(f"numba-cuda is not installed: {card.EXTRA}")
    cuda, began = prepare(), time.process_time()
    results: dict[str, str] = {}
    files = [
        f for f in sorted(ROOT.rglob("*.py")) if f.relative_to(ROOT).parts[0] not in ("gpu", "jit.py") and kernels_of(f)
    ]
    for source in files:
        module = ".".join(source.relative_to(ROOT).with_suffix("").parts)
        if module.startswith(options.only):
            found = file_results(cuda, source)
            results |= found
            print(f"{module}: {sum(map(compiles, found.values()))} of {len(found)}", flush=True)
    for name, why in results.items():
        if why:
            print(f"{name}: {why}")
    good = sum(map(compiles, results.values()))
    for what in (HEAP, LIBRARY):
        print(f"{sum(why == what for why in results.values())} of them: {what}")
    share = 100.0 * good / max(len(results), 1)
    print(f"{good} of {len(results)} kernels compile ({share:.1f} %), {time.process_time() - began:.0f} s")
    return int(share < options.least)


if __name__ == "__main__":
    raise SystemExit(main())

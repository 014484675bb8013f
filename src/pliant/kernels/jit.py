"""The kernel decorator and its three switches.

`@kernel` compiles a function with Numba; `@kernel(parallel=True)` compiles a loop over `prange`. Three environment
variables, read once at import, change this:

- `PLIANT_COMPILE=0` leaves every kernel plain Python, for debuggers and for tests without a compiler;
- `PLIANT_PARALLEL=0` compiles parallel loops as serial ones, because bounds checks do not cover parallel loops;
- `PLIANT_INNER=0` also compiles a Python entry point for kernels that only kernels call; Numba versions that are not in
  `disk_cache.TESTED` always do.

Compiled code is cached on disk (`sources`, `disk_cache`).
"""

import functools
import os
import pathlib
import threading

import numba

from . import disk_cache, shipped, sources
from .cache_folder import cache_root

COMPILED = os.environ.get("PLIANT_COMPILE", "1") not in ("0", "off", "false")
PARALLEL = os.environ.get("PLIANT_PARALLEL", "1") not in ("0", "off", "false")

# Spinning idle threads make every launch wait for a time slice when another process needs the core: measured 2 us alone
# but 1900 us on average beside a second process; sleeping threads cost 10 us and 18 us.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

# omp launches a two-thread loop in 2 us, workqueue in 130, tbb in 340 and more; Numba prefers tbb if it is installed.
if "NUMBA_THREADING_LAYER_PRIORITY" not in os.environ:
    numba.config.THREADING_LAYER_PRIORITY = ["omp", "tbb", "workqueue"]

# workqueue aborts the process when two Python threads launch at once; a lock makes every layer safe and costs 0.1 us.
_launch = threading.RLock()


def _root() -> pathlib.Path:
    return pathlib.Path(__file__).parent


def _switches() -> str:
    return f"{numba.__version__} {COMPILED} {PARALLEL} {numba.config.BOUNDSCHECK} {disk_cache.INNER}"


@functools.cache
def sources_digest() -> str:
    """16 hexadecimal digits that identify all kernel sources, the Numba version and the switches."""
    return sources.digest(_root().rglob("*.py"), _switches())


@functools.cache
def _take_shipped() -> int:
    """Copy the compiled kernels that came with the package into the cache, if this was never done."""
    return shipped.install(cache_root() / "kernels") if COMPILED else 0


@functools.cache
def kernel_cache(source: pathlib.Path) -> pathlib.Path:
    """Folder of the compiled functions of a kernel file, for exactly these sources."""
    _take_shipped()
    return cache_root() / "kernels" / sources.digest(sources.dependencies(source, _root()), _switches())


def is_cached(name: str) -> bool:
    """Return whether the kernel `name` of this package, for example "fields.bake.bake_tiles", was compiled before."""
    module, _, function = name.rpartition(".")
    source = _root().joinpath(*module.split(".")).with_suffix(".py")
    return any(kernel_cache(source).glob(f"**/{source.stem}.{function}-*.nbc"))


def kernel(function=None, *, parallel=False, inline=False):
    """Compile `function`: cached on disk, without the GIL, IEEE arithmetic (fastmath breaks isnan and determinism).

    `inline`: into its callers, whatever its size; a call copies all arrays of a tuple, 0.1 us for twenty of them.
    """
    if function is None:
        return functools.partial(kernel, parallel=parallel, inline=inline)
    if not COMPILED:
        if parallel:
            function.serial = function
        return function
    options = {"nogil": True, "error_model": "numpy", "parallel": parallel and PARALLEL, "no_cfunc_wrapper": True}
    if inline:
        options["forceinline"] = True
    compiled = numba.njit(**options)(function)
    disk_cache.share(compiled, kernel_cache(pathlib.Path(function.__code__.co_filename)))
    return _one_at_a_time(compiled) if parallel else compiled


def _one_at_a_time(compiled):
    """Serialise launches with the lock; `.serial` runs on one thread, for short loops (and busy machines)."""

    @functools.wraps(compiled.py_func)
    def launch(*args):
        with _launch:
            return compiled(*args)

    def serial(*args):
        with _launch:
            read, write = _thread_count()
            before = read()
            if before == 1:
                return compiled(*args)
            write(1)
            try:
                return compiled(*args)
            finally:
                write(before)

    launch.compiled, launch.serial = compiled, serial
    return launch


@functools.cache
def _thread_count():
    """Return the functions that read and write the number of threads: those of the threading layer, 0.4 us together,
    instead of Numba's with their checks, 8 us for reading, writing and writing back."""
    from numba.np.ufunc import parallel

    numba.get_num_threads()  # makes Numba load a threading layer
    read, write = (getattr(parallel, f"_{verb}_num_threads", None) for verb in ("get", "set"))
    return (read, write) if read and write else (numba.get_num_threads, numba.set_num_threads)


def worth(launch, count, least):
    """Return `launch`, or its serial form for fewer than `least` elements: threads take 20 to 100 us to wake."""
    return launch if count >= least else launch.serial


prange = numba.prange if COMPILED else range


def threads() -> int:
    """Return the number of threads of the next launch, from the threading layer itself: Numba's function is slower."""
    return int(_thread_count()[0]())


def set_threads(count: int) -> None:
    numba.set_num_threads(min(max(1, count), numba.config.NUMBA_NUM_THREADS))


def threading_layer() -> str:
    """The threading layer in use, after launching one loop to make Numba choose."""
    if not (COMPILED and PARALLEL):
        return "none (parallel is off)"
    import numpy as np

    _touch(np.zeros(2))
    return str(numba.threading_layer())


@kernel(parallel=True)
def _touch(x):
    for i in prange(len(x)):
        x[i] += 1.0

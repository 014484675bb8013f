"""The one decorator of the engine room, and its two switches.

`@kernel` compiles a function with Numba; `@kernel(parallel=True)` a loop over `prange`. Two environment variables,
read once at import, change what they mean:

- `PLIANT_COMPILE=0` leaves every kernel plain Python, for debuggers and for tests without a compiler;
- `PLIANT_PARALLEL=0` compiles parallel loops as serial ones, because bounds checks do not see inside parallel loops.

The disk cache lives in a folder named after a hash of all kernel sources: Numba notices a change in the file of a
function but not in the files of the functions it calls.
"""

import functools
import hashlib
import os
import pathlib
import sys
import threading

import numba

COMPILED = os.environ.get("PLIANT_COMPILE", "1") not in ("0", "off", "false")
PARALLEL = os.environ.get("PLIANT_PARALLEL", "1") not in ("0", "off", "false")

# Idle threads that spin make every launch wait for a time slice as soon as anything else wants the core: measured 2 us
# alone but 1900 us on average beside a second process; asleep they cost 10 us and 18 us.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

# omp launches a two-thread loop in 2 us, workqueue in 130, tbb in 340 and more; Numba would take tbb where it finds it.
if "NUMBA_THREADING_LAYER_PRIORITY" not in os.environ:
    numba.config.THREADING_LAYER_PRIORITY = ["omp", "tbb", "workqueue"]

# workqueue aborts the process when two Python threads launch at once; a lock makes every layer safe and costs 0.1 us.
_launch = threading.RLock()


def cache_root() -> pathlib.Path:
    """The folder of everything pliant caches; `PLIANT_CACHE` overrides the platform's habit."""
    if chosen := os.environ.get("PLIANT_CACHE"):
        return pathlib.Path(chosen)
    home = pathlib.Path.home()
    if sys.platform == "win32":
        return pathlib.Path(os.environ.get("LOCALAPPDATA", home / "AppData" / "Local")) / "pliant" / "cache"
    if sys.platform == "darwin":
        return home / "Library" / "Caches" / "pliant"
    return pathlib.Path(os.environ.get("XDG_CACHE_HOME", home / ".cache")) / "pliant"


@functools.cache
def kernel_cache() -> pathlib.Path:
    """Where compiled kernels of exactly these sources lie."""
    digest = hashlib.sha256(numba.__version__.encode())
    folder = pathlib.Path(__file__).parent
    for source in sorted(folder.glob("**/*.py")):
        digest.update(source.relative_to(folder).as_posix().encode() + b"\0" + source.read_bytes() + b"\0")
    digest.update(f"{COMPILED} {PARALLEL} {numba.config.BOUNDSCHECK}".encode())
    return cache_root() / "kernels" / digest.hexdigest()[:16]


def kernel(function=None, *, parallel=False):
    """Compile `function`: cached on disk, without the GIL, IEEE arithmetic (fastmath breaks isnan and the bits)."""
    if function is None:
        return functools.partial(kernel, parallel=parallel)
    if not COMPILED:
        if parallel:
            function.serial = function
        return function
    folder, numba.config.CACHE_DIR = numba.config.CACHE_DIR, str(kernel_cache())
    try:
        compiled = numba.njit(
            cache=True,
            nogil=True,
            error_model="numpy",
            parallel=parallel and PARALLEL,
        )(function)
    finally:
        numba.config.CACHE_DIR = folder
    return _one_at_a_time(compiled) if parallel else compiled


def _one_at_a_time(compiled):
    """Guard launches by the lock; `.serial` runs on one thread, for loops too short to share (and busy machines)."""

    @functools.wraps(compiled.py_func)
    def launch(*args):
        with _launch:
            return compiled(*args)

    def serial(*args):
        with _launch:
            before = numba.get_num_threads()
            numba.set_num_threads(1)
            try:
                return compiled(*args)
            finally:
                numba.set_num_threads(before)

    launch.compiled, launch.serial = compiled, serial
    return launch


def worth(launch, count, least):
    """`launch`, or where `count` elements are fewer than `least` the serial form: threads take 20 to 100 us to wake."""
    return launch if count >= least else launch.serial


prange = numba.prange if COMPILED else range


def threads() -> int:
    return numba.get_num_threads()


def set_threads(count: int) -> None:
    numba.set_num_threads(min(max(1, count), numba.config.NUMBA_NUM_THREADS))


def threading_layer() -> str:
    """The layer in use, after launching one loop to make Numba choose."""
    if not (COMPILED and PARALLEL):
        return "none (parallel is off)"
    import numpy as np

    _touch(np.zeros(2))
    return str(numba.threading_layer())


@kernel(parallel=True)
def _touch(x):
    for i in prange(len(x)):
        x[i] += 1.0

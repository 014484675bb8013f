"""Compiled kernels on disk, shared by all processes and checkouts with the same sources.

Numba keys its cache by the path and the time stamp of a source file, and two processes that miss the same kernel both
compile it. Here the folder represents the contents of the sources (see `jit.kernel_cache`), and a file lock makes the
second process wait for the first and then load. The lock also prevents two processes from assigning the same number to
the code of two signatures, which Numba's own index does not.
"""

import contextlib
import os
import pathlib
import threading
import time

from numba.core.caching import CompileResultCacheImpl, FunctionCache, _CacheLocator
from numba.core.compiler_lock import global_compiler_lock

PATIENCE = 300.0  # seconds to wait for another process, which may have been stopped; then both compile
PAUSE = 0.02
_held = threading.local()


class _Locator(_CacheLocator):
    """A folder that represents its sources, whose time stamps are ignored."""

    def __init__(self, py_func) -> None:
        self._line, self._folder = py_func.__code__.co_firstlineno, py_func.folder

    @classmethod
    def from_function(cls, py_func, py_file):
        return cls(py_func)

    def get_cache_path(self) -> str:
        return str(self._folder)

    def get_source_stamp(self) -> str:
        return "contents"

    def get_disambiguator(self) -> str:
        return str(self._line)


class _Impl(CompileResultCacheImpl):
    _locator_classes = (_Locator,)


class _Cache(FunctionCache):
    _impl_class = _Impl


def share(compiled, folder: pathlib.Path) -> None:
    """Let a Numba dispatcher store its code in `folder`, and avoid compiling what another process is compiling."""
    compiled.py_func.folder = folder
    cache, compile_it = _Cache(compiled.py_func), compiled.compile
    compiled._cache = cache
    path = folder / f"{cache._impl.filename_base}.lock"

    def compile_once(signature):
        with global_compiler_lock:
            key = cache._index_key(signature, compiled.targetctx.codegen())
            if key in cache._cache_file._load_index():
                return compile_it(signature)
            with locked(path):
                return compile_it(signature)

    compiled.compile = compile_once


@contextlib.contextmanager
def locked(path: pathlib.Path):
    """Hold the lock file; continues without it if this thread already holds it, or if it cannot be created."""
    held = _held.__dict__.setdefault("paths", set())
    if path in held:
        yield
        return
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = os.open(path, os.O_RDWR | os.O_CREAT)
    except OSError:  # a cache that cannot be written: Numba reports it where it matters
        yield
        return
    held.add(path)
    try:
        end = time.monotonic() + PATIENCE
        while not _try(file) and time.monotonic() < end:
            time.sleep(PAUSE)
        yield
    finally:
        held.discard(path)
        os.close(file)


if os.name == "nt":
    import msvcrt

    def _try(file: int) -> bool:
        try:
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:
    import fcntl

    def _try(file: int) -> bool:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        return True

"""Compiled kernels on disk, shared by all processes and checkouts with the same sources.

Numba keys its cache by the path and the time stamp of a source file, and two processes that miss the same kernel both
compile it. Here the folder represents the contents of the sources (see `jit.kernel_cache`), and a file lock makes the
second process wait for the first and then load. The lock also prevents two processes from assigning the same number to
the code of two signatures, which Numba's own index does not.
"""

import contextlib
import functools
import gc
import os
import pathlib
import threading
import time

import numba
from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile, _CacheLocator
from numba.core.compiler_lock import global_compiler_lock
from numba.core.sigutils import normalize_signature

from . import shipped
from .call_signatures import call_template, remembered
from .deferred_wrappers import InnerCacheImpl, inner_compiler, inner_loops, is_inner, set_environments, with_entry

# inner kernels rely on internals of Numba: with versions not listed here, every kernel is compiled separately
TESTED = ("0.68.",)
INNER = numba.__version__.startswith(TESTED) and os.environ.get("PLIANT_INNER", "1") not in ("0", "off", "false")
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


class _InnerImpl(InnerCacheImpl):
    _locator_classes = (_Locator,)


class _CacheFile(IndexDataCacheFile):
    """Files that cannot be read count as absent: damaged ones, and those of types that have since been renamed."""

    def _load_index(self):
        try:
            return shipped.with_baseline(super()._load_index())
        except Exception:  # unpickling may raise anything
            return {}

    def load(self, key):
        try:
            return super().load(key)
        except Exception:
            return None


class _Cache(FunctionCache):
    _impl_class = _Impl

    def __init__(self, py_func) -> None:
        super().__init__(py_func)
        file = self._cache_file
        self._cache_file = _CacheFile(file._cache_path, self._impl.filename_base, file._source_stamp)

    def has(self, compiled, signature) -> bool:
        return self._index_key(signature, compiled.targetctx.codegen()) in self._cache_file._load_index()


class _InnerCache(_Cache):
    _impl_class = _InnerImpl


def share(compiled, folder: pathlib.Path) -> None:
    """Let a Numba dispatcher store its code in `folder`, and avoid compiling what another process is compiling.

    A kernel that another kernel calls is compiled as an inner one; see `deferred_wrappers`.
    """
    compiled.py_func.folder = folder
    if not INNER:
        _share_whole(compiled, folder)
        return
    cache, inner_cache = _Cache(compiled.py_func), _InnerCache(compiled.py_func)
    usual, inner = (compiled._compiler, cache), (inner_compiler(compiled), inner_cache)
    compile_it, add_it = compiled.compile, compiled.add_overload
    path = folder / f"{cache._impl.filename_base}.lock"
    compiled._cache = cache

    def compile_with(tools, signature):
        compiled._compiler, compiled._cache = tools
        loops = contextlib.nullcontext() if tools is inner else inner_loops(compiled.targetctx.codegen())
        try:
            with loops:
                return compile_it(signature)
        finally:
            compiled._compiler, compiled._cache = usual

    def obtain(signature, args, for_kernel):
        if for_kernel and (inner_cache.has(compiled, signature) or not cache.has(compiled, signature)):
            return compile_with(inner, signature)
        found = compiled.overloads.pop(args, None)
        if not cache.has(compiled, signature):
            if found is None and inner_cache.has(compiled, signature):
                compile_with(inner, signature)
                found = compiled.overloads.pop(args, None)
            if found is not None:
                result = with_entry(found)
                compiled.add_overload(result)
                cache.save_overload(signature, result)
        return compile_with(usual, signature)

    def compile_once(signature):
        with global_compiler_lock, _nested() as for_kernel:
            args = tuple(normalize_signature(signature)[0])
            found = compiled.overloads.get(args)
            if found is not None and (for_kernel or not is_inner(found)):
                return found.entry_point
            stored = cache.has(compiled, signature) or (for_kernel and inner_cache.has(compiled, signature))
            with contextlib.nullcontext() if stored else locked(path):
                return obtain(signature, args, for_kernel)

    def add(result):
        if is_inner(result):
            compiled.overloads[tuple(result.signature.args)] = result
        else:
            set_environments(result)
            add_it(result)

    compiled.compile, compiled.add_overload = compile_once, add
    compiled.get_call_template = functools.partial(call_template, compiled)


def _share_whole(compiled, folder: pathlib.Path) -> None:
    """As `share`, but every kernel is compiled for Python too."""
    cache, compile_it = _Cache(compiled.py_func), compiled.compile
    path = folder / f"{cache._impl.filename_base}.lock"
    compiled._cache = cache

    def compile_once(signature):
        with global_compiler_lock, contextlib.nullcontext() if cache.has(compiled, signature) else locked(path):
            return compile_it(signature)

    compiled.compile = compile_once


@contextlib.contextmanager
def _nested():
    """Whether a kernel is being compiled for another one; without garbage collection, which finds nothing to free."""
    from .lean_compiler import lean  # here: it replaces parts of Numba that other versions may not have

    depth, collecting = getattr(_held, "depth", 0), gc.isenabled()
    _held.depth = depth + 1
    gc.disable()
    try:
        with contextlib.ExitStack() as stack:
            if not depth:
                stack.enter_context(remembered())
                stack.enter_context(lean())
            yield depth > 0
    finally:
        _held.depth = depth
        if collecting:
            gc.enable()


@contextlib.contextmanager
def locked(path: pathlib.Path):
    """Hold the lock file. Continue without it if this thread already holds it, if it cannot be created, or if another
    process holds it for longer than PATIENCE."""
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

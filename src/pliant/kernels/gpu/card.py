"""The graphics card and what it needs: the package numba-cuda, a driver, a toolkit. Examining them raises nothing."""

import functools
import importlib
import importlib.metadata
from typing import NamedTuple

import numpy as np

from .simulated import SIMULATED

EXTRA = 'pip install "pliant[cuda]"'
TESTED = "0.30."  # versions of numba-cuda whose internals `entries` relies on
OLD_NAME = "row_stack"  # of np.vstack, which numba-cuda 0.30 looks up
TOOLKIT = ("nvidia-nvvm", "nvidia-nvjitlink", "nvidia-cuda-runtime")  # compiler, linker, runtime


class Card(NamedTuple):
    """What was found; None where it is missing."""

    package: str | None  # version of numba-cuda
    driver: str | None  # the CUDA version that the driver supports
    toolkit: str | None  # versions of compiler and linker
    name: str | None  # of the first card
    capability: str | None  # its compute capability
    memory: int | None  # bytes
    free: int | None  # bytes
    missing: str  # the first thing that is missing, in a few words; empty if kernels can run
    advice: str  # how to get it


def version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


@functools.cache
def module():
    """`numba.cuda`. Version 0.30 of numba-cuda expects a function that NumPy 2.5 no longer has."""
    lacking = not hasattr(np, OLD_NAME)
    if lacking:
        setattr(np, OLD_NAME, np.vstack)
    try:
        from numba import cuda

        if lacking and not SIMULATED:
            importlib.import_module("numba.cuda.np.arrayobj")  # numba-cuda imports it when it first compiles
    finally:
        if lacking:
            delattr(np, OLD_NAME)
    return cuda


def __getattr__(name: str):
    """`from .card import cuda`: `numba.cuda`, imported when it is first asked for."""
    if name == "cuda":
        return module()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _toolkit() -> str | None:
    found = [f"{name.removeprefix('nvidia-')} {have}" for name in TOOLKIT if (have := version(name))]
    if found:
        return ", ".join(found)
    try:  # not from packages: an installed toolkit
        major, minor = module().cudadrv.nvvm.NVVM().get_version()
        return f"nvvm {major}.{minor}"
    except Exception:
        return None


@functools.cache
def examine() -> Card:
    """What there is of all that running kernels on a card needs."""
    package = version("numba-cuda")
    if SIMULATED:
        return Card(package, None, None, "Numba's simulator", None, None, None, "", "")
    nothing = Card(package, None, None, None, None, None, None, "", "")
    if package is None:
        return nothing._replace(missing="numba-cuda is not installed", advice=EXTRA)
    if not package.startswith(TESTED):
        return nothing._replace(missing=f"numba-cuda {package} is not a tested version ({TESTED}*)", advice=EXTRA)
    try:
        cuda = module()
    except Exception as error:  # whatever a broken installation raises
        return nothing._replace(missing=f"numba-cuda cannot be imported: {_line(error)}", advice=EXTRA)
    found = nothing._replace(toolkit=_toolkit())
    try:
        driver = cuda.cudadrv.driver.driver
        driver.ensure_initialized()
        found = found._replace(driver=".".join(str(part) for part in driver.get_version()))
        count = len(cuda.gpus)
    except Exception as error:
        return found._replace(
            missing=f"no driver of a graphics card ({_line(error)})", advice="install NVIDIA's driver"
        )
    if count == 0:
        return found._replace(missing="no graphics card", advice="CUDA_VISIBLE_DEVICES may hide it")
    try:
        context = cuda.current_context()
        memory = context.get_memory_info()
        capability = ".".join(str(part) for part in context.device.compute_capability)
        name = context.device.name
        name = name.decode() if isinstance(name, bytes) else str(name)
        found = found._replace(name=name, capability=capability, memory=int(memory.total), free=int(memory.free))
    except Exception as error:
        return found._replace(missing=f"the graphics card cannot be used: {_line(error)}", advice="check nvidia-smi")
    if found.toolkit is None:
        return found._replace(missing="no CUDA toolkit", advice=EXTRA)
    return found


def _line(error: BaseException) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__

"""Description of the machine of a measurement, without names of hosts and folders."""

import importlib.metadata
import os
import pathlib
import platform
from typing import Any

from pliant import __version__
from pliant.kernels.jit import threading_layer


def name() -> str:
    """A folder name for this kind of machine: `2-core-x86_64`."""
    return f"{cores()}-core-{platform.machine().lower() or 'unknown'}"


def cores() -> int:
    return os.cpu_count() or 1


def load() -> float | None:
    """Load average of the last minute, including this process; None where the system does not provide it."""
    try:
        return round(os.getloadavg()[0], 2)
    except (AttributeError, OSError):
        return None


def about() -> dict[str, Any]:
    """The description as plain values, stored with the results."""
    versions = {package: importlib.metadata.version(package) for package in ("numpy", "numba", "scipy")}
    return {
        "machine": name(),
        "processor": processor(),
        "system": platform.system(),
        "python": platform.python_version(),
        "pliant": __version__,
        **versions,
        "threading_layer": threading_layer(),
    }


def processor() -> str:
    """The processor model as the system reports it."""
    try:
        for line in pathlib.Path("/proc/cpuinfo").read_text("utf-8").splitlines():
            if line.startswith("model name"):
                return " ".join(line.partition(":")[2].split())
    except OSError:
        pass
    return platform.processor() or platform.machine() or "unknown"

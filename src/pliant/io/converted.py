"""Files that are read by a program of its own: it writes arrays and facts to a folder, from which a mesh is made.

USD is read so, and Draco decoded, because their libraries may end the process on a damaged file, and what Blender
reads, because Blender has a Python and NumPy of its own. The program only needs NumPy; `Refused` carries its errors.
"""

import contextlib
import json
import os
import pathlib
import signal
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..mesh.polygons import fan
from .reading import Input, Parts, check_frames, check_indices

_SECONDS = 1800.0  # longest time that a program may take
_SPARE = 384 << 20  # bytes that a library may use beside what it decodes
_STACK = 16 << 20  # bytes of a thread
_FACTS, _ARRAYS, _ERROR = "facts.json", "arrays.npz", "error.json"


class Refused(Exception):
    """Why a file cannot be read, and where."""


class Converted(NamedTuple):
    """A mesh and its frames (T,n,3) in metres with y up. facts: what else the program said, such as `fps`."""

    parts: Parts
    frames: NDArray[np.float64]
    facts: dict[str, Any]


def save_converted(folder: str, read: Callable[[], tuple[dict[str, Any], dict[str, Any]]]) -> None:
    """In the program: write what `read` returns, or why it refuses."""
    target = pathlib.Path(folder)
    try:
        facts, arrays = read()
    except Refused as refused:
        (target / _ERROR).write_text(json.dumps(refused.args), "utf-8")
        return
    np.savez(target / _ARRAYS, **arrays)
    (target / _FACTS).write_text(json.dumps(facts), "utf-8")


def guard_memory(most: int) -> None:
    """In the program: allow so many bytes more than now for what is decoded, where the platform can say so."""
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        now = int(pathlib.Path("/proc/self/statm").read_text().split()[5]) * resource.getpagesize()
        limit = now + most + _SPARE + _STACK * (os.cpu_count() or 1)
        resource.setrlimit(resource.RLIMIT_DATA, (limit, resource.getrlimit(resource.RLIMIT_DATA)[1]))


def convert(file: Input, command: Sequence[str], library: str) -> Converted:
    """Run `command` with a folder in place of {folder}; raises MeshFileError with what it says."""
    return _converted(file, *answer(file, command, library))


def answer(
    file: Input, command: Sequence[str], library: str, inputs: Mapping[str, bytes] | None = None
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return the facts and arrays that `command` writes to {folder}, in which it finds the files `inputs`."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for given, content in (inputs or {}).items():
            (folder / given).write_bytes(content)
        words = [word.replace("{folder}", name) for word in command]
        try:
            ended = subprocess.run(words, capture_output=True, timeout=_SECONDS, check=False, stdin=subprocess.DEVNULL)
        except subprocess.TimeoutExpired:
            raise file.fail("", f"{library} took more than {_SECONDS / 60:g} minutes") from None
        if (folder / _ERROR).is_file():
            raise file.fail(*json.loads((folder / _ERROR).read_text("utf-8")))
        if not (folder / _FACTS).is_file():
            said = [line for line in ended.stderr.decode("utf-8", "replace").splitlines() if line.strip()]
            why = said[-1].strip()[:300] if said and ended.returncode >= 0 else _end(ended.returncode)
            raise file.fail("", f"{library} cannot read it ({why})")
        facts = json.loads((folder / _FACTS).read_text("utf-8"))
        with np.load(folder / _ARRAYS, allow_pickle=False) as arrays:
            return facts, dict(arrays)


def _end(code: int) -> str:
    """How a program ended that did not say why."""
    with contextlib.suppress(ValueError):
        return f"it crashed with {signal.Signals(-code).name}"
    return f"it ended with exit code {code}"


def _converted(file: Input, facts: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Converted:
    frames = arrays["frames"]
    check_frames(file, frames, "frame")
    check_indices(file, arrays["corners"], frames.shape[1], lambda k: f"corner {k}")
    corner, polygon = fan(arrays["counts"])
    uv = arrays["uv"][corner] if "uv" in arrays else None
    materials = tuple(
        {**entry, "color": tuple(entry["color"])} if "color" in entry else entry for entry in facts["materials"]
    )
    parts = Parts(
        frames[0], arrays["corners"][corner], uv=uv, material=arrays["material"][polygon], materials=materials
    )
    return Converted(parts, frames, facts)

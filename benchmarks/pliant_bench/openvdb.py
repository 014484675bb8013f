"""OpenVDB by a small C++ program (openvdb.cpp), compiled once and kept in the cache folder."""

import contextlib
import functools
import hashlib
import os
import pathlib
import re
import secrets
import shutil
import subprocess
import tempfile
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from pliant.kernels.cache_folder import cache_root

from . import machine

Floats = NDArray[np.float64]
SOURCE = pathlib.Path(__file__).with_name("openvdb.cpp")
FLAGS = ("-O3", "-march=native", "-std=c++17")
LIBRARIES = ("-lopenvdb", "-ltbb")
_VERSION = re.compile(r"#define OPENVDB_LIBRARY_(MAJOR|MINOR|PATCH)_VERSION_NUMBER (\d+)")


class OpenVDBError(OSError):
    """The program could not be built, or did not respond."""


@functools.cache
def version() -> str | None:
    """Version of the headers that g++ finds; None without g++ or libopenvdb-dev."""
    if shutil.which("g++") is None:
        return None
    ask = ["g++", "-E", "-dM", "-x", "c++", "-include", "openvdb/version.h", os.devnull]
    told = subprocess.run(ask, capture_output=True, text=True, check=False)
    found = dict(_VERSION.findall(told.stdout))
    return ".".join(found[k] for k in ("MAJOR", "MINOR", "PATCH")) if len(found) == 3 else None


def program() -> pathlib.Path:
    """Path of the compiled program for this source, compiler, library and processor; it may not exist yet."""
    compiler = subprocess.run(["g++", "--version"], capture_output=True, check=False).stdout
    facts = [SOURCE.read_bytes(), compiler, " ".join(FLAGS).encode(), str(version()).encode()]
    key = hashlib.sha256(b"\0".join([*facts, machine.processor().encode()])).hexdigest()
    return cache_root() / "peers" / f"openvdb-{key[:16]}"


def build() -> pathlib.Path:
    """The compiled program; the first call takes about a minute. The file is written atomically."""
    target = program()
    if target.exists():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    half = target.with_name(f".{target.name}.{os.getpid()}-{secrets.token_hex(4)}")
    command = ["g++", *FLAGS, str(SOURCE), "-o", str(half), *LIBRARIES]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            why = next((line for line in done.stderr.splitlines() if "error" in line), f"exit code {done.returncode}")
            raise OpenVDBError(f"does not compile: {why.rpartition('error: ')[2].strip()}")
        os.replace(half, target)
    finally:
        half.unlink(missing_ok=True)
    return target


class OpenVDB:
    """The running program: it takes a mesh, then bakes and samples. All lengths in metres."""

    def __init__(self, process: "subprocess.Popen[str]", folder: pathlib.Path) -> None:
        self._process, self._folder = process, folder

    def mesh(self, vertices: Floats, faces: NDArray[np.int32], origin: Floats) -> None:
        """Send the arrays in single precision, translated so that node (0, 0, 0) is at `origin`."""
        path = self._folder / "mesh"
        with open(path, "wb") as stream:
            np.array([len(vertices), len(faces)], np.int64).tofile(stream)
            (vertices - origin).astype(np.float32).tofile(stream)
            faces.astype(np.uint32).tofile(stream)
        self._ask("mesh", path)

    def bake(self, h: float, band: float, threads: int) -> tuple[float, int, int]:
        """Seconds of meshToLevelSet, number of voxels in the band, bytes."""
        seconds, active, size = self._ask("bake", repr(h), band, threads)
        return float(seconds), int(active), int(size)

    def nodes(self, nodes: NDArray[np.int32]) -> Floats:
        """Distances (n,) at nodes (n,3), nan at nodes outside of the band."""
        given, answer = self._folder / "nodes", self._folder / "values"
        np.ascontiguousarray(nodes, np.int32).tofile(given)
        self._ask("nodes", given, answer)
        return np.fromfile(answer, np.float32).astype(np.float64)

    def points(self, points: Floats, origin: Floats) -> None:
        path = self._folder / "points"
        (points - origin).astype(np.float32).tofile(path)
        self._ask("points", path)

    def sample(self, threads: int, *, fresh: bool = False) -> float:
        """Seconds for distance and gradient at all points; `fresh` allocates the results within that time."""
        return float(self._ask("sample", threads, int(fresh), "-")[0])

    def sampled(self, threads: int) -> NDArray[np.float32]:
        """Distance and gradient (n,4) at all points."""
        answer = self._folder / "sampled"
        self._ask("sample", threads, 0, answer)
        return np.fromfile(answer, np.float32).reshape(-1, 4)

    def _ask(self, *words: object) -> list[str]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(" ".join(map(str, words)) + "\n")
            self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise OpenVDBError(f"the program of OpenVDB ended at {words[0]!r} with exit code {self._process.wait()}")
        return line.split()


@contextlib.contextmanager
def started() -> Iterator[OpenVDB]:
    """OpenVDB while the block runs."""
    path = build()
    with tempfile.TemporaryDirectory(prefix="pliant-bench-") as folder:
        process = subprocess.Popen([path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        try:
            yield OpenVDB(process, pathlib.Path(folder))
        finally:
            process.kill()
            process.communicate()

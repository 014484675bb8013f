"""Atomic writing of files, used by everything that writes, and a test of whether a folder is writable."""

import contextlib
import functools
import hashlib
import os
import pathlib
import platform
import secrets
import sys
import tempfile
import time
from collections.abc import Iterator
from typing import IO, Any

_SUFFIX = ".pliant-tmp"
FORGOTTEN = 3600.0  # seconds after which a temporary file of another machine is considered abandoned


@contextlib.contextmanager
def atomic_write(path: str | os.PathLike[str], mode: str = "wb") -> Iterator[IO[Any]]:
    """Open a temporary file next to `path` that replaces it when the block ends without an exception.

    A crash at any moment leaves either the old or the new file. Temporary files of killed processes are removed by the
    next write to the same path, those of other machines after an hour. Errors of the file system name `path`. Symbolic
    links are followed, devices are written directly.
    """
    target = pathlib.Path(path)
    if target.is_symlink():
        target = target.resolve()
    if target.is_dir():
        raise IsADirectoryError(f"{target} is a folder; give a file name")
    if target.exists() and not target.is_file():
        with open(target, mode) as device:
            yield device
        return
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        _sweep(target)
        temporary = target.with_name(f".{target.name}.{os.getpid()}-{_host()}-{secrets.token_hex(4)}{_SUFFIX}")
        # newline="" makes text files identical on every platform
        text = {} if "b" in mode else {"encoding": "utf-8", "newline": ""}
        stream = open(temporary, mode, **text)  # type: ignore[call-overload]
    except OSError as error:
        raise type(error)(error.errno, f"cannot write {target}: {error.strerror}") from error
    try:
        with stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, target)
    except BaseException as error:
        with contextlib.suppress(OSError):
            temporary.unlink()
        if isinstance(error, OSError):
            raise type(error)(error.errno, f"cannot write {target}: {error.strerror}") from error
        raise
    _sync_folder(target.parent)


def check_writable(folder: pathlib.Path) -> None:
    """Raise OSError if no file can be created in the folder or, where it is missing, in its nearest ancestor."""
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    with tempfile.NamedTemporaryFile(dir=folder, prefix=".pliant-") as probe, contextlib.suppress(OSError):
        probe.write(b"?")


def _sync_folder(folder: pathlib.Path) -> None:
    """Make the rename durable; not needed on Windows, which cannot open folders."""
    if sys.platform == "win32":
        return
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _sweep(target: pathlib.Path) -> None:
    """Remove temporary files of `target` whose writing process no longer exists, or which are considered abandoned."""
    for stale in target.parent.glob(f".{_escape(target.name)}.*{_SUFFIX}"):
        with contextlib.suppress(OSError):  # on Windows open files cannot be deleted, as intended
            writer, _, rest = stale.name[len(target.name) + 2 :].partition("-")
            if rest.startswith(f"{_host()}-") and writer.isdigit():
                gone = not _alive(int(writer))
            else:  # written by another machine, whose processes cannot be queried
                gone = time.time() - stale.stat().st_mtime > FORGOTTEN
            if gone:
                stale.unlink()


@functools.cache
def _host() -> str:
    """Return a short identifier of this machine."""
    return hashlib.sha256(platform.node().encode()).hexdigest()[:8]


def _escape(name: str) -> str:
    return "".join(f"[{c}]" if c in "*?[" else c for c in name)


def _alive(pid: int) -> bool:
    if pid == os.getpid():
        return True
    if sys.platform == "win32":
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True

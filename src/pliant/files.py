"""Files that survive crashes: one way to write, used by everything that writes."""

import contextlib
import functools
import hashlib
import os
import pathlib
import platform
import secrets
import sys
import time
from collections.abc import Iterator
from typing import IO, Any

_SUFFIX = ".pliant-tmp"
FORGOTTEN = 3600.0  # seconds after which what another machine began to write is taken for left behind


@contextlib.contextmanager
def atomic_write(path: str | os.PathLike[str], mode: str = "wb") -> Iterator[IO[Any]]:
    """Open a temporary file beside `path` that replaces it when the block ends well; until then the old one stands.

    A crash at any moment leaves the old file or the new one. What a killed process left behind is removed by the
    next write to the same path, on another machine an hour later. Errors of the file system name `path`. A link is
    followed, a device written to.
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
        # newline="" keeps text files the same bytes on every platform
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


def _sync_folder(folder: pathlib.Path) -> None:
    """Make the rename itself durable; Windows cannot open folders and needs no such thing."""
    if sys.platform == "win32":
        return
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _sweep(target: pathlib.Path) -> None:
    """Remove temporaries of `target` whose writer is gone."""
    for stale in target.parent.glob(f".{_escape(target.name)}.*{_SUFFIX}"):
        with contextlib.suppress(OSError):  # on Windows a file still open refuses, which is what we want
            writer, _, rest = stale.name[len(target.name) + 2 :].partition("-")
            if rest.startswith(f"{_host()}-") and writer.isdigit():
                gone = not _alive(int(writer))
            else:  # of another machine that shares the folder: its processes cannot be asked
                gone = time.time() - stale.stat().st_mtime > FORGOTTEN
            if gone:
                stale.unlink()


@functools.cache
def _host() -> str:
    """A short name of this machine."""
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

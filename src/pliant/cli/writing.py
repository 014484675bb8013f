"""Where results will go, looked at before the work: an hour of computing must not end with "no such folder"."""

import contextlib
import pathlib
import tempfile
from collections.abc import Sequence


def check_targets(
    targets: Sequence[tuple[str, pathlib.Path | None, Sequence[str]]], inputs: Sequence[pathlib.Path | None] = ()
) -> None:
    """Each target is (option, path or None, endings it may have). Raises ValueError or OSError, writes nothing."""
    sources = [path.resolve() for path in inputs if path is not None]
    seen: dict[pathlib.Path, str] = {}
    for option, path, endings in targets:
        if path is None:
            continue
        if path.suffix.lower() not in endings and not path.is_dir():
            raise ValueError(f"{option} {path}: unknown ending {path.suffix!r}; one of: {', '.join(endings)}")
        place = path.resolve()
        if place in sources:
            raise ValueError(f"{option} {path} would overwrite a file that is read; choose another name")
        if place in seen:
            raise ValueError(f"{seen[place]} and {option} are the same file, {path}")
        seen[place] = option
        check_place(path)


def check_place(path: pathlib.Path) -> None:
    """Can a file be made there? Folders that do not exist yet will be, so the nearest that does is asked."""
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; give a file name")
    folder = path.resolve().parent
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    try:
        with tempfile.NamedTemporaryFile(dir=folder, prefix=".pliant-") as probe, contextlib.suppress(OSError):
            probe.write(b"?")
    except OSError as error:
        raise type(error)(error.errno, f"cannot write {path}: {error.strerror}") from None

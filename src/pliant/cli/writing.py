"""Checks of output paths before the computation starts, so that long runs do not end with "no such folder"."""

import contextlib
import pathlib
import tempfile
from collections.abc import Sequence


def check_targets(
    targets: Sequence[tuple[str, pathlib.Path | None, Sequence[str]]], inputs: Sequence[pathlib.Path | None] = ()
) -> None:
    """Check targets, each (option, path or None, allowed extensions); raises ValueError or OSError, writes nothing."""
    sources = [path.resolve() for path in inputs if path is not None]
    seen: dict[pathlib.Path, str] = {}
    for option, path, endings in targets:
        if path is None:
            continue
        if path.suffix.lower() not in endings and not path.is_dir():
            raise ValueError(f"{option} {path}: unknown extension {path.suffix!r}; one of: {', '.join(endings)}")
        place = path.resolve()
        if place in sources:
            raise ValueError(f"{option} {path} would overwrite an input file; choose another name")
        if place in seen:
            raise ValueError(f"{seen[place]} and {option} are the same file, {path}")
        seen[place] = option
        check_place(path)


def check_place(path: pathlib.Path) -> None:
    """Raise OSError where no file can be created at the path; missing folders are tested at their nearest ancestor."""
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

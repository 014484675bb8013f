"""Exceptions of pliant; invalid arrays raise a plain `ValueError` that names the array and the index."""

import os


class MeshFileError(Exception):
    """A file could not be read: `path`, `where` in it (line, byte, accessor), and `why`."""

    def __init__(self, path: str | os.PathLike[str], where: str, why: str) -> None:
        self.path = os.fspath(path)
        self.where = where
        self.why = why
        super().__init__(self.path, where, why)

    def __str__(self) -> str:
        place = f" ({self.where})" if self.where else ""
        return f"{self.path}{place}: {self.why}"


class TooBigError(ValueError):
    """An operation would need more memory than allowed; raised before allocation."""

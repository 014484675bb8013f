"""The source files that a kernel depends on: its own and every kernel file imported from there, as one hash.

Numba's disk cache detects a change in the file of a function but not in the files of the functions it calls. Compiled
code is therefore stored in one folder per kernel file, named after the hash of that file and of all it imports: a
change recompiles everything that depends on it, and nothing else.
"""

import functools
import hashlib
import pathlib
import re

_IMPORT = re.compile(r"^\s*from\s+(\.*)([\w.]*)\s+import\s+(\([^)]*\)|[^\n]*)", re.MULTILINE)


def digest(files, switches: str) -> str:
    """16 hexadecimal digits that identify the contents and names of some source files, and the switches."""
    total = hashlib.sha256(switches.encode())
    for file in sorted(files):
        total.update(f"{file.parent.name}/{file.name}".encode() + b"\0" + file.read_bytes() + b"\0")
    return total.hexdigest()[:16]


def dependencies(source: pathlib.Path, root: pathlib.Path) -> set[pathlib.Path]:
    """A kernel file and all kernel files below `root` that it imports, directly or indirectly; always `jit`."""
    found: set[pathlib.Path] = set()
    waiting = [root / "jit.py", source]
    while waiting:
        file = waiting.pop()
        if file not in found:
            found.add(file)
            waiting += imported(file, root)
    return found


@functools.cache
def imported(source: pathlib.Path, root: pathlib.Path) -> list[pathlib.Path]:
    """The kernel files that one file imports: relative imports, and absolute ones from `pliant.kernels`."""
    found = []
    for dots, module, names in _IMPORT.findall(source.read_text(encoding="utf-8")):
        if dots:
            folder = source.parents[len(dots) - 1]
        elif module == "pliant.kernels" or module.startswith("pliant.kernels."):
            folder, module = root, module.removeprefix("pliant.kernels").removeprefix(".")
        else:
            continue
        base = folder.joinpath(*module.split(".")) if module else folder
        if base.with_suffix(".py").is_file():
            found.append(base.with_suffix(".py"))
            continue
        for name in (part.split()[0] for part in names.split("#")[0].strip("()").split(",") if part.strip()):
            if (base / f"{name}.py").is_file():
                found.append(base / f"{name}.py")
    return found

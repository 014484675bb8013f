"""The modules of `kernels/` a second time, with `jit` and `per_task` of the card: one source for threads and CUDA.

`twin("fields.bricks")` imports `kernels/fields/bricks.py` as `pliant.kernels.twins.fields.bricks`. Its relative imports
lead to twins too, so that every function it calls is compiled for the card as well.
"""

import importlib
import importlib.machinery
import importlib.util
import pathlib
import sys
import types

ROOT = pathlib.Path(__file__).parent.parent
PACKAGE = f"{__package__.rpartition('.')[0]}.twins"
REPLACED = {"jit": "gpu/jit.py", "per_task": "gpu/per_task.py"}


class _Finder:
    """Finds the sources of twins."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name != PACKAGE and not name.startswith(f"{PACKAGE}."):
            return None
        inner = name.removeprefix(PACKAGE).removeprefix(".")
        base = ROOT.joinpath(*inner.split(".")) if inner else ROOT
        if base.is_dir():
            return importlib.machinery.ModuleSpec(name, None, is_package=True)
        file = ROOT / REPLACED.get(inner, f"{inner.replace('.', '/')}.py")
        return importlib.util.spec_from_file_location(name, file) if file.is_file() else None


def twin(name: str) -> types.ModuleType:
    """The module `name` of `kernels/`, for example "fields.bricks", on the card."""
    if _Finder not in sys.meta_path:
        sys.meta_path.insert(0, _Finder)
    return importlib.import_module(f"{PACKAGE}.{name}")

"""Memory used by an object."""

from typing import Any

import numpy as np

from ..mesh import Mesh


def nbytes(built: Any, meshes: tuple[Mesh, ...] = ()) -> int:
    """Bytes of all NumPy arrays reachable from `built`, each counted once, without those of `meshes`."""
    seen: set[int] = set()
    for mesh in meshes:
        _walk(mesh, seen)
    return _walk(built, seen)


def _walk(root: Any, seen: set[int]) -> int:
    """Bytes of arrays reachable from `root` that are not in `seen`; adds them to `seen`."""
    total, todo = 0, [root]
    while todo:
        what = todo.pop()
        while isinstance(what, np.ndarray) and isinstance(what.base, np.ndarray):
            what = what.base  # a view owns no memory
        if id(what) in seen:
            continue
        seen.add(id(what))
        if isinstance(what, np.ndarray):
            total += what.nbytes
        elif isinstance(what, dict):
            todo += what.values()
        elif isinstance(what, (list, tuple, set)):
            todo += what
        elif type(what).__module__.startswith("pliant.") and not isinstance(what, type):
            todo += vars(what).values() if hasattr(what, "__dict__") else ()
    return total

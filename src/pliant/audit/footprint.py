"""How much memory something that was built takes."""

from typing import Any

import numpy as np

from ..mesh import Mesh


def nbytes(built: Any, meshes: tuple[Mesh, ...] = ()) -> int:
    """Bytes of all NumPy arrays that are reached from `built`, each once, those of `meshes` left out."""
    seen: set[int] = set()
    for mesh in meshes:
        _walk(mesh, seen)
    return _walk(built, seen)


def _walk(root: Any, seen: set[int]) -> int:
    """Bytes of arrays below `root` that are not in `seen`, which grows by them."""
    total, todo = 0, [root]
    while todo:
        what = todo.pop()
        while isinstance(what, np.ndarray) and isinstance(what.base, np.ndarray):
            what = what.base  # a view takes nothing of its own
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

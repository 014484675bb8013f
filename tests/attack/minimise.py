"""Fewer faces that still fail: for promises whose module can judge kept input again (`fails(arrays) -> str`)."""

import importlib

import numpy as np

ROUNDS = 6


def minimised(promise, arrays):
    """The input with every face left out that the failure does not need; as it was where nobody can judge it again."""
    fails = getattr(importlib.import_module(f"attack.{promise}"), "fails", None)
    if fails is None or not _fails(fails, arrays):
        return arrays
    for _ in range(ROUNDS):
        before = sum(len(arrays[name]) for name in ("faces", "faces_b") if name in arrays)
        for name in ("faces", "faces_b"):
            arrays = _fewer(fails, arrays, name) if name in arrays else arrays
        if sum(len(arrays[name]) for name in ("faces", "faces_b") if name in arrays) == before:
            break
    return arrays


def _fewer(fails, arrays, name):
    """Leave out half of the faces, a quarter, ... one at a time, as long as it still fails."""
    size = len(arrays[name]) // 2
    while size >= 1:
        k = 0
        while k < len(arrays[name]) and len(arrays[name]) > size:
            fewer = {**arrays, name: np.delete(arrays[name], np.s_[k : k + size], 0)}
            if _fails(fails, fewer):
                arrays = fewer
            else:
                k += size
        size //= 2
    return arrays


def _fails(fails, arrays):
    try:
        return bool(fails(arrays))
    except Exception:  # another failure than the one that is looked for
        return False

"""Minimise failing input to fewer faces, for attacks that can judge stored input again (`fails(arrays) -> str`)."""

import importlib

import numpy as np

ROUNDS = 6


def minimised(guarantee, arrays):
    """The input without the faces that the failure does not need; unchanged if the attack cannot judge it again."""
    fails = getattr(importlib.import_module(f"attack.{guarantee}"), "fails", None)
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
    """Remove half of the faces, a quarter, ... one at a time, as long as the input still fails."""
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
    except Exception:  # a different failure
        return False

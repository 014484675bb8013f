"""Text of objects that hold arrays, for the Python prompt and notebooks: a line instead of thousands of numbers."""

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

_MOST, _LONGEST = 3, 80  # items of a sequence, characters of a value that are shown


def brief(self: Any) -> str:
    """The `__repr__` of a dataclass: its fields, arrays by type and shape, long sequences by their length."""
    fields = (field.name for field in dataclasses.fields(self) if field.repr)
    return f"{type(self).__name__}({', '.join(f'{name}={_text(getattr(self, name))}' for name in fields)})"


class Brief:
    """Base class of dataclasses (repr=False) that are shown so."""

    __repr__ = brief


def facts(self: Any, title: str) -> str:
    """The `__repr__` of a result: its title and facts."""
    return f"<{type(self).__name__} {title!r}: {', '.join(f'{k} {v}' for k, v in self.facts.items() if v)}>"


def _text(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"<{'records' if value.dtype.names else value.dtype} {value.shape}>"
    if isinstance(value, Mapping | list | tuple) and len(value) > _MOST:
        return f"<{len(value)} items>"
    if isinstance(value, list | tuple) and type(value) in (list, tuple):
        ends = "[]" if isinstance(value, list) else ("(", ",)" if len(value) == 1 else ")")
        return ends[0] + ", ".join(map(_text, value)) + ends[1]
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key!r}: {_text(each)}" for key, each in value.items()) + "}"
    if type(value).__repr__ is brief:
        name = getattr(value, "name", "") or getattr(getattr(value, "mesh", None), "name", "")
        return f"<{type(value).__name__}{f' {name!r}' if name else ''}>"
    text = " ".join(repr(value).split())
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."

"""List the public API: names, parameters with defaults, members of classes, options of commands.

    python tools/list_api.py          # writes tests/public_api.txt
    python tools/list_api.py --print

`tests/test_public_api.py` compares the listing with the file, so that nothing public changes unnoticed:
docs/stability.md. The names are those of docs/api.md.
"""

import dataclasses
import enum
import inspect
import pathlib
import re
import sys
import types
from collections.abc import Iterator
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parents[1]
FILE = ROOT / "tests" / "public_api.txt"
MANY = 12  # values of a default that is a table are counted from here on


def listed_names() -> list[str]:
    """The names in the blocks of docs/api.md, in alphabetical order."""
    blocks = re.findall(r"```\{api\}\n(.*?)```", (ROOT / "docs" / "api.md").read_text(encoding="utf-8"), re.S)
    return sorted(name for block in blocks for name in block.split())


def found(name: str) -> Any:
    import importlib

    module, _, last = name.rpartition(".")
    return getattr(importlib.import_module(f"pliant.{module}" if module else "pliant"), last)


def default_text(value: Any) -> str:
    """A default as text that is the same on every machine."""
    if isinstance(value, enum.Enum):
        return str(value)
    if isinstance(value, (type(None), bool, int, float, str)):
        return repr(value)
    if isinstance(value, (tuple, list, dict)):
        return repr(value) if len(value) < MANY else f"<{type(value).__name__} of {len(value)}>"
    if isinstance(value, pathlib.PurePath):
        return repr(value.as_posix())
    return f"<{type(value).__name__.strip('_')}>"


def parameters(function: Any) -> str:
    """Names, kinds and defaults; types may become wider without notice."""
    parts, keyword_only = [], False
    for parameter in inspect.signature(function).parameters.values():
        if parameter.name in ("self", "cls"):
            continue
        if parameter.kind is parameter.KEYWORD_ONLY and not keyword_only:
            parts.append("*")
        keyword_only |= parameter.kind in (parameter.KEYWORD_ONLY, parameter.VAR_POSITIONAL)
        stars = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
        default = "" if parameter.default is parameter.empty else f"={default_text(parameter.default)}"
        parts.append(f"{stars}{parameter.name}{default}")
    return ", ".join(parts)


def class_lines(name: str, cls: type) -> Iterator[str]:
    """A class: how it is made, its fields, methods and properties, inherited ones of the package included."""
    yield f"{name}({parameters(cls)})" if not issubclass(cls, BaseException) else f"{name}: exception"
    if dataclasses.is_dataclass(cls):
        yield from (f"{name}.{field.name}: field" for field in dataclasses.fields(cls) if field.name[0] != "_")
    elif hasattr(cls, "_fields"):
        yield from (f"{name}.{field}: field" for field in cls._fields)
    members: dict[str, Any] = {}
    for base in reversed(cls.__mro__):
        if base.__module__.startswith("pliant"):
            members |= vars(base)
    fields = {field.name for field in dataclasses.fields(cls)} if dataclasses.is_dataclass(cls) else set()
    for member, value in sorted(members.items()):
        if member.startswith("_") or member in fields or member in getattr(cls, "_fields", ()):
            continue
        function = value.__func__ if isinstance(value, (classmethod, staticmethod)) else value
        if inspect.isfunction(function):
            yield f"{name}.{member}({parameters(function)})"
        elif not inspect.isclass(value):
            is_property = isinstance(value, property) or hasattr(value, "__get__")
            yield f"{name}.{member}: {'property' if is_property else default_text(value)}"


def python_lines(name: str) -> Iterator[str]:
    value = found(name)
    if isinstance(value, types.ModuleType):
        for member in getattr(value, "__all__", None) or [n for n in vars(value) if n[0] != "_"]:
            part = getattr(value, member)
            if getattr(part, "__module__", "").startswith(value.__name__):
                if inspect.isclass(part):
                    yield from class_lines(f"{name}.{member}", part)
                elif callable(part):
                    yield f"{name}.{member}({parameters(part)})"
    elif inspect.isclass(value):
        yield from class_lines(name, value)
    else:
        yield f"{name}({parameters(value)})"


def command_lines() -> Iterator[str]:
    """Files and options of every command; those of `pliant bench` belong to the package of the benchmarks."""
    from pliant.cli import COMMANDS, arguments_of

    for command in sorted(set(COMMANDS) - {"bench"}):
        yield f"$ pliant {command}"
        for argument in arguments_of(command):
            default = argument.field_info.default
            names = [n for n in sorted(argument.names) if not n.startswith(("--no-", "--empty-")) or default is True]
            text = "" if default is inspect.Parameter.empty else f" = {default_text(default)}"
            if names and names != ["*"]:
                yield f"$ pliant {command} {' '.join(names)}{text}"


def listing() -> str:
    python = [line for name in listed_names() for line in python_lines(name)]
    return "\n".join([*python, *command_lines()]) + "\n"


if __name__ == "__main__":
    if "--print" in sys.argv:
        print(listing(), end="")
    else:
        FILE.write_text(listing(), encoding="utf-8")
        print(f"{FILE.relative_to(ROOT)}: {len(listing().splitlines())} lines")

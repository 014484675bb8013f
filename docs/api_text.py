"""Markdown about public names, from their source: the signature as it is written, and the docstring."""

import ast
import importlib
import inspect
import re
import textwrap
import types
from typing import Any

import pliant

BLOCK = re.compile(r"```\{api\}\n(.*?)```\n", re.S)


def expanded(text: str) -> str:
    """A page with every block of names replaced by what there is to say about them."""
    return BLOCK.sub(lambda block: "\n\n".join(map(about, block[1].split())) + "\n", text)


def about(name: str) -> str:
    value = found(name)
    title = f"### {name}\n\n"
    if isinstance(value, types.ModuleType):
        names = getattr(value, "__all__", None) or [n for n in vars(value) if not n.startswith("_")]
        parts = [getattr(value, n) for n in names]
        own = [p for p in parts if inspect.isfunction(p) and p.__module__.startswith(value.__name__)]
        return title + prose(value) + "\n\n" + "\n\n".join(callable_text(p, f"{name}.{p.__name__}") for p in own)
    return title + (class_text(value, name) if inspect.isclass(value) else callable_text(value, name))


def found(name: str) -> Any:
    """A public name, or a dotted one of something that public names return."""
    module, _, last = name.rpartition(".")
    return getattr(importlib.import_module(f"pliant.{module}") if module else pliant, last)


def callable_text(value: Any, shown: str) -> str:
    return f"{code(signature(value, shown))}\n\n{prose(value)}"


def signature(value: Any, shown: str) -> str:
    """As the source has it: names of types stay short, and defaults are those that were written."""
    (node,) = ast.parse(textwrap.dedent(inspect.getsource(value))).body
    assert isinstance(node, ast.FunctionDef)
    if node.args.args and node.args.args[0].arg in ("self", "cls"):
        del node.args.args[0]
    arguments = [re.sub(r"^(\w+: .*?)=", r"\1 = ", a).replace("'", '"') for a in split(ast.unparse(node.args))]
    returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    line = f"{shown}({', '.join(arguments)}){returns}"
    return line if len(line) <= 96 else "\n".join([f"{shown}(", *(f"    {a}," for a in arguments), f"){returns}"])


def split(arguments: str) -> list[str]:
    """At the commas that are in no bracket."""
    parts, depth, start = [], 0, 0
    for i, letter in enumerate(arguments):
        depth += (letter in "([{") - (letter in ")]}")
        if letter == "," and depth == 0:
            parts.append(arguments[start:i].strip())
            start = i + 1
    return [*parts, arguments[start:].strip()] if arguments else []


def class_text(cls: type, name: str) -> str:
    source = textwrap.dedent(inspect.getsource(cls))
    (node,) = ast.parse(source).body
    assert isinstance(node, ast.ClassDef)
    lines = source.splitlines()
    fields = [lines[f.lineno - 1 : f.end_lineno] for f in node.body if isinstance(f, ast.AnnAssign)]
    made = [line for field in fields for line in field]
    start = code(f"class {name}:\n" + "\n".join(made)) if made else ""
    short = name.rpartition(".")[2]
    if "__init__" in vars(cls) and not made:
        start = code(signature(cls.__init__, short).removesuffix(" -> None"))
    rows = list(dict.fromkeys(row for member in members(cls) if (row := member_row(member, short))))
    table = "\n".join(["| | |", "|---|---|", *rows]) if rows else ""
    return "\n\n".join(part for part in (start, prose(cls), table) if part)


def members(cls: type) -> list[ast.stmt]:
    """What a class has of its own and from classes of this package, each name once."""
    named: dict[str, ast.stmt] = {}
    for one in cls.__mro__:
        if one.__module__.startswith("pliant"):
            (node,) = ast.parse(textwrap.dedent(inspect.getsource(one))).body
            for member in node.body:  # type: ignore[attr-defined]
                named.setdefault(getattr(member, "name", ""), member)
    return list(named.values())


def member_row(node: ast.stmt, short: str) -> str:
    """A public method or property in a line: its first sentence."""
    if not isinstance(node, ast.FunctionDef) or node.name.startswith("_"):
        return ""
    said = (ast.get_docstring(node) or "").split("\n\n")[0].replace("\n", " ").replace("|", "\\|")
    marks = {ast.unparse(d).rpartition(".")[2] for d in node.decorator_list}
    if marks & {"property", "cached_property"}:
        return f"| `.{node.name}` | {said or one_line(ast.unparse(node.returns) if node.returns else '')} |"
    names = [a.arg for a in [*node.args.args[1:], *node.args.kwonlyargs]]
    before = short if "classmethod" in marks or "staticmethod" in marks else ""
    return f"| `{before}.{node.name}({', '.join(names)})` | {said} |"


def one_line(annotation: str) -> str:
    return f"`{annotation}`".replace("|", "\\|") if annotation else ""


def prose(value: Any) -> str:
    return inspect.cleandoc(value.__doc__ or "")


def code(text: str) -> str:
    return f"```python\n{text}\n```"

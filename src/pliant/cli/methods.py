"""`pliant methods`: the table of detection methods, and of their options."""

import enum
from typing import TYPE_CHECKING, Any

from . import output

if TYPE_CHECKING:
    from ..detect.options import MethodChoice, Option

COLUMNS = ("name", "guarantee", "finds", "needs", "gives", "source")
OPTION_COLUMNS = ("method", "option", "values", "default")


def methods(method: str | None = None, *, json: bool = False) -> None:
    """List the detection methods: what they find, what they need and what they guarantee; of one, also its options.

    Guarantee A: exact or conservative, never misses. B: stated and tested error bound. C: measured recall; what it
    adds is not judged.
    Options are given with the name wherever a method is named: bvh:volume=sphere,arity=8.

    Parameters
    ----------
    method
        List only this method, with its options; with values of options, as in bvh:volume=sphere, also the class of
        guarantee that it has with them. Default: all, without their options.
    json
        Print JSON instead of tables.
    """
    from ..detect import METHODS
    from ..detect.options import options_of, parse_method

    chosen = None if method is None else parse_method(method)
    names = list(METHODS) if chosen is None else [chosen.name]
    rows = [{column: _plain(getattr(METHODS[name], column)) for column in COLUMNS} for name in names]
    options = {name: list(options_of(name).values()) for name in names}
    if json:
        described = {name: [_described(option) for option in options[name]] for name in names}
        more = [{"other_guarantees": _other_guarantees(name), "options": described[name]} for name in names]
        if chosen is not None and chosen.options:
            more[0] |= {"chosen": chosen.text, "chosen_guarantee": _guarantee_of(chosen)}
        output.print_json([row | rest for row, rest in zip(rows, more, strict=True)])
        return
    output.table(COLUMNS, [[", ".join(c) if isinstance(c, list) else c for c in row.values()] for row in rows])
    output.console().print("guarantee A: never misses; B: stated error bound; C: measured recall")
    if others := [text for name in names for text in map(" ".join, _other_guarantees(name).items())]:
        output.console().print(f"with these options: {', '.join(others)}")
    for name in names:
        if METHODS[name].skinned_guarantee:
            output.console().print(f"on skinned bodies: {name} {METHODS[name].skinned_guarantee}")
    if chosen is not None and chosen.options:
        output.console().print(f"as given: {chosen.text} {_guarantee_of(chosen)}", markup=False)
    if method is None:
        output.console().print("pliant methods NAME lists the options of a method")
        return
    lines = [[name, *map(str, _described(option).values())] for name in names for option in options[name]]
    output.table(OPTION_COLUMNS, lines)
    if examples := [text for text in map(_example, options[names[0]]) if text]:
        example = ",".join(examples[:2])
        output.console().print(f"options are part of the name of a method: {names[0]}:{example}", markup=False)


def _guarantee_of(chosen: "MethodChoice") -> str:
    """The class of guarantee of a method with the given options."""
    from ..detect import METHODS
    from ..detect.options import text_of

    known = METHODS[chosen.name]
    for option, value, guarantee in known.other_guarantees:
        if option in chosen.options and value in ("", text_of(chosen.options[option])):
            return guarantee
    return known.guarantee


def _example(option: "Option") -> str:
    """An option with a word or number that is not its default, as it is typed; empty where none is listed."""
    from ..detect.options import text_of

    others = [value for value in option.values if option.from_text and value != option.default]
    return f"{option.name}={text_of(others[-1])}" if others else ""


def _other_guarantees(name: str) -> dict[str, str]:
    """The class of guarantee of a method with the options that change it, by their text."""
    from ..detect import METHODS

    given = METHODS[name].other_guarantees
    return {f"{name}:{option}={value or 'N'}": guarantee for option, value, guarantee in given}


def _described(option: "Option") -> dict[str, str]:
    """The name, values and default of an option, as text."""
    from ..detect.options import NO_DEFAULT, text_of

    default = option.default
    known = "" if default is NO_DEFAULT else default.__name__ if callable(default) else text_of(default)
    return {"name": option.name, "values": option.wanted, "default": known}


def _plain(value: Any) -> str | list[str]:
    """The names of the set flags as a list, any other value as a string."""
    if isinstance(value, enum.Flag):
        return [str(flag.name).lower() for flag in type(value) if flag in value]
    return str(value)

"""Menus of the options of a method, from the annotations of its constructor."""

from collections.abc import Callable, Mapping
from typing import Any

from ..detect.options import NO_DEFAULT, options_of, parse_method, text_of
from ..scene import Scene
from .commands import GUARD

Refusal = Callable[[Scene, str, Mapping[str, Any]], str]
Row = tuple[str, str, bool, str]


def option_menus(scene: Scene, method: str, refusal: Refusal) -> dict[str, list[Row]]:
    """Return the options of a method that list their values: for each value the method with it, the value as text,
    whether it is the current one, and why it cannot be used in this scene, or nothing."""
    if method == GUARD:
        return {}
    chosen, menus = parse_method(method), {}
    for name, option in options_of(chosen.name).items():
        if option.values:
            # a default that is none of the values stands for one that the method chooses
            default = () if option.default in option.values else (option.default,)
            current = chosen.options.get(name, option.default)
            rows = []
            for value in (*default, *option.values):
                variant = chosen.with_option(name, value)
                text = "default" if value in default else text_of(value)
                rows.append((variant.text, text, value == current, refusal(scene, chosen.name, variant.options)))
            menus[name] = rows
    return menus


def typed_options(method: str) -> dict[str, dict[str, str]]:
    """Return the options of a method that are typed, such as numbers: the text of the value if one is given, that of
    the default, and the valid values in words."""
    if method == GUARD:
        return {}
    chosen = parse_method(method)
    return {
        name: {
            "text": text_of(chosen.options[name]) if name in chosen.options else "",
            "fallback": "default" if option.default in (None, NO_DEFAULT) else text_of(option.default),
            "wanted": option.wanted,
        }
        for name, option in options_of(chosen.name).items()
        if option.from_text and not option.values
    }

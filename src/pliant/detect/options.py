"""Options of detection methods, and methods as text with their options: `bvh:volume=sphere,arity=8`."""

import inspect
import re
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from ..arguments import FLAG, Check, check_of, resolved, values_of
from ..errors import unknown_option
from .methods import METHODS, method_name

NO_DEFAULT = inspect.Parameter.empty
_NOT_OPTIONS = {"within", "more"}  # keywords of the constructor that are passed separately from a method's options
_WORDS = {"true": True, "false": False, "none": None}
_PLAIN = (bool, int, float, str)  # what text can give
_BETWEEN_METHODS = re.compile(r",(?!\s*\w+\s*=)")  # a comma, unless another option follows it
_LIST = "/"  # separates the items of an option that takes several


# what the field calls the values of options, as it is typed
_OTHER_WORDS = {"aabb": "box", "obb": "oriented"}


class Option(NamedTuple):
    """An option of a method: a keyword-only parameter of its constructor."""

    name: str
    annotation: Any
    default: Any  # NO_DEFAULT: stated by the class that takes it
    check: Check | None  # None: only the method itself knows which values are valid

    @property
    def values(self) -> tuple[Any, ...]:
        """All values, where the method lists them."""
        return values_of(self.annotation)

    @property
    def from_text(self) -> bool:
        """Whether text can give a value; others, such as a baked field, are passed in Python."""
        return self.check is None or _has_plain(self.annotation)

    @property
    def wanted(self) -> str:
        """The valid values in words."""
        check = check_of(_plain_part(self.annotation)) if self.from_text else self.check
        words = "any value" if check is None else check.wanted
        if words == FLAG.wanted:
            words = "true or false"
        if not self.from_text:
            return f"{words}, in Python"
        words = f"several, as in one{_LIST}two" if self.is_list else words
        return f"{words}, or none" if self.takes_none else words

    @property
    def is_list(self) -> bool:
        return self.check is not None and self.check.wanted.startswith("a list")

    @property
    def takes_none(self) -> bool:
        return self.check is None or type(None) in typing.get_args(self.annotation)

    def take(self, method: str, value: Any) -> Any:
        """Return a valid value, possibly converted; ValueError says what was expected."""
        if self.check is None:
            return value
        if isinstance(value, str) and value not in self.values and _OTHER_WORDS.get(value.lower()) in self.values:
            value = _OTHER_WORDS[value.lower()]
        try:
            return self.check.take(self.name, value)
        except ValueError as error:
            raise ValueError(f"method {method!r}: {error}") from None

    def read(self, method: str, text: str) -> Any:
        """Return the value that `text` stands for: a number, true or false, none, or a word."""
        if not self.from_text:
            raise ValueError(f"method {method!r}: {self.name} = {text!r}; expected {self.wanted}")
        value = _literal(text)
        if value is None and self.takes_none:
            return None
        if self.is_list:
            return self.take(method, text.split(_LIST))
        if self.check is None and _LIST in text:
            return [_literal(item) for item in text.split(_LIST)]
        try:
            return self.take(method, text if value is None else value)
        except ValueError:
            if str not in (self.annotation, *typing.get_args(self.annotation)):
                raise
        return self.take(method, text)  # a word that reads like a number


class MethodChoice(NamedTuple):
    """The name of a method, the reason for its choice, and the options that were given with its name."""

    name: str
    why: str
    options: Mapping[str, Any] = {}

    @property
    def text(self) -> str:
        """The method as `parse_method` reads it."""
        return method_text(self.name, self.options)

    def with_option(self, name: str, value: Any) -> "MethodChoice":
        """The same method with another value of an option, which is left out if it is the default."""
        known = options_of(self.name)
        given = {**self.options, name: value}
        if value == known[name].default:
            del given[name]
        return self._replace(options={option: given[option] for option in known if option in given})


def options_of(method: str) -> dict[str, Option]:
    """Return the options of a method by name."""
    detector_class = METHODS[method]
    found = {}
    for p in inspect.signature(detector_class).parameters.values():
        if p.kind is p.KEYWORD_ONLY and p.name not in _NOT_OPTIONS:
            annotation = resolved(p.annotation, detector_class.__init__)
            found[p.name] = Option(p.name, annotation, p.default, check_of(annotation))
    more = detector_class.more_options
    for name in sorted(more):
        annotation = more[name] if isinstance(more, Mapping) else Any
        found.setdefault(name, Option(name, annotation, NO_DEFAULT, check_of(annotation)))
    return found


def check_options(method: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the valid options of a method; a TypeError lists the options if one is unknown, a ValueError says what was
    expected if a value is wrong."""
    known = options_of(method)
    for name in options:
        if name not in known:
            raise unknown_option(f"method {method!r}", str(name), known)
    return {name: known[name].take(method, value) for name, value in options.items()}


def parse_method(text: str) -> MethodChoice:
    """Return the method that `text` names, with its options if it has any: `bvh` or `bvh:volume=sphere,arity=8`.

    Values are numbers, true or false, none, and words; items of a list are separated by slashes.
    """
    name, colon, rest = str(text).partition(":")
    name = method_name(name.strip())
    given: dict[str, Any] = {}
    if colon and not rest.strip():
        raise ValueError(f"method {text!r} has no option after the colon; expected {name}:option=value")
    known = options_of(name) if colon else {}
    for part in rest.split(",") if colon else ():
        option, equals, value = (piece.strip() for piece in part.partition("="))
        option = option.replace("-", "_")
        if not equals or not option or not value:
            raise ValueError(f"method {text!r} has {part.strip()!r}; expected {name}:option=value,option=value")
        if option not in known:
            raise ValueError(str(unknown_option(f"method {name!r}", option, known)))
        if option in given:
            raise ValueError(f"method {text!r} gives {option!r} twice; give it once")
        given[option] = known[option].read(name, value)
    return MethodChoice(name, "requested", {option: given[option] for option in known if option in given})


def method_text(name: str, options: Mapping[str, Any]) -> str:
    """Return the text of a method with options, as `parse_method` reads it."""
    given = ",".join(f"{option}={text_of(value)}" for option, value in options.items())
    return f"{name}:{given}" if given else name


def split_methods(text: str) -> list[str]:
    """Return the methods of a list separated by commas, each with its options: `bvh:arity=8,leaf=2,brute-force`."""
    return [part.strip() for part in _BETWEEN_METHODS.split(text) if part.strip()]


def merged(method: str, given: Mapping[str, Any], more: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the options given with the name of a method together with `more`; each may be given only once."""
    twice = sorted(set(given) & set(more or {}))
    if twice:
        raise ValueError(f"option {twice[0]!r} of method {method!r} is given twice; give it with the name or beside it")
    return {**given, **(more or {})}


def _literal(text: str) -> Any:
    """Return the number, flag or None that a text stands for, else the text."""
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


def text_of(value: Any) -> str:
    """Return the text that stands for the value of an option."""
    if isinstance(value, bool) or value is None:
        return str(value).lower()
    if isinstance(value, Iterable) and not isinstance(value, str):
        return _LIST.join(map(str, value))
    return f"{value!r}" if isinstance(value, float) else str(value)


def _has_plain(annotation: Any) -> bool:
    """Whether an annotation allows numbers, flags or words, or a list of these."""
    origin, inner = typing.get_origin(annotation), typing.get_args(annotation)
    if annotation in _PLAIN or origin is typing.Literal:
        return True
    return origin is not Callable and any(map(_has_plain, inner))


def _plain_part(annotation: Any) -> Any:
    """Return the part of a union that text can give a value of: a name of a kind of field, not a field."""
    if isinstance(annotation, types.UnionType) or typing.get_origin(annotation) is typing.Union:
        plain = [kind for kind in typing.get_args(annotation) if kind is type(None) or _has_plain(kind)]
        return typing.Union[tuple(plain)]  # noqa: UP007
    return annotation

"""Argument validation of the public API: arguments must match their annotations, else an error says what is wrong.

The decorator `@check_arguments` checks each argument of a function or class by its annotation: numbers, integers,
flags, strings, values of a `Literal` or `OneOf`, numbers in a `Range`, paths, callables, sequences of a class, and
classes. `takes` registers a conversion to a class, so that a trimesh.Trimesh is accepted wherever a mesh is expected.
Arguments that an annotation leaves open (`Any`, arrays), and other ranges, choices and shapes, are checked by
`validate` inside the function.
"""

import collections.abc
import difflib
import functools
import inspect
import numbers
import os
import types
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from . import renamed, validate

T = TypeVar("T")
_CONVERSIONS: dict[type, Callable[[str, Any], Any]] = {}  # registered by `takes`
_TEXTS = (str, bytes, bytearray)


class Check(NamedTuple):
    take: Callable[[str, Any], Any]  # (name, value) -> value, possibly converted; raises ValueError
    wanted: str  # the expected kind, for messages


class Range(NamedTuple):
    """The range of a number, in the annotation of a parameter: `leaf: Annotated[int, Range(low=1)]`."""

    low: float = -np.inf
    high: float = np.inf
    above: float | None = None


class OneOf(NamedTuple):
    """The values of a parameter, in its annotation: `volume: Annotated[str, OneOf(tuple(VOLUMES))]`."""

    values: tuple[Any, ...]


def takes(kind: type) -> Callable[[Callable[[str, Any], Any]], Callable[[str, Any], Any]]:
    """Register the decorated function (name, value) as a conversion to `kind`; it raises ValueError on failure."""

    def register(convert: Callable[[str, Any], Any]) -> Callable[[str, Any], Any]:
        _CONVERSIONS[kind] = convert
        return convert

    return register


def check_arguments(thing: T) -> T:
    """Check the arguments of a function, or of the constructor of a class, by their annotations."""
    if isinstance(thing, type):
        thing.__init__ = _checked(thing.__init__, thing.__name__, 1)  # type: ignore[misc]
        return thing
    if isinstance(thing, classmethod):
        name = thing.__func__.__qualname__
        return classmethod(_checked(thing.__func__, name, 1))  # type: ignore[return-value]
    name = thing.__qualname__  # type: ignore[attr-defined]
    inner = "." in name and "<locals>" not in name
    return _checked(thing, name, 1 if inner else 0)  # type: ignore[return-value, arg-type]


def _checked(function: Callable[..., Any], called: str, skip: int) -> Callable[..., Any]:
    """Return `function` with argument checks; the first `skip` arguments (self, cls) are not checked."""

    @functools.cache
    def plan() -> tuple[list[str], dict[str, Check], frozenset[str], bool]:
        parameters = list(inspect.signature(function).parameters.values())[skip:]
        kinds = inspect.Parameter
        by_place = [p.name for p in parameters if p.kind in (kinds.POSITIONAL_ONLY, kinds.POSITIONAL_OR_KEYWORD)]
        named = [p for p in parameters if p.kind in (kinds.KEYWORD_ONLY, kinds.POSITIONAL_OR_KEYWORD)]
        hints = {p.name: check_of(resolved(p.annotation, function)) for p in named}
        open_ended = any(p.kind is kinds.VAR_KEYWORD for p in parameters)
        checks = {name: check for name, check in hints.items() if check is not None}
        return by_place, checks, frozenset(p.name for p in named), open_ended

    @functools.wraps(function)
    def entered(*args: Any, **named: Any) -> Any:
        places, checks, known, open_ended = plan()
        named = renamed.keywords(named, known, open_ended)
        for name in named:
            if name not in known and not open_ended:
                raise unknown_option(called, name, known)
        given = list(args)
        try:
            for k, name in enumerate(places[: len(given) - skip], skip):
                if name in checks:
                    given[k] = checks[name].take(name, given[k])
            for name, value in named.items():
                if name in checks:
                    named[name] = checks[name].take(name, value)
        except ValueError as error:
            swapped = _swapped(places, checks, args[skip:])
            if swapped:
                raise ValueError(f"{swapped} of {called} are swapped; write {called}({', '.join(places)})") from None
            raise error from None
        return function(*given, **named)

    return entered


def _swapped(places: Sequence[str], checks: Mapping[str, Check], args: Sequence[Any]) -> str:
    """Return the names of two arguments that are valid only if exchanged, else an empty string."""
    rows = [(name, checks[name], value) for name, value in zip(places, args) if name in checks]
    for i, (one, check, value) in enumerate(rows):
        for two, other, second in rows[i + 1 :]:
            fits = (
                _fits(one, check, value),
                _fits(two, other, second),
                _fits(one, check, second),
                _fits(two, other, value),
            )
            if fits == (False, False, True, True):
                return f"{one} and {two}"
    return ""


def _fits(name: str, check: Check, value: Any) -> bool:
    try:
        check.take(name, value)
    except ValueError:
        return False
    return True


def unknown_option(called: str, name: str, known: Iterable[str]) -> TypeError:
    """Return the error for an unknown option, with the closest match and all valid options."""
    options = sorted(known)
    near = difflib.get_close_matches(name, options, n=1)
    hint = f"did you mean {near[0]!r}? " if near else ""
    return TypeError(f"{called} has no option {name!r}; {hint}one of: {', '.join(options)}")


def _is_literal(value: Any) -> bool:
    """True for scalars, strings and paths, which error messages show by their repr."""
    return value is None or isinstance(value, (bool, numbers.Number, np.generic, os.PathLike, *_TEXTS))


def shown(value: Any) -> str:
    """Format a value for an error message: scalars and strings by their repr, others by their type."""
    if _is_literal(value):
        text = repr(value)
        return text if len(text) <= 60 else text[:57] + "..."
    if isinstance(value, np.ndarray):
        return f"an array of shape {value.shape}"
    if isinstance(value, type) or inspect.isroutine(value):
        return f"{value.__name__} itself"
    name = type(value).__name__
    return f"{'an' if name[0] in 'AEIOUaeiou' else 'a'} {name}"


def wrong(name: str, value: Any, wanted: str, advice: str = "") -> ValueError:
    """Return the error `name = value; expected ...`."""
    equals = "=" if _is_literal(value) else "is"
    return ValueError(f"{name} {equals} {shown(value)}; expected {wanted}{': ' + advice if advice else ''}")


# -- checks derived from annotations ---------------------------------------------------------------------------------


def resolved(annotation: Any, function: Callable[..., Any]) -> Any:
    """Evaluate an annotation given as a string; Any if it cannot be resolved."""
    if isinstance(annotation, str):
        try:
            return eval(annotation, getattr(inspect.unwrap(function), "__globals__", {}))
        except Exception:  # a name for type checkers only, or the class being defined
            return Any
    return annotation


def check_of(annotation: Any) -> Check | None:
    """Return the check for an annotation; None if any value is valid."""
    if annotation in (Any, object, inspect.Parameter.empty):
        return None
    plain = {float: FLOAT, int: WHOLE, bool: FLAG, str: TEXT, type(None): NONE}
    if annotation in plain:
        return plain[annotation]
    origin, inner = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (typing.Union, types.UnionType):
        return _either(inner)
    if origin is typing.Literal:
        return _one_of(inner)
    if origin is typing.Annotated:
        return _annotated(*inner)
    if origin is collections.abc.Callable:
        return CALLABLE
    if origin is os.PathLike or annotation is os.PathLike:
        return PATH
    if origin is collections.abc.Mapping:
        return _of_class(Mapping, "a dict of options by name")
    if origin is tuple and Ellipsis not in inner:  # a fixed number of values, validated as an array
        return None
    if origin in (collections.abc.Sequence, collections.abc.Iterable, list, tuple) and inner:
        return _several(inner[0])
    if isinstance(annotation, type) and origin is None:
        if getattr(annotation, "_is_protocol", False) and not getattr(annotation, "_is_runtime_protocol", False):
            return None
        return _of_class(annotation, f"a {annotation.__name__}")
    return None


def _either(kinds: tuple[Any, ...]) -> Check | None:
    """Return the check for a union: an instance of a member is passed on, else the first successful conversion."""
    if str in kinds and any(typing.get_origin(kind) is os.PathLike for kind in kinds):
        kinds = tuple(kind for kind in kinds if kind is not str)
    checks = [check_of(kind) for kind in kinds]
    if not checks or any(check is None for check in checks):
        return None
    known = [check for check in checks if check is not None]
    solid = [check for check in known if check is not NONE]
    classes = tuple(kind for kind in kinds if isinstance(kind, type) and kind not in (float, int, bool, str))
    convertible = any(kind in _CONVERSIONS for kind in classes)

    def take(name: str, value: Any) -> Any:
        if isinstance(value, classes):
            return value
        errors: list[ValueError] = []
        for check in solid:
            try:
                return check.take(name, value)
            except ValueError as error:
                errors.append(error)
        if len(solid) == 1 or convertible:  # the longest message is the most specific: it lists accepted types
            raise max(errors, key=lambda error: len(str(error)))
        raise wrong(name, value, wanted)

    wanted = " or ".join(check.wanted for check in solid)
    return Check(take, wanted)


def values_of(annotation: Any) -> tuple[Any, ...]:
    """Return all values that an annotation allows if it lists them: flags, a `Literal`, `OneOf`; else none."""
    if annotation is bool:
        return (True, False)
    origin, inner = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Literal:
        return inner
    if origin is typing.Annotated:
        return next((each.values for each in inner[1:] if isinstance(each, OneOf)), ())
    if origin in (typing.Union, types.UnionType):
        return tuple(value for kind in inner for value in values_of(kind))
    return ()


def _annotated(kind: Any, *limits: Any) -> Check | None:
    """Return the check for an `Annotated` kind: the first limit that is known here, or the kind alone."""
    for limit in limits:
        if isinstance(limit, OneOf):
            return _one_of(limit.values)
        if isinstance(limit, Range):
            return _in_range(kind, limit)
    return check_of(kind)


def _one_of(values: tuple[Any, ...]) -> Check:
    """Return the check for one of `values`, all of them words or all of them numbers."""
    words = all(isinstance(value, str) for value in values)

    def take(name: str, value: Any) -> Any:
        if words:
            return validate.choice(name, _text(name, value), values)
        if _number(name, value) not in values:
            raise ValueError(f"{name} = {shown(value)}; one of: {', '.join(map(str, values))}")
        return values[values.index(value)]

    return Check(take, "one of " + ", ".join(map(str, values)))


def _in_range(kind: type, limits: Range) -> Check:
    """Return the check for a number, whole if `kind` is int, in a range."""
    whole, bounds = kind is int, []

    def take(name: str, value: Any) -> Any:
        value = _whole(name, value) if whole else _number(name, value)
        validate.number(name, value, **limits._asdict())
        return value

    if limits.low > -np.inf:
        bounds.append(f"of at least {validate.plain(limits.low)}")
    if limits.above is not None:
        bounds.append(f"greater than {validate.plain(limits.above)}")
    if limits.high < np.inf:
        bounds.append(f"{'and' if bounds else 'of'} at most {validate.plain(limits.high)}")
    return Check(take, " ".join(["a whole number" if whole else "a number", *bounds]))


def _several(kind: Any) -> Check | None:
    """Return the check for a sequence of one kind."""
    one = check_of(kind)
    what = getattr(kind, "__name__", "thing")
    if one is None:
        return Check(_iterable, "a list")

    def take(name: str, value: Any) -> Any:
        if not _is_iterable(value) or (isinstance(kind, type) and isinstance(value, kind)):
            raise wrong(name, value, f"a list of {what}")
        return tuple(one.take(f"{name}[{k}]", item) for k, item in enumerate(value))

    return Check(take, f"a list of {what}")


def _of_class(kind: type, wanted: str) -> Check:
    def take(name: str, value: Any) -> Any:
        if isinstance(value, kind):
            return value
        if kind in _CONVERSIONS:
            return _CONVERSIONS[kind](name, value)
        raise wrong(name, value, wanted)

    return Check(take, wanted)


def _number(name: str, value: Any) -> Any:
    scalar = isinstance(value, (numbers.Number, np.generic)) or (isinstance(value, np.ndarray) and value.ndim == 0)
    if not scalar or isinstance(value, (bool, np.bool_)):
        raise ValueError(f"{name} = {shown(value)} is not a number{_metres(value)}")
    if isinstance(value, (complex, np.complexfloating)) or value != value:
        validate.number(name, value)
        raise ValueError(f"{name} = {shown(value)} is not a number")
    if isinstance(value, (int, float, np.floating, np.integer)):
        return value
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name} = {shown(value)} is not a number") from None


def _metres(value: Any) -> str:
    """Return advice for a length given with a unit: its value in metres."""
    if isinstance(value, str) and value.strip()[-1:].isalpha():
        try:
            return f"; lengths are in metres: {validate.length('', value):g}"
        except ValueError:
            pass
    return ""


def _whole(name: str, value: Any) -> int:
    value = _number(name, value)
    if not np.isfinite(value) if isinstance(value, (float, np.floating)) else False:
        raise ValueError(f"{name} = {value} is not finite")
    if value != int(value):
        raise ValueError(f"{name} = {value!r} must be a whole number")
    return int(value)


def _flag(name: str, value: Any) -> bool:
    if isinstance(value, (bool, np.bool_)) or (isinstance(value, (int, np.integer)) and value in (0, 1)):
        return bool(value)
    raise wrong(name, value, "True or False")


def _text(name: str, value: Any) -> str:
    if isinstance(value, str):
        return value
    raise wrong(name, value, "text")


def _path(name: str, value: Any) -> Any:
    if isinstance(value, (str, os.PathLike)) and isinstance(os.fspath(value), str) and os.fspath(value):
        return value
    raise wrong(name, value, "the name of a file")


def _none(name: str, value: Any) -> None:
    if value is not None:
        raise wrong(name, value, "None")


def _callable(name: str, value: Any) -> Any:
    if callable(value):
        return value
    raise wrong(name, value, "a function")


def _is_iterable(value: Any) -> bool:
    """Whether a value has items: neither a text nor an array without dimensions."""
    return isinstance(value, Iterable) and not isinstance(value, _TEXTS) and getattr(value, "ndim", 1) != 0


def _iterable(name: str, value: Any) -> Any:
    if _is_iterable(value):
        return value
    raise wrong(name, value, "a list")


FLOAT, WHOLE, FLAG = Check(_number, "a number"), Check(_whole, "a whole number"), Check(_flag, "True or False")
TEXT, PATH = Check(_text, "text"), Check(_path, "the name of a file")
NONE, CALLABLE = Check(_none, "None"), Check(_callable, "a function")

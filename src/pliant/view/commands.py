"""Commands of a page: one JSON object per message, validated completely before it takes effect.

Keys, types, numbers, names and length of a message are all validated. An invalid message raises `Refused` with a
WebSocket close code (RFC 6455, section 7.4.1).
"""

import dataclasses
import json
import math
from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple, cast

from ..detect.methods import method_name
from ..detect.options import parse_method

LONGEST = 64 * 1024  # bytes of a message
GUARD = "guard"  # what handles contacts among deformable bodies unless a method is chosen
LONGEST_METHOD = 1000  # characters of a method with its options
LONGEST_REASON = 123  # bytes of the reason in a close frame
REACH = 10.0  # largest distance of a point from the scene centre, in longest sides of the scene's bounding box
UNSUPPORTED_DATA, TOO_LONG = 1003, 1009  # WebSocket close codes

Point = tuple[float, float, float]
Action = Literal["pause", "go", "step", "reset", "record", "keep", "drop"]
ACTIONS: tuple[str, ...] = ("pause", "go", "step", "reset", "record", "keep", "drop")


class ValidCommands(NamedTuple):
    """The valid names and ranges of commands; a session replaces it as a whole with each greeting."""

    choices: Mapping[str, tuple[str, ...]]  # menu -> names
    ranges: Mapping[str, tuple[float, float]]  # slider -> lowest, highest
    overlays: Mapping[str, int]  # overlay -> highest level
    box: tuple[Point, Point]  # bounding box of the scene, metres


class Refused(Exception):
    """An invalid message: the close code and the reason, one line of ASCII, which a close frame has 123 bytes for."""

    def __init__(self, code: int, why: str) -> None:
        why = why.encode("ascii", "replace").decode()
        self.code, self.why = code, why if len(why) <= LONGEST_REASON else f"{why[: LONGEST_REASON - 3]}..."
        super().__init__(code, why)


@dataclasses.dataclass(frozen=True)
class Do:
    """Pause, resume, single step or reset; start, save or discard a recording."""

    what: Action


@dataclasses.dataclass(frozen=True)
class Choose:
    """Choose a scene, method, ..."""

    what: str
    to: str


@dataclasses.dataclass(frozen=True)
class Set:
    """Set the value of a slider."""

    name: str
    to: float


@dataclasses.dataclass(frozen=True)
class Show:
    """Switch an overlay on or off. `level`: for overlays with several levels; None keeps the current one."""

    name: str
    on: bool
    level: int | None = None


@dataclasses.dataclass(frozen=True)
class Grab:
    """Grab the first hit of a ray: `origin` in metres, `along` of length 1. `pin`: it stays pinned on release."""

    origin: Point
    along: Point
    pin: bool


@dataclasses.dataclass(frozen=True)
class Pull:
    """Move the target of the held point, metres."""

    to: Point


@dataclasses.dataclass(frozen=True)
class LetGo:
    """Release the held point."""


@dataclasses.dataclass(frozen=True)
class FreePins:
    """Release all points pinned by dragging."""


Command = Do | Choose | Set | Show | Grab | Pull | LetGo | FreePins


def parse(message: str | bytes, valid: ValidCommands) -> Command:
    """Parse a message into a command; raise `Refused` if it is invalid."""
    if not isinstance(message, str):
        raise Refused(UNSUPPORTED_DATA, "binary message; expected JSON text")
    # a character takes at least one byte; encode only if the byte count matters
    if len(message) > LONGEST or len(message.encode("utf-8", "surrogatepass")) > LONGEST:
        raise Refused(TOO_LONG, f"message of more than {LONGEST} bytes")
    try:
        fields = json.loads(message, parse_constant=_no_number, object_pairs_hook=_no_key_twice)
    except (ValueError, RecursionError):  # RecursionError: deeply nested brackets
        raise Refused(UNSUPPORTED_DATA, "not JSON") from None
    if not isinstance(fields, dict):
        raise Refused(UNSUPPORTED_DATA, "expected a JSON object")
    for verb, (keys, optional, make) in VERBS.items():
        if verb in fields:
            if not keys <= fields.keys() <= keys | optional:
                wanted = ", ".join(sorted(keys | optional))
                raise Refused(UNSUPPORTED_DATA, f"{verb}: expected the keys {wanted}")
            return make(fields, valid)
    raise Refused(UNSUPPORTED_DATA, f"expected one of the keys {', '.join(VERBS)}")


def _no_number(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


def _no_key_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError("duplicate key")
    return made


def _name(what: str, value: Any, names: Any) -> str:
    if not isinstance(value, str) or value not in names:
        raise Refused(UNSUPPORTED_DATA, f"{what}: unknown name")
    return value


def _flag(what: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise Refused(UNSUPPORTED_DATA, f"{what}: expected true or false")
    return value


def _number(what: str, value: Any, low: float, high: float) -> float:
    # compare first: an integer may be too large for a float
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
        raise Refused(UNSUPPORTED_DATA, f"{what}: expected a number in {low:g}..{high:g}")
    return float(value)


def _level(what: str, value: Any, highest: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= highest:
        raise Refused(UNSUPPORTED_DATA, f"{what}: expected a level in 0..{highest}")
    return value


def _triple(what: str, value: Any, low: Point, high: Point) -> Point:
    if not isinstance(value, list) or len(value) != 3:
        raise Refused(UNSUPPORTED_DATA, f"{what}: expected three numbers")
    x, y, z = (_number(what, v, a, b) for v, a, b in zip(value, low, high, strict=True))
    return x, y, z


def _point(what: str, value: Any, valid: ValidCommands) -> Point:
    """Return a point at most `REACH` times the longest side away from the centre of the scene, along each axis."""
    low, high = valid.box
    reach = REACH * max(b - a for a, b in zip(low, high, strict=True))
    middle = [(a + b) / 2.0 for a, b in zip(low, high, strict=True)]
    least, most = (cast(Point, tuple(m + s * reach for m in middle)) for s in (-1.0, 1.0))
    return _triple(what, value, least, most)


def _direction(what: str, value: Any) -> Point:
    along = _triple(what, value, (-1.1, -1.1, -1.1), (1.1, 1.1, 1.1))
    if not 0.9 <= math.hypot(*along) <= 1.1:
        raise Refused(UNSUPPORTED_DATA, f"{what}: expected a direction of length 1")
    return along


def _do(fields: dict[str, Any], valid: ValidCommands) -> Command:
    return Do(cast(Action, _name("do", fields["do"], ACTIONS)))


def _choose(fields: dict[str, Any], valid: ValidCommands) -> Command:
    what = _name("choose", fields["choose"], valid.choices)
    to = fields["to"]
    if what in ("method", "self_method") and to != GUARD:
        return Choose(what, _method(to, valid.choices[what]))
    return Choose(what, _name(what, to, valid.choices[what]))


def _method(value: Any, names: Any) -> str:
    """A method with its options, as text: one of `names`. Options that are typed may be wrong; the session says so."""
    text = value if isinstance(value, str) and len(value) <= LONGEST_METHOD else ""
    try:
        name = method_name(text.partition(":")[0].strip())
    except ValueError:
        raise Refused(UNSUPPORTED_DATA, "method: unknown name") from None
    _name("method", name, names)
    try:
        return parse_method(text).text
    except ValueError:
        return text


def _set(fields: dict[str, Any], valid: ValidCommands) -> Command:
    name = _name("set", fields["set"], valid.ranges)
    low, high = valid.ranges[name]
    spare = 1e-6 * (high - low)  # rounding of a logarithmic slider at its ends
    return Set(name, min(max(_number(name, fields["to"], low - spare, high + spare), low), high))


def _show(fields: dict[str, Any], valid: ValidCommands) -> Command:
    name = _name("show", fields["show"], valid.overlays)
    level = _level(name, fields["level"], valid.overlays[name]) if "level" in fields else None
    return Show(name, _flag("on", fields["on"]), level)


def _grab(fields: dict[str, Any], valid: ValidCommands) -> Command:
    pin = _flag("pin", fields.get("pin", False))
    return Grab(_point("grab", fields["grab"], valid), _direction("along", fields["along"]), pin)


def _pull(fields: dict[str, Any], valid: ValidCommands) -> Command:
    return Pull(_point("pull", fields["pull"], valid))


def _let(fields: dict[str, Any], valid: ValidCommands) -> Command:
    _name("let", fields["let"], ("go",))
    return LetGo()


def _free(fields: dict[str, Any], valid: ValidCommands) -> Command:
    _name("free", fields["free"], ("pins",))
    return FreePins()


# verb -> required keys, optional keys, constructor of the command
VERBS: dict[str, tuple[frozenset[str], frozenset[str], Callable[[dict[str, Any], ValidCommands], Command]]] = {
    "do": (frozenset({"do"}), frozenset(), _do),
    "choose": (frozenset({"choose", "to"}), frozenset(), _choose),
    "set": (frozenset({"set", "to"}), frozenset(), _set),
    "show": (frozenset({"show", "on"}), frozenset({"level"}), _show),
    "grab": (frozenset({"grab", "along"}), frozenset({"pin"}), _grab),
    "pull": (frozenset({"pull"}), frozenset(), _pull),
    "let": (frozenset({"let"}), frozenset(), _let),
    "free": (frozenset({"free"}), frozenset(), _free),
}


def supersedes(before: Command | None, now: Command) -> bool:
    """Return True if a command supersedes the one before it."""
    if isinstance(before, Set) and isinstance(now, Set):
        return before.name == now.name
    return isinstance(before, Pull | LetGo) and type(before) is type(now)

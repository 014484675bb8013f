"""What a page may ask for: one JSON object a message, checked whole before anything is done.

A message is trusted in nothing: not in its keys, its types, its numbers, its names or its length. What does not hold is
`Refused` with the WebSocket close code that says why (RFC 6455, section 7.4.1).
"""

import dataclasses
import json
import math
from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple, cast

LONGEST = 64 * 1024  # bytes of a message
REACH = 10.0  # how many boxes of the scene away a point may be
NOT_TAKEN, TOO_LONG = 1003, 1009

Point = tuple[float, float, float]
Action = Literal["pause", "go", "step", "reset", "record", "keep", "drop"]
ACTIONS: tuple[str, ...] = ("pause", "go", "step", "reset", "record", "keep", "drop")


class Known(NamedTuple):
    """What commands are checked against; a session replaces it as a whole when its world changes."""

    choices: Mapping[str, tuple[str, ...]]  # what may be chosen -> names
    ranges: Mapping[str, tuple[float, float]]  # what may be set -> lowest, highest
    overlays: Mapping[str, int]  # what may be shown -> highest level
    box: tuple[Point, Point]  # of the scene, metres


class Refused(Exception):
    """A message that is not taken: the close code, and why in one line of plain ASCII."""

    def __init__(self, code: int, why: str) -> None:
        self.code, self.why = code, why
        super().__init__(code, why)


@dataclasses.dataclass(frozen=True)
class Do:
    """Pause, go on, step once, start again; record, keep what was recorded, drop it."""

    what: Action


@dataclasses.dataclass(frozen=True)
class Choose:
    """Another scene, method, ..."""

    what: str
    to: str


@dataclasses.dataclass(frozen=True)
class Set:
    """A slider's number."""

    name: str
    to: float


@dataclasses.dataclass(frozen=True)
class Show:
    """An overlay on or off; `level` where it has several, None leaves it."""

    name: str
    on: bool
    level: int | None = None


@dataclasses.dataclass(frozen=True)
class Grab:
    """Take what a ray meets first: `origin` in metres, `along` of length 1. `pin`: it stays where it is let go."""

    origin: Point
    along: Point
    pin: bool


@dataclasses.dataclass(frozen=True)
class Pull:
    """Where the held point shall be, metres."""

    to: Point


@dataclasses.dataclass(frozen=True)
class LetGo:
    """The hand opens."""


@dataclasses.dataclass(frozen=True)
class FreePins:
    """Everything that was pinned by hand is free again."""


Command = Do | Choose | Set | Show | Grab | Pull | LetGo | FreePins


def parse(message: str | bytes, known: Known) -> Command:
    """The command that a message is, or `Refused`."""
    if not isinstance(message, str):
        raise Refused(NOT_TAKEN, "binary message; expected JSON text")
    # no character is less than a byte, so only what may be too long is encoded to be measured
    if len(message) > LONGEST or len(message.encode("utf-8", "surrogatepass")) > LONGEST:
        raise Refused(TOO_LONG, f"message of more than {LONGEST} bytes")
    try:
        asked = json.loads(message, parse_constant=_no_number, object_pairs_hook=_no_key_twice)
    except (ValueError, RecursionError):  # RecursionError: brackets in brackets
        raise Refused(NOT_TAKEN, "not JSON") from None
    if not isinstance(asked, dict):
        raise Refused(NOT_TAKEN, "expected a JSON object")
    for verb, (keys, optional, make) in VERBS.items():
        if verb in asked:
            if not keys <= asked.keys() <= keys | optional:
                wanted = ", ".join(sorted(keys | optional))
                raise Refused(NOT_TAKEN, f"{verb}: expected the keys {wanted}")
            return make(asked, known)
    raise Refused(NOT_TAKEN, f"expected one of the keys {', '.join(VERBS)}")


def _no_number(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


def _no_key_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError("a key stands twice")
    return made


def _name(what: str, value: Any, names: Any) -> str:
    if not isinstance(value, str) or value not in names:
        raise Refused(NOT_TAKEN, f"{what}: unknown name")
    return value


def _flag(what: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise Refused(NOT_TAKEN, f"{what}: expected true or false")
    return value


def _number(what: str, value: Any, low: float, high: float) -> float:
    # comparing comes first: a whole number may be too large to become a float
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
        raise Refused(NOT_TAKEN, f"{what}: expected a number in {low:g}..{high:g}")
    return float(value)


def _level(what: str, value: Any, highest: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= highest:
        raise Refused(NOT_TAKEN, f"{what}: expected a level in 0..{highest}")
    return value


def _triple(what: str, value: Any, low: Point, high: Point) -> Point:
    if not isinstance(value, list) or len(value) != 3:
        raise Refused(NOT_TAKEN, f"{what}: expected three numbers")
    x, y, z = (_number(what, v, a, b) for v, a, b in zip(value, low, high, strict=True))
    return x, y, z


def _place(what: str, value: Any, known: Known) -> Point:
    """A point no farther from the middle of the scene than `REACH` of its longest sides."""
    low, high = known.box
    reach = REACH * max(b - a for a, b in zip(low, high, strict=True))
    middle = [(a + b) / 2.0 for a, b in zip(low, high, strict=True)]
    least, most = (cast(Point, tuple(m + s * reach for m in middle)) for s in (-1.0, 1.0))
    return _triple(what, value, least, most)


def _direction(what: str, value: Any) -> Point:
    along = _triple(what, value, (-1.1, -1.1, -1.1), (1.1, 1.1, 1.1))
    if not 0.9 <= math.hypot(*along) <= 1.1:
        raise Refused(NOT_TAKEN, f"{what}: expected a direction of length 1")
    return along


def _do(asked: dict[str, Any], known: Known) -> Command:
    return Do(cast(Action, _name("do", asked["do"], ACTIONS)))


def _choose(asked: dict[str, Any], known: Known) -> Command:
    what = _name("choose", asked["choose"], known.choices)
    return Choose(what, _name(what, asked["to"], known.choices[what]))


def _set(asked: dict[str, Any], known: Known) -> Command:
    name = _name("set", asked["set"], known.ranges)
    low, high = known.ranges[name]
    spare = 1e-6 * (high - low)  # a slider that works in powers of ten may end beside its end
    return Set(name, min(max(_number(name, asked["to"], low - spare, high + spare), low), high))


def _show(asked: dict[str, Any], known: Known) -> Command:
    name = _name("show", asked["show"], known.overlays)
    level = _level(name, asked["level"], known.overlays[name]) if "level" in asked else None
    return Show(name, _flag("on", asked["on"]), level)


def _grab(asked: dict[str, Any], known: Known) -> Command:
    pin = _flag("pin", asked.get("pin", False))
    return Grab(_place("grab", asked["grab"], known), _direction("along", asked["along"]), pin)


def _pull(asked: dict[str, Any], known: Known) -> Command:
    return Pull(_place("pull", asked["pull"], known))


def _let(asked: dict[str, Any], known: Known) -> Command:
    _name("let", asked["let"], ("go",))
    return LetGo()


def _free(asked: dict[str, Any], known: Known) -> Command:
    _name("free", asked["free"], ("pins",))
    return FreePins()


# verb -> keys it must have, keys it may have, what makes the command
VERBS: dict[str, tuple[frozenset[str], frozenset[str], Callable[[dict[str, Any], Known], Command]]] = {
    "do": (frozenset({"do"}), frozenset(), _do),
    "choose": (frozenset({"choose", "to"}), frozenset(), _choose),
    "set": (frozenset({"set", "to"}), frozenset(), _set),
    "show": (frozenset({"show", "on"}), frozenset({"level"}), _show),
    "grab": (frozenset({"grab", "along"}), frozenset({"pin"}), _grab),
    "pull": (frozenset({"pull"}), frozenset(), _pull),
    "let": (frozenset({"let"}), frozenset(), _let),
    "free": (frozenset({"free"}), frozenset(), _free),
}


def moves_on(before: Command | None, now: Command) -> bool:
    """Whether a command makes the one before it pointless."""
    if isinstance(before, Set) and isinstance(now, Set):
        return before.name == now.name
    return isinstance(before, Pull | LetGo) and type(before) is type(now)

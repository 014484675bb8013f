"""Parameters of a sweep: the options of `pliant drape`, `check` and `field` under the same names, with validation."""

from collections.abc import Callable
from typing import Any

from .. import validate

Check = Callable[[str, Any], Any]
KINDS = ("drape", "check", "bake")
EARLIER = {"max-cuts": "max-body-pairs", "tiles": "slabs"}  # earlier names of parameters, still accepted


def _real(low: float = -validate.LARGEST, above: float | None = None) -> Check:
    def check(name: str, value: Any) -> float:
        return validate.number(name, _no_flag(name, value), low=low, above=above)

    return check


def _whole(low: int, high: int = 2**31 - 1) -> Check:
    def check(name: str, value: Any) -> int:
        return validate.whole(name, _no_flag(name, value), low=low, high=high)

    check.whole = True  # type: ignore[attr-defined]
    return check


def _metres(above: float) -> Check:
    def check(name: str, value: Any) -> float:
        return validate.number(name, validate.length(name, _no_flag(name, value)), above=above)

    return check


def _limit(low: float = -validate.LARGEST) -> Check:
    return lambda name, value: validate.length(name, _no_flag(name, value), low=low)


def _one_of(*options: str) -> Check:
    return lambda name, value: validate.choice(name, value, options)


def _vector(name: str, value: Any) -> list[float]:
    return [float(v) for v in validate.floats(name, value, (3,))]


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError(f"{name} = {value!r}; expected text")
    return value


def _selections(name: str, value: Any) -> list[str]:
    """Check one selection, or a list of them."""
    return [_text(name, each) for each in (value if isinstance(value, list) and value else [value])]


def _seams(name: str, value: Any) -> list[list[str]]:
    """Check pairs of selections: [["front/left 2cm", "back/left 2cm"], ...]."""
    for pair in value if isinstance(value, list) and value else [None]:
        if not isinstance(pair, list) or len(pair) != 2:
            raise ValueError(f"{name} = {value!r}; expected a list of pairs of selections")
    return [[_text(name, each) for each in pair] for pair in value]


def _scale(name: str, value: Any) -> Any:
    """Check a factor of rest lengths, or those along warp and weft."""
    if isinstance(value, list) and len(value) == 2:
        return [_real(low=0.1)(name, each) for each in value]
    return _real(low=0.1)(name, value)


def _frame_length(name: str, value: Any) -> float:
    from ..scenes.defaults import check_frame_length

    return check_frame_length(_real(above=0.0)(name, value))


def _proxy(name: str, value: Any) -> int:
    from ..proxies.proxy import FEWEST

    return validate.count(name, _no_flag(name, value), low=FEWEST, high=1_000_000)


def _flag(name: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"{name} = {value!r}; expected true or false")
    return value


def _units(name: str, value: Any) -> str | float:
    if isinstance(value, str):
        return validate.choice(name, value, tuple(validate.UNITS))
    return validate.number(name, _no_flag(name, value), above=0.0)


def _method(name: str, value: Any) -> str:
    from ..detect.options import parse_method

    return parse_method(_text(name, value)).text


def _method_or_auto(name: str, value: Any) -> str:
    from ..detect.choose import AUTO

    return AUTO if value == AUTO else _method(name, value)


def _material(name: str, value: Any) -> str:
    from ..materials.fabrics import MATERIALS

    return validate.choice(name, _text(name, value), tuple(MATERIALS))


def _response(name: str, value: Any) -> str:
    from ..respond import RESPONSES

    return validate.choice(name, _text(name, value), tuple(RESPONSES))


def _no_flag(name: str, value: Any) -> Any:
    """Reject booleans, which Python would accept as 0 and 1."""
    if isinstance(value, bool):
        raise ValueError(f"{name} = {str(value).lower()}; expected a number")
    return value


# limits of a check; if one is given, the run is compared with the limits as by `pliant check` with the same options
LIMITS: dict[str, Check] = {
    "max-depth": _limit(0.0),
    "max-inside": _whole(0),
    "max-self": _whole(0),
    "max-body-pairs": _whole(0),
    "min-clearance": _limit(),
}
NEED_BODY = ("max-inside", "max-body-pairs", "min-clearance")
_MATERIAL = ("density", "stretch", "stretch_weft", "shear", "bend", "bend_weft", "damping", "air")
_FILES: dict[str, Check] = {"units": _units, "up": _one_of("x", "y", "z")}
PARAMETERS: dict[str, dict[str, Check]] = {
    "drape": {
        "frames": _whole(1, 1_000_000),
        "resolution": _whole(2, 2000),
        "subdivide": _whole(0, 3),
        "proxy": _proxy,
        "dt": _frame_length,
        "substeps": _whole(1, 1000),
        "solver": _one_of("implicit", "xpbd"),
        "eps": _metres(0.0),
        "friction": _real(low=0.0),
        "self-friction": _real(low=0.0),
        "friction-model": _one_of("coulomb", "simple"),
        "restitution": _real(low=0.0),
        "self-contact": _one_of("off", "push", "safe"),
        "thickness": _metres(0.0),
        "stepping": _one_of("fixed", "events"),
        "self-method": _method,
        "self-response": _response,
        "wind": _vector,
        "gravity": _vector,
        "place": _one_of("auto", "as-is", "above"),
        "method": _method_or_auto,
        "response": _response,
        "clip": _text,
        "lead-in": _real(low=0.0),
        "teleports": _one_of("carry", "keep"),
        "root-motion": _one_of("keep", "remove"),
        "hold": _one_of("auto", "none"),
        "ease": validate.share,
        "pin": _selections,
        "attach": _selections,
        "stitch": _seams,
        "stitches": _one_of("lines"),
        "closing": _real(low=0.0),
        "rest-scale": _scale,
        "fix-start": _flag,
        "measure": _flag,
        "material": _material,
        **{f"material.{name}": _real(low=0.0) for name in _MATERIAL},
        **_FILES,
    },
    "check": {
        "clip": _text,
        "body-clip": _text,
        "fps": _real(above=0.0),
        "every": _whole(1),
        **LIMITS,
        **_FILES,
    },
    "bake": {
        "resolution": _whole(2, 100_000),
        "spacing": _metres(0.0),
        "band": _real(low=1.0),
        "sign": _one_of("pseudonormal", "face"),
        "slabs": _whole(1, 100_000),
        **_FILES,
    },
}


def checked(kind: str, where: str, name: str, value: Any) -> Any:
    """Return the validated `value` of parameter `name`; a ValueError names its table in the file."""
    try:
        return PARAMETERS[kind][name](name, value)
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None


def is_whole(kind: str, name: str) -> bool:
    return hasattr(PARAMETERS[kind][name], "whole")


def is_vector(kind: str, name: str) -> bool:
    """Whether a value of the parameter may be a list."""
    return PARAMETERS[kind][name] in (_vector, _selections, _seams, _scale)

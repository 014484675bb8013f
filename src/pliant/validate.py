"""Validation of arrays and values at the public API, so that kernels may assume valid input.

Every message states what was expected, what was found and where: `vertices[17, 2] is not finite (nan)`.
"""

import os
from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from .errors import TooBigError

UNITS = {"m": 1.0, "cm": 0.01, "mm": 0.001, "in": 0.0254, "ft": 0.3048}
_MOST_WHOLE = 2**31 - 1  # largest index and count
LARGEST = 1e12  # metres; larger values would overflow cell indices
_Number = TypeVar("_Number", bound=np.generic)
Floats = NDArray[np.float64]
Ints = NDArray[np.int32]


def _array(name: str, value: Any) -> NDArray[Any]:
    try:
        array = np.asarray(value)
    except (ValueError, TypeError) as error:
        raise ValueError(f"{name} is not an array of numbers ({error})") from None
    if array.dtype.kind not in "fiub":
        raise ValueError(f"{name} has dtype {array.dtype}; expected numbers")
    return array


def numbers(name: str, value: Any) -> NDArray[Any]:
    """Return `value` as an array of real numbers of any shape, without copying an existing array."""
    return _array(name, value)


def _shape(name: str, array: NDArray[Any], shape: tuple[int | None, ...]) -> None:
    wanted = "(" + ", ".join("n" if s is None else str(s) for s in shape) + ("," if len(shape) == 1 else "") + ")"
    if array.ndim != len(shape) or any(s is not None and s != a for s, a in zip(shape, array.shape)):
        raise ValueError(f"{name} has shape {array.shape}; expected {wanted}")


def first_index(mask: NDArray[np.bool_]) -> str:
    """Return the index of the first true entry of `mask` as text: `17, 2`."""
    where = np.unravel_index(int(np.argmax(mask)), mask.shape)
    return ", ".join(str(int(i)) for i in where)


def floats(name: str, value: Any, shape: tuple[int | None, ...], *, finite: bool = True) -> Floats:
    """Return a new, contiguous float64 array of `shape` (None = any length), finite and within +-1e12."""
    array = _array(name, value)
    if array.dtype.kind == "b":
        raise ValueError(f"{name} has dtype {array.dtype}; expected real numbers")
    _shape(name, array, shape)
    out = np.array(array, dtype=np.float64, order="C")
    # nan fails both comparisons, so that valid values take two passes without temporary arrays
    if finite and out.size and not (out.min() >= -LARGEST and out.max() <= LARGEST):
        raise _out_of_range(name, out)
    return out


def _out_of_range(name: str, array: Floats) -> ValueError:
    """Return the error for the first value that is not finite or, if all are, for the first beyond +-1e12."""
    bad = ~np.isfinite(array)
    if bad.any():
        return ValueError(f"{name}[{first_index(bad)}] is not finite ({array[bad][0]})")
    bad = np.abs(array) > LARGEST
    return ValueError(
        f"{name}[{first_index(bad)}] = {array[bad][0]:g} is beyond {LARGEST:g}; "
        "pass metres, or scale the mesh before loading it"
    )


def indices(name: str, value: Any, width: int, count: int, of: str = "vertices") -> Ints:
    """Return a new (m, width) int32 array with entries in 0..count-1."""
    array = _array(name, value)
    if array.size == 0:
        return np.zeros((0, width), np.int32)
    if array.dtype.kind == "f":
        if not np.isfinite(array).all() or (array != np.floor(array)).any():
            raise ValueError(f"{name} has dtype {array.dtype}; expected whole numbers")
    elif array.dtype.kind not in "iu":
        raise ValueError(f"{name} has dtype {array.dtype}; expected whole numbers")
    _shape(name, array, (None, width))
    bad = (array < 0) | (array >= count)
    if bad.any():
        raise ValueError(
            f"{name}[{first_index(bad)}] = {int(array[bad][0])} but there are {count} {of}, numbered from 0"
        )
    return np.array(array, dtype=np.int32, order="C")


def read_only(array: NDArray[_Number]) -> NDArray[_Number]:
    """Return a read-only view. The arrays of a mesh are read-only too, so one compiled kernel serves both."""
    if not array.flags.writeable:
        return array
    view = array.view()
    view.setflags(write=False)
    return view


def rows(name: str, value: Any, count: int, of: str = "vertices") -> Ints:
    """Return a new (m,) int32 array with entries in 0..count-1."""
    return indices(name, _array(name, value).reshape(-1, 1), 1, count, of).ravel()


def number(name: str, value: Any, *, low: float = -np.inf, high: float = np.inf, above: float | None = None) -> float:
    """Return a finite float with low <= value <= high, and value > above if given."""
    try:
        if isinstance(value, (bool, np.bool_, str, bytes)):  # float() would accept these
            raise TypeError
        result = float(value)
    except (TypeError, ValueError):
        raise ValueError(f"{name} = {_brief(value)} is not a number") from None
    except OverflowError:  # an integer with too many digits to print
        raise ValueError(f"{name} is too large; expected a number below 1.8e308") from None
    if not np.isfinite(result):
        raise ValueError(f"{name} = {result} is not finite")
    if above is not None and not result > above:
        raise ValueError(f"{name} = {plain(result)} must be greater than {plain(above)}")
    if not low <= result <= high:
        if result < low and high >= _MOST_WHOLE:  # the upper bound says nothing to a reader
            wanted = f"at least {plain(low)}"
        else:
            wanted = f"at most {plain(high)}" if low == -np.inf else f"in {plain(low)}..{plain(high)}"
        raise ValueError(f"{name} = {plain(result)} must be {wanted}")
    return result


def plain(value: float) -> str:
    """Format a number as it would be typed: whole ones below 1e9, and the largest index, with all of their digits."""
    return str(int(value)) if value == np.floor(value) and (abs(value) < 1e9 or value == _MOST_WHOLE) else f"{value:g}"


def _brief(value: Any) -> str:
    """Format a value on one line of at most 60 characters."""
    text = " ".join(repr(value).split())
    return text if len(text) <= 60 else text[:57] + "..."


def axes(name: str, value: Any) -> Floats:
    """Return positive lengths (3,): one number for all axes, or one for each of x, y and z."""
    array = _array(name, value)
    out = floats(name, np.broadcast_to(array, 3) if array.ndim == 0 else array, (3,))
    for k in range(3):
        number(f"{name}[{k}]", out[k], above=0.0)
    return out


def pair(name: str, value: Any, *, low: float, high: float) -> tuple[float, float]:
    """Return two numbers in low..high: one number for both, or one for each."""
    array = _array(name, value)
    one, two = floats(name, np.broadcast_to(array, 2) if array.ndim == 0 else array, (2,)).tolist()
    return number(f"{name}[0]", one, low=low, high=high), number(f"{name}[1]", two, low=low, high=high)


def scales(name: str, value: Any, count: int, *, low: float, high: float) -> tuple[float, float] | Floats:
    """Return numbers in low..high: one for each of `count` vertices, or those of `pair`."""
    array = _array(name, value)
    if array.ndim != 1 or len(array) in (0, 1, 2):
        return pair(name, value, low=low, high=high)
    out = floats(name, array, (count,))
    bad = (out < low) | (out > high)
    if bad.any():
        number(f"{name}[{first_index(bad)}]", float(out[bad][0]), low=low, high=high)
    return out


def counts(name: str, value: Any, *, high: int) -> list[int]:
    """Return three integers in 1..high, for x, y and z; a single `value` counts for all three."""
    array = _array(name, value)
    if array.shape not in ((), (3,)):
        raise ValueError(f"{name} has shape {array.shape}; expected a whole number or one for each of x, y, z")
    return [whole(f"{name}[{k}]", n, low=1, high=high) for k, n in enumerate(np.broadcast_to(array, 3))]


def color(name: str, value: Any) -> tuple[float, float, float]:
    """Return red, green and blue in 0..1."""
    red, green, blue = floats(name, value, (3,)).tolist()
    for k, part in enumerate((red, green, blue)):
        number(f"{name}[{k}]", part, low=0.0, high=1.0)
    return red, green, blue


def whole(name: str, value: Any, *, low: int = 0, high: int = _MOST_WHOLE) -> int:
    result = number(name, value, low=low, high=high)
    if result != int(result):
        raise ValueError(f"{name} = {value!r} must be a whole number")
    return int(result)


def choice(name: str, value: str, options: Sequence[str]) -> str:
    """Return `value` if it is one of `options`, else raise and suggest the closest match."""
    if value in options:
        return value
    import difflib

    near = difflib.get_close_matches(str(value), options, n=1)
    hint = f"did you mean {near[0]!r}? " if near else ""
    raise ValueError(f"unknown {name} {value!r}; {hint}one of: {', '.join(options)}")


def free_memory() -> int:
    """Return the available memory in bytes; 8 GiB if the platform does not report it."""
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:
            for line in lines:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return 8 << 30


def size_text(count: float) -> str:
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 999.5:  # four digits would become 1e+03
            return f"{count:.3g} {unit}"
        count /= 1024
    return f"{count:.3g} TiB"


def budget(what: str, needed: float, advice: str, max_bytes: float | None = None) -> None:
    """Raise TooBigError if `needed` bytes exceed `max_bytes`. Default: half of the free memory."""
    limit = free_memory() / 2 if max_bytes is None else max_bytes
    if needed > limit:
        note = " (half of free memory)" if max_bytes is None else ""
        raise TooBigError(f"{what} needs {size_text(needed)}, limit {size_text(limit)}{note}; {advice}")


def count(name: str, value: Any, *, low: int = 0, high: int = _MOST_WHOLE) -> int:
    """Return a whole number from a number, or from text such as 5000, 5k or 2.5k."""
    text = str(value).strip().lower()
    try:
        given = float(text.removesuffix("k")) * (1000.0 if text.endswith("k") else 1.0)
    except ValueError:
        raise ValueError(f"{name} is {value!r}; expected a number such as 5000 or 5k") from None
    return whole(name, given, low=low, high=high)


def length(name: str, value: Any, *, low: float = -np.inf) -> float:
    """Return metres from a number of metres or from text such as 1mm, 0.2 cm, 3in."""
    text = str(value).strip().lower()
    unit = next((u for u in sorted(UNITS, key=len, reverse=True) if text.endswith(u)), "")
    try:
        metres = float(text[: len(text) - len(unit)]) * UNITS.get(unit, 1.0)
    except ValueError:
        units = ", ".join(UNITS)
        raise ValueError(f"{name} is {value!r}; expected a length such as 2mm or 0.002 (units: {units})") from None
    return number(name, metres, low=low, high=LARGEST)


def share(name: str, value: Any) -> float:
    """Return a number from 0 to 1, given as such or as text such as 15% or 0.15."""
    text = str(value).strip()
    try:
        fraction = float(text.removesuffix("%")) * (0.01 if text.endswith("%") else 1.0)
    except ValueError:
        raise ValueError(f"{name} is {value!r}; expected a fraction such as 15% or 0.15") from None
    return number(name, fraction, low=0.0, high=1.0)

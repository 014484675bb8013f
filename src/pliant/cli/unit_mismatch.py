"""Garment and body in different units, or with different axes up: recognised by how the garment fits on the body."""

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from . import output
from .reading import FileOptions, PairOptions

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ..mesh import Mesh

    Floats = NDArray[np.float64]

LARGE, SMALL = 20.0, 1.0 / 150.0  # sizes of garments relative to their bodies that are implausible
SMALL_PLACED = 1.0 / 60.0  # the same of cloth that is not where it is worn, as a button may be
USUAL = (0.05, 2.5)  # usual sizes: beyond them the fit of the garment is looked at
APART = 2.0  # of the larger size: distance between garment and body that is implausible
FITS = 0.12  # of its size: largest median distance of a garment from a body that wears it
BETTER = 0.25  # of the median distance as read: at most this if the garment fits as it is read otherwise
_WORN = 0.6  # of the size of the body: usual size of a garment
_BODY = 1.7  # metres: of two readings of the same fit the one counts whose body is nearer to this size
_POINTS, _SAMPLES = 400, 20_000  # most vertices of the garment and points of the body that are compared
_NAMES = {"cm": "centimetres", "mm": "millimetres", "m": "metres", "in": "inches", "ft": "feet"}


class Reading(NamedTuple):
    """Another unit or up axis of the body, or of the garment if `of_body` is not set."""

    of_body: bool
    units: str
    up: str


def warn_of_pair(worn: "Mesh", under: "Mesh", files: PairOptions, *, placed: bool = False) -> None:
    """Warn where size or position suggest that garment and body have different units or axes, and name the options
    with which the garment fits; where the garment may be `placed`, it may start far from the body."""
    sizes = worn.size, under.size
    if not min(sizes) > 0.0:
        return
    one, other, ratio = worn.bounds, under.bounds, sizes[0] / sizes[1]
    small = SMALL_PLACED if placed else SMALL
    apart = float(max(*(one[0] - other[1]), *(other[0] - one[1])))
    told = ""
    if ratio > LARGE:
        told = f"the garment is {ratio:.3g} times as large as the body"
    elif ratio < small:
        told = f"the body is {1.0 / ratio:.3g} times as large as the garment"
    elif apart > APART * max(sizes) and not placed:
        told = f"garment and body are {apart:.3g} m apart"
    margin = 0.15 * sizes[0]
    within = bool(((one[0] > other[0] - margin) & (one[1] < other[1] + margin)).all())
    if not told and within and USUAL[0] < ratio < USUAL[1]:
        return
    found = _fitting(worn, under, files)
    if found is not None:
        output.warn(f"{told or 'the garment does not lie on the body'}; it fits if {_words(found, files)}")
    elif (ratio > LARGE or ratio < small) and (found := _of_usual_size(sizes, files)) is not None:
        output.warn(f"{told}; if {_words(found, files)}")
    elif told:
        output.warn(
            f"{told}; are both files in the same units, with the same axis up? --units and --up are for both, "
            "--body-units and --body-up for the body alone"
        )


def _words(found: Reading, files: PairOptions) -> str:
    """What the reading supposes, and the options that say so."""
    now = files.body if found.of_body else files.garment
    parts, options = [], []
    prefix = "body-" if found.of_body else ""
    for option, given, kept, text in (
        ("units", found.units, now.units, f"in {_NAMES[found.units]}"),
        ("up", found.up, now.up, f"modelled with {found.up} up"),
    ):
        if given == kept:
            continue
        parts.append(text)
        options.append(f"--{prefix}{option} {given}")
        if not found.of_body and getattr(files, f"body_{option}") is None:
            options.append(f"--body-{option} {getattr(files.body, option)}")
    return f"the {'body' if found.of_body else 'garment'} is {' and '.join(parts)}: add {' '.join(options)}"


def _readings(files: PairOptions) -> Iterator[tuple[Reading, float, "Floats"]]:
    """Other readings of one of the files, and the scale and turn (3,3) of the garment that they amount to."""
    import numpy as np

    from ..io import TURNS
    from ..validate import UNITS

    for of_body, now in ((True, files.body), (False, files.garment)):
        for units in dict.fromkeys((now.units, *UNITS)):
            scale = _relative(units, now)
            for up in TURNS:
                if units in UNITS and (up != now.up or not math.isclose(scale, 1.0)):
                    turn = np.array(TURNS[up], float) @ np.array(TURNS[now.up], float).T
                    yield Reading(of_body, units, up), 1.0 / scale if of_body else scale, turn.T if of_body else turn


def _fitting(worn: "Mesh", under: "Mesh", files: PairOptions) -> Reading | None:
    """The reading with which the garment lies close to the body, much closer than as both were read."""
    import numpy as np
    from scipy.spatial import KDTree

    x, faces = under.vertices, under.faces
    points = np.concatenate([x[faces].mean(1), x]) if len(faces) else x
    tree = KDTree(points[:: -(-len(points) // _SAMPLES)])
    sample = worn.vertices[:: -(-worn.n_vertices // _POINTS)]

    def distance(scale: float, turn: "Floats") -> float:
        return float(np.median(tree.query(scale * sample @ turn.T)[0])) / (scale * worn.size)

    best, least = None, (min(FITS, BETTER * distance(1.0, np.eye(3))), math.inf)
    for reading, scale, turn in _readings(files):
        body = under.size * (_relative(reading.units, files.body) if reading.of_body else 1.0)
        rank = (round(distance(scale, turn), 4), abs(math.log(body / _BODY)))
        if rank < least:
            best, least = reading, rank
    return best


def _of_usual_size(sizes: tuple[float, float], files: PairOptions) -> Reading | None:
    """The reading in another unit with which the garment has the usual size of one on the body."""
    best, least = None, (math.inf, math.inf)
    for reading, scale, _ in _readings(files):
        if reading.up != (files.body if reading.of_body else files.garment).up:
            continue
        body = sizes[1] * (_relative(reading.units, files.body) if reading.of_body else 1.0)
        rank = (round(abs(math.log(scale * sizes[0] / sizes[1] / _WORN)), 4), abs(math.log(body / _BODY)))
        if SMALL < scale * sizes[0] / sizes[1] < LARGE and rank < least:
            best, least = reading, rank
    return best


def _relative(units: str, now: FileOptions) -> float:
    """The length of a unit relative to that with which a file was read."""
    from ..io import metres_per_unit

    return metres_per_unit(units) / metres_per_unit(now.units)

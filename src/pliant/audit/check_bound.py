"""Check of a bound garment over the clips of its character, at frames distributed over all of them."""

import dataclasses
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..binding.bound import Bound
from ..motion.clip import Clip
from .check import check
from .findings import Finding, Note

SHORTEST = 1.0 / 30.0  # s, duration that a clip of one pose counts as


class ClipFindings(NamedTuple):
    """The worst of the checked frames of one clip; lengths in metres."""

    clip: str | None  # None: the default pose of the nodes
    frames: int
    inside: int  # most vertices inside the body
    depth: float  # largest depth of the garment
    time: float  # s, at which it is deepest
    crossings: int  # most triangle pairs of garment and body that cross
    self_pairs: int  # most self-intersecting triangle pairs


def check_bound(
    bound: Bound, clips: list[str], count: int, progress: Callable[[float], None] | None = None
) -> tuple[list[ClipFindings], tuple[Note, ...]]:
    """Check a bound garment at `count` times, evenly spaced over the named clips one after the other.

    Without clips, the default pose of the nodes is checked. Returns the findings of each clip that was reached, and the
    notes of `check`.
    """
    chosen = _times(bound, clips, count)
    parts = [bound.frames(clip, times) for clip, times in chosen]
    pair = []
    for side in (0, 1):
        x = np.concatenate([part[side].frames for part in parts])
        pair.append(Clip(dataclasses.replace(parts[0][side].mesh, vertices=x[0]), x))
    report = check(pair[0], pair[1], progress=progress)
    rows, first = [], 0
    for clip, times in chosen:
        rows.append(_worst(clip, times, report.frames[first : first + len(times)]))
        first += len(times)
    return rows, report.notes


def _times(bound: Bound, clips: list[str], count: int) -> list[tuple[str | None, list[float]]]:
    if not clips:
        return [(None, [0.0])]
    lengths = [max(bound.garment.clips[name].duration, SHORTEST) for name in clips]
    ends = np.cumsum(lengths)
    at = (np.arange(count) + 0.5) / count * ends[-1]
    of = np.searchsorted(ends, at)
    begin = np.concatenate([[0.0], ends])
    return [(clips[k], [float(t - begin[k]) for t in at[of == k]]) for k in np.unique(of)]


def _worst(clip: str | None, times: list[float], found: tuple[Finding, ...]) -> ClipFindings:
    deepest = max(range(len(found)), key=lambda k: (found[k].depth, found[k].crossings, -k))
    return ClipFindings(
        clip=clip,
        frames=len(found),
        inside=max(f.inside for f in found),
        depth=found[deepest].depth,
        time=times[deepest],
        crossings=max(f.crossings for f in found),
        self_pairs=max(f.self_pairs for f in found),
    )

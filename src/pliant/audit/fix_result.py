"""Result of a repair: displacement, strain and bending of the garment, and the problems that remain."""

import dataclasses
import os
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import brief, renamed
from ..motion.clip import Clip
from .findings import NoteKind, Report, size_words
from .layers import Layer
from .where import where_most
from .work import cut_short_text

STILL = 1e-9  # of the garment's size: jitter up to which is rounding
SHAKING, VISIBLE = 2.0, 5e-4  # times the jitter of the input, and of the garment's size, above which a result shakes
HELP = (
    "where limbs go through the garment, narrow or move it, leave the arms out of the body, or drape it instead "
    "(docs/fix.md#limits)"
)


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class FixResult:
    """A garment after `fix`, with the results of `check` before and after.

    moved: (T,n) displacement of each vertex, metres. strain: (T,k) relative change of length of each edge. bend: (T,h)
    change of the dihedral angle of each hinge, radians. unchanged: frames for which nothing better was found.
    steps: number of guarded steps from the smoothed shapes back to the original one. without_room: for each frame, the
    vertices that remain inside where parts of the body press into each other. marched: frames of a garment that limbs
    go through, which was moved from its rest pose instead of out of the body in each frame. cut_short: what the limit
    of work left undone, and in which frames. layers_before, layers_after: the layering over each inner garment.
    """

    garment: Clip
    before: Report
    after: Report
    moved: NDArray[np.float32]
    strain: NDArray[np.float32]
    bend: NDArray[np.float32]
    unchanged: tuple[int, ...]
    steps: int = 0
    without_room: tuple[int, ...] = ()
    marched: tuple[int, ...] = ()
    cut_short: tuple[tuple[str, tuple[int, ...]], ...] = ()
    layers_before: tuple[Layer, ...] = ()
    layers_after: tuple[Layer, ...] = ()

    kept = renamed.attribute("kept", "unchanged")
    compared = renamed.attribute("compared", "comparison")

    @property
    def jitter(self) -> tuple[float, float]:
        """Mean acceleration of vertices before and after, metres per frame squared; 0 with fewer than three frames."""
        one, two = (_jitter(clip) for clip in (self.before.garment, self.garment))
        return one, two

    @property
    def comparison(self) -> list[tuple[str, str, str]]:
        """Rows of the results of `check`: (name, before, after)."""
        one, two = self.before, self.after
        many = len(one.frames) > 1
        at, rows = ", most in a frame" if many else "", []

        def add(name: str, text: Callable[[Report], str]) -> None:
            rows.append((name, text(one), text(two)))

        if many:
            add("frames with problems", lambda report: f"{len(report.problem_frames):,}")
        if one.body is not None and one.has_inside:
            add(f"vertices inside{at}", lambda report: f"{max(f.inside for f in report.frames):,}")
            add("deepest", _deepest)
        if one.body is not None and max(_clearance(one), _clearance(two)) > 0.0:  # else it is the depth again
            add("least clearance", lambda report: size_words(max(_clearance(report), 0.0)))
        if one.body is not None:
            add(
                f"garment intersects body{at}",
                lambda report: _intersections(report, "crossings", "loops", "loop_length"),
            )
        if one.body is not None and many:
            add("garment intersects body, all frames", lambda report: _all_pairs(report, "crossings"))
        add(f"intersects itself{at}", lambda report: _intersections(report, "self_pairs", "self_loops", "self_length"))
        if many:
            add("intersects itself, all frames", lambda report: _all_pairs(report, "self_pairs"))
        for first, last in zip(self.layers_before, self.layers_after, strict=True):
            rows.append((f"below {first.name}{at}", first.words(), last.words()))
        return rows

    @property
    def remaining(self) -> str:
        """In how many frames of an animation problems remain, where most of them are, and what helps; empty without."""
        left, count = self.after.problem_frames, len(self.after.frames)
        if count == 1 or not left:
            return ""
        text = f"{len(left):,} of {count:,} frames still have problems, most of them {where_most(self.after)}"
        return f"{text}; {HELP}" if any(f.crossings for f in left) else text

    @property
    def shaking(self) -> str:
        """That the garment shakes much more than the input, as a sentence; empty if it does not."""
        before, after = self.jitter
        if after <= SHAKING * before or after <= VISIBLE * self.garment.mesh.size:
            return ""
        times = f"{after / before:.1f} times that of the input" if before > 0.0 else "the input has none"
        return f"the garment shakes: its jitter is {size_words(after)} per frame squared, {times}; look at the result"

    @property
    def changes(self) -> dict[str, str]:
        """Displacement, strain, bending and jitter as text."""
        out, at = {}, self.moved[self.moved > 0.0]
        out["moved"] = "nothing"
        if len(at):
            share = len(at) / self.moved.size
            half, most, all_of = (size_words(float(np.quantile(at, q))) for q in (0.5, 0.95, 1.0))
            out["moved"] = f"{share:.1%} of the vertices; median {half}, 95 % below {most}, most {all_of}"
        out["edge strain"] = f"mean {self.strain.mean():.2%}, 99 % below {np.quantile(self.strain, 0.99):.1%}"
        if self.bend.size:
            out["bending"] = f"mean {np.degrees(self.bend.mean()):.2f} degrees"
        if len(self.moved) > 2:
            a, b = self.jitter
            ratio = f", {b / a:.2f} times" if a > STILL * self.garment.mesh.size else ""
            out["jitter"] = f"{size_words(a)} before, {size_words(b)} after, per frame squared{ratio}"
        if self.marched:
            frames = f"{len(self.marched)} frame{'s' * (len(self.marched) != 1)}, the first {self.marched[0]}"
            out["marched"] = f"{frames}: limbs go through the garment, so it was moved from its rest pose on"
        if any(self.without_room):
            between = "lie between parts of the body that press into each other"
            where = ", most in a frame" if len(self.without_room) > 1 else ""
            out["no room"] = f"{max(self.without_room):,} of the vertices inside {between}{where}"
        if self.cut_short:
            out["work limit"] = cut_short_text(self.cut_short)
        if self.unchanged:
            count, first = len(self.unchanged), self.unchanged[0]
            lost = any(note.kind is NoteKind.WHOLLY_INSIDE for note in self.before.notes)
            why = "the garment is deep inside the body" if lost else "nothing better was found"
            out["left unchanged"] = (
                f"{count} frames, the first {first}: {why}" if count > 1 else f"frame {first}: {why}"
            )
        return out

    @property
    def facts(self) -> dict[str, str]:
        """Results before and after as readable text, by row heading."""
        return {name: f"{a} -> {b}" for name, a, b in self.comparison} | self.changes

    def __repr__(self) -> str:
        return brief.facts(self, self.garment.mesh.name)

    def to_html(self, path: str | os.PathLike[str]) -> None:
        """Write a self-contained HTML page: before and after side by side, coloured by depth, and the changes."""
        from ..report.fix_page import write_fix_page
        from .views import fix_view

        write_fix_page(path, fix_view(self))

    def _repr_html_(self) -> str:
        from ..report.fix_page import fix_page
        from ..report.replay import iframe_html
        from .views import fix_view

        return iframe_html(fix_page(fix_view(self)), height=760)

    def to_json(self) -> dict[str, Any]:
        """Figures, and both reports."""
        a, b = self.jitter
        at = self.moved[self.moved > 0.0]
        quantiles = {f"{q:g}": float(np.quantile(at, q)) for q in (0.5, 0.9, 0.95, 0.99, 1.0)} if len(at) else {}
        return {
            "moved_share": len(at) / self.moved.size,
            "moved_m": quantiles,
            "strain_mean": float(self.strain.mean()),
            "strain_99": float(np.quantile(self.strain, 0.99)),
            "bend_mean_rad": float(self.bend.mean()) if self.bend.size else 0.0,
            "jitter_m": [a, b],
            "unchanged": list(self.unchanged),
            "kept": list(self.unchanged),  # the earlier name of "unchanged", for one version
            "steps": self.steps,
            "without_room": list(self.without_room),
            "marched": list(self.marched),
            "cut_short": {what: list(frames) for what, frames in self.cut_short},
            "layers_before": [layer._asdict() for layer in self.layers_before],
            "layers_after": [layer._asdict() for layer in self.layers_after],
            "before": self.before.to_json(),
            "after": self.after.to_json(),
        }


def _deepest(report: Report) -> str:
    """The largest depth as text; a depth of 0 is followed by the number of crossing pairs, if any."""
    pairs = report.crossings
    words = f", {pairs:,} crossing pair{'s' * (pairs != 1)}" if pairs and not report.worst_depth else ""
    return size_words(report.worst_depth) + words


def _clearance(report: Report) -> float:
    return min(f.clearance for f in report.frames)


def _all_pairs(report: Report, pairs: str) -> str:
    return f"{sum(getattr(f, pairs) for f in report.frames):,} pairs"


def _intersections(report: Report, pairs: str, loops: str, length: str) -> str:
    """Pairs and curves as text, in the frame with most intersecting pairs."""
    most = max(report.frames, key=lambda f: getattr(f, pairs))
    count, curves = getattr(most, pairs), getattr(most, loops)
    if not count:
        return "none"
    words = f"{count:,} pair{'s' * (count != 1)}, {curves:,} curve{'s' * (curves != 1)}"
    return f"{words} of {size_words(getattr(most, length))}"


def _jitter(clip: Clip) -> float:
    if len(clip) < 3:
        return 0.0
    total, count = 0.0, 0
    for t in range(1, len(clip) - 1):
        a, b, c = (np.asarray(clip.at(t + k), np.float64) for k in (-1, 0, 1))
        total += float(np.linalg.norm(a - 2.0 * b + c, axis=1).sum())
        count += len(b)
    return total / count

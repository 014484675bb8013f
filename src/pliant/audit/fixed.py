"""What became of a garment that was fixed: how far it moved, how much it was stretched and bent, what remains."""

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..clip import Clip
from .findings import Report


@dataclasses.dataclass(frozen=True, eq=False)
class Fixed:
    """A garment after `fix`, with what it was: `before` and `after` are what `check` says of both.

    moved: (T,n) how far each vertex went, metres. strain: (T,k) change of length of each edge, as a share of what it
    was. bend: (T,h) change of the angle of each hinge, radians. kept: frames that were left as they were, since
    nothing better was found.
    """

    garment: Clip
    before: Report
    after: Report
    moved: NDArray[np.float32]
    strain: NDArray[np.float32]
    bend: NDArray[np.float32]
    kept: tuple[int, ...]

    @property
    def jitter(self) -> tuple[float, float]:
        """Mean acceleration of the vertices before and after, metres a frame squared; 0 of fewer than three frames."""
        one, two = (_jitter(clip) for clip in (self.before.garment, self.garment))
        return one, two

    @property
    def facts(self) -> dict[str, str]:
        """A small table for people: before and after."""
        one, two = self.before, self.after
        many = len(one.frames) > 1
        out = {}
        if one.body is not None and one.sided:
            most = [max(f.inside for f in report.frames) for report in (one, two)]
            out["vertices inside"] = f"{most[0]:,} -> {most[1]:,}" + (" (most in a frame)" if many else "")
            out["deepest"] = f"{1e3 * one.worst_depth:.3g} -> {1e3 * two.worst_depth:.3g} mm"
        if one.body is not None:
            cuts = [max(f.body_pairs for f in report.frames) for report in (one, two)]
            out["garment cuts body"] = f"{cuts[0]:,} -> {cuts[1]:,} pairs of triangles"
        pairs = [sum(f.self_pairs for f in report.frames) for report in (one, two)]
        out["self-intersections"] = f"{pairs[0]:,} -> {pairs[1]:,} pairs of triangles" + (" in all" if many else "")
        at = self.moved[self.moved > 0.0]
        if len(at):
            share = len(at) / self.moved.size
            out["moved"] = (
                f"{share:.1%} of the vertices; median {_mm(np.median(at))}, 95 % below {_mm(np.quantile(at, 0.95))}"
            )
            out["moved"] += f", most {_mm(at.max())}"
        out["edge strain"] = f"mean {self.strain.mean():.2%}, 99 % below {np.quantile(self.strain, 0.99):.1%}"
        if self.bend.size:
            out["bending"] = f"mean {np.degrees(self.bend.mean()):.2f} degrees"
        if len(self.moved) > 2:
            a, b = self.jitter
            ratio = f", {b / a:.2f} times" if a > 0.0 else ""
            out["jitter"] = f"{_mm(a)} -> {_mm(b)} a frame squared{ratio}"
        if self.kept:
            out["left as they were"] = f"{len(self.kept)} frames, the first {self.kept[0]}: nothing better was found"
        return out

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
            "kept": list(self.kept),
            "before": self.before.to_json(),
            "after": self.after.to_json(),
        }


def _jitter(clip: Clip) -> float:
    if len(clip) < 3:
        return 0.0
    total, count = 0.0, 0
    for t in range(1, len(clip) - 1):
        a, b, c = (np.asarray(clip.at(t + k), np.float64) for k in (-1, 0, 1))
        total += float(np.linalg.norm(a - 2.0 * b + c, axis=1).sum())
        count += len(b)
    return total / count


def _mm(metres: Any) -> str:
    return f"{1e3 * float(metres):.3g} mm"

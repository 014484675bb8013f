"""Findings of one frame, limits for them, and the limits that they exceed."""

import dataclasses
import enum
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

Point = tuple[float, float, float]


class Finding(NamedTuple):
    """Findings in one frame. Lengths in metres; without a body, its values are 0 or infinite."""

    frame: int
    time: float  # s
    inside: int  # vertices of the garment inside the body
    deepest: float  # penetration depth of the deepest vertex
    vertex: int  # index of the deepest vertex; -1 where none is inside
    place: Point | None
    direction: Point | None  # separation direction there
    share: float  # fraction 0..1 of the garment's surface inside the body
    clearance: float  # least signed distance from the body of any vertex, or of a point where they cross
    body_pairs: int  # intersecting triangle pairs of garment and body, touching ones included
    loops: int  # intersection curves of garment and body
    loop_length: float
    self_pairs: int  # self-intersecting triangle pairs of the garment
    self_loops: int
    self_length: float
    body_self_pairs: int  # self-intersecting pairs of the body: between such parts there may be no outside
    overlap: float = float("nan")  # m3, intersection volume of garment and body where both are closed; else nan
    overlap_bound: float = float("nan")  # m3, error bound of the overlap
    crossings: int = 0  # triangle pairs of garment and body that cross: body_pairs without touching ones
    between: float = 0.0  # penetration depth between vertices, where deeper than any vertex; else 0
    between_at: Point | None = None
    unknown: int = 0  # vertices of the garment near openings of the body, on no known side of it; none of them inside

    @property
    def depth(self) -> float:
        """Depth of the deepest point of the garment, at or between vertices, metres."""
        return max(self.deepest, self.between)

    @property
    def penetrating(self) -> bool:
        """True if a vertex is inside the body, or triangles of both cross."""
        return self.inside > 0 or self.crossings > 0


class Rule(enum.StrEnum):
    """What a limit is about; reports for other programs name it."""

    PENETRATION = "penetration"  # depth of the garment inside the body
    INSIDE = "vertices-inside"  # number of its vertices inside
    CROSSING = "body-crossing"  # crossing triangle pairs of garment and body
    SELF_INTERSECTION = "self-intersection"
    CLEARANCE = "clearance"


RULE_TEXT = {
    Rule.PENETRATION: "The garment penetrates the body deeper than allowed.",
    Rule.INSIDE: "More vertices of the garment are inside the body than allowed.",
    Rule.CROSSING: "Triangles of garment and body cross.",
    Rule.SELF_INTERSECTION: "The garment intersects itself.",
    Rule.CLEARANCE: "The garment is nearer to the body than required.",
}


class Violation(NamedTuple):
    """An exceeded limit. frame: -1 where it holds in all frames alike."""

    rule: Rule
    frame: int
    text: str


@dataclasses.dataclass(frozen=True)
class Limits:
    """Allowed values; None: no limit.

    body_pairs: crossing triangle pairs of garment and body; if given, `depth` applies to vertices only. None: any
    number as long as the depth, also between vertices, is allowed; none if that depth is 0 or undefined.
    """

    depth: float | None = 0.0  # m
    inside: int | None = None
    self_pairs: int | None = 0
    body_pairs: int | None = None
    clearance: float | None = None  # m, at least

    def rules(self, has_body: bool) -> list[Rule]:
        """The rules with a limit of their own; crossing pairs without one count as penetration."""
        of_body = (
            (Rule.PENETRATION, self.depth is not None),
            (Rule.INSIDE, self.inside is not None),
            (Rule.CROSSING, self.body_pairs is not None),
            (Rule.CLEARANCE, self.clearance is not None),
        )
        tested = [rule for rule, given in of_body if given and has_body]
        return tested if self.self_pairs is None else [*tested, Rule.SELF_INTERSECTION]


def find_violations(frames: Sequence[Finding], limits: Limits, *, has_body: bool, has_inside: bool) -> list[Violation]:
    """The limits that the findings of all frames exceed, each in its worst frame."""
    found = _penetration(frames, limits)
    most = max(frames, key=lambda f: f.inside)
    if limits.inside is not None and most.inside > limits.inside:
        text = f"{most.inside} vertices inside in frame {most.frame}, {limits.inside} allowed"
        found.append(Violation(Rule.INSIDE, most.frame, text))
    own = max(frames, key=lambda f: f.self_pairs)
    if limits.self_pairs is not None and own.self_pairs > limits.self_pairs:
        whose = "the garment's" if has_body else "the mesh's"
        pairs = f"{own.self_pairs} pair{plural(own.self_pairs)} of {whose} own triangles intersect"
        text = f"{pairs} in frame {own.frame}, {limits.self_pairs} allowed"
        found.append(Violation(Rule.SELF_INTERSECTION, own.frame, text))
    found += _crossings(frames, limits, bool(found) and found[0].rule is Rule.PENETRATION, has_inside)
    if not has_inside and limits.inside is not None:
        found.append(Violation(Rule.INSIDE, -1, "vertices inside cannot be counted: the body has no inside"))
    if not has_inside and limits.clearance is not None:
        found.append(Violation(Rule.CLEARANCE, -1, "clearance is undefined: the body has no inside"))
    least = min(frames, key=lambda f: f.clearance)
    if limits.clearance is not None and has_body and least.clearance < limits.clearance:
        wanted = f"at least {size_words(limits.clearance)} required"
        text = f"clearance {size_words(least.clearance)} in frame {least.frame}, {wanted}"
        found.append(Violation(Rule.CLEARANCE, least.frame, text))
    return found


def _penetration(frames: Sequence[Finding], limits: Limits) -> list[Violation]:
    worst = max(frames, key=lambda f: (f.depth, f.self_pairs + f.crossings, -f.frame))
    if limits.body_pairs is not None:  # penetration between vertices has its own limit
        worst = max(frames, key=lambda f: (f.deepest, -f.frame))
    depth = worst.deepest if limits.body_pairs is not None else worst.depth
    if limits.depth is None or depth <= limits.depth:
        return []
    crossed = _most_crossed(frames)
    between = ", between vertices," if depth > worst.deepest else ""
    with_them = f"; {_crossing_text(crossed)}" if crossed.crossings and not limits.body_pairs else ""
    allowed = f"{size_words(limits.depth)} allowed{with_them}"
    text = f"{size_words(depth)} deep{between} in frame {worst.frame}, {allowed}"
    return [Violation(Rule.PENETRATION, worst.frame, text)]


def _crossings(frames: Sequence[Finding], limits: Limits, deep: bool, has_inside: bool) -> list[Violation]:
    """Violations by crossing pairs. deep: the depth is exceeded, too; its sentence names them if none is allowed."""
    crossed = _most_crossed(frames)
    text, found = _crossing_text(crossed), []
    if limits.body_pairs is not None:
        if crossed.crossings > limits.body_pairs and not (deep and not limits.body_pairs):
            found.append(Violation(Rule.CROSSING, crossed.frame, f"{text}, {limits.body_pairs} allowed"))
    elif limits.depth is not None and crossed.crossings and not has_inside:
        why = "their depth is undefined, the body has no inside (allow them with --max-body-pairs)"
        found.append(Violation(Rule.CROSSING, crossed.frame, f"{text}; {why}"))
    elif limits.depth == 0.0 and crossed.crossings and not deep:
        found.append(Violation(Rule.CROSSING, crossed.frame, f"{text}, 0 allowed"))
    unknown = max(frames, key=lambda f: f.unknown if f.crossings else 0)
    unsure = has_inside and unknown.crossings and unknown.unknown
    if unsure and limits.body_pairs is None and (limits.depth or 0.0) > 0.0:
        why = f"{unknown.unknown:,} vertices are on no known side of the open body (allow them with --max-body-pairs)"
        found.append(Violation(Rule.CROSSING, unknown.frame, f"{_crossing_text(unknown)}, where {why}"))
    return found


def _most_crossed(frames: Sequence[Finding]) -> Finding:
    return max(frames, key=lambda f: f.crossings)


def _crossing_text(finding: Finding) -> str:
    pairs = f"{finding.crossings:,} pair{plural(finding.crossings)}"
    return f"{pairs} of triangles of garment and body cross in frame {finding.frame}"


def size_words(metres: float) -> str:
    """A length as text: in millimetres, or in metres from 1 m."""
    if not np.isfinite(metres):
        return "none"
    return f"{1e3 * metres:.3g} mm" if abs(metres) < 0.9995 else f"{metres:.3g} m"


def plural(count: int) -> str:
    """The ending of a noun for a count of its things."""
    return "" if count == 1 else "s"

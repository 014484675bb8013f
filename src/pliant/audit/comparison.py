"""Result of a comparison: a row per method and role, methods that do not apply, and violated guarantees."""

import dataclasses
import os
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import renamed
from ..brief import brief
from ..detect.options import MethodChoice
from ..mesh import Mesh
from ..report.tables import BYTES, Column, Table
from ..state import State
from .evaluate import KINDS
from .verdicts import Verdict, added

Floats = NDArray[np.float64]
ROLES = {
    "obstacle": "with obstacles",
    "pair": "between two deformable bodies",
    "self": "of a body with itself",
}
COLUMNS = (
    Column("method"),
    Column("class"),
    Column("recall", show="{:.4f}"),
    Column("depth_max_mm", "error-max", "{:.3g}"),
    Column("bound_mm", "bound", "{:.3g}"),
    Column("cpu_ms", "CPU-ms", "{:.3g}"),
    Column("missed", show="{:,}"),
    Column("extra", show="{:,}"),
    Column("beyond", show="{:,}"),
    Column("there", show="{:,}"),
    Column("found", show="{:,}"),
    Column("counts"),
    Column("estimated", show="{:.3f}"),
    Column("depth_mean_mm", "error-mean", "{:.3g}"),
    Column("normal_max_deg", "normal-max", "{:.3g}"),
    Column("normal_mean_deg", "normal-mean", "{:.3g}"),
    Column("build_ms", "build-ms", "{:.3g}"),
    Column("bytes", "memory", BYTES),
    Column("unreached", detail=True),
    Column("kept", detail=True),
    Column("needs", detail=True),
    Column("note", detail=True),
)
WORDS = (
    ("recall", "1 - missed / there; empty where nothing is there"),
    ("error-max, error-mean", "millimetres: largest and mean error of its distances; empty: it found nothing"),
    ("bound", "the error that it states, millimetres; 0: exact; empty: it states none"),
    ("CPU-ms", "CPU time of update and find, the median over all states but the first"),
    ("missed, extra", "contacts that it did not report; reported contacts that do not exist"),
    (
        "beyond",
        "missed, extra and wrong distances that exceed its bound: must be 0; nothing exceeds a bound not stated",
    ),
    ("there", "exact number of contacts of its kind, without those at the limit, summed over all states"),
    ("found", "those that it reported, also at the limit of the distance, where rounding decides"),
    ("counts", "the kind of contact that it reports"),
    ("estimated", "its own estimate of its recall; empty: it makes none"),
    ("normal-max, normal-mean", "degrees between its normals and the exact directions"),
    ("build-ms", "CPU time to build it once"),
    ("memory", "bytes of all its arrays, without those of the meshes"),
)
CLASSES = (
    "class A: nothing is missed, extra or wrong; B: no error exceeds its bound; C: what it misses and adds is counted, "
    "but not judged unless it states a bound"
)
_ROUNDING = 1e-6  # mm and degrees; smaller errors are shown as 0


class Unfit(NamedTuple):
    """A method that does not apply, and why."""

    name: str
    needs: str
    why: str


class Worst(NamedTuple):
    """The state in which a method has most errors, with the positions (k,3) of its contacts, metres."""

    frame: int
    right: Floats
    missed: Floats
    extra: Floats


@dataclasses.dataclass(frozen=True, repr=False)
class Row:
    """One method over all states and queries of a role. Lengths in metres, angles in radians."""

    method: str
    guarantee: str  # A, B or C
    kind: str  # kind of contact it reports: one of KINDS
    needs: str
    expected: int
    found: int  # correctly, each once: expected ones, and those where rounding decides
    missed: int
    extra: int
    beyond: int  # missed, extra and wrong distances that exceed its bound
    unreached: int  # contacts outside its stated range; not expected
    depth_max: float
    depth_mean: float
    normal_max: float
    normal_mean: float
    bound: float  # nan where none is stated
    seconds: float  # CPU time of update and find, median over states
    build: float  # s
    size: int  # bytes
    estimate: float  # its own estimate of its recall; nan without one
    query_counts: tuple[int, int]  # number of queries it applies to, and of all
    refused: str
    worst: Worst
    remark: str = ""  # of the method itself

    __repr__ = brief

    asked = renamed.attribute("asked", "query_counts")

    @property
    def recall(self) -> float:
        """Share of the contacts there that were reported; nan where none is there."""
        return 1.0 - self.missed / self.expected if self.expected else float("nan")

    @property
    def kept(self) -> bool:
        """True if it kept its guarantee: nothing missed or extra (A), no error beyond its bound (all classes)."""
        exact = self.guarantee != "A" or not (self.missed or self.extra)
        return exact and not self.beyond

    @property
    def note(self) -> str:
        """Remarks on the figures."""
        remarks = []
        if (more := self.found + self.missed - self.expected) > 0:
            remarks.append(
                f"{more:,} of those found are at the limit, where rounding decides, and do not count as there"
            )
        if self.unreached:
            remarks.append(f"{self.unreached:,} more are outside its range: too deep, or without a defined side")
        if self.query_counts[0] < self.query_counts[1]:
            remarks.append(
                f"applies to {self.query_counts[0]} of {self.query_counts[1]} pairs of bodies: {self.refused}"
            )
        if self.remark:
            remarks.append(self.remark)
        return "; ".join(remarks)

    def shown(self) -> dict[str, Any]:
        """The row for tables: in millimetres, with rounding errors as 0."""
        row = self.plain()
        row |= {key[:-1] + "mm": None if row[key] is None else 1e3 * row[key] for key in row if key.endswith("_m")}
        for key in ("depth_max_mm", "depth_mean_mm", "normal_max_deg", "normal_mean_deg"):
            row[key] = 0.0 if row[key] is not None and row[key] < _ROUNDING else row[key]
        return row

    def plain(self) -> dict[str, Any]:
        """The row for JSON; None where there is no figure."""
        degrees, any_found = 180.0 / np.pi, self.found > 0
        return {
            "method": self.method,
            "class": self.guarantee,
            "there": self.expected,
            "found": self.found,
            "missed": self.missed,
            "extra": self.extra,
            "beyond": self.beyond,
            "recall": self.recall if self.expected else None,
            "estimated": self.estimate if np.isfinite(self.estimate) else None,
            "depth_max_m": self.depth_max if any_found else None,
            "depth_mean_m": self.depth_mean if any_found else None,
            "bound_m": self.bound if np.isfinite(self.bound) else None,
            "normal_max_deg": degrees * self.normal_max if any_found else None,
            "normal_mean_deg": degrees * self.normal_mean if any_found else None,
            "cpu_ms": 1e3 * self.seconds,
            "build_ms": 1e3 * self.build,
            "bytes": self.size,
            "counts": self.kind,
            "unreached": self.unreached,
            "kept": self.kept,
            "needs": self.needs,
            "note": self.note,
        }


def row_of(
    label: str,
    detectors: Sequence[Any],
    kind: str,
    verdicts: Sequence[Sequence[Verdict]],
    *,
    seconds: float,
    build: float,
    size: int,
    estimate: float,
    query_counts: tuple[int, int],
    refused: str,
) -> Row:
    """Combine the verdicts of all states and queries into one row, with the strictest class of any detector."""
    detector = min(detectors, key=lambda each: str(each.guarantee))
    remarks = [next((each.remark for each in detectors if each.remark), "")]
    if detector.views:
        remarks.append(
            "its bound is about which side of the surface a point is on; its distances are estimates, whose errors are "
            "shown but not judged"
        )
    if not detector.finds_deep:
        remarks.append("vertices deeper than the distance are not its task, and not counted as there")
    states = [added(each) for each in verdicts]
    every = added(states)
    frame = int(np.argmax([(len(s.missed) + len(s.extra)) * 1e6 + len(s.right) * 1e-3 for s in states]))
    worst = Worst(frame, states[frame].right, states[frame].missed, states[frame].extra)
    return Row(
        method=label,
        guarantee=detector.guarantee,
        kind=kind,
        needs=detector.needs,
        expected=every.expected,
        found=len(every.right),
        missed=len(every.missed),
        extra=len(every.extra),
        beyond=every.beyond,
        unreached=every.unreached,
        depth_max=float(every.depth.max(initial=0.0)),
        depth_mean=float(every.depth.mean()) if len(every.depth) else 0.0,
        normal_max=float(every.turn.max(initial=0.0)),
        normal_mean=float(every.turn.mean()) if len(every.turn) else 0.0,
        bound=every.bound,
        seconds=seconds,
        build=build,
        size=size,
        estimate=estimate,
        query_counts=query_counts,
        refused=refused,
        worst=worst,
        remark="; ".join(filter(None, remarks)),
    )


@dataclasses.dataclass(frozen=True)
class Role:
    """A kind of query put to all methods: `labels` of the pairs of bodies, `within` metres."""

    role: str
    labels: tuple[str, ...]
    within: float
    rows: tuple[Row, ...]
    unfit: tuple[Unfit, ...]

    @property
    def title(self) -> str:
        who = self.labels[0] if len(self.labels) == 1 else f"{len(self.labels)} pairs of bodies"
        if self.role == "self" and len(self.labels) > 1:
            who = f"{len(self.labels)} bodies"
        return f"Contacts {ROLES[self.role]}: {who}, within {1e3 * self.within:.3g} mm"

    @property
    def table(self) -> Table:
        return Table(f"compare-{self.role}", self.title, COLUMNS, [row.shown() for row in self.rows])


@dataclasses.dataclass(frozen=True, eq=False)
class Comparison:
    """roles: the queries, with a row per method. states: the compared states. meshes: each mesh, the row of its first
    vertex among the positions, and whether it is an obstacle. picks: per role the choice of `auto` and its reason."""

    title: str
    roles: tuple[Role, ...]
    states: tuple[State, ...]
    meshes: tuple[tuple[Mesh, int, bool], ...]
    picks: tuple[tuple[str, MethodChoice], ...] = ()
    seed: int = 0

    __repr__ = brief

    @property
    def broken(self) -> list[str]:
        """The violated guarantees, one sentence each."""
        violations = []
        for role in self.roles:
            for row in role.rows:
                if not row.kept:
                    bound = f"bound {row.bound:.3g} m" if row.bound > 0.0 else "exact"
                    bound = "no bound stated" if np.isnan(row.bound) else bound
                    count = f"{row.missed} missed, {row.extra} extra, {row.beyond} beyond its bound"
                    violations.append(f"{row.method} ({row.guarantee}, {bound}), contacts {ROLES[role.role]}: {count}")
        return violations

    @property
    def verdict(self) -> str:
        """One sentence: whether all methods kept their guarantees."""
        count, methods = len(self.states), {row.method for role in self.roles for row in role.rows}
        who = "1 method" if len(methods) == 1 else f"{len(methods)} methods"
        tried = f"{who} over {'one state' if count == 1 else f'{count} states'}"
        if self.broken:
            times = "guarantee is" if len(self.broken) == 1 else "guarantees are"
            return f"{tried}: {len(self.broken)} {times} violated."
        return f"{tried}: all of class A are exact, and none exceeds its bound."

    def row(self, method: str, role: str | None = None) -> Row:
        """The row of a method, in `role` or in the first role that has it."""
        for each in self.roles:
            for row in each.rows:
                if row.method == method and role in (None, each.role):
                    return row
        raise ValueError(f"no row for method {method!r} in role {role or 'any'!r}")

    def to_json(self) -> dict[str, Any]:
        """Plain values: SI units, angles in degrees, CPU time in milliseconds."""
        return {
            "title": self.title,
            "frames": len(self.states),
            "times_s": [state.time for state in self.states],
            "seed": self.seed,
            "kept": not self.broken,
            "broken": self.broken,
            "auto": {role: pick._asdict() for role, pick in self.picks},
            "counts": KINDS,
            "roles": [
                {
                    "role": role.role,
                    "title": role.title,
                    "within_m": role.within,
                    "asked": list(role.labels),
                    "methods": [row.plain() for row in role.rows],
                    "not_applicable": [unfit._asdict() for unfit in role.unfit],
                }
                for role in self.roles
            ],
        }

    def to_html(self, path: str | os.PathLike[str]) -> None:
        """Write a self-contained HTML page: tables, and pictures of where methods differ."""
        from ..report.compare_page import write_compare_page
        from .comparison_page_data import shown

        write_compare_page(path, shown(self))

    def _repr_html_(self) -> str:
        from ..report.compare_page import compare_page
        from ..report.replay import iframe_html
        from .comparison_page_data import shown

        return iframe_html(compare_page(shown(self)), height=760)

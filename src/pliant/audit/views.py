"""The data of the HTML page and the picture of a check or a repair."""

import dataclasses
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..motion.clip import Clip
from ..report.check_view import CheckView, PlaceView
from ..report.fix_page import FixView
from .findings import KIND_TEXT, size_words
from .shells import SHELL_COLUMNS, shell_rows

if TYPE_CHECKING:
    from .findings import Location, Report
    from .fix_result import FixResult

_SAME_PLACE = 0.04  # relative to the garment's size: closer locations of a kind are shown as one, in any frames


def check_view(report: "Report") -> CheckView:
    numbers = [finding.frame for finding in report.frames]
    every = numbers[1] - numbers[0] if len(numbers) > 1 else 1
    many = len(numbers) > 1
    series: dict[str, tuple[str, list[float]]] = {}
    if many and report.body is not None and report.has_inside:
        series["deepest"] = ("mm", [1e3 * f.depth for f in report.frames])
        series["vertices inside"] = ("", [float(f.inside) for f in report.frames])
    if many and report.body is not None:
        series["garment intersects body"] = ("pairs", [float(f.crossings) for f in report.frames])
    if many:
        series["intersects itself"] = ("pairs", [float(f.self_pairs) for f in report.frames])
    if many and any(np.isfinite(f.overlap) for f in report.frames):
        series["overlap"] = ("cm3", [1e6 * f.overlap for f in report.frames])
    name = report.garment.mesh.name
    return CheckView(
        title=f"{name} on {report.body.mesh.name}" if report.body is not None else name,
        verdict=verdict(report),
        garment=_checked_frames(report.garment, numbers),
        body=None if report.body is None else _checked_frames(report.body, numbers),
        fps=report.fps / every,
        numbers=numbers,
        distances=report.distances,
        self_curves=[curves.own for curves in report.curves],
        body_curves=[curves.body for curves in report.curves],
        series=series,
        places=_place_views(report, numbers),
        facts=report.facts,
        notes=report.unchecked,
        shells=[SHELL_COLUMNS, *shell_rows(report.shells, len(report.shells))] if report.has_shells else [],
    )


def fix_view(result: "FixResult") -> FixView:
    return FixView(
        before=check_view(result.before),
        after=check_view(result.after),
        figures=result.comparison,
        changes=result.changes,
        moved=result.moved,
    )


def verdict(report: "Report") -> str:
    """A summary in one or two sentences."""
    many, clauses = len(report.frames) > 1, []
    for word, count in (
        ("is inside the body", [f.inside for f in report.frames]),
        ("intersects the body", [0 if f.inside else f.crossings for f in report.frames]),
        ("intersects itself", [f.self_pairs for f in report.frames]),
    ):
        frames = sum(1 for n in count if n)
        if frames:
            clauses.append(f"{word} in {frames} of {len(count)} frames" if many else word)
    if report.worst_depth > 0.0:
        clauses[0] += f", {size_words(report.worst_depth)} deep at most"
    if not clauses:
        return "No problems were found." if report.has_inside else "No problems were found as far as could be checked."
    return f"The garment {'; it '.join(clauses)}." if report.body is not None else f"The mesh {'; it '.join(clauses)}."


def _checked_frames(clip: Clip, numbers: list[int]) -> Clip:
    """The checked frames of a clip."""
    if clip.still or len(numbers) == len(clip):
        return clip
    if clip.poses is not None:
        return dataclasses.replace(clip, poses=clip.poses[numbers], skin=None)
    return dataclasses.replace(clip, frames=clip.frames[numbers], skin=None)


def _place_views(report: "Report", numbers: list[int]) -> list[PlaceView]:
    """Distinct locations on the garment, each in its worst frame, with the number of frames in which it is listed."""
    first = np.asarray(report.garment.at(0), np.float64)
    size = float(np.linalg.norm(np.ptp(first, axis=0)))
    kept: list[tuple[Location, NDArray[np.float64], set[int]]] = []
    for place in report.places:
        at = first[_vertex(report, place)]
        for other, there, frames in kept:
            if other.kind == place.kind and np.linalg.norm(at - there) < _SAME_PLACE * size:
                frames.add(place.frame)
                break
        else:
            kept.append((place, at, {place.frame}))
    least = "at least " if report.place_count > len(report.places) else ""  # those that are not listed are not counted
    views = []
    for place, _, frames in kept:
        often = f", worst of {least}{len(frames)} frames" if len(frames) > 1 else ""
        when = f"; frame {place.frame}{often}" if len(numbers) > 1 else ""
        views.append(_place_view(place, numbers.index(place.frame), when, size))
    return views


def _vertex(report: "Report", place: "Location") -> int:
    """The garment's vertex nearest to the place."""
    if place.vertex >= 0:
        return place.vertex
    x = np.asarray(report.garment.at(place.frame), np.float64)
    return int(np.argmin(((x - place.place) ** 2).sum(1)))


def _place_view(place: "Location", frame: int, when: str, size: float) -> PlaceView:
    if place.kind == "inside":
        title = f"{1e3 * place.depth:.3g} mm deep"
        detail = f"{place.size} {'vertex' if place.size == 1 else 'vertices'} inside the body"
    else:
        title = f"{KIND_TEXT[place.kind]} over {size_words(place.length)}"
        if place.depth > 0.0:
            title = f"{size_words(place.depth)} deep between vertices, over {size_words(place.length)}"
        detail = f"{place.size} {'pair' if place.size == 1 else 'pairs'} of triangles"
    radius = max(0.09 * size, 1.5 * place.depth, min(0.5 * place.length, 0.25 * size))
    return PlaceView(
        frame=frame,
        kind=place.kind,
        title=title,
        detail=detail + when,
        place=place.place,
        radius=radius,
        towards=place.direction,
    )

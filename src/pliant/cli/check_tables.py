"""Tables of `pliant check`: frames with problems, shells of the body, the worst locations, and one row per file."""

from collections.abc import Callable, Sequence
from typing import Any

from . import output

_SHOWN = 12  # most rows in the table of frames; the worst frames are chosen


def show_report(name: str, report: Any) -> None:
    """Print what was found in one file."""
    output.table(("", name), report.facts.items())
    if len(report.frames) > 1:
        _show_frames(report)
    if report.has_shells:
        _show_shells(report)
    if report.places:
        _show_places(report)


def show_files(checked: Sequence[Any]) -> None:
    """Print a row per file: its worst figures over all frames, and whether it is within its limits."""
    names = ("file", "frames", "inside", "deepest", "crossings", "self", "result")
    rows: list[tuple[Any, ...]] = []
    for each in checked:
        if each.report is None:
            rows.append((each.case.name, "", "", "", "", "", "not read"))
            continue
        report, worn = each.report, each.report.body is not None
        inside = str(max(f.inside for f in report.frames)) if worn and report.has_inside else ""
        deepest = f"{1e3 * report.worst_depth:.2f} mm" if worn and report.has_inside else ""
        crossings = str(report.crossings) if worn else ""
        result = "exceeds limits" if each.violations else "within limits"
        figures = len(report.frames), inside, deepest, crossings, report.self_intersections
        rows.append((each.case.name, *figures, result))
    bad = sum(each.failed for each in checked)
    title = f"{len(checked)} checks, {bad or 'none'} failed"
    output.table(names, rows, title=title, right="frames inside deepest crossings self")


def _show_frames(report: Any) -> None:
    """Print the frames with problems, or the worst of them where there are many."""
    bad = [f for f in report.frames if f.penetrating or f.self_pairs]
    if not bad:
        return
    listed = sorted(
        sorted(bad, key=lambda f: (-f.depth, -f.crossings - f.self_pairs, f.frame))[:_SHOWN], key=lambda f: f.frame
    )
    columns: dict[str, Callable[[Any], Any]] = {"frame": lambda f: f.frame, "time": lambda f: f"{f.time:.2f} s"}
    if report.body is not None:
        columns["inside"] = lambda f: f.inside
        columns["deepest"] = lambda f: f"{1e3 * f.depth:.2f} mm"
        columns["surface"] = lambda f: f"{f.share:.1%}"
        columns["crossings"] = lambda f: f.crossings
    columns["self"] = lambda f: f.self_pairs
    columns["curves"] = lambda f: f.loops + f.self_loops
    rows = [tuple(value(f) for value in columns.values()) for f in listed]
    title = f"{len(bad)} of {len(report.frames)} frames have problems"
    title += f": the worst {len(listed)}" if len(listed) < len(bad) else ""
    output.table(tuple(columns), rows, title=title, right=" ".join(columns))


def _show_shells(report: Any) -> None:
    """Print the shells of the body, the deepest ones where there are many; the JSON has all."""
    from ..audit.shells import SHELL_COLUMNS, shell_rows

    rows, total = shell_rows(report.shells, _SHOWN), len(report.shells)
    of = f"the worst {len(rows)} of {total} shells" if len(rows) < total else "shells"
    output.table(SHELL_COLUMNS, rows, title=f"{of} of the body, in their worst frames", right="faces inside deepest")


def _show_places(report: Any) -> None:
    from ..audit.findings import KIND_TEXT, size_words

    rows = []
    for p in report.places[:5]:
        deep = f"{size_words(p.depth)} deep, " if p.depth > 0.0 else ""
        count = f"{p.size} vertex" if p.size == 1 else f"{p.size} vertices"
        how = f"{deep}{count}" if p.kind == "inside" else f"{deep}{size_words(p.length)} long"
        at = ", ".join(f"{v:.3f}" for v in p.place)
        rows.append((p.frame, KIND_TEXT[p.kind], how, f"({at}) m"))
    title = (
        f"the worst {len(rows)} of {report.place_count} locations" if len(rows) < report.place_count else "locations"
    )
    output.table(("frame", "what", "how much", "where"), rows, title=title)

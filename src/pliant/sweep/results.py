"""Results of a sweep: a table of all runs, a separate table of their times, and a gallery."""

import base64
import csv
import importlib.util
import io
import json
import pathlib
from collections.abc import Sequence
from typing import Any

from ..audit.findings import NoteKind
from ..files import atomic_write
from ..report.gallery import Card, write_gallery
from .parameters import EARLIER, LIMITS
from .plan import Plan
from .work import THUMBNAIL, read_times, write_json

Row = dict[str, Any]
MOST_EMBEDDED = 2000  # images embedded in the gallery; with more, all are linked
FIRST, LAST = ("number", "id"), ("notes", "error")
# earlier names of columns, in records of unfinished sweeps
FORMER = {
    "unjudged": "unchecked",
    "crossings_cloth_most": "intersecting_pairs_cloth_most",
    "crossings_cloth_total": "intersecting_pairs_cloth_total",
    "crossings_bodies_most": "intersecting_pairs_bodies_most",
    "crossings_bodies_total": "intersecting_pairs_bodies_total",
    "through_at_end": "intersecting_pairs_bodies_at_end",
    "cuts_bodies_most": "crossing_pairs_bodies_most",
    "frames_with_cuts": "frames_with_crossing_pairs",
    "start_pairs": "initial_intersecting_pairs",
    "forced": "failed_substeps",
    "remained_most": "unresolved_most",
    "tiles_made": "slabs_baked",
    **EARLIER,
}
# figures shown below a thumbnail
DISPLAYED = (
    "within_limits",
    "penetration_m",
    "stretch_most",
    "contacts_at_end",
    "intersecting_pairs_cloth_most",
    "inside_most",
    "self_pairs_most",
    "bricks",
    "file_bytes",
)


def folder_of(out: pathlib.Path, name: str) -> pathlib.Path:
    """Return the folder of a run's files."""
    return out / "runs" / name


def rows_of(plan: Plan, records: dict[str, Row]) -> list[Row]:
    """Return a row for each run in the order of the sweep; independent of when, where and how often it ran."""
    rows = []
    for number, run in enumerate(plan.runs, 1):
        record = records[run.id]
        row: Row = {"number": number, "id": run.id}
        # records of an earlier version have former names
        row |= {FORMER.get(name, name): value for name, value in record["figures"].items()}
        if run.kind == "check" and record["error"] is None:
            row["unchecked"] = "; ".join(note["text"] for note in record["check_notes"])
        row |= run.named
        row |= {"notes": "; ".join(record["notes"]), "error": record["error"]}
        rows.append(row)
    return rows


def columns_of(plan: Plan, rows: Sequence[Row]) -> list[str]:
    """Return the columns: number and id, inputs and parameters, figures, notes and error."""
    given = dict.fromkeys(key for run in plan.runs for key in run.named)
    found = dict.fromkeys(key for row in rows for key in row if key not in (*FIRST, *given, *LAST))
    return [*FIRST, *given, *found, *LAST]


def write_results(out: pathlib.Path, plan: Plan, records: dict[str, Row]) -> list[pathlib.Path]:
    """Write table (CSV, JSON, and Parquet if pyarrow is installed), times and gallery; return the paths."""
    rows = rows_of(plan, records)
    columns = columns_of(plan, rows)
    written = [out / "table.csv", out / "table.json", out / "times.csv", out / "gallery.html"]
    _write_csv(written[0], columns, rows)
    write_json(written[1], {"sweep": plan.name, "run": plan.kind, "columns": columns, "rows": rows})
    times = [{"number": n, "id": r.id} | read_times(folder_of(out, r.id)) for n, r in enumerate(plan.runs, 1)]
    _write_csv(written[2], list(dict.fromkeys(key for row in times for key in row)), times)
    if importlib.util.find_spec("pyarrow") is not None:
        from ..io.parquet import write_parquet

        write_parquet(out / "table.parquet", columns, rows)
        written.append(out / "table.parquet")
    pictures = sum(THUMBNAIL in records[row["id"]]["files"] for row in rows)
    embedded, lines = pictures <= MOST_EMBEDDED, _findings(plan, rows)
    if not embedded:
        lines.append(f"{pictures:,} pictures are too many for one page: they are linked from the folder runs")
    write_gallery(
        written[3],
        title=plan.name,
        lines=lines,
        columns=columns,
        displayed=[*plan.varied, *(name for name in DISPLAYED if name in columns)],
        cards=[_card(out, row, records[row["id"]], embedded) for row in rows],
    )
    return written


def _findings(plan: Plan, rows: Sequence[Row]) -> list[str]:
    """Summarise the sweep in a few lines: number of runs, failures, and values common to all runs."""
    words = {"drape": "drapes", "check": "checks", "bake": "baked fields"}[plan.kind]
    lines = [", ".join([f"{len(rows):,} {words}", *_verdicts(plan, rows)])]
    same = {k: v for k, v in plan.runs[0].named.items() if k not in plan.varied} if len(plan.runs) > 1 else {}
    if same:
        lines.append("common to all runs: " + ", ".join(f"{k} {_text(v)}" for k, v in same.items()))
    return lines


def _verdicts(plan: Plan, rows: Sequence[Row]) -> list[str]:
    """Summarise failures and exceeded limits; without limits, state that no run was compared with any."""
    failed = sum(row["error"] is not None for row in rows)
    beyond = sum(row.get("within_limits") is False for row in rows)
    texts = [f"{failed:,} failed"] if failed else []
    if plan.kind != "check":
        return texts or ["none failed"]
    if not any(run.parameters.keys() & LIMITS.keys() for run in plan.runs):
        return [*texts, "none judged: no limits were given (max-depth and others)"]
    if beyond:
        return [*texts, f"{beyond:,} exceed{'s its' if beyond == 1 else ' their'} limits"]
    if failed == len(rows):
        return texts
    return [*texts, "the others within their limits" if failed else "all within their limits"]


def _card(out: pathlib.Path, row: Row, record: Row, embedded: bool) -> Card:
    folder = folder_of(out, row["id"])
    files = {name: f"runs/{row['id']}/{name}" for name in record["files"] if name != THUMBNAIL}
    picture = ""
    if THUMBNAIL in record["files"] and not embedded:
        picture = f"runs/{row['id']}/{THUMBNAIL}"
    elif THUMBNAIL in record["files"]:
        picture = "data:image/jpeg;base64," + base64.b64encode((folder / THUMBNAIL).read_bytes()).decode()
    # garments are open, so that their overlap volume is hardly ever defined: no card mentions it
    notes = [note["text"] for note in record.get("check_notes", ()) if note["kind"] != NoteKind.NO_OVERLAP]
    return Card(row, picture, files, notes)


def _write_csv(path: pathlib.Path, columns: Sequence[str], rows: Sequence[Row]) -> None:
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(columns)
    for row in rows:
        writer.writerow([_text(row.get(key)) for key in columns])
    with atomic_write(path, "w") as file:
        file.write(stream.getvalue())


def _text(value: Any) -> Any:
    """Format a value for CSV: lists as JSON, booleans as in TOML, numbers with all digits."""
    return json.dumps(value) if isinstance(value, (list, dict, bool)) else "" if value is None else value

"""Files that `pliant check` writes: pages, pictures and distances of each check, JUnit and SARIF of all."""

import dataclasses
import pathlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from . import output
from .check_cases import Case
from .output_paths import check_output, check_outputs

if TYPE_CHECKING:
    from ..audit.findings import Report
    from ..audit.limits import Limits, Violation
    from ..report.check_formats import CheckedCase

HTML, PNG, NPZ, XML, SARIF = (".html", ".htm"), (".png",), (".npz",), (".xml",), (".sarif", ".json")


@dataclasses.dataclass(frozen=True)
class ShowOptions:
    """Files to write. With several checks, --report, --sheet and --distances name folders, which get a file each."""

    report: pathlib.Path | None = None
    "A self-contained HTML page: depth as colour, charts over time, the worst locations."
    sheet: pathlib.Path | None = None
    "A PNG with the worst locations."
    junit: pathlib.Path | None = None
    "JUnit XML, with a test case per file and limit, for the test reports of CI servers."
    sarif: pathlib.Path | None = None
    "SARIF 2.1.0, with a result per exceeded limit, for code scanning."
    distances: pathlib.Path | None = None
    """An npz with the signed distance of every vertex from the body, for other programs: `distances` (T,n) in metres,
    negative inside, and the numbers `frames` (T,)."""


@dataclasses.dataclass(frozen=True)
class Checked:
    """A case with what was found, or with the error for which nothing was."""

    case: Case
    seconds: float
    report: "Report | None" = None
    limits: "Limits | None" = None
    violations: Sequence["Violation"] = ()
    error: str = ""
    files: Sequence[str] = ()

    @property
    def failed(self) -> bool:
        return bool(self.violations or self.error)

    @property
    def notes(self) -> list[str]:
        """Lines of the notes, without the one that every open garment has: no overlap volume."""
        from ..audit.findings import NoteKind

        notes = () if self.report is None else self.report.notes
        return [note.line for note in notes if note.kind is not NoteKind.NO_OVERLAP]


def _outputs(show: ShowOptions) -> list[tuple[str, pathlib.Path | None, tuple[str, ...]]]:
    """The outputs that belong to one check each."""
    return [("--report", show.report, HTML), ("--sheet", show.sheet, PNG), ("--distances", show.distances, NPZ)]


def check_written(show: ShowOptions, cases: Sequence[Case], alone: bool) -> None:
    paths = [case.options.get(name) for case in cases for name in ("body", "points", "body-points")]
    inputs = [*(case.file for case in cases), *paths]
    joint = [("--junit", show.junit, XML), ("--sarif", show.sarif, SARIF)]
    check_outputs([*joint, *(_outputs(show) if alone else ())], inputs)
    for option, folder, _ in () if alone else _outputs(show):
        if folder is None:
            continue
        if folder.suffix or folder.is_file():
            raise ValueError(f"{option} {folder}: {len(cases)} checks write a file each; name a folder, such as out")
        check_output(folder / "name")


def write_own(report: "Report", show: ShowOptions, name: str | None) -> list[str]:
    """Write the outputs of one check; of several, into folders under its name."""
    writers: list[Callable[[pathlib.Path], None]] = [report.to_html, report.to_png, report.save_distances]
    written = []
    for (_, given, endings), write in zip(_outputs(show), writers, strict=True):
        if given is None:
            continue
        path = given if name is None else given / f"{name}{endings[0]}"
        with output.progress(f"writing {path.name}"):
            write(path)
        output.say(f"wrote {path}")
        written.append(str(path))
    return written


def write_formats(checked: Sequence[Checked], show: ShowOptions) -> list[str]:
    """Write what holds all checks: JUnit and SARIF."""
    if show.junit is None and show.sarif is None:
        return []
    from ..audit.limits import RULE_TEXT
    from ..report.check_formats import write_junit, write_sarif

    cases = [_plain(each) for each in checked]
    if show.junit is not None:
        write_junit(show.junit, cases)
    if show.sarif is not None:
        write_sarif(show.sarif, cases, {str(rule): text for rule, text in RULE_TEXT.items()})
    written = [str(path) for path in (show.junit, show.sarif) if path is not None]
    for path in written:
        output.say(f"wrote {path}")
    return written


def _plain(each: Checked) -> "CheckedCase":
    from ..report.check_formats import Broken, CheckedCase

    case, report = each.case, each.report
    if report is None or each.limits is None:
        return CheckedCase(case.file, case.name, each.seconds, error=each.error)
    times = {f.frame: f.time for f in report.frames}
    broken = [Broken(str(v.rule), v.frame, times.get(v.frame, 0.0), v.text) for v in each.violations]
    rules = [str(rule) for rule in each.limits.rules(report.body is not None)]
    return CheckedCase(case.file, case.name, each.seconds, rules, broken, each.notes)

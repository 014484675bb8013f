"""`pliant sweep`: many drapes, checks or bakes from one file, on all cores or a cluster; interrupted sweeps resume."""

import pathlib
import re
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from . import output

if TYPE_CHECKING:
    from ..sweep.plan import Plan, Run
    from ..sweep.sweep import Progress, SweepResult

# kind of a run -> the kernel whose presence in the cache tells that its kernels are compiled
KERNELS = {
    "drape": "respond.projection.project",
    "check": "queries.intersections.find_intersections",
    "bake": "fields.bake.bake_tiles",
}
_INTERVAL = 5.0  # seconds between two progress lines where stderr is not a terminal
_SHOWN = 12  # most rows in the table of failed runs
_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}


def sweep(
    file: pathlib.Path,
    *,
    out: Annotated[pathlib.Path | None, Parameter(name=["--out", "-o", "--output"])] = None,
    workers: Annotated[int | None, Parameter(name=["--workers", "-w"])] = None,
    scheduler: str | None = None,
    time_limit: float | None = None,
    memory: str | None = None,
    attempts: int = 3,
    retry_failed: bool = False,
    device: Literal["auto", "cpu", "cuda"] = "cpu",
    plan: bool = False,
    json: bool = False,
) -> int:
    """Execute all runs described in FILE, each in its own folder; a second start executes only the missing ones.

    Writes a table (table.csv, table.json, table.parquet with pyarrow), timings separately (times.csv) and an HTML
    gallery. The exit code is 1 when a run failed, or a check exceeds the limits in FILE.

    Parameters
    ----------
    file
        A TOML file: run = "drape", "check" or "bake", garments, bodies, and lists of parameters. See docs/sweep.md.
    out
        Folder of all results. Default: FILE without its extension.
    workers
        Number of parallel processes on this machine. Default: one per core.
    scheduler
        Address of a Dask scheduler, such as tcp://10.0.0.5:8786, whose machines execute the runs; they must share OUT
        and the input files. "local" starts one on this machine, with --workers workers. Needs the extra [cluster].
    time_limit
        Most seconds per run; a run that exceeds them is ended and recorded as failed.
    memory
        Most memory per run, such as 500M or 4G.
    attempts
        Most attempts at a run whose process died.
    retry_failed
        Repeat runs that failed before.
    device
        Where drapes are computed: cpu, cuda (a graphics card, with the same results; drapes of which something does not
        run there fail and say so) or auto (the card where there is one and everything runs there).
    plan
        List the runs and which of them are done, without executing any.
    json
        Print JSON instead of a table.
    """
    from .. import validate
    from ..sweep.plan import read_plan
    from ..sweep.pool import LOCAL, check_address
    from ..sweep.sweep import sweep as carry_out
    from ..sweep.worker import Limits

    limits = Limits(
        None if time_limit is None else validate.number("--time-limit", time_limit, above=0.0),
        None if memory is None else _bytes(memory),
        validate.whole("--attempts", attempts, low=1, high=100),
    )
    if workers is not None:
        workers = validate.whole("--workers", workers, low=1, high=1024)
    scheduler = None if scheduler is None else check_address(scheduler)
    if workers is not None and scheduler not in (None, LOCAL):
        raise ValueError("--workers is for this machine; the cluster of --scheduler has its own workers")
    wanted = read_plan(file)
    target = file.with_suffix("") if out is None else out
    if target.resolve() == file.resolve():
        raise ValueError(f"the results of {file} would overwrite it; choose a folder with --out")
    if plan:
        return _show_plan(wanted, target, json)
    if scheduler is None:
        output.say_if_compiling(KERNELS[wanted.kind])
    with _ProgressDisplay(wanted.name) as watch:
        done = carry_out(
            wanted,
            target,
            workers=workers,
            scheduler=scheduler,
            limits=limits,
            retry_failed=retry_failed,
            device=device,
            progress=watch,
            say=output.say,
        )
    if json:
        output.print_json(_figures(done, target))
    else:
        _show(done, target)
    return int(bool(done.failed or done.beyond))


def _bytes(text: str) -> int:
    found = re.fullmatch(r"([0-9.]+)\s*([kmgt]?)(i?b)?", text.strip().lower())
    try:
        count = float(found[1]) * _UNITS[found[2]] if found else 0.0
    except ValueError:
        count = 0.0
    if count < 1.0:
        raise ValueError(f"--memory {text}: expected a size such as 500M or 4G")
    if not pathlib.Path("/proc/self/statm").exists():
        raise ValueError("--memory needs /proc to measure the memory of a run; this platform has none")
    return int(count)


class _ProgressDisplay:
    """Progress and remaining time: a bar on a terminal, a line every few seconds elsewhere."""

    def __init__(self, name: str) -> None:
        self.name, self.began, self.printed_at, self.before = name, time.monotonic(), -_INTERVAL, 0
        self.open: Any = None
        self.bar: Any = None

    def __enter__(self) -> "_ProgressDisplay":
        return self

    def __exit__(self, *how: Any) -> None:
        if self.open is not None:
            self.open.__exit__(*how)

    def __call__(self, now: "Progress") -> None:
        note = f"({now.failed} failed)" if now.failed else ""
        if sys.stderr.isatty():
            if self.open is None:
                self.open = output.progress(f"sweep {self.name}", now.total)
                self.bar = self.open.__enter__()
            self.bar(now.done - self.before, note)
            self.before = now.done
            return
        passed = time.monotonic() - self.began
        if passed - self.printed_at < _INTERVAL and now.done < now.total:
            return
        self.printed_at = passed
        left = f", about {_span(passed / now.done * (now.total - now.done))} left" if 0 < now.done < now.total else ""
        output.say(f"sweep {self.name}: {now.done} of {now.total} done {note}".rstrip() + left)


def _span(seconds: float) -> str:
    if seconds < 90.0:
        return f"{seconds:.0f} s"
    return f"{seconds / 60.0:.0f} min" if seconds < 5400.0 else f"{seconds / 3600.0:.1f} h"


def _figures(done: "SweepResult", target: pathlib.Path) -> dict[str, Any]:
    return {
        "sweep": done.plan.name,
        "run": done.plan.kind,
        "runs": len(done.plan.runs),
        "done_before": done.before,
        "done_now": done.now,
        "failed": [{"id": run.id, "error": done.records[run.id]["error"]} for run in done.failed],
        "beyond_limits": [{"id": run.id, "broken": done.records[run.id]["figures"]["broken"]} for run in done.beyond],
        "files": [str(target / path.name) for path in done.written],
    }


def _show(done: "SweepResult", target: pathlib.Path) -> None:
    failed = done.failed
    rows = [
        ("runs", f"{len(done.plan.runs):,}"),
        ("done before", f"{done.before:,}"),
        ("done now", f"{done.now:,}"),
        ("failed", f"{len(failed):,}"),
        *([("limits exceeded", f"{len(done.beyond):,}")] if done.beyond else []),
        *(("written", str(target / path.name)) for path in done.written),
    ]
    output.table(("", done.plan.name), rows)
    if failed:
        _show_runs(done, failed, "failed runs", lambda record: record["error"])
        output.warn(f"{len(failed)} of {len(done.plan.runs)} runs failed; --retry-failed repeats them")
    if beyond := done.beyond:
        _show_runs(done, beyond, "runs that exceed their limits", lambda record: record["figures"]["broken"])
        output.warn(f"{len(beyond)} of {len(done.plan.runs)} runs exceed their limits")


def _show_runs(done: "SweepResult", runs: "list[Run]", title: str, why: Callable[[dict[str, Any]], str]) -> None:
    varied = done.plan.varied
    cells = [
        (run.id, ", ".join(f"{k} {run.named[k]}" for k in varied if k in run.named), why(done.records[run.id]))
        for run in runs[:_SHOWN]
    ]
    output.table(("id", "with", "why"), cells, title=f"{title}, the first {_SHOWN}" if len(runs) > _SHOWN else title)


def _show_plan(wanted: "Plan", target: pathlib.Path, json: bool) -> int:
    from ..sweep.results import folder_of
    from ..sweep.work import read_record

    found = [read_record(run, folder_of(target, run.id)) for run in wanted.runs]
    state = ["" if f is None else "failed" if f["error"] is not None else "done" for f in found]
    if json:
        rows = [{"id": run.id, "state": s or "to do"} | run.named for run, s in zip(wanted.runs, state)]
        output.print_json({"sweep": wanted.name, "run": wanted.kind, "out": str(target), "runs": rows})
        return 0
    names = wanted.varied
    cells = [(run.id, *(run.named.get(name, "") for name in names), s) for run, s in zip(wanted.runs, state)]
    output.table(("id", *names, "state"), cells, title=f"{len(cells)} runs, {state.count('')} to do")
    return 0

"""Execution of a sweep: the runs that are not yet on disk are computed, then the tables and the gallery are written."""

import dataclasses
import pathlib
import tempfile
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from .. import arrays
from .plan import Plan, Run
from .pool import check_address, cores, run_here, run_on_cluster
from .results import folder_of, write_results
from .work import RECORD, good_record, read_record, record_of, write_json
from .worker import Job, Limits, Outcome

UNLIMITED = Limits()
CARRY_OUT = "pliant.sweep.work:carry_out"


@dataclasses.dataclass(frozen=True)
class Progress:
    """`done` of `total` jobs, of which `failed` failed; runs already on disk are not counted."""

    done: int
    total: int
    failed: int


@dataclasses.dataclass(frozen=True, kw_only=True)
class SweepResult:
    """The result of a sweep: `records` by id, the `written` tables, and the numbers of runs done before and now."""

    plan: Plan
    out: pathlib.Path
    records: dict[str, dict[str, Any]]
    written: list[pathlib.Path]
    before: int
    now: int

    @property
    def failed(self) -> list[Run]:
        return [run for run in self.plan.runs if self.records[run.id]["error"] is not None]

    @property
    def beyond(self) -> list[Run]:
        """Completed checks that exceed their limits."""
        return [run for run in self.plan.runs if self.records[run.id]["figures"].get("within_limits") is False]


def sweep(
    plan: Plan,
    out: pathlib.Path,
    *,
    workers: int | None = None,
    scheduler: str | None = None,
    limits: Limits = UNLIMITED,
    retry_failed: bool = False,
    device: arrays.Device = "cpu",
    progress: Callable[[Progress], None] = lambda _: None,
    say: Callable[[str], None] = lambda _: None,
) -> SweepResult:
    """Carry out all runs of `plan` that are not yet in the folder `out`, and write the tables and the gallery there.

    Uses `workers` processes of this machine (default: one per core), or the Dask cluster of `scheduler` ("local": a
    temporary cluster on this machine with `workers` workers). `retry_failed`: repeat runs that failed before. `device`:
    where drapes are computed; their results do not depend on it.
    """
    if arrays.chosen(device) == "cuda" and plan.kind != "drape":
        raise ValueError(
            f"device = {device!r}: a graphics card runs drapes, and this sweep is of the kind {plan.kind!r}"
        )
    plan = dataclasses.replace(plan, runs=tuple(dataclasses.replace(run, device=device) for run in plan.runs))
    scheduler = None if scheduler is None else check_address(scheduler)
    out = out.resolve()
    _writable(out)
    records: dict[str, dict[str, Any]] = {}
    todo: dict[str, Run] = {}
    for run in plan.runs:
        found = read_record(run, folder_of(out, run.id))
        if found is None or (retry_failed and found["error"] is not None):
            todo[run.id] = run
        else:
            records[run.id] = found
            if run.kind == "bake" and found["error"] is None:
                from .bakes import delete_slabs

                delete_slabs(folder_of(out, run.id))  # left by a sweep that was killed

    def execute(jobs: Sequence[Job]) -> Iterator[tuple[int, Outcome]]:
        if scheduler is not None:
            return run_on_cluster(scheduler, jobs, limits, say, workers)
        return run_here(jobs, workers or cores(), limits)

    runs = list(todo.values())
    slabs = _slab_jobs(runs, out)
    total, done, failed = len(slabs) + len(runs), 0, 0
    broken: dict[str, str] = {}
    progress(Progress(0, total, 0))
    for number, outcome in execute(slabs) if slabs else ():
        done += 1
        if outcome.error is not None:
            broken.setdefault(slabs[number].task["run"]["id"], outcome.error)
        progress(Progress(done, total, failed))
    whole = [run for run in runs if run.id not in broken]
    for run in runs:
        if run.id in broken:
            records[run.id] = _failed(out, run, broken[run.id])
            done, failed = done + 1, failed + 1
            progress(Progress(done, total, failed))
    jobs = [Job(CARRY_OUT, {"run": run.plain(), "folder": str(folder_of(out, run.id))}) for run in whole]
    for number, outcome in execute(jobs) if jobs else ():
        run = whole[number]
        records[run.id] = _record(out, run, outcome, scheduler)
        done, failed = done + 1, failed + (records[run.id]["error"] is not None)
        progress(Progress(done, total, failed))
    written = write_results(out, plan, records)
    return SweepResult(
        plan=plan, out=out, records=records, written=written, before=len(records) - len(runs), now=len(runs)
    )


def _record(out: pathlib.Path, run: Run, outcome: Outcome, scheduler: str | None) -> dict[str, Any]:
    """Return the record of the run from disk; write one if its process could not."""
    if outcome.error is not None:
        return _failed(out, run, outcome.error)
    found = read_record(run, folder_of(out, run.id))
    if found is not None:
        return found
    if scheduler is not None:
        raise ValueError(f"a worker of {scheduler} does not write to {out}; its machines must share that folder")
    raise ValueError(f"run {run.id} left no record in {folder_of(out, run.id)}; was the folder removed?")


def _failed(out: pathlib.Path, run: Run, error: str) -> dict[str, Any]:
    if (kept := good_record(run, folder_of(out, run.id))) is not None:
        return kept
    record = record_of(run, error=error)
    write_json(folder_of(out, run.id) / RECORD, record)
    return record


def _slab_jobs(runs: Sequence[Run], out: pathlib.Path) -> list[Job]:
    """Return the jobs for the slabs of the fields to bake; input errors are left to the run itself."""
    jobs: list[Job] = []
    if not runs or runs[0].kind != "bake":
        return jobs
    from .bakes import slab_jobs

    for run in runs:
        try:
            jobs += slab_jobs(run, folder_of(out, run.id))
        except Exception:
            continue
    return jobs


def _writable(out: pathlib.Path) -> None:
    """Raise OSError before the computation starts if the results cannot be written."""
    if out.exists() and not out.is_dir():
        raise NotADirectoryError(f"{out} is a file; expected a folder for the results")
    try:
        (out / "runs").mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=out, prefix=".pliant-") as probe:
            probe.write(b"?")
    except OSError as error:
        raise type(error)(error.errno, f"cannot write {out}: {error.strerror}") from None

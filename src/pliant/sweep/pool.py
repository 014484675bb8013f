"""Running jobs on local processes or on a Dask cluster; outcomes are yielded as they complete."""

import collections
import contextlib
import os
import pathlib
import platform
import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from .. import __version__
from .inputs import exists_or_matches
from .worker import Job, Limits, Outcome, WorkerProcess

_IDLE = 60.0  # s without a job after which a process on a cluster exits
_mine = threading.local()  # per thread of a Dask worker
LOCAL = "local"  # address of a temporary cluster on this machine
Done = tuple[int, Outcome]  # index of the job and its outcome


def cores() -> int:
    """Return the number of CPU cores available to this process."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def run_here(jobs: Sequence[Job], workers: int, limits: Limits) -> Iterator[Done]:
    """Run all jobs on `workers` processes that share the cores; stopping the iteration kills the processes."""
    if not jobs:
        return
    workers = min(workers, len(jobs))
    todo, done = collections.deque(enumerate(jobs)), queue.Queue[Done | BaseException]()
    crew = [WorkerProcess(max(1, cores() // workers)) for _ in range(workers)]
    for worker in crew:
        threading.Thread(target=_run_jobs, args=(worker, todo, limits, done), daemon=True).start()
    try:
        for _ in jobs:
            found = done.get()
            if isinstance(found, BaseException):
                raise found
            yield found
    finally:
        todo.clear()
        for worker in crew:
            worker.close()


def _run_jobs(
    worker: WorkerProcess, todo: "collections.deque[tuple[int, Job]]", limits: Limits, done: "queue.Queue[Any]"
) -> None:
    while not worker.closed:
        try:
            number, job = todo.popleft()
        except IndexError:
            return
        try:
            outcome = worker.run(job, limits)
        except BaseException as error:
            if not worker.closed:
                done.put(error)
            return
        done.put((number, outcome))


def check_address(address: str) -> str:
    """Return the address of a scheduler, or "local"; raise ValueError if it is neither."""
    if address.strip().lower() == LOCAL:
        return LOCAL
    if ":" not in address:
        raise ValueError(f"scheduler {address!r}: expected 'local', or an address such as tcp://10.0.0.5:8786")
    return address


def run_on_cluster(
    address: str,
    jobs: Sequence[Job],
    limits: Limits,
    say: Callable[[str], None] = lambda _: None,
    workers: int | None = None,
) -> Iterator[Done]:
    """Run all jobs on the Dask cluster whose scheduler listens at `address`; its machines must share the files.

    Address "local" starts a cluster of `workers` processes on this machine (default: one per core) and stops it at the
    end.

    Each thread of a Dask worker runs its jobs in a separate process, with one thread unless NUMBA_NUM_THREADS is set.
    Jobs of a lost worker are reassigned.
    """
    try:
        from distributed import Client, LocalCluster, as_completed
    except ImportError:
        here = "; or omit the scheduler to use processes of this machine" if address == LOCAL else ""
        raise ValueError(f"a cluster needs Dask; install it: pip install 'pliant[cluster]'{here}") from None
    with contextlib.ExitStack() as open_ones:
        if address == LOCAL:
            count = min(workers or cores(), max(len(jobs), 1))
            try:
                cluster = LocalCluster(n_workers=count, threads_per_worker=1, dashboard_address=None)
            except (OSError, RuntimeError, TimeoutError) as error:
                why = " ".join(str(error).split())
                raise ValueError(f"no Dask cluster could be started on this machine ({why})") from None
            open_ones.enter_context(cluster)
            address = cluster.scheduler_address
        try:
            client = open_ones.enter_context(Client(address, timeout=10, set_as_default=False))
        except (OSError, ValueError, TimeoutError) as error:
            raise ValueError(f"no Dask scheduler answers at {address} ({' '.join(str(error).split())})") from None
        if not client.scheduler_info().get("workers"):
            say(f"the cluster at {address} has no workers yet; waiting for them")
        futures = {
            client.submit(run_in_worker, tuple(job), tuple(limits), __version__, pure=False): number
            for number, job in enumerate(jobs)
        }
        try:
            for future in as_completed(futures, loop=client.loop):
                lost = future.exception()
                outcome = Outcome(*future.result()) if lost is None else _lost(lost)
                if outcome.refused and refusal(jobs[futures[future]], __version__) is None:
                    raise ValueError(outcome.error)  # a problem of the worker, not of the run
                yield futures[future], outcome
        finally:
            client.cancel(list(futures), force=True)


def _lost(error: BaseException) -> Outcome:
    """Return the outcome of a job that Dask abandoned after the allowed number of lost workers."""
    return Outcome(error=f"Dask: {type(error).__name__}: {' '.join(str(error).split())}", died=True)


def refusal(job: Job, version: str) -> str | None:
    """Return the reason why this machine cannot run the job, or None."""
    if version != __version__:
        return f"has pliant {__version__}; the sweep was started with {version}: install the same"
    for found in job.task.get("run", {}).get("inputs", {}).values():
        if found["path"] is not None and not exists_or_matches(pathlib.Path(found["path"])):
            return f"does not see {found['path']}; machines of a cluster must share the files under the same paths"
    return None


def run_in_worker(job: tuple[Any, ...], limits: tuple[Any, ...], version: str) -> tuple[Any, ...]:
    """Run a job on a Dask worker; arguments and result are plain tuples, which are serialisable."""
    refused = refusal(Job(*job), version)
    if refused is not None:
        return tuple(Outcome(error=f"the worker on {platform.node()} {refused}", refused=True))
    if not hasattr(_mine, "process"):
        _mine.process = WorkerProcess(1, idle=_IDLE)
    return tuple(_mine.process.run(Job(*job), Limits(*limits)))

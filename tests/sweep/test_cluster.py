"""The same sweep on a Dask cluster: two workers of this machine, one of which is killed."""

import os
import signal

import pytest

from pliant import cli
from pliant.sweep import pool
from pliant.sweep.plan import read_plan
from pliant.sweep.sweep import sweep
from sweep.test_sweep import SMALL, made, results

distributed = pytest.importorskip("distributed", reason="Dask is not installed: pip install 'pliant[cluster]'")


def test_a_cluster_ends_with_the_same_files_though_a_worker_is_killed(tmp_path, monkeypatch):
    monkeypatch.setenv("PLIANT_COMPILE", "0")
    file = made(tmp_path, SMALL)
    here = sweep(read_plan(file), tmp_path / "here", workers=1)
    with distributed.LocalCluster(2, threads_per_worker=1, dashboard_address=None) as cluster:
        victims = [nanny.pid for nanny in cluster.workers.values()]

        def kill(now):
            if now.done == 1 and victims:
                os.kill(victims.pop(), signal.SIGKILL)

        there = sweep(read_plan(file), tmp_path / "there", scheduler=cluster.scheduler_address, progress=kill)
    assert len(victims) == 1
    assert results(there.out) == results(here.out)


def test_workers_of_another_version_are_told_once_and_nothing_is_recorded(tmp_path, monkeypatch):
    monkeypatch.setattr(pool, "__version__", "0.0.0")
    file = made(tmp_path, SMALL)
    with (
        distributed.LocalCluster(1, threads_per_worker=1, dashboard_address=None) as cluster,
        pytest.raises(ValueError, match=r"the sweep was started with 0\.0\.0"),
    ):
        sweep(read_plan(file), tmp_path / "out", scheduler=cluster.scheduler_address)
    assert list((tmp_path / "out").glob("runs/*/run.json")) == []


def test_a_scheduler_that_does_not_answer_is_one_line(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    made(tmp_path, SMALL)
    assert cli.run(["sweep", "s.toml", "--scheduler", "tcp://127.0.0.1:9"]) == 2
    assert "error: no Dask scheduler answers at tcp://127.0.0.1:9" in capsys.readouterr().err


def test_a_local_cluster_is_started_and_ended_for_the_sweep(tmp_path, monkeypatch):
    monkeypatch.setenv("PLIANT_COMPILE", "0")
    file = made(tmp_path, SMALL)
    here = sweep(read_plan(file), tmp_path / "here", workers=1)
    there = sweep(read_plan(file), tmp_path / "there", scheduler="local", workers=2)
    assert results(there.out) == results(here.out)

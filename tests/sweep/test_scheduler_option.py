"""The option --scheduler where it cannot work: one line, before anything is done. See `test_cluster.py`, too."""

import builtins

import pytest

from pliant import cli
from pliant.sweep.plan import read_plan
from pliant.sweep.sweep import sweep
from sweep.test_sweep import SMALL, made


@pytest.fixture
def no_dask(monkeypatch):
    real = builtins.__import__

    def refused(name, *args, **options):
        if name.partition(".")[0] in ("distributed", "dask"):
            raise ImportError(name)
        return real(name, *args, **options)

    monkeypatch.setattr(builtins, "__import__", refused)


def test_a_local_cluster_without_dask_names_the_extra_and_the_way_without_it(tmp_path, no_dask):
    with pytest.raises(ValueError, match=r"pip install 'pliant\[cluster\]'; or omit the scheduler"):
        sweep(read_plan(made(tmp_path, SMALL)), tmp_path / "out", scheduler="local")
    assert list((tmp_path / "out").glob("runs/*/run.json")) == []


@pytest.mark.parametrize("address", ["locl", "", "10.0.0.5", "True"])
def test_what_is_no_address_is_told_before_anything_is_done(tmp_path, monkeypatch, capsys, address):
    monkeypatch.chdir(tmp_path)
    made(tmp_path, SMALL)
    assert cli.run(["sweep", "s.toml", f"--scheduler={address}"]) == 2
    err = capsys.readouterr().err
    assert "expected 'local', or an address such as tcp://" in err
    assert err.strip().count("\n") == 0
    assert not (tmp_path / "s").exists()


def test_workers_go_with_a_local_scheduler_and_with_no_other(tmp_path, monkeypatch, capsys, no_dask):
    monkeypatch.chdir(tmp_path)
    made(tmp_path, SMALL)
    assert cli.run(["sweep", "s.toml", "--scheduler", "tcp://127.0.0.1:9", "--workers", "2"]) == 2
    assert "the cluster of --scheduler has its own workers" in capsys.readouterr().err
    assert cli.run(["sweep", "s.toml", "--scheduler", "Local", "--workers", "2"]) == 2
    assert "needs Dask" in capsys.readouterr().err

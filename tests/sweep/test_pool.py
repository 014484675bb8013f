"""What a worker of a cluster refuses: told once, by name, and no failure of a run."""

from pliant import __version__
from pliant.sweep.pool import refusal, run_in_worker
from pliant.sweep.worker import Job, Limits, Outcome

ANY = tuple(Limits())


def job(*paths: str) -> Job:
    inputs = {str(k): {"name": path, "path": path, "digest": ""} for k, path in enumerate(paths)}
    return Job("sweep.odd_jobs:double", {"number": 2, "run": {"inputs": inputs}})


def test_another_version_is_named_with_both():
    told = Outcome(*run_in_worker(tuple(job()), ANY, "0.0.0"))
    assert told.refused
    assert f"has pliant {__version__}; the sweep was started with 0.0.0" in told.error


def test_a_file_that_is_not_there_is_named(tmp_path):
    (tmp_path / "a_1.obj").touch()
    assert refusal(job(str(tmp_path), str(tmp_path / "a_*.obj"), str(tmp_path / "a_1.obj")), __version__) is None
    gone = tmp_path / "b_*.obj"
    told = Outcome(*run_in_worker(tuple(job(str(gone))), ANY, __version__))
    assert told.refused
    assert f"does not see {gone}" in told.error

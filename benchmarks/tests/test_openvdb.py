"""OpenVDB: absent is no error, and where it is installed its answers are the same field."""

import shutil

import numpy as np
import pytest

import pliant
from pliant_bench import models, openvdb
from pliant_bench.baking import job_for
from pliant_bench.truth import Truth


@pytest.fixture
def forgetful():
    """The version is asked once a process; tests change the answer."""
    openvdb.version.cache_clear()
    yield
    openvdb.version.cache_clear()


def test_without_a_compiler_it_is_absent(monkeypatch, forgetful, tmp_path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert openvdb.version() is None


@pytest.mark.skipif(shutil.which("g++") is None, reason="no g++")
def test_a_program_that_does_not_compile_says_why_and_leaves_nothing(monkeypatch, tmp_path) -> None:
    (tmp_path / "broken.cpp").write_text("#include <no/such/header.h>\n")
    monkeypatch.setattr(openvdb, "SOURCE", tmp_path / "broken.cpp")
    monkeypatch.setenv("PLIANT_CACHE", str(tmp_path / "cache"))
    with pytest.raises(openvdb.OpenVDBError, match="does not compile: no/such/header"):
        openvdb.build()
    assert list((tmp_path / "cache" / "peers").iterdir()) == []


@pytest.mark.skipif(shutil.which("g++") is None, reason="no g++")
def test_a_program_that_ends_is_named_with_its_last_question(monkeypatch, tmp_path) -> None:
    (tmp_path / "brief.cpp").write_text("int main() { return 7; }\n")
    monkeypatch.setattr(openvdb, "SOURCE", tmp_path / "brief.cpp")
    monkeypatch.setattr(openvdb, "LIBRARIES", ())
    monkeypatch.setenv("PLIANT_CACHE", str(tmp_path / "cache"))
    with openvdb.started() as program, pytest.raises(openvdb.OpenVDBError, match="ended at 'bake' with exit code 7"):
        program.bake(0.1, 3.0, 1)


@pytest.mark.long
@pytest.mark.compiled
@pytest.mark.skipif(openvdb.version() is None, reason="needs g++ and libopenvdb-dev")
def test_its_field_of_a_closed_mesh_is_ours() -> None:
    mesh = models.bumpy_sphere(3)
    job = job_for(mesh, 60)
    truth = Truth.of(mesh, job.origin, job.h, job.band, 4000)
    points = models.points_for(mesh, job.h, "near", 2000)
    try:
        openvdb.build()
    except openvdb.OpenVDBError as error:
        pytest.skip(str(error))
    with openvdb.started() as program:
        program.mesh(job.vertices, job.faces, job.origin)
        seconds, active, _ = program.bake(job.h, job.band, 2)
        assert seconds > 0.0
        judged = truth.judge(program.nodes(truth.nodes) / job.h)
        program.points(points, job.origin)
        said = program.sampled(2)
        assert program.sample(1, fresh=True) > 0.0
    assert active > 10_000
    assert judged["covered"] > 0.999
    assert judged["wrong_signs"] < 0.01 * judged["nodes"]
    d, n = pliant.DistanceField.bake(mesh, spacing=job.h).sample(points)
    # where OpenVDB is off by its own error, ours is not to blame
    assert np.quantile(np.abs(said[:, 0] - d), 0.99) < 0.1 * job.h
    assert np.quantile(1.0 - (said[:, 1:] * n).sum(1) / np.linalg.norm(said[:, 1:], axis=1), 0.99) < 0.05

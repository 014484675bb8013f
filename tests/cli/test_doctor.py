"""`pliant doctor` tells the truth, and only what is essential makes it fail."""

import importlib.metadata
import json
import pathlib

import pytest

from pliant import cli
from pliant.cli import doctor


def report(capsys: pytest.CaptureFixture[str]) -> tuple[int, dict]:
    code = cli.run(["doctor", "--json"])
    return code, json.loads(capsys.readouterr().out)


def test_this_installation_is_well(capsys) -> None:
    code, found = report(capsys)
    assert (code, found["well"]) == (0, True)
    assert found["versions"]["numpy"] == importlib.metadata.version("numpy")


def test_the_tables_name_every_check(capsys) -> None:
    assert cli.run(["doctor"]) == 0
    text = capsys.readouterr().out
    assert all(check["name"] in text for check in doctor.examine()["checks"])


def test_a_missing_package_is_essential_and_comes_with_advice(capsys, monkeypatch) -> None:
    whole = doctor._version
    monkeypatch.setattr(doctor, "_version", lambda name: None if name == "scipy" else whole(name))
    code, found = report(capsys)
    broken = [check for check in found["checks"] if check["essential"] and not check["fine"]]
    assert (code, [check["advice"] for check in broken]) == (1, ["pip install scipy"])


def test_a_missing_browser_is_no_problem_and_comes_with_advice(capsys, monkeypatch, tmp_path: pathlib.Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    code, found = report(capsys)
    (check,) = (check for check in found["checks"] if check["name"].startswith("browser"))
    assert (code, check["fine"]) == (0, False)
    assert "chromium" in check["advice"]


def test_a_broken_compiler_is_essential(capsys, monkeypatch) -> None:
    from pliant.kernels import jit

    def breaks() -> str:
        raise RuntimeError("no LLVM\nhere")

    monkeypatch.setattr(jit, "threading_layer", breaks)
    code, found = report(capsys)
    assert code == 1
    assert any(check["found"] == "no LLVM here" for check in found["checks"])


def test_the_cache_is_counted(tmp_path: pathlib.Path) -> None:
    files = {"1f/a.nbi": 10, "1f/a.1.nbc": 100, "2e/b.1.nbc": 100, "3d/a.1.nbc": 7, "../fields/c.field": 1000}
    for name, size in files.items():
        (tmp_path / "kernels" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "kernels" / name).write_bytes(b"x" * size)
    found = doctor._cache(tmp_path / "kernels", {"1f", "2e", "not-compiled-yet"})
    assert (found["kernels"], found["bytes"], found["old_bytes"], found["writable"]) == (2, 210, 7, True)


def test_a_cache_that_cannot_be_written_is_noticed(tmp_path: pathlib.Path) -> None:
    (tmp_path / "file").write_text("in the way")
    assert doctor._cache(tmp_path / "file" / "kernels", set())["writable"] is False


def test_baked_fields_on_disk_are_counted(capsys, monkeypatch, tmp_path: pathlib.Path) -> None:
    (tmp_path / "fields").mkdir()
    for k in range(2):
        (tmp_path / "fields" / f"{k}.field").write_bytes(b"x" * 500)
    monkeypatch.setenv("PLIANT_CACHE", str(tmp_path))
    monkeypatch.setenv("PLIANT_CACHE_LIMIT", "1M")
    found = report(capsys)[1]["fields"]
    assert (found["count"], found["bytes"], found["limit"]) == (2, 1000, 1 << 20)
    assert found["folder"] == str(tmp_path / "fields")


def test_a_missing_card_is_no_problem_and_comes_with_advice(capsys, monkeypatch) -> None:
    from pliant.kernels.gpu import card

    none = card.Card(None, None, None, None, None, None, None, "numba-cuda is not installed", card.EXTRA)
    monkeypatch.setattr(card, "examine", lambda: none)
    code, found = report(capsys)
    (check,) = (check for check in found["checks"] if check["name"] == "CUDA")
    assert (code, check["fine"], check["found"]) == (0, False, "numba-cuda is not installed")
    assert card.EXTRA in check["advice"]


def test_a_card_is_named_with_its_memory_driver_and_toolkit(capsys, monkeypatch) -> None:
    from pliant.kernels.gpu import card

    there = card.Card("0.30.4", "13.0", "nvvm 13.0", "NVIDIA H200", "9.0", 139 << 30, 138 << 30, "", "")
    monkeypatch.setattr(card, "examine", lambda: there)
    assert cli.run(["doctor"]) == 0
    text = capsys.readouterr().out
    assert all(part in text for part in ("NVIDIA H200", "9.0", "138", "0.30.4", "nvvm 13.0"))

"""`pliant bench` where the benchmarks are not installed."""

import sys

import pytest

from pliant import cli


@pytest.mark.parametrize("words", [[], ["peers", "T3", "--quick"], ["--paper", "neal"], ["--report", "all.html"]])
def test_without_the_benchmarks_one_line_says_how_to_get_them(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    monkeypatch.setitem(sys.modules, "pliant_bench", None)
    assert cli.run(["bench", *words]) == 2
    out, told = capsys.readouterr()
    assert (out, told.count("\n")) == ("", 1)
    assert "the benchmarks are not part of this installation" in told
    assert "pip install ./benchmarks" in told


def test_without_the_benchmarks_the_help_says_where_they_are(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "pliant_bench", None)
    assert cli.run(["bench", "--help"]) == 0
    assert "benchmarks/ of the repository" in " ".join(capsys.readouterr().out.replace("│", " ").split())

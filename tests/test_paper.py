"""The paper: its table is what was measured, and its references are those that it cites."""

import csv
import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[1]
TEXT = (ROOT / "paper" / "paper.md").read_text("utf-8")
METHODS = {
    "brute force": "brute-force",
    "BVH": "bvh",
    "continuous detection": "continuous",
    "bone-attached boxes": "bone-boxes",
    "spatial hashing of tetrahedra": "spatial-hash",
    "layered depth images, exact": "image-space",
    "distance field": "distance-field",
    "height grids": "height-grid",
    "spherical implicit surface": "sphere-surface",
    "stochastic BVH, quality 0.9": "stochastic-bvh:quality=0.9",
    "active pairs": "active-pairs",
}


def test_every_reference_is_cited_and_there():
    keys = re.findall(r"^@\w+\{(\w+),", (ROOT / "paper" / "paper.bib").read_text("utf-8"), re.M)
    assert len(keys) == len(set(keys))
    assert set(keys) == set(re.findall(r"(?<![\w`])@([a-z]+\d*)", TEXT))


def test_the_table_is_what_was_measured():
    with (ROOT / "benchmarks" / "results" / "2-core-x86_64" / "which-method.csv").open(encoding="utf-8") as stream:
        table = list(csv.DictReader(stream))
    measured: dict[str, dict[str, tuple[str, str]]] = {}
    for row in table:
        measured.setdefault(row["method"], {})[row["case"]] = (row["recall"], row["cpu_ms"])
    cases = list(dict.fromkeys(case for rows in measured.values() for case in rows))
    assert len(cases) == 4
    rows = re.findall(r"^\| ([^|]+) \| ([ABC, ]+) \|(.*)\|$", TEXT, re.M)
    assert [name for name, _, _ in rows] == list(METHODS)
    for name, _, cells in rows:
        for case, cell in zip(cases, cells.split("|"), strict=True):
            if cell.strip():
                recall, ms = (float(part) for part in cell.split(","))
                there = measured[METHODS[name]][case]
                assert recall == pytest.approx(float(there[0]), abs=5e-4), (name, case)
                assert ms == pytest.approx(float(there[1]), rel=5e-3), (name, case)


def test_the_author_is_that_of_the_citation_file():
    (author,) = re.findall(r'- name: "?([^"\n]+)', TEXT.split("affiliations")[0])
    assert f"- name: {author}\n" in (ROOT / "CITATION.cff").read_text("utf-8")

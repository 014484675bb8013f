"""Results of checks for other programs: JUnit XML for test runners, SARIF 2.1.0 for code scanning.

JUnit has no published standard; the elements are those that Jenkins, GitLab and GitHub's actions read. SARIF: OASIS
Standard, Static Analysis Results Interchange Format, version 2.1.0.
"""

import hashlib
import json
import os
import pathlib
import re
import urllib.parse
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from xml.sax import saxutils

from .._version import __version__
from ..files import atomic_write

UNREADABLE, NOT_CHECKED = "unreadable", "not-checked"
_REMARKS = {
    UNREADABLE: "The file could not be read or checked.",
    NOT_CHECKED: "A property that is undefined for this mesh, or a remark on how it was checked.",
}


class Broken(NamedTuple):
    """An exceeded limit: the rule, its frame (-1: all alike), the time of that frame in seconds, and a sentence."""

    rule: str
    frame: int
    time: float
    text: str


class CheckedCase(NamedTuple):
    """One checked file, or one that could not be checked.

    rules: those that were tested; notes: what could not be checked; error: why the file was not checked at all.
    """

    file: pathlib.Path
    name: str  # of the file, and of the part that was checked
    seconds: float
    rules: Sequence[str] = ()
    broken: Sequence[Broken] = ()
    notes: Sequence[str] = ()
    error: str = ""


def write_junit(path: str | os.PathLike[str], cases: Sequence[CheckedCase]) -> None:
    """Write a test suite per file with a test case per limit."""
    suites = [_suite(case) for case in cases]
    tests, failures, errors = (sum(counts[k] for counts, _ in suites) for k in range(3))
    seconds = sum(case.seconds for case in cases)
    head = (
        f'<testsuites name="pliant check" tests="{tests}" failures="{failures}" errors="{errors}" time="{seconds:.3f}">'
    )
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', head, *(line for _, text in suites for line in text)]
    with atomic_write(path) as stream:
        stream.write("\n".join([*lines, "</testsuites>", ""]).encode())


# what XML 1.0 cannot hold, not even escaped: control characters, halves of surrogate pairs, U+FFFE and U+FFFF
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def _escaped(text: str) -> str:
    return saxutils.escape(_NOT_XML.sub("\ufffd", text))


def _quoted(text: str) -> str:
    return saxutils.quoteattr(_NOT_XML.sub("\ufffd", text))


def _suite(case: CheckedCase) -> tuple[tuple[int, int, int], list[str]]:
    """The numbers of tests, failures and errors of a file, and its lines."""
    name, lines = _quoted(case.name), []
    rules = dict.fromkeys([*case.rules, *(b.rule for b in case.broken)])
    texts = {rule: [b.text for b in case.broken if b.rule == rule] for rule in rules}
    for rule, broken in texts.items():
        begin = f'    <testcase classname={name} name="{rule}"'
        if not broken:
            lines.append(f"{begin}/>")
        else:
            lines += [f"{begin}>", f"      {_fault('failure', rule, '; '.join(broken))}", "    </testcase>"]
    if case.error:
        fault = _fault("error", UNREADABLE, case.error)
        lines += [f'    <testcase classname={name} name="readable">', f"      {fault}", "    </testcase>"]
    if case.notes:
        lines.append(f"    <system-out>{_escaped(chr(10).join(case.notes))}</system-out>")
    counts = len(texts) + bool(case.error), sum(map(bool, texts.values())), int(bool(case.error))
    figures = f'tests="{counts[0]}" failures="{counts[1]}" errors="{counts[2]}" time="{case.seconds:.3f}"'
    return counts, [f"  <testsuite name={name} {figures}>", *lines, "  </testsuite>"]


def _fault(kind: str, rule: str, text: str) -> str:
    """A failure or error; some servers show its message, others its content."""
    return f'<{kind} type="{rule}" message={_quoted(text)}>{_escaped(text)}</{kind}>'


def write_sarif(path: str | os.PathLike[str], cases: Sequence[CheckedCase], rules: Mapping[str, str]) -> None:
    """Write a result per exceeded limit, unreadable file and note; `rules`: the sentence that describes each rule."""
    described = {**rules, **_REMARKS}
    number = {rule: k for k, rule in enumerate(described)}
    results = []
    for case in cases:
        for b in case.broken:
            results.append(_result(case, b.rule, number, f"{case.name}: {b.text}", "error", b))
        if case.error:
            results.append(_result(case, UNREADABLE, number, case.error, "error"))
        results += [_result(case, NOT_CHECKED, number, f"{case.name}: {text}", "note") for text in case.notes]
    driver = {
        "name": "pliant check",
        "version": __version__,
        "rules": [{"id": rule, "shortDescription": {"text": text}} for rule, text in described.items()],
    }
    run = {
        "tool": {"driver": driver},
        "invocations": [{"executionSuccessful": not any(case.error for case in cases)}],
        "results": results,
    }
    log = {"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0", "runs": [run]}
    with atomic_write(path) as stream:
        stream.write((json.dumps(log, indent=2, ensure_ascii=False) + "\n").encode(errors="replace"))


def _result(
    case: CheckedCase, rule: str, number: Mapping[str, int], text: str, level: str, broken: Broken | None = None
) -> dict[str, Any]:
    # a mesh has no lines of text, but code scanning shows only results that have one
    place = {"artifactLocation": {"uri": _uri(case.file)}, "region": {"startLine": 1}}
    found = {"ruleId": rule, "ruleIndex": number[rule], "level": level, "message": {"text": text}}
    found["locations"] = [{"physicalLocation": place}]
    # the same problem of the same file is the same alert in the next run, whatever its depth then; a note is its text
    about = f"{case.name}:{rule}" if rule != NOT_CHECKED else f"{rule}:{text}"
    key = hashlib.sha256(about.encode(errors="replace")).hexdigest()[:16]
    found["partialFingerprints"] = {"primaryLocationLineHash": f"{key}:1"}
    if broken is not None and broken.frame >= 0:
        found["properties"] = {"frame": broken.frame, "time_s": broken.time}
    return found


def _uri(file: pathlib.Path) -> str:
    """The file relative to its repository, as code scanning expects it; without one relative to the current folder, or
    as an absolute URI outside of it."""
    resolved, here = file.resolve(), pathlib.Path.cwd().resolve()
    root = next((folder for folder in (here, *here.parents) if (folder / ".git").exists()), here)
    if resolved.is_relative_to(root):
        return urllib.parse.quote(os.fsencode(resolved.relative_to(root).as_posix()))
    return resolved.as_uri()

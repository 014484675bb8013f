"""The Khronos glTF validator (npm package `gltf-validator`), where node and it are there."""

import functools
import json
import os
import pathlib
import shutil
import subprocess
from collections.abc import Iterable
from typing import Any

import pytest

_SCRIPT = """
const validator = require(process.argv[1] + '/gltf-validator'), fs = require('fs');
(async () => {
  for (const file of process.argv.slice(2)) {
    const report = await validator.validateBytes(new Uint8Array(fs.readFileSync(file)), {maxIssues: 0});
    const bad = report.issues.messages.filter(m => m.severity < 2).slice(0, 3);
    console.log(JSON.stringify([file, report.issues.numErrors, report.issues.numWarnings, bad]));
  }
})();
"""


@functools.cache
def packages(*names: str) -> tuple[str, pathlib.Path] | None:
    """node and the folder in which npm has put all these packages, where both are there."""
    node = shutil.which("node")
    home = pathlib.Path(__file__).parents[1]
    for folder in (os.environ.get("PLIANT_GLTF_VALIDATOR"), home / "node_modules"):
        if node and folder and all((pathlib.Path(folder) / name).is_dir() for name in names):
            return node, pathlib.Path(folder).resolve()
    return None


def needs_packages(*names: str) -> pytest.MarkDecorator:
    missing = packages("gltf-validator", *names) is None
    return pytest.mark.skipif(
        missing, reason=f"npm install {' '.join(names)}, or set PLIANT_GLTF_VALIDATOR to node_modules"
    )


needs_validator = pytest.mark.skipif(
    packages("gltf-validator") is None,
    reason="no node with gltf-validator (set PLIANT_GLTF_VALIDATOR to its node_modules)",
)


def faults(paths: Iterable[pathlib.Path]) -> list[Any]:
    """[file, errors, warnings, the first few] of each file with any."""
    found = packages("gltf-validator")
    assert found is not None
    files = sorted(map(str, paths))
    run = subprocess.run([found[0], "-e", _SCRIPT, str(found[1]), *files], capture_output=True, text=True, timeout=120)
    reports = [json.loads(line) for line in run.stdout.splitlines()]
    assert len(reports) == len(files), run.stderr
    return [report for report in reports if report[1] or report[2]]

"""The extension in a Blender with a window, in which Blender's own event loop calls it.

PLIANT_BLENDER_WINDOW is the command of that Blender, such as `xvfb-run -a blender`; it sees the folder of the tests.
"""

import json
import os
import shlex
import subprocess

import numpy as np
import pytest

import pliant
from blender import opened as blender
from blender.opened import HERE
from blender.test_extension import PLIANT, extension  # noqa: F401

COMMAND = shlex.split(os.environ.get("PLIANT_BLENDER_WINDOW", ""))
pytestmark = [
    pytest.mark.blender,
    pytest.mark.compiled,
    pytest.mark.skipif(not COMMAND, reason="no window: PLIANT_BLENDER_WINDOW is not set"),
]
PAUSE = 2.0  # seconds, on a machine that may have other work


def test_commands_run_beside_a_window_that_responds(extension, tmp_path):  # noqa: F811
    known = os.environ | {"BLENDER_USER_RESOURCES": str(tmp_path / "user")}
    install = [*COMMAND, "--command", "extension", "install-file", "--repo", "user_default", "--enable", str(extension)]
    subprocess.run(install, env=known, check=True, timeout=120)
    job = json.dumps({"folder": str(tmp_path), "pliant": str(PLIANT)})
    script = ["--python-exit-code", "1", "--python", str(HERE / "window_session.py")]
    command = [*COMMAND, "--window-geometry", "0", "0", "1200", "800", *script]
    done = subprocess.run([*command, "--", job], env=known, capture_output=True, text=True, timeout=300)
    assert "Traceback" not in done.stdout + done.stderr, done.stdout + done.stderr
    assert done.returncode == 0, done.stdout + done.stderr
    said = json.loads((tmp_path / "said.json").read_text("utf-8"))
    with np.load(tmp_path / "seen.npz") as stored:
        seen = {name: stored[name] for name in stored.files}
    garment, body = (
        pliant.Clip(pliant.Mesh(seen[name][0], seen[f"{name}_faces"], name=name), seen[name].astype(np.float32))
        for name in ("garment", "body")
    )
    assert said["check"].startswith("intersections in ")
    assert said["fix"] == "no intersections remain"
    ours = pliant.fix(garment, body, clearance=0.002, fps=24.0).garment
    blender.assert_equal(seen["after"], np.stack([ours.at(t) for t in range(len(ours))]))
    assert seen["modifiers"].tolist() == said["redo"] == ["Pliant Fix"]
    assert said["undo"] == []
    assert said["cancel"] == ["", []]
    error, changed = said["kill"]
    assert "exit code -9" in error
    assert changed == []
    for label in ("Check", "Fix", "Drape"):
        assert len(said["pauses"][label]) > 3
        assert max(said["pauses"][label]) < PAUSE
    print(said["version"], {label: round(max(seconds), 3) for label, seconds in said["pauses"].items()})

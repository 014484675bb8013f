"""An artist's first minutes: the zip in an empty Blender, the button Install Pliant, Check and Fix."""

import json
import os
import pathlib
import subprocess
import sys

import pliant
from blender import opened as blender
from blender.opened import HERE, PYTHON, ROOT

pytestmark = blender.needs_blender


def test_the_zip_and_its_button_are_all_that_is_needed(tmp_path):
    subprocess.run([sys.executable, ROOT / "tools" / "build_extension.py", tmp_path], check=True, timeout=300)
    (archive,) = tmp_path.glob("*.zip")
    ours = str(pathlib.Path(sys.executable).parent)  # where there is a pliant, which must not be found
    path = os.pathsep.join(p for p in os.environ["PATH"].split(os.pathsep) if p != ours)
    known = {key: value for key, value in os.environ.items() if key != "PLIANT_COMMAND"}
    known |= {"BLENDER_USER_RESOURCES": str(tmp_path / "user"), "PATH": path}
    job = json.dumps({"zip": str(archive), "folder": str(tmp_path)})
    command = [str(PYTHON), str(HERE / "install_pliant.py"), job]
    done = subprocess.run(command, env=known, capture_output=True, text=True, timeout=550)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr
    said = json.loads((tmp_path / "said.json").read_text("utf-8"))
    assert "Pliant itself is not installed yet" in said["before"][0]
    assert "press Install Pliant" in said["before"][1]
    assert "Allow Online Access" in said["offline"]
    assert any(text.startswith("Install: ") for text in said["running"])
    assert said["cancelled"] == [False, False]
    finished, summary, drawn, program = said["install"]
    assert (finished, summary) == ("FINISHED", f"pliant {pliant.__version__} is installed")
    assert "Pliant itself is not installed yet" not in drawn
    assert pathlib.Path(program).is_relative_to(said["folder"])
    assert pathlib.Path(said["folder"]).is_relative_to(tmp_path / "user")
    (first, found), (second, fixed), (third, left) = said["use"]
    assert first == second == third == "FINISHED"
    assert found.startswith("intersections in")
    assert fixed == "no intersections remain"
    assert left.startswith("no intersections")
    assert not said["in_blender"]
    print(program, sum(file.stat().st_size for file in pathlib.Path(said["folder"]).rglob("*") if file.is_file()))

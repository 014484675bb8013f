"""Runs in Blender's own Python, as an artist begins: the zip installs into an empty user folder, Install Pliant makes
the environment, and Check and Fix work. The argument is a JSON object: `zip`, `folder`. Writes `said.json`."""

import importlib
import importlib.util
import json
import pathlib
import sys
import time

import bpy
import numpy as np
from use_extension import draw_panels, sheet


def main() -> None:
    job = json.loads(sys.argv[1])
    bpy.ops.wm.read_factory_settings(use_empty=True)
    bpy.ops.extensions.package_install_files(filepath=job["zip"], repo="user_default", enable_on_install=True)
    (package,) = [m for m in sys.modules if m.startswith("bl_ext.") and m.endswith(".pliant")]
    settings, jobs = (importlib.import_module(f"{package}.{name}") for name in ("settings", "jobs"))
    scene = bpy.context.scene
    scene.pliant.garment, scene.pliant.body = sheet(scene)
    bpy.ops.wm.save_as_mainfile(filepath=str(pathlib.Path(job["folder"], "scene.blend")))
    said: dict = {"numpy": np.__version__, "folder": str(settings.environment())}

    def drawn() -> list[str]:
        meta: dict = {}
        draw_panels(package, meta)
        return meta["drawn"]

    said["before"] = [drawn(), attempt("check")]
    said["offline"] = attempt("install")
    bpy.context.preferences.system.use_online_access = True
    jobs.begin(importlib.import_module(f"{package}.operators").PLIANT_OT_install.job(scene))
    while jobs.current().process.progress[0] < 0.1:
        time.sleep(0.05)
        jobs.tick()
    said["running"] = drawn()
    bpy.ops.pliant.cancel()
    said["cancelled"] = [settings.environment().exists(), settings.installed()]
    said["install"] = [attempt("install"), scene.pliant.summary, drawn(), settings.command()]
    said["use"] = [[attempt(name), scene.pliant.summary] for name in ("check", "fix", "check")]
    said["in_blender"] = importlib.util.find_spec("pliant") is not None
    pathlib.Path(job["folder"], "said.json").write_text(json.dumps(said), "utf-8")


def attempt(name: str) -> str:
    try:
        return next(iter(getattr(bpy.ops.pliant, name)()))
    except RuntimeError as error:
        return str(error)


main()

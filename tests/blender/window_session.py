"""Runs in a Blender with a window: operators start as the panel starts them, and Blender's own event loop follows them.

The argument after `--` is a JSON object: `folder`, and `pliant`, the program. Each step of `session` waits until the
command has ended. It stores what was seen as `said.json` and `seen.npz`.
"""

import contextlib
import importlib
import json
import os
import pathlib
import signal
import sys
import time
import traceback
from collections.abc import Iterator

import bpy
import numpy as np

sys.path[:0] = [str(pathlib.Path(__file__).parent)]
from read_scene import positions  # noqa: E402
from scene_digest import digest  # noqa: E402
from use_extension import long, triangles  # noqa: E402

EVERY = 0.05  # seconds between two looks; what Blender needs more is the time in which it does not respond


def main() -> None:
    job = json.loads(sys.argv[sys.argv.index("--") + 1])
    os.environ["PLIANT_COMMAND"] = job["pliant"]
    folder = pathlib.Path(job["folder"])
    bpy.context.preferences.view.show_splash = False
    said: dict = {"pauses": {}, "version": bpy.app.version_string}
    steps, last = session(folder, said), [time.perf_counter()]

    def look() -> float | None:
        now = time.perf_counter()
        if (running := running_jobs().current()) is not None:
            said["pauses"].setdefault(running.label, []).append(now - last[0] - EVERY)
        try:
            next(steps)
        except StopIteration:
            (folder / "said.json").write_text(json.dumps(said), "utf-8")
            bpy.ops.wm.quit_blender()
            return None
        except BaseException:
            traceback.print_exc()
            sys.stdout.flush()
            os._exit(1)
        last[0] = time.perf_counter()
        return EVERY

    bpy.app.timers.register(look, first_interval=1.0)


def session(folder: pathlib.Path, said: dict) -> Iterator[None]:
    """What an artist does, one look at a time."""
    scene = bpy.context.scene
    for thing in list(bpy.data.objects):
        bpy.data.objects.remove(thing)
    garment, body = long(scene)
    scene.frame_end = 8
    name = garment.name
    scene.pliant.garment, scene.pliant.body, scene.pliant.clearance, scene.pliant.settle = garment, body, 0.002, 0.0
    with view():
        bpy.ops.wm.save_as_mainfile(filepath=str(folder / "window.blend"))
        bpy.ops.ed.undo_push(message="start")
    numbers = range(scene.frame_start, scene.frame_end + 1)
    seen = {}
    for key, thing in (("garment", garment), ("body", body)):
        seen[key], seen[f"{key}_faces"] = np.stack([positions(thing, n) for n in numbers]), triangles(thing)
    yield from wait(20)
    for command in ("check", "fix"):
        yield from press(command)
        yield from until_done()
        yield from wait(4)
        said[command] = bpy.context.scene.pliant.summary
    seen["after"] = np.stack([positions(bpy.data.objects[name], n) for n in numbers])
    seen["modifiers"] = [m.name for m in bpy.data.objects[name].modifiers]
    for way in ("undo", "redo"):
        with view():
            getattr(bpy.ops.ed, way)()
        yield from wait(2)
        said[way] = [m.name for m in bpy.data.objects[name].modifiers]
    bpy.context.scene.frame_end = 42
    for way in ("cancel", "kill"):
        before = digest()
        yield from press("drape")
        yield from frames_shown(name)
        jobs = running_jobs()
        if way == "cancel":
            yield from press("cancel")
        else:
            os.killpg(jobs.current().process._process.pid, signal.SIGKILL)
            yield from until_done()
        yield from wait(4)
        after = digest()
        said[way] = [jobs.error(), sorted(k for k in {**before, **after} if before.get(k) != after.get(k))]
    np.savez(folder / "seen.npz", **seen)


def view() -> contextlib.AbstractContextManager:
    """The sidebar of the 3D view, open at the tab Pliant, as the place where operators are called."""
    window = bpy.context.window_manager.windows[0]
    area = next(area for area in window.screen.areas if area.type == "VIEW_3D")
    area.spaces.active.show_region_ui = True
    region = next(region for region in area.regions if region.type == "UI")
    with contextlib.suppress(AttributeError, TypeError):  # not yet in the first frames of the window
        region.active_panel_category = "Pliant"
    return bpy.context.temp_override(window=window, area=area, region=region)


def press(name: str) -> Iterator[None]:
    with view():
        getattr(bpy.ops.pliant, name)("INVOKE_DEFAULT")
    yield


def wait(looks: int) -> Iterator[None]:
    for _ in range(looks):
        yield


def until_done() -> Iterator[None]:
    while running_jobs().current() is not None:
        yield


def frames_shown(name: str) -> Iterator[None]:
    while "Pliant Drape" not in bpy.data.objects[name].modifiers:
        if running_jobs().current() is None:
            raise RuntimeError(f"Drape ended before frames were shown: {running_jobs().error()}")
        yield


def running_jobs():
    (package,) = [m for m in sys.modules if m.startswith("bl_ext.") and m.endswith(".pliant")]
    return importlib.import_module(f"{package}.jobs")


main()

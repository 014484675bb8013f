"""The running command: one at a time, followed by a timer of Blender's, so that the window stays responsive.

A script without a window waits instead. Objects are known by name while a process runs: Undo replaces them in memory.
"""

import time
from typing import Any

import bpy

from . import settings
from .process import PliantProcess, Problem

SECONDS = 0.1  # between two looks at the process


class Job:
    """A command that records the scene, runs a pliant process and brings its result back."""

    label = ""
    changes = False  # the shape of the garment in any frame

    def __init__(self, scene: bpy.types.Scene) -> None:
        self._scene = scene.name
        self.process = PliantProcess()

    @property
    def scene(self) -> bpy.types.Scene:
        return bpy.data.scenes[self._scene]

    def start(self) -> None:
        self.process.start(settings.command(), *self.words(), "--json")

    def words(self) -> list[str]:
        """Write the files of the command; return its name and its words."""
        raise NotImplementedError

    def update(self) -> None:
        """Show what is there while the process runs."""

    def hide(self) -> None:
        """Take back what `update` has shown."""

    def finish(self) -> str:
        """Bring the result back and return it as one line."""
        text = self.bring_back(self.process.result())
        if self.changes:
            self.scene.pliant.findings.clear()  # they are of the garment before
        self.scene.pliant.summary = text
        return text

    def bring_back(self, found: dict[str, Any]) -> str:
        raise NotImplementedError

    def fail(self) -> None:
        """Leave the scene as it was before `start`."""
        self.hide()


class _State:
    job: Job | None = None
    error = ""  # why the last command failed


def current() -> Job | None:
    return _State.job


def error() -> str:
    return _State.error


def run(job: Job) -> str:
    """Run a job and wait for it; raise Problem if it failed."""
    _State.error = ""
    try:
        job.start()
        while job.process.running:
            job.update()
            time.sleep(0.02)
        return job.finish()
    except BaseException:
        job.fail()
        raise
    finally:
        job.process.close()


def begin(job: Job) -> None:
    """Start a job that `tick` follows; raise Problem if one is running or this one cannot start."""
    if _State.job is not None:
        raise Problem(f"{_State.job.label} is running; wait for it or cancel it")
    _State.error = ""
    try:
        job.start()
    except BaseException:
        job.process.close()
        raise
    _State.job = job
    bpy.app.timers.register(tick, first_interval=SECONDS)


def tick() -> float | None:
    """Look at the running process once: show its frames, or end the job. Seconds until the next look; None: no more."""
    job = _State.job
    if job is None:
        return None
    done = False
    try:
        if job.process.running:
            job.update()
            _redraw()
            return SECONDS
        job.finish()
        done = True
    except (Problem, OSError, KeyError, ReferenceError) as problem:
        _State.error = str(problem) if isinstance(problem, Problem) else f"{job.label} failed: {problem!r}"
    except BaseException as problem:
        _State.error = f"{job.label} failed: {problem!r}"
        _end(job, done)
        raise
    _end(job, done)
    return None


def cancel() -> bool:
    """End the running job; nothing has changed then. False if none is running."""
    job = _State.job
    if job is None:
        return False
    _end(job, done=False)
    return True


def _end(job: Job, done: bool) -> None:
    _State.job = None
    try:
        if not done:
            job.fail()
    finally:
        job.process.close()
        _redraw()
    if bpy.app.background:
        return
    if done:
        bpy.ops.ed.undo_push(message=f"Pliant: {job.label}")
    elif _State.error:
        text = _State.error
        bpy.context.window_manager.popup_menu(
            lambda menu, _: menu.layout.label(text=text), title=f"Pliant: {job.label}", icon="ERROR"
        )


def _redraw() -> None:
    for window in bpy.context.window_manager.windows:
        for area in window.screen.areas:
            if area.type == "VIEW_3D":
                area.tag_redraw()


@bpy.app.handlers.persistent
def before_load(*_: object) -> None:
    """Another file takes the place of this one: its job ends."""
    cancel()


@bpy.app.handlers.persistent
def before_save(*_: object) -> None:
    """Unfinished frames are not saved."""
    if _State.job is not None:
        _State.job.hide()


HANDLERS = {"load_pre": before_load, "save_pre": before_save}

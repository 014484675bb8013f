"""The session of `pliant play`: an interactive run in its own thread, its queue of commands, its published frames."""

import collections
import dataclasses
import gc
import json
import logging
import pathlib
import threading
import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from .. import contacts as _contacts
from ..kernels.jit import set_threads, threads
from ..simulation import Frame
from ..simulation.drag import DragConstraint
from ..simulation.measure.referee import Referee
from .commands import Choose, Command, Do, FreePins, Grab, LetGo, Pull, Set, Show, ValidCommands, supersedes
from .frame_encoding import encode
from .frame_statistics import FrameStatistics
from .heap import trim_heap
from .interactive_run import FRAME_SECONDS, InteractiveRun, StartOptions
from .log_relay import relay_warnings
from .overlays import Overlays
from .recording import Recording
from .scene_description import SceneDescription
from .session_interface import PublishedFrame

log = logging.getLogger("pliant.view")
QUEUE = 1000  # largest number of queued commands
PUBLISH_INTERVAL = 1 / 60 - 0.003  # s, shortest interval of published frames; below 1/60 because parts end unevenly
PART_BUDGET = 0.028  # computing time above which a part of a frame is divided, seconds
MEASURE_INTERVAL = 0.25  # interval between measurements of the exact referee, seconds
MESSAGES_KEPT = 20  # messages kept for clients that are behind
TRIM_INTERVAL = 10.0  # interval between returns of free memory, seconds
_FACTOR = {"1/4": 0.25, "1/2": 0.5, "1": 1.0, "2": 2.0}


class Session:
    """An interactive run in its own thread. Everything that other threads read is replaced as a whole.

    Commands are executed between parts of frames, and while the next part is not yet due; of consecutive drag or slider
    movements only the last is executed. `folder`: destination of recordings.
    """

    def __init__(self, start_options: StartOptions | None = None, folder: pathlib.Path | None = None) -> None:
        self._start_options, self._folder = start_options or StartOptions(), folder or pathlib.Path()
        self.newest = PublishedFrame(0, 0, b"")
        self.messages: tuple[tuple[int, str], ...] = ()
        self.valid_commands = ValidCommands({}, {}, {}, ((-1.0, -1.0, -1.0), (1.0, 1.0, 1.0)))
        self._hello = self.failed = ""
        self._calls: list[Callable[[], None]] = []
        self._queue: collections.deque[tuple[int, Command | None]] = collections.deque()
        self._lock, self._wake, self._stopping = threading.Lock(), threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run_thread, name="pliant simulation", daemon=True)
        self._paused, self._single_step, self._speed = False, False, "1"
        self._statistics, self._missed = FrameStatistics(), 0  # grabs that hit nothing
        self._warned = set[str]()  # warnings already sent for this scene
        self._holds: dict[int, tuple[DragConstraint, bool]] = {}  # by client; True: becomes a pin on release

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        self._wake.set()
        if self._thread.ident is not None:
            self._thread.join(1.5)

    @property
    def has_started(self) -> bool:
        return self.newest.generation > 0

    def hello(self) -> str:
        return self._hello

    def subscribe(self, call: Callable[[], None]) -> None:
        self._calls.append(call)

    def post(self, client: int, command: Command) -> None:
        with self._lock:
            last = self._queue[-1] if self._queue else None
            if last is not None and last[0] == client and supersedes(last[1], command):
                self._queue.pop()
            if len(self._queue) < QUEUE or isinstance(command, LetGo):
                self._queue.append((client, command))
        self._wake.set()

    def leave(self, client: int) -> None:
        with self._lock:
            self._queue.append((client, None))
        self._wake.set()

    # the methods below run on the simulation thread

    def _run_thread(self) -> None:
        # leave one core to the browser: otherwise every parallel loop would wait for it
        set_threads(threads() - 1)
        with relay_warnings(self._warn):
            self._loop()

    def _loop(self) -> None:
        try:
            self._send_message("note", "creating the scene; the very first start compiles for a minute or two ...")
            self._run = InteractiveRun(self._start_options)
            self._open_scene()
            while not self._stopping.is_set():
                self._run_commands()
                if time.perf_counter() - self._trimmed_at > TRIM_INTERVAL:
                    self._trim_memory()
                if self._paused and not self._single_step:
                    self._sleep(0.2)
                else:
                    self._single_step = False
                    self._advance()
        except Exception as error:  # report any error to the page
            log.error("the simulation ended: %s", error, exc_info=log.isEnabledFor(logging.DEBUG))
            self.failed = str(error)
            self._hello = ""  # so that pages that connect later receive the reason
            self._send_message("problem", f"the simulation ended: {error}", ended=True)

    def _open_scene(self) -> None:
        """Set up everything that depends on the scene, and publish its first frame."""
        scene = self._run.scene
        self._description, self._overlays = SceneDescription(scene, self._start_options.subdivide), Overlays(scene)
        self._referee = Referee(scene) if scene.deformable and scene.obstacles else None
        self._holds.clear()
        self._recording: Recording | None = None
        self._least_distance, self._measured_at, self._measured_frame_time = float("nan"), 0.0, -1.0
        self._substeps_done, self._spent = 0, 0.0  # substeps since the last whole frame, and the seconds they took
        self._reset_times()
        self._found = _contacts.empty()
        self._trim_memory(collect=True)
        self._publish_hello(new=True)
        self._note(f"preparing {self._run.name}; code that runs for the first time is compiled ...")
        self._run.step()  # not shown, so that compile time does not count as computing time
        self._run.reset()
        self._reset_times()
        self._publish(self._current_frame())
        self._note("")

    def _trim_memory(self, collect: bool = False) -> None:
        """Return free memory to the system; `collect` also collects reference cycles, which takes 0.1 s.

        Python collects cycles by the number of objects, and ours are few but large.
        """
        if collect:
            gc.collect()
        trim_heap()
        self._trimmed_at = time.perf_counter()

    def _reset_times(self) -> None:
        self._run.clock.seconds.clear()
        self._due = self._published_at = time.perf_counter()
        self._statistics.reset()

    def _publish_hello(self, new: bool = False) -> None:
        """Publish a greeting of the next generation. `new`: the greeting of another scene, which has no frame yet;
        otherwise the last frame is kept, with its former generation, so that pages leave their image as it is."""
        run, generation = self._run, self.newest.generation + 1
        self.valid_commands = self._description.valid_commands(run)
        self._hello = self._description.hello(generation, run, self._overlays, self._speed)
        self.newest = PublishedFrame(generation, self.newest.serial, b"" if new else self.newest.data)
        self._notify()

    def _send_message(self, kind: str, text: str, **flags: bool) -> None:
        number = self.messages[-1][0] + 1 if self.messages else 1
        self.messages = (*self.messages, (number, json.dumps({kind: text} | flags)))[-MESSAGES_KEPT:]
        self._notify()

    def _warn(self, text: str) -> None:
        if text not in self._warned:
            self._warned.add(text)
            self._send_message("warning", text)

    def _note(self, text: str) -> None:
        self._send_message("note", text)

    def _notify(self) -> None:
        for call in self._calls:
            call()

    def _sleep(self, seconds: float) -> None:
        self._wake.wait(seconds)
        self._wake.clear()

    def _current_frame(self) -> Frame:
        index, state = self._run.sim.index, self._run.sim.state.copy()
        return Frame(index=index, time=state.time, x=state.x, pose=state.pose, contacts=self._found, seconds=0.0)

    def _advance(self) -> None:
        """Simulate one part of a frame, publish it if the last one is old enough, and wait for real time."""
        run, began = self._run, time.perf_counter()
        run.clock.seconds.clear()
        try:
            frame = run.step()
        except (FloatingPointError, ValueError) as error:
            self._send_message("problem", f"{error}; back to the beginning")
            self._control("reset")
            self._wait(0.2)  # time to choose other settings in case it fails again
            return
        seconds = time.perf_counter() - began
        self._statistics.add_part(seconds, run.clock.seconds, run.parts_per_frame)
        self._spent += seconds
        self._found = frame.contacts
        self._substeps_done = (self._substeps_done + run.substeps_per_part) % run.substeps_per_frame
        if self._substeps_done == 0:
            self._record(dataclasses.replace(frame, seconds=self._spent))
            self._spent = 0.0
        if self._paused or time.perf_counter() - self._published_at >= PUBLISH_INTERVAL:
            self._publish(frame)
        self._adapt_substeps()
        self._wait(run.sim.dt / _FACTOR[self._speed])

    def _record(self, frame: Frame) -> None:
        """Add a frame to the current recording; pause the scene when it is full."""
        recording = self._recording
        if recording is None:
            return
        every = recording.every
        recording.add(frame)
        if recording.every != every:
            rate = 1.0 / (recording.every * recording.dt)
            self._note(f"long recording: the frame rate of all its frames is reduced to {rate:.0f} fps")
        if recording.full and not self._paused:
            self._send_message("problem", f"the recording is full after {recording.seconds:.0f} s: save or discard it")
            self._paused = True

    def _adapt_substeps(self) -> None:
        """Divide parts that take too long and merge very short ones, after three parts have been measured."""
        run, statistics, before = self._run, self._statistics, self._run.substeps_per_part
        if statistics.count < 3 or PART_BUDGET / 4 < statistics.mean < PART_BUDGET or self._substeps_done:
            return
        run.fit_substeps_per_part(statistics.mean / before, 0.7 * PART_BUDGET)
        if run.substeps_per_part != before:
            statistics.reset_part_time()

    def _wait(self, span: float) -> None:
        """Wait for real time, executing commands that arrive; a scene slower than real time does not catch up."""
        self._due = max(self._due + span, time.perf_counter() - span)
        while (left := self._due - time.perf_counter()) > 0.0 and not self._stopping.is_set():
            self._sleep(min(left, 0.05))
            self._run_commands()
        self._statistics.add_simulated(self._run.sim.dt)

    def _publish(self, frame: Frame) -> None:
        self._published_at, run, scene = time.perf_counter(), self._run, self._run.scene
        late = self._published_at - self._measured_at > MEASURE_INTERVAL
        if self._referee is not None and (late or (self._paused and frame.time != self._measured_frame_time)):
            self._least_distance = self._referee.least_distance(frame.x, frame.pose)
            self._measured_at, self._measured_frame_time = self._published_at, frame.time
        arrays: dict[str, NDArray[np.generic]] = {
            f"x{b}": frame.x[scene.rows(b)][body.mesh.weld_index]
            for b, body in enumerate(scene.bodies)
            if not body.obstacle or body.motion is not None
        }
        if held := [drag for drag, _ in self._holds.values()]:
            arrays["drag"] = np.array([held[0].point(run.sim.state), held[0].to])
        if pins := [drag.at for drag in run.drags if all(drag is not one for one in held)]:
            arrays["pins"] = np.array(pins)
        try:
            arrays |= self._overlays.draw(run.sim, frame)
        except Exception as error:  # of any detector: drawing must not end the simulation
            self._overlays.on = dict.fromkeys(self._overlays.on, False)
            self._send_message("problem", f"overlays are off: {error}")
        least = 1e3 * self._least_distance  # millimetres
        header = {
            "time": frame.time,
            "part": frame.index,
            "paused": self._paused,
            "recording": len(self._recording) if self._recording is not None else 0,
            "parts_per_second": round(self._statistics.parts_per_second, 1),
            "ms": {name: round(ms, 3) for name, ms in self._statistics.ms.items()},
            "contacts": len(frame.contacts),
            "least": round(least, 4) if np.isfinite(least) else None,
            "deepest": None if np.isnan(least) else round(max(0.0, -least), 4),
            "held": bool(held),
            "missed": self._missed,
            "pins": len(run.drags) - len(held),
            "speed": round(self._statistics.speed, 3),
            "structure": self._overlays.described,
        }
        generation, serial = self.newest.generation, self.newest.serial + 1
        self.newest = PublishedFrame(generation, serial, encode(generation, serial, header, arrays))
        self._notify()

    def _run_commands(self) -> None:
        """Execute the queued commands."""
        for _ in range(len(self._queue)):  # commands that arrive meanwhile wait for the next call
            with self._lock:
                client, command = self._queue.popleft()
            try:
                self._execute(client, command)
            except (ValueError, FloatingPointError, MemoryError) as error:
                self._note("")
                self._send_message("problem", str(error))
                self._publish_hello()
                if self._paused:
                    self._publish(self._current_frame())
            except OSError as error:
                self._note("")
                retry = "; fix that and save the recording again, or discard it" if self._recording is not None else ""
                self._send_message("problem", f"not written: {error}{retry}")

    def _execute(self, client: int, command: Command | None) -> None:
        run = self._run
        if command is None or isinstance(command, LetGo):
            self._let_go(client)
        elif isinstance(command, Do):
            self._control(command.what)
        elif isinstance(command, Choose):
            self._choose(command.what, command.to)
        elif isinstance(command, Set):
            before = self.messages
            run.set_parameter(command.name, command.to, self._note)
            if self.messages is not before:  # a note "preparing ...", which is now over
                self._note("")
        elif isinstance(command, Show):
            self._overlays.on[command.name] = command.on
            if command.level is not None:
                self._overlays.set_level(command.name, command.level, run.sim)
        elif isinstance(command, Grab):
            self._let_go(client)
            self._missed += 1  # taken back below on success; `grab` may raise
            drag = run.sim.grab(command.origin, command.along)
            if drag is not None:
                self._holds[client] = drag, command.pin
                self._missed -= 1
        elif isinstance(command, Pull):
            if client in self._holds:
                self._holds[client][0].to = np.array(command.to)
        elif isinstance(command, FreePins):
            run.drags[:] = [drag for drag, _ in self._holds.values()]
        if self._paused:
            self._publish(self._current_frame())

    def _let_go(self, client: int) -> None:
        drag, stays = self._holds.pop(client, (None, False))
        if drag is not None and not stays:
            self._run.drags.remove(drag)
        elif drag is not None:
            drag.put(drag.point(self._run.sim.state))

    def _control(self, what: str) -> None:
        if what in ("pause", "go"):
            self._paused = what == "pause"
            self._due = time.perf_counter()
        elif what == "step":
            self._paused = self._single_step = True
        elif what == "reset":
            self._holds.clear()
            self._found, self._substeps_done, self._spent = _contacts.empty(), 0, 0.0
            self._least_distance, self._measured_at, self._measured_frame_time = float("nan"), 0.0, -1.0
            self._run.reset()
            if self._referee is not None:  # for open bodies it stores the side of each vertex
                self._referee = Referee(self._run.scene)
        elif what == "record":
            self._recording = Recording(self._run.scene, FRAME_SECONDS)
            self._substeps_done, self._spent = 0, 0.0
            self._recording.add(self._current_frame())
            self._note(f"recording: up to {self._recording.longest:.0f} s")
        elif self._recording is not None:
            if what == "keep" and len(self._recording) > 1:
                self._note("writing the recording ...")
                written = self._recording.write(self._folder)
                self._note("written: " + ", ".join(str(path) for path in written))
            self._recording = None
            self._trim_memory()

    def _choose(self, what: str, to: str) -> None:
        run = self._run
        if what == "scene":
            if self._recording is not None:
                raise ValueError("a recording is running; save or discard it before choosing another scene")
            self._warned.clear()
            before = run.name
            run.load_scene(to, None, self._note)
            try:
                self._open_scene()
            except (ValueError, FloatingPointError, MemoryError):
                # created again: keeping it would take the memory of two scenes
                run.load_scene(before, None, self._note)
                self._open_scene()
                raise
            return
        if what == "method":
            run.set_method(to, self._note)
        elif what in ("self", "self_method"):
            (run.set_self_contact if what == "self" else run.set_self_method)(to)
        elif what in ("response", "stepping"):
            (run.set_response if what == "response" else run.set_stepping)(to, self._note)
        else:
            self._speed = to
        if what.endswith("method"):
            self._reset_times()
        self._note("")
        self._publish_hello()

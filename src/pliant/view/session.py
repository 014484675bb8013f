"""Session: the simulation thread of a scene, its command queue and its published frames."""

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
from .commands import Choose, Command, Do, FreePins, Grab, Known, LetGo, Pull, Set, Show, moves_on
from .frame_statistics import FrameStatistics
from .heap import trim_heap
from .log_relay import relay_warnings
from .overlays import Overlays
from .protocol import PublishedFrame
from .recording import Recording
from .stage import FRAME, Choice, Stage
from .wire import encode
from .world import World

log = logging.getLogger("pliant.view")
QUEUE = 1000  # largest number of queued commands
SHOWN = 1 / 60  # shortest interval between published frames, seconds
SLOW = 0.028  # computing time above which a frame is divided, seconds
MEASURED = 0.25  # interval between measurements of the exact referee, seconds
KEPT = 20  # messages kept for pages that connect later
TIDIED = 10.0  # interval between returns of free memory, seconds
_FACTOR = {"1/4": 0.25, "1/2": 0.5, "1": 1.0, "2": 2.0}


class Session:
    """A stage in its own thread. Everything that other threads read is replaced as a whole.

    Commands are executed between frames; of consecutive drag or slider movements only the last is executed. `folder`:
    destination of recordings.
    """

    def __init__(self, choice: Choice | None = None, folder: pathlib.Path | None = None) -> None:
        self._choice, self._folder = choice or Choice(), folder or pathlib.Path()
        self.newest = PublishedFrame(0, 0, b"")
        self.said: tuple[tuple[int, str], ...] = ()
        self.known = Known({}, {}, {}, ((-1.0, -1.0, -1.0), (1.0, 1.0, 1.0)))
        self._hello = self.failed = ""
        self._calls: list[Callable[[], None]] = []
        self._queue: collections.deque[tuple[int, Command | None]] = collections.deque()
        self._lock = threading.Lock()
        self._wake, self._over = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run_thread, name="pliant simulation", daemon=True)
        self._paused, self._once, self._speed = False, False, "1"
        self._statistics, self._warned = FrameStatistics(), set[str]()  # warnings already sent for this scene
        self._missed = 0  # grabs that hit nothing
        self._holds: dict[
            int, tuple[DragConstraint, bool]
        ] = {}  # client -> its drag constraint, and whether it becomes a pin

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._over.set()
        self._wake.set()
        if self._thread.ident is not None:
            self._thread.join(1.5)

    def hello(self) -> str:
        return self._hello

    def listen(self, call: Callable[[], None]) -> None:
        self._calls.append(call)

    def post(self, client: int, command: Command) -> None:
        with self._lock:
            last = self._queue[-1] if self._queue else None
            if last is not None and last[0] == client and moves_on(last[1], command):
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
            self._send_message("note", "creating the scene; the very first start compiles for about a minute ...")
            self._stage = Stage(self._choice)
            self._open()
            while not self._over.is_set():
                self._run_commands()
                if time.perf_counter() - self._tidied > TIDIED:
                    self._tidy()
                if self._paused and not self._once:
                    self._rest(0.2)
                else:
                    self._once = False
                    self._advance()
        except Exception as error:  # report any error to the page
            log.error("the simulation ended: %s", error, exc_info=log.isEnabledFor(logging.DEBUG))
            self.failed = str(error)
            self._hello = ""  # so that pages that connect later receive the reason
            self._send_message("problem", f"the simulation ended: {error}", ended=True)

    def _open(self) -> None:
        """Set up everything that depends on the scene, and publish its first frame."""
        scene = self._stage.scene
        self._world, self._overlays = World(scene), Overlays(scene)
        self._referee = Referee(scene) if scene.deformable and scene.obstacles else None
        self._holds.clear()
        self._recording: Recording | None = None
        self._least, self._asked, self._judged = float("nan"), 0.0, -1.0
        self._part, self._spent = 0, 0.0  # substeps since the last whole frame, and the seconds they took
        self._forget_times()
        self._found = _contacts.empty()
        self._tidy(all_of_it=True)
        self._publish_hello(new=True)
        self._note(f"preparing {self._stage.name}; code that runs for the first time is compiled ...")
        self._stage.step()  # not shown, so that compile time does not count as frame time
        self._stage.reset()
        self._forget_times()
        self._publish(self._as_it_is())
        self._note("")

    def _tidy(self, all_of_it: bool = False) -> None:
        """Return free memory to the system; `all_of_it` also collects reference cycles, which takes 0.1 s.

        Python collects cycles by the number of objects, and ours are few but large.
        """
        if all_of_it:
            gc.collect()
        trim_heap()
        self._tidied = time.perf_counter()

    def _forget_times(self) -> None:
        self._stage.clock.seconds.clear()
        self._due = self._shown = time.perf_counter()
        self._statistics.forget()

    def _publish_hello(self, new: bool = False) -> None:
        """Publish a new `hello`; `new`: without a frame, so that pages draw the world from its start."""
        stage, world = self._stage, self.newest.world + 1
        self.known = self._world.known(stage)
        self._hello = self._world.hello(world, stage, self._overlays, self._speed)
        self.newest = PublishedFrame(world, self.newest.serial, b"" if new else self.newest.data)
        self._notify()

    def _send_message(self, kind: str, text: str, **flags: bool) -> None:
        number = self.said[-1][0] + 1 if self.said else 1
        self.said = (*self.said, (number, json.dumps({kind: text} | flags)))[-KEPT:]
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

    def _rest(self, seconds: float) -> None:
        self._wake.wait(seconds)
        self._wake.clear()

    def _as_it_is(self) -> Frame:
        sim = self._stage.sim
        return Frame(sim.index, sim.state.time, sim.state.x.copy(), sim.state.pose.copy(), self._found, 0.0)

    def _advance(self) -> None:
        """Compute one frame, publish it if the last one is old enough, and wait until it is due."""
        stage, began = self._stage, time.perf_counter()
        stage.clock.seconds.clear()
        try:
            frame = stage.step()
        except (FloatingPointError, ValueError) as error:
            self._send_message("problem", f"{error}; back to the beginning")
            self._control("reset")
            self._wait(0.2)  # time to choose other settings in case it fails again
            return
        took = time.perf_counter() - began
        self._statistics.took(took, stage.clock.seconds, stage.parts)
        self._spent += took
        self._found = frame.contacts
        self._part = (self._part + stage.small) % stage.pace.substeps
        if self._part == 0:
            whole, self._spent = dataclasses.replace(frame, seconds=self._spent), 0.0
            self._record(whole)
        if self._paused or time.perf_counter() - self._shown >= SHOWN - 0.003:
            self._publish(frame)
        self._adapt_substeps()
        self._wait(stage.sim.dt / _FACTOR[self._speed])

    def _record(self, frame: Frame) -> None:
        """Add a frame to the current recording; pause the scene when it is full."""
        recording = self._recording
        if recording is None:
            return
        every = recording.every
        recording.keep(frame)
        if recording.every != every:
            rate = 1.0 / (recording.every * recording.dt)
            self._note(f"long recording: the frame rate of all its frames is reduced to {rate:.0f} fps")
        if recording.full and not self._paused:
            self._send_message("problem", f"the recording is full after {recording.seconds:.0f} s: save or discard it")
            self._paused = True

    def _adapt_substeps(self) -> None:
        """Divide frames that take too long and merge very short ones, after two frames have been measured."""
        stage, tempo, before = self._stage, self._statistics, self._stage.small
        if tempo.count < 3 or SLOW / 4 < tempo.mean < SLOW or self._part:
            return
        stage.fit_substeps(tempo.mean / before, 0.7 * SLOW)
        if stage.small != before:
            tempo.again()

    def _wait(self, span: float) -> None:
        """Wait until the frame is due; a scene that is late does not catch up."""
        now = time.perf_counter()
        self._due = max(self._due + span, now - span)
        while (left := self._due - time.perf_counter()) > 0.0 and not self._over.is_set():
            self._rest(min(left, 0.05))
            self._run_commands()
        self._statistics.lived(self._stage.sim.dt)

    def _publish(self, frame: Frame) -> None:
        self._shown, stage = time.perf_counter(), self._stage
        scene = stage.scene
        late = self._shown - self._asked > MEASURED
        if self._referee is not None and (late or (self._paused and frame.time != self._judged)):
            self._least, self._asked = self._referee.least_distance(frame.x, frame.pose), self._shown
            self._judged = frame.time
        arrays: dict[str, NDArray[np.generic]] = {
            f"x{b}": frame.x[scene.rows(b)][body.mesh.weld_index]
            for b, body in enumerate(scene.bodies)
            if not body.obstacle or body.motion is not None
        }
        own = [(hand, pin) for hand, pin in self._holds.values()]
        if own:
            arrays["hand"] = np.array([own[0][0].point(stage.sim.state), own[0][0].to])
        if pins := [h.at for h in stage.drags if all(h is not hand for hand, _ in own)]:
            arrays["pins"] = np.array(pins)
        try:
            arrays |= self._overlays.draw(stage.sim, frame)
        except ValueError as error:
            self._overlays.on = dict.fromkeys(self._overlays.on, False)
            self._send_message("problem", f"overlays are off: {error}")
        header = {
            "time": frame.time,
            "frame": frame.index,
            "paused": self._paused,
            "recording": len(self._recording) if self._recording is not None else 0,
            "fps": round(self._statistics.fps, 1),
            "ms": {name: round(ms, 3) for name, ms in self._statistics.ms.items()},
            "contacts": len(frame.contacts),
            "least": None if np.isnan(self._least) or np.isinf(self._least) else round(1e3 * self._least, 4),
            "deepest": None if np.isnan(self._least) else round(max(0.0, -1e3 * self._least), 4),
            "held": bool(own),
            "missed": self._missed,
            "pins": len(stage.drags) - len(own),
            "slow": round(self._statistics.speed, 3),
        }
        news = self.newest
        self.newest = PublishedFrame(news.world, news.serial + 1, encode(news.world, news.serial + 1, header, arrays))
        self._notify()

    def _run_commands(self) -> None:
        """Execute the queued commands."""
        for _ in range(len(self._queue)):  # commands that arrive meanwhile wait for the next frame
            with self._lock:
                client, command = self._queue.popleft()
            try:
                self._execute(client, command)
            except (ValueError, FloatingPointError, MemoryError) as error:
                self._note("")
                self._send_message("problem", str(error))
                self._publish_hello()
                if self._paused:
                    self._publish(self._as_it_is())
            except OSError as error:
                self._note("")
                again = "; fix that and save the recording again, or discard it" if self._recording is not None else ""
                self._send_message("problem", f"not written: {error}{again}")

    def _execute(self, client: int, command: Command | None) -> None:
        stage = self._stage
        if command is None or isinstance(command, LetGo):
            self._let_go(client)
        elif isinstance(command, Do):
            self._control(command.what)
        elif isinstance(command, Choose):
            self._choose(command.what, command.to)
        elif isinstance(command, Set):
            said = len(self.said) and self.said[-1][0]
            stage.tune(command.name, command.to, self._note)
            if self.said and self.said[-1][0] != said:
                self._note("")
        elif isinstance(command, Show):
            self._overlays.on[command.name] = command.on
            if command.level is not None:
                self._overlays.level[command.name] = command.level
        elif isinstance(command, Grab):
            self._let_go(client)
            self._missed += 1  # taken back below on success; `grab` may raise
            hand = stage.sim.grab(command.origin, command.along)
            if hand is not None:
                self._holds[client] = hand, command.pin
                self._missed -= 1
        elif isinstance(command, Pull):
            if client in self._holds:
                self._holds[client][0].to = np.array(command.to)
        elif isinstance(command, FreePins):
            stage.drags[:] = [hand for hand, _ in self._holds.values()]
        if self._paused:
            self._publish(self._as_it_is())

    def _let_go(self, client: int) -> None:
        hand, stays = self._holds.pop(client, (None, False))
        if hand is not None and not stays:
            self._stage.drags.remove(hand)
        elif hand is not None:
            hand.put(hand.point(self._stage.sim.state))

    def _control(self, what: str) -> None:
        if what in ("pause", "go"):
            self._paused = what == "pause"
            self._due = time.perf_counter()
        elif what == "step":
            self._paused = self._once = True
        elif what == "reset":
            self._holds.clear()
            self._found, self._part, self._spent = _contacts.empty(), 0, 0.0
            self._least, self._asked, self._judged = float("nan"), 0.0, -1.0
            self._stage.reset()
            if self._referee is not None:  # for open bodies it stores the side of each vertex
                self._referee = Referee(self._stage.scene)
        elif what == "record":
            self._recording = Recording(self._stage.scene, FRAME)
            self._part, self._spent = 0, 0.0
            self._recording.keep(self._as_it_is())
            self._note(f"recording: up to {self._recording.longest:.0f} s")
        elif self._recording is not None:
            if what == "keep" and len(self._recording) > 1:
                self._note("writing the recording ...")
                written = self._recording.write(self._folder)
                self._note("written: " + ", ".join(str(path) for path in written))
            self._recording = None
            self._tidy()

    def _choose(self, what: str, to: str) -> None:
        stage = self._stage
        if what == "scene":
            if self._recording is not None:
                raise ValueError("a recording is running; save or discard it before choosing another scene")
            self._warned.clear()
            before = stage.name
            stage.load_scene(to, None, self._note)
            try:
                self._open()
            except (ValueError, FloatingPointError, MemoryError):
                # created again: keeping it would take the memory of two scenes
                stage.load_scene(before, None, self._note)
                self._open()
                raise
            return
        if what == "method":
            stage.use(to, self._note)
            self._forget_times()
        elif what == "self":
            stage.keep_apart(to)
        elif what == "response":
            stage.respond(to)
        else:
            self._speed = to
        self._note("")
        self._publish_hello()

"""A session without a simulation: a cloth that waves over a ball, and a record of everything that was asked of it."""

import json
import struct
import threading
import time
from collections.abc import Callable

import numpy as np

from pliant import Clip, shapes
from pliant.report.pack import pack
from pliant.view.commands import Choose, Command, Do, FreePins, Grab, LetGo, Pull, Set, Show, ValidCommands
from pliant.view.session_interface import PublishedFrame

KNOWN = ValidCommands(
    choices={"scene": ("wave", "calm"), "method": ("bvh", "distance-field"), "speed": ("1", "0.5")},
    ranges={"friction": (0.0, 1.0), "gravity": (0.0, 20.0), "wind_x": (-20.0, 20.0)},
    overlays={"contacts": 0, "structure": 8},
    box=((-0.5, -0.5, -0.5), (0.5, 0.5, 0.5)),
)
VALUES = {"friction": 0.3, "gravity": 9.81, "wind_x": 0.0}  # at the beginning


class FakeSession:
    """`side` particles along the cloth, `rate` frames a second; 0 makes frames only by `tick()`."""

    def __init__(self, side: int = 20, rate: float = 60.0) -> None:
        self.rate, self.serial, self.generation, self.time = rate, 0, 1, 0.0
        self.cloth, self.ball = shapes.cloth(0.9, 0.9, side), shapes.ball(0.25, 2)
        self.rest = np.asarray(self.cloth.vertices, np.float32)
        clips = [Clip(self.cloth, self.rest[None], (0.7, 0.2, 0.2)), Clip(self.ball, self.ball.vertices[None])]
        self.packed = [pack(clip) for clip in clips]
        self.commands: list[tuple[int, Command]] = []
        self.left: list[int] = []
        self.held_by: int | None = None
        self.held: int | None = None  # vertex
        self.target, self.pins = np.zeros(3, np.float32), np.zeros((0, 3), np.float32)
        self.paused = False
        self.chosen = {"scene": "wave", "method": "bvh", "speed": "1"}
        self.values = dict(VALUES)
        self.shown = dict.fromkeys(KNOWN.overlays, False)
        self.levels = dict.fromkeys(KNOWN.overlays, 0)
        self.valid_commands = KNOWN
        self.messages: tuple[tuple[int, str], ...] = ()
        self.has_started, self.failed = True, ""
        self._calls: list[Callable[[], None]] = []
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._hello = self._introduce()
        self.newest = PublishedFrame(self.generation, 0, b"")
        self.tick()

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._over.set()
        if self._thread.is_alive():
            self._thread.join(2.0)

    def hello(self) -> str:
        return self._hello

    def subscribe(self, call: Callable[[], None]) -> None:
        self._calls.append(call)

    def post(self, client: int, command: Command) -> None:
        self.commands.append((client, command))
        match command:
            case Do("pause" | "go" as what):
                self.paused = what == "pause"
            case Choose(what, to):
                self.chosen[what] = to
                self.new_generation()
            case Set(name, to):
                self.values[name] = to
            case Show(name, on, level):
                self.shown[name], self.levels[name] = on, self.levels[name] if level is None else level
            case Grab(origin, along, _):
                away = self.rest - np.array(origin, np.float32)
                beside = away - (away @ np.array(along, np.float32))[:, None] * np.array(along, np.float32)
                self.held_by, self.held = client, int(np.argmin((beside**2).sum(1)))
                self.target = self.rest[self.held].copy()
            case Pull(to):
                self.target = np.array(to, np.float32)
            case LetGo():
                self.held_by = self.held = None
            case FreePins():
                self.pins = self.pins[:0]

    def leave(self, client: int) -> None:
        self.left.append(client)
        if self.held_by == client:
            self.held_by = self.held = None

    def say(self, **words: str | bool) -> None:
        number = self.messages[-1][0] + 1 if self.messages else 1
        self.messages = (*self.messages[-15:], (number, json.dumps(words)))
        self._tell()

    def new_generation(self) -> None:
        self.generation += 1
        self._hello = self._introduce()
        self.tick()

    def tick(self) -> None:
        """One more frame."""
        self.serial, self.time = self.serial + 1, self.time + 0.01
        x = self.rest.copy()
        x[:, 1] = 0.35 + 0.08 * np.sin(4.0 * x[:, 0] + 3.0 * self.time) * np.cos(3.0 * x[:, 2])
        arrays = {"x0": x, "pins": self.pins}
        if self.held is not None:
            arrays["drag"] = np.stack([x[self.held], self.target])
        self.newest = PublishedFrame(self.generation, self.serial, self._frame(arrays))
        self._tell()

    def _frame(self, arrays: dict[str, np.ndarray]) -> bytes:
        header = json.dumps(
            {
                "time": self.time, "part": self.serial, "paused": self.paused, "recording": 0,
                "parts_per_second": self.rate,
                "ms": {"predict": 0.4, "relax": 2.1, "detect": 1.2, "respond": 0.3, "finish": 0.2},
                "contacts": 12, "deepest": 0.0, "held": self.held is not None, "pins": len(self.pins),
                "speed": 1.0, "arrays": [[name, "f4", list(a.shape)] for name, a in arrays.items()],
            }
        ).encode()  # fmt: skip
        header += b" " * (-len(header) % 4)
        start = struct.pack("<4I", 0x504C5932, self.generation, self.serial, len(header))
        return start + header + b"".join(a.astype("<f4").tobytes() for a in arrays.values())

    def _introduce(self) -> str:
        units = {"friction": "", "gravity": "m/s2", "wind_x": "m/s"}
        return json.dumps(
            {
                "hello": {
                    "generation": self.generation, "scene": self.chosen["scene"], "title": "a cloth that waves",
                    "dt": 0.01, "bodies": self.packed, "moving": [True, False], "deformable": [True, False],
                    "box": KNOWN.box, "elevation": 0.3, "chosen": self.chosen,
                    "choices": {what: [[n, n, ""] for n in names] for what, names in KNOWN.choices.items()},
                    "options": {"method": {
                        "volume": [["bvh", "box", True, ""], ["bvh:volume=sphere", "sphere", False, ""]],
                        "update": [["bvh", "bottom-up", True, ""], ["bvh:update=blend", "blend", False, "no bones"]],
                    }},
                    "values": {"method": {"leaf": {"text": "", "fallback": "1", "wanted": "a whole number"}}},
                    "ranges": {
                        name: {"label": name, "unit": units[name], "low": low, "high": high,
                               "value": VALUES[name], "now": self.values[name], "log": False}
                        for name, (low, high) in KNOWN.ranges.items()
                    },
                    "overlays": {
                        name: {"label": name, "levels": levels, "on": self.shown[name], "level": self.levels[name]}
                        for name, levels in KNOWN.overlays.items()
                    },
                }
            }
        )  # fmt: skip

    def _tell(self) -> None:
        for call in self._calls:
            call()

    def _run(self) -> None:
        due = time.monotonic()
        while self.rate and not self._over.is_set():
            if not self.paused:
                self.tick()
            due = max(due + 1.0 / self.rate, time.monotonic())
            self._over.wait(max(0.0, due - time.monotonic()))

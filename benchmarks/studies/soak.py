"""Soak test of `pliant play`: no crash, no unbounded memory growth, no non-finite number.

    python benchmarks/studies/soak.py --minutes 60 [--seed 0]

Starts a real `pliant play`, and a script performs the actions of users over its socket: drags, pins, sliders, methods,
scenes, overlays, recordings, and disconnecting during a drag. Prints a line per minute and a verdict; the exit code is
1 if a number was not finite, the server or its simulation ended, or memory kept growing.

Scenes differ by hundreds of MiB, so memory is sampled every two seconds and compared by thirds of the run: it grew if
both the minimum and the median of the last third exceed those of the middle third by more than `FLAT` MiB.
"""

import argparse
import asyncio
import json
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import time

import numpy as np
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

from pliant.view.frame_encoding import decode

FLAT = 100.0  # MiB
Row = tuple[float, int, int]


class Hands:
    """One user: reads frames and sends random actions."""

    def __init__(self, rng: random.Random) -> None:
        self.rng, self.hello, self.frames, self.bad = rng, {}, 0, []
        self.x = np.zeros((1, 3))
        self.told: dict[str, int] = {}
        self.ended = False  # the simulation of the server

    def take(self, message: str | bytes) -> None:
        if isinstance(message, str):
            said = json.loads(message)
            self.hello = said.get("hello", self.hello)
            self.ended |= said.get("ended", False)
            if "problem" in said:
                text = re.sub(r"[-+]?[0-9][0-9.e+-]*", "#", said["problem"])
                self.told[text] = self.told.get(text, 0) + 1
            return
        _, _, header, arrays = decode(message)
        self.frames += 1
        for name, array in arrays.items():
            if array.dtype.kind == "f" and not np.isfinite(array).all():
                self.bad.append((header["part"], name))
        soft = [k for k, is_soft in enumerate(self.hello.get("deformable", [])) if is_soft]
        self.x = next((arrays[f"x{k}"] for k in soft if f"x{k}" in arrays), self.x)

    def wish(self) -> list[dict]:
        """The next messages to send."""
        rng, hello = self.rng, self.hello
        low, high = np.array(hello["box"])
        kind = rng.random()
        if kind < 0.55:
            at = np.clip(self.x[rng.randrange(len(self.x))].astype(float), low - 3.0, high + 3.0)  # it may have fallen
            along = np.array([rng.gauss(0, 1) for _ in range(3)])
            along /= np.linalg.norm(along)
            size = float(np.linalg.norm(high - low))
            sent = [{"grab": list(at - size * along), "along": list(along), "pin": rng.random() < 0.1}]
            for _ in range(rng.randrange(1, 12)):
                sent.append({"pull": [rng.uniform(a - size / 2, b + size / 2) for a, b in zip(low, high, strict=True)]})
            return [*sent, {"let": "go"}] if rng.random() < 0.9 else sent
        if kind < 0.75 and hello["ranges"]:
            name, r = rng.choice(list(hello["ranges"].items()))
            return [
                {"set": name, "to": rng.choice([rng.uniform(r["low"], r["high"]), r["low"], r["high"], r["value"]])}
            ]
        if kind < 0.83:
            name, overlay = rng.choice(list(hello["overlays"].items()))
            return [{"show": name, "on": rng.random() < 0.4, "level": rng.randint(0, overlay["levels"])}]
        if kind < 0.93:
            what = rng.choice(["method", "method", "self", "response", "speed"])
            able = [name for name, _, why in hello["choices"][what] if not why and name != "brute-force"]
            return [{"choose": what, "to": rng.choice(able)}] if able else []
        if kind < 0.97:
            return [{"do": rng.choice(["reset", "pause", "step", "go", "record", "keep", "drop"])}, {"do": "go"}]
        return [{"free": "pins"}]


def memory(pid: int) -> Row:
    """MiB, threads and open files of a process."""
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    found = {k: int(re.search(rf"{k}:\s+(\d+)", status)[1]) for k in ("VmRSS", "Threads")}
    return found["VmRSS"] / 1024, found["Threads"], len(list(pathlib.Path(f"/proc/{pid}/fd").iterdir()))


async def visit(url: str, drags: Hands, until: float, scene_until: float) -> None:
    """Stay until the next scene change, then disconnect without a message."""
    origin = url.rstrip("/")
    async with connect(origin.replace("http", "ws") + "/link", origin=origin, max_size=None) as socket:

        async def listen() -> None:
            async for message in socket:
                drags.take(message)

        ears = asyncio.create_task(listen())
        try:
            while not drags.hello or not drags.frames:
                await asyncio.sleep(0.1)
            scenes = [name for name, _, _ in drags.hello["choices"]["scene"]]
            await socket.send(json.dumps({"choose": "scene", "to": drags.rng.choice(scenes)}))
            await asyncio.sleep(3.0)
            while time.monotonic() < min(until, scene_until):
                for command in drags.wish():
                    await socket.send(json.dumps(command))
                    await asyncio.sleep(0.02)
                await asyncio.sleep(drags.rng.uniform(0.0, 0.3))
        finally:
            ears.cancel()
            await asyncio.gather(ears, return_exceptions=True)


async def watch(pid: int, drags: Hands, folder: pathlib.Path, rows: list[Row]) -> None:
    """Record a row every two seconds, print a line every minute."""
    began, minutes, first = time.monotonic(), 0, 0
    while True:
        await asyncio.sleep(2.0)
        try:
            rows.append(memory(pid))
        except (OSError, TypeError):  # the process has ended
            return
        if time.monotonic() < began + 60.0 * (minutes + 1):
            continue
        minutes, last, first = minutes + 1, [mib for mib, _, _ in rows[first:]], len(rows)
        print(
            f"{minutes:4d} min {min(last):6.0f} to {max(last):5.0f} MiB {rows[-1][1]:3d} threads"
            f" {rows[-1][2]:3d} files {drags.frames:8d} frames in {drags.hello.get('scene', '')}",
            flush=True,
        )
        for path in folder.glob("play-*"):
            path.unlink()


def growth(rows: list[Row]) -> float:
    """The memory growth in MiB from the middle third to the last one; prints the statistics."""
    third = len(rows) // 3
    if third < 2:
        return 0.0
    mib = np.array([row[0] for row in rows])
    parts = [mib[k * third : (k + 1) * third] for k in (0, 1)] + [mib[2 * third :]]
    for name, part in zip(("first", "middle", "last"), parts, strict=True):
        print(f"{name:6s} third: least {part.min():5.0f}, median {np.median(part):5.0f}, peak {part.max():5.0f} MiB")
    return min(float(f(parts[2]) - f(parts[1])) for f in (np.min, np.median))


async def soak(minutes: float, seed: int, every: float) -> int:
    folder, words = tempfile.TemporaryDirectory(), tempfile.NamedTemporaryFile("w+", suffix=".log")
    command = [sys.executable, "-X", "faulthandler", "-m", "pliant", "play", "--port", "0", "--no-open"]
    server = subprocess.Popen([*command, "--folder", folder.name], stdout=subprocess.PIPE, stderr=words, text=True)
    url = server.stdout.readline().strip()
    drags, began = Hands(random.Random(seed)), time.monotonic()
    until, visits = began + 60.0 * minutes, 0
    rows: list[Row] = []
    watching = asyncio.create_task(watch(server.pid, drags, pathlib.Path(folder.name), rows))
    try:
        while time.monotonic() < until and server.poll() is None:
            try:
                await visit(url, drags, until, time.monotonic() + every)
            except (ConnectionClosed, OSError) as end:  # possibly a slider of the previous scene
                text = f"closed: {end}"
                drags.told[text] = drags.told.get(text, 0) + 1
                await asyncio.sleep(1.0)
            visits += 1
    finally:
        watching.cancel()
        ended, lasted = server.poll(), time.monotonic() - began
        server.terminate()
        server.wait(10)
    for text, count in drags.told.items():
        print(f"{count} messages: {text}")
    print(f"{visits} visits, {drags.frames} frames, {len(drags.bad)} with non-finite numbers {drags.bad[:5]}")
    if ended is not None:  # a negative code is a signal number
        words.seek(0)
        print(f"the server ended after {lasted:.0f} s with code {ended}; last output:")
        print("".join(words.readlines()[-60:]))
    grew, peak = growth(rows), max((mib for mib, _, _ in rows), default=0.0)
    print(f"memory grew by {grew:.0f} MiB, tolerance {FLAT:.0f} MiB; peak {peak:.0f} MiB")
    return int(bool(drags.bad) or drags.ended or ended is not None or grew > FLAT)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--every", type=float, default=40.0, help="seconds between reconnections. Default: 40.")
    options = parser.parse_args()
    sys.exit(asyncio.run(soak(options.minutes, options.seed, options.every)))

"""Long runs of every built-in scene and every case of the gauntlet: intersections, finite states, and equal bits.

    python benchmarks/studies/long_runs.py                          # everything: hours on two cores
    python benchmarks/studies/long_runs.py --only curtain --only mannequin/skirt
    python benchmarks/studies/long_runs.py --only scenes --frames 100

Each case has three parts, each in a process of its own: all frames on one thread, all frames on two threads, and the
second half on two threads from a checkpoint that the first part wrote. The first part counts intersecting pairs in
every frame, exactly and whatever method computed it (`IntersectionStatistics`), and all parts compute a hash of
positions and velocities after every tenth frame, to be compared bit by bit.

A part that is done or has failed is kept in the folder of --out and not repeated by a later call with the same sources
of pliant and as many frames, so the whole can run in pieces; --again repeats it. The exit code is 1 where a case fails.
"""

import argparse
import hashlib
import json
import pathlib
import subprocess
import sys
import time
from typing import Any

import numpy as np

import pliant
from pliant.detect.choose import resolve_method_for_scene
from pliant.kernels import jit
from pliant.scene import Scene
from pliant.scenes import SCENE_METHODS, SCENES
from pliant.scenes.defaults import default_run_length
from pliant.simulation.measure.intersection_statistics import IntersectionStatistics
from pliant_bench import models
from pliant_bench.garments import gauntlet, wearing
from pliant_bench.garments.outline import Unfit

DT, HASHED = 0.01, 10  # seconds of a frame; frames between hashes
PARTS = ("one thread", "two threads", "restart")
WORST = ("cloth_pairs", "body_pairs", "pinched_pairs")
Row = dict[str, Any]


def cases(only: list[str], size: int) -> dict[str, wearing.Run | None]:
    """Names of the cases that are wanted; a case of the gauntlet with its run, a built-in scene with None.

    `only`: scenes, gauntlet, the name of a scene, a character, a garment or CHARACTER/GARMENT. Default: all.
    """
    found: dict[str, wearing.Run | None] = {
        name: None for name in SCENES if not only or "scenes" in only or name in only
    }
    words = tuple(word for word in only if word not in {*SCENES, "scenes", "gauntlet"})
    if not only or words or "gauntlet" in only:
        everything = () if not only or "gauntlet" in only else words
        for run in gauntlet.runs(gauntlet.Choice(everything, sizes=(size,)), False, models.data_folder(None)):
            found[f"{run.character}/{run.garment}".replace(" ", "-")] = run
    return found


def build(name: str, run: wearing.Run | None) -> Scene:
    """The scene of a case, with the defaults of the product."""
    return SCENES[name]() if run is None else wearing.scene(run, wearing.tailored(run))


def begin(scene: Scene) -> pliant.Simulation:
    """The simulation that the commands would make of a scene."""
    substeps = default_run_length(scene).substeps
    method = SCENE_METHODS.get(scene.name) or resolve_method_for_scene(scene, None)
    return pliant.Simulation(scene, DT, substeps=substeps, method=method)


def play(scene: Scene, part: str, frames: int, checkpoint: pathlib.Path) -> Row:
    """The row of one part: hashes by frame; for one thread also the worst number of intersecting pairs of a frame."""
    jit.set_threads(1 if part == PARTS[0] else min(2, jit.threads()))
    sim = pliant.Simulation.load(checkpoint, scene) if part == PARTS[2] else begin(scene)
    row: Row = {"hashes": {}, "finite": True, "lost": 0, "threads": jit.threads()}
    judge = None
    if part == PARTS[0]:
        row |= {"start_pairs": 0, **dict.fromkeys(WORST, 0), "bad_frames": 0}
        if scene.deformable:
            judge = IntersectionStatistics(scene, sim.state.x)
            row["start_pairs"] = sum(judge.at(sim.state.x))
    spent = 0.0
    while sim.index < frames:
        began = time.process_time()
        frame = sim.step()
        spent += time.process_time() - began
        row["lost"] += frame.lost
        if not (np.isfinite(sim.state.x).all() and np.isfinite(sim.state.v).all()):
            row |= {"finite": False, "frame": sim.index}
            break
        if sim.index % HASHED == 0 or sim.index == frames:
            row["hashes"][str(sim.index)] = state_hash(sim)
            print(f"frame {sim.index}", flush=True)
        if part == PARTS[0] and sim.index == frames // 2:
            sim.save(checkpoint)
        if judge is not None:
            count_pairs(row, judge, sim)
    done = len(row["hashes"]) and sim.index
    return row | {"frames": done, "cpu": spent, "given_up": sim.self_contact.given_up_pairs, "solver": sim.solver}


def state_hash(sim: pliant.Simulation) -> str:
    """Hash of the bits of positions, velocities and poses."""
    found = hashlib.sha256()
    for array in (sim.state.x, sim.state.v, sim.state.pose):
        found.update(np.ascontiguousarray(array).tobytes())
    return found.hexdigest()[:16]


def count_pairs(row: Row, judge: IntersectionStatistics, sim: pliant.Simulation) -> None:
    """Put the numbers of pairs of this frame into the row where they are the largest so far."""
    own, _ = judge.at(sim.state.x)
    crossing, pinched = judge.crossing_pairs() if judge.obstacles else (0, 0)
    for key, count in zip(WORST, (own, crossing, pinched), strict=True):
        row[key] = max(row[key], count)
    if own or crossing:
        row["bad_frames"] += 1
        row.setdefault("first_bad", sim.index)


def sources() -> str:
    """Hash of the sources of pliant, so that parts of different versions are not compared."""
    folder, found = pathlib.Path(pliant.__file__).parent, hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        found.update(str(path.relative_to(folder)).encode() + path.read_bytes())
    return found.hexdigest()[:12]


class Book:
    """The results of all parts: one JSON file per part in a folder."""

    def __init__(self, folder: pathlib.Path, about: Row) -> None:
        self.folder, self.about = folder, about
        folder.mkdir(parents=True, exist_ok=True)

    def path(self, case: str, part: str, ending: str = "json") -> pathlib.Path:
        return self.folder / f"{case.replace('/', '_')}-{part.replace(' ', '-')}.{ending}"

    def read(self, case: str, part: str) -> Row | None:
        """The row of a part that was done with the same sources, frames and size; None without one."""
        path = self.path(case, part)
        row = json.loads(path.read_text()) if path.exists() else None
        return row if row is not None and all(row.get(key) == value for key, value in self.about.items()) else None

    def write(self, case: str, part: str, row: Row) -> Row:
        row = row | self.about
        self.path(case, part).write_text(json.dumps(row, indent=1) + "\n")
        return row


def in_process(case: str, part: str, book: Book, options: argparse.Namespace) -> Row:
    """Run one part in a process of its own, which ends it where it takes too long or dies."""
    given = ["--frames", str(options.frames), "--size", str(options.size), "--out", str(options.out)]
    command = [sys.executable, __file__, "--only", case, "--part", part, *given]
    told, began = book.path(case, part, "log"), time.monotonic()
    book.path(case, part).unlink(missing_ok=True)
    with told.open("w") as stream, subprocess.Popen(command, stdout=stream, stderr=stream) as process:
        while process.poll() is None:
            if sys.stderr.isatty():
                print(f"\r{case}, {part}: {last_line(told):20s}", end="", file=sys.stderr, flush=True)
            if time.monotonic() > began + options.limit:
                process.kill()
                return book.write(case, part, {"state": f"no end within {options.limit:g} s ({last_line(told)})"})
            time.sleep(0.2)
    why = f"ended with code {process.returncode} ({last_line(told)})"
    return book.read(case, part) or book.write(case, part, {"state": why})


def last_line(path: pathlib.Path) -> str:
    return next(iter(path.read_text().splitlines()[-1:]), "not begun")


def part_of_process(case: str, run: wearing.Run | None, part: str, book: Book, frames: int) -> None:
    """The work of the process of one part."""
    try:
        scene = build(case, run)
    except Unfit as error:
        book.write(case, part, {"state": f"unfit: {error}"})
        return
    checkpoint = book.path(case, "middle", "npz")
    try:
        row = play(scene, part, frames, checkpoint)
    except Exception as error:  # a part that fails is a result
        row = {"state": f"{type(error).__name__}: {error}"}
    book.write(case, part, row)


def first_difference(one: Row, other: Row) -> str:
    """The first frame at which hashes of two parts differ; "" where those of all common frames are equal."""
    a, b = one.get("hashes", {}), other.get("hashes", {})
    common = [frame for frame in a if frame in b]
    if not common:
        return "nothing to compare"
    return next((f"differ at {frame}" for frame in common if a[frame] != b[frame]), "")


def verdict(rows: dict[str, Row]) -> tuple[str, list[str]]:
    """A line of figures, and what is wrong with a case."""
    one = rows[PARTS[0]]
    states = [f"{part}: {row['state']}" for part, row in rows.items() if row.get("state")]
    if "hashes" not in one:
        return "", states
    wrong = [] if one["cloth_pairs"] + one["body_pairs"] == 0 else [f"pairs from frame {one['first_bad']}"]
    wrong += [f"{part}: not finite" for part, row in rows.items() if not row.get("finite", True) or row.get("lost")]
    for part in PARTS[1:]:
        if "hashes" in rows[part] and (text := first_difference(one, rows[part])):
            wrong.append(f"{part}: {text}")
    figures = (
        f"{one['frames']:4d} frames {1e3 * one['cpu'] / max(one['frames'], 1):7.1f} ms, pairs: cloth "
        f"{one['cloth_pairs']}, body {one['body_pairs']}, no room {one['pinched_pairs']}, at the start "
        f"{one['start_pairs']}; in {one['bad_frames']} frames, given up {one['given_up']}"
    )
    return figures, wrong + states


def main(options: argparse.Namespace) -> int:
    found = cases(options.only, options.size)
    if not found:
        raise SystemExit(f"--only {' '.join(options.only)}: there are {', '.join(cases([], options.size))}")
    book = Book(options.out, {"sources": sources(), "wanted": options.frames, "size": options.size})
    if options.part:
        (name, run), *_ = found.items()
        part_of_process(name, run, options.part, book, options.frames)
        return 0
    failed = []
    for k, case in enumerate(found):
        rows: dict[str, Row] = {}
        for part in PARTS:
            row = None if options.again else book.read(case, part)
            rows[part] = row or in_process(case, part, book, options)
            if "hashes" not in rows[PARTS[0]]:  # there is nothing to compare the others with
                break
        rows |= {part: {} for part in PARTS if part not in rows}
        figures, wrong = verdict(rows)
        unfit = str(rows[PARTS[0]].get("state", "")).startswith("unfit")
        failed += [case] if wrong and not unfit else []
        word = "unfit" if unfit else "FAILED" if wrong else "ok"
        start = "\r" if sys.stderr.isatty() else ""
        print(f"{start}{k + 1:3d} of {len(found)} {case:28s} {word:6s} {figures} {'; '.join(wrong)}", flush=True)
    print(f"{len(found)} cases, {len(failed)} failed{': ' if failed else ''}{', '.join(failed)}")
    return int(bool(failed))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", default=[], help=f"{cases.__doc__.splitlines()[2].strip()}")
    parser.add_argument("--frames", type=int, default=600, help="frames of a hundredth of a second. Default: 600.")
    parser.add_argument("--size", type=int, default=1000, help="particles of a garment. Default: 1000.")
    parser.add_argument("--limit", type=float, default=1800.0, help="seconds for a part. Default: 1800.")
    parser.add_argument(
        "--out", type=pathlib.Path, default=pathlib.Path("out/long-runs"), help="Default: out/long-runs."
    )
    parser.add_argument("--again", action="store_true", help="repeat parts that are done. Default: off.")
    parser.add_argument("--part", choices=PARTS, help=argparse.SUPPRESS)
    sys.exit(main(parser.parse_args()))

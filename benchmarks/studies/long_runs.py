"""Long runs of every built-in scene and every case of the gauntlet: intersections, finite states, and equal bits.

    python benchmarks/studies/long_runs.py                          # everything: hours on two cores
    python benchmarks/studies/long_runs.py --only curtain --only mannequin/skirt
    python benchmarks/studies/long_runs.py --only scenes --frames 100
    python benchmarks/studies/long_runs.py --only gauntlet --parts "one thread" --jobs 16 --summary garments.csv

Each case has three parts, each in a process of its own: all frames on one thread, all frames on two threads, and the
second half on two threads from a checkpoint that the first part wrote. The first part counts intersecting pairs in
every frame, exactly and whatever method computed it, and all parts compute a hash of positions and velocities after
every tenth frame, to be compared bit by bit. Garments are judged as in `pliant bench garments`: a case fails if cloth
intersects itself, or crosses the body where it could avoid that; all crossing pairs where the body leaves room are told
beside it. In built-in scenes all crossing pairs of cloth and bodies count that are not near self-intersections of a
deforming body (`IntersectionStatistics`).

A part that is done or has failed is kept in the folder of --out and not repeated by a later call with the same sources
of pliant and as many frames, so the whole can run in pieces; --again repeats it. The exit code is 1 where a case fails.
"""

import argparse
import concurrent.futures
import csv
import hashlib
import json
import os
import pathlib
import subprocess
import sys
import time
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

import pliant
from pliant.detect.choose import resolve_method_for_scene
from pliant.kernels import jit
from pliant.scene import Scene
from pliant.scenes import SCENE_METHODS, SCENES
from pliant.scenes.defaults import default_run_length
from pliant.simulation.measure.intersection_statistics import IntersectionStatistics
from pliant_bench import models
from pliant_bench.garments import gauntlet, running, wearing
from pliant_bench.garments.outline import Unfit
from pliant_bench.garments.tailor import Garment

DT, HASHED = 0.01, 10  # seconds of a frame; frames between hashes
PARTS = ("one thread", "two threads", "restart")
# figures of a frame: the first two are to be 0; strain is the largest of an edge, per cent
WORST = ("cloth_pairs", "avoidable_pairs", "body_pairs", "pinched_pairs", "avoidable_points", "deep_points", "strain")
SUMMED = ("avoidable_pairs", "body_pairs")
Row = dict[str, Any]
Floats = NDArray[np.float64]


def cases(only: list[str], size: int, data: pathlib.Path | None = None) -> dict[str, wearing.Run | None]:
    """Names of the cases that are wanted; a case of the gauntlet with its run, a built-in scene with None.

    `only`: scenes, gauntlet, the name of a scene, a character, a garment or CHARACTER/GARMENT. Default: all.
    """
    found: dict[str, wearing.Run | None] = {
        name: None for name in SCENES if not only or "scenes" in only or name in only
    }
    words = tuple(word for word in only if word not in {*SCENES, "scenes", "gauntlet"})
    if not only or words or "gauntlet" in only:
        everything = () if not only or "gauntlet" in only else words
        for run in gauntlet.runs(gauntlet.Choice(everything, sizes=(size,)), False, models.data_folder(data)):
            found[f"{run.character}/{run.garment}".replace(" ", "-")] = run
    return found


class Judge(Protocol):
    """Counts what is wrong with the positions of a frame, by the names of `WORST`."""

    def at(self, x: Floats) -> dict[str, float]: ...


class OfScene:
    """Judges a built-in scene."""

    def __init__(self, scene: Scene) -> None:
        self._statistics = IntersectionStatistics(scene, scene.start().x)

    def at(self, x: Floats) -> dict[str, float]:
        own, _ = self._statistics.at(x)
        found, pinched = self._statistics.crossing_pairs() if self._statistics.obstacles else (0, 0)
        return {"cloth_pairs": own, "avoidable_pairs": found, "body_pairs": found, "pinched_pairs": pinched}


class OfGarment:
    """Judges a garment of the gauntlet."""

    def __init__(self, scene: Scene, worn: Garment) -> None:
        self._scene, self._gauge = scene, running.gauge(scene, worn)

    def at(self, x: Floats) -> dict[str, float]:
        cloth, body = x[self._scene.rows(0)], x[self._scene.rows(1)]
        pairs, points = self._gauge.body_pairs(cloth, body), self._gauge.penetration(cloth, body)
        return {
            "cloth_pairs": self._gauge.cloth_pairs(cloth),
            "avoidable_pairs": pairs.avoidable,
            "body_pairs": pairs.counted,
            "pinched_pairs": pairs.pinched,
            "avoidable_points": points.avoidable,
            "deep_points": points.deep,
            "strain": round(100.0 * float(self._gauge.strain(cloth).max()), 2),
        }


def build(name: str, run: wearing.Run | None) -> tuple[Scene, Judge | None]:
    """The scene of a case, with the defaults of the product, and its judge, if anything in it deforms."""
    if run is None:
        scene = SCENES[name]()
        return scene, OfScene(scene) if scene.deformable else None
    worn = wearing.tailored(run)
    scene = wearing.scene(run, worn)
    return scene, OfGarment(scene, worn)


def begin(scene: Scene) -> pliant.Simulation:
    """The simulation that the commands would make of a scene."""
    substeps = default_run_length(scene).substeps
    method = SCENE_METHODS.get(scene.name) or resolve_method_for_scene(scene, None)
    return pliant.Simulation(scene, DT, substeps=substeps, method=method)


def play(scene: Scene, judge: Judge | None, part: str, frames: int, checkpoint: pathlib.Path) -> Row:
    """The row of one part: hashes by frame; for one thread also the worst number of intersecting pairs of a frame."""
    jit.set_threads(1 if part == PARTS[0] else min(2, jit.threads()))
    sim = pliant.Simulation.load(checkpoint, scene) if part == PARTS[2] else begin(scene)
    row: Row = {"hashes": {}, "finite": True, "lost": 0, "threads": jit.threads()}
    if part == PARTS[0]:
        row |= {**dict.fromkeys(WORST, 0), "bad_frames": 0, **{f"{key}_sum": 0 for key in SUMMED}}
        found = {} if judge is None else judge.at(sim.state.x)
        row["start_pairs"] = found.get("cloth_pairs", 0) + found.get("body_pairs", 0)
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
        if judge is not None and part == PARTS[0]:
            count_pairs(row, judge.at(sim.state.x), sim.index)
    done = len(row["hashes"]) and sim.index
    return row | {"frames": done, "cpu": spent, "given_up": sim.self_contact.given_up_pairs, "solver": sim.solver}


def state_hash(sim: pliant.Simulation) -> str:
    """Hash of the bits of positions, velocities and poses."""
    found = hashlib.sha256()
    for array in (sim.state.x, sim.state.v, sim.state.pose):
        found.update(np.ascontiguousarray(array).tobytes())
    return found.hexdigest()[:16]


def count_pairs(row: Row, found: dict[str, float], index: int) -> None:
    """Put the figures of a frame into the row where they are the largest so far."""
    for key, count in found.items():
        row[key] = max(row[key], count)
    for key in SUMMED:
        row[f"{key}_sum"] += found[key]
    if found["cloth_pairs"] or found["avoidable_pairs"]:
        row["bad_frames"] += 1
        row.setdefault("first_bad", index)


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
    given += [] if options.data is None else ["--data", str(options.data)]
    command = [sys.executable, __file__, "--only", case, "--part", part, *given]
    told, began = book.path(case, part, "log"), time.monotonic()
    book.path(case, part).unlink(missing_ok=True)
    with told.open("w") as stream, subprocess.Popen(command, stdout=stream, stderr=stream) as process:
        while process.poll() is None:
            if sys.stderr.isatty() and options.jobs == 1:
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
        scene, judge = build(case, run)
    except Unfit as error:
        book.write(case, part, {"state": f"unfit: {error}"})
        return
    checkpoint = book.path(case, "middle", "npz")
    try:
        row = play(scene, judge, part, frames, checkpoint)
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
    wrong = [] if one["cloth_pairs"] + one["avoidable_pairs"] == 0 else [f"pairs from frame {one['first_bad']}"]
    wrong += [f"{part}: not finite" for part, row in rows.items() if not row.get("finite", True) or row.get("lost")]
    for part in PARTS[1:]:
        if "hashes" in rows.get(part, {}) and (text := first_difference(one, rows[part])):
            wrong.append(f"{part}: {text}")
    figures = (
        f"{one['frames']:4d} frames {1e3 * one['cpu'] / max(one['frames'], 1):7.1f} ms, pairs: cloth "
        f"{one['cloth_pairs']}, body avoidable {one['avoidable_pairs']} of {one['body_pairs']} (sums "
        f"{one['avoidable_pairs_sum']} of {one['body_pairs_sum']}), no room {one['pinched_pairs']}, at the start "
        f"{one['start_pairs']}; points {one['avoidable_points']} of {one['deep_points']}; in {one['bad_frames']} "
        f"frames, given up {one['given_up']}"
    )
    return figures, wrong + states


def write_summary(path: pathlib.Path, rows: dict[str, dict[str, Row]]) -> None:
    """Write a CSV with one line for each case: the figures of its first part, and what is wrong with it."""
    keys = (
        "frames",
        *WORST,
        *(f"{key}_sum" for key in SUMMED),
        "bad_frames",
        "first_bad",
        "given_up",
        "finite",
        "lost",
    )
    with path.open("w", newline="") as stream:
        table = csv.writer(stream, lineterminator="\n")
        table.writerow(["case", *keys, "ms", "wrong"])
        for case, parts in rows.items():
            one = parts.get(PARTS[0], {})
            spent = 1e3 * one.get("cpu", 0.0) / max(one.get("frames", 1), 1)
            told = [one.get(key, "") for key in keys]
            table.writerow([case, *told, f"{spent:.1f}", "; ".join(verdict(parts)[1]) if one else "not done"])


def all_parts(case: str, book: Book, options: argparse.Namespace) -> dict[str, Row]:
    """The rows of the wanted parts of a case, computed unless they are kept."""
    rows: dict[str, Row] = {}
    for part in PARTS[: 1 if options.parts == PARTS[0] else None]:
        row = None if options.again else book.read(case, part)
        rows[part] = row or in_process(case, part, book, options)
        if "hashes" not in rows[PARTS[0]]:  # there is nothing to compare the others with
            break
    return rows


def data_of_environment() -> pathlib.Path | None:
    """The folder that PLIANT_DATA names, if it does."""
    named = os.environ.get("PLIANT_DATA")
    return pathlib.Path(named) if named else None


def main(options: argparse.Namespace) -> int:
    found = cases(options.only, options.size, options.data)
    if not found:
        every = ", ".join(cases([], options.size, options.data))
        raise SystemExit(f"--only {' '.join(options.only)}: there are {every}")
    book = Book(options.out, {"sources": sources(), "wanted": options.frames, "size": options.size})
    if options.part:
        (name, run), *_ = found.items()
        part_of_process(name, run, options.part, book, options.frames)
        return 0
    failed, done = [], {}
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as crew:
        running_cases = {crew.submit(all_parts, case, book, options): case for case in found}
        for ready in concurrent.futures.as_completed(running_cases):
            case, rows = running_cases[ready], ready.result()
            done[case] = rows
            figures, wrong = verdict(rows)
            unfit = str(rows[PARTS[0]].get("state", "")).startswith("unfit")
            failed += [case] if wrong and not unfit else []
            word = "unfit" if unfit else "FAILED" if wrong else "ok"
            start = "\r" if sys.stderr.isatty() else ""
            print(
                f"{start}{len(done):3d} of {len(found)} {case:28s} {word:6s} {figures} {'; '.join(wrong)}", flush=True
            )
            if options.summary is not None:
                write_summary(options.summary, {name: done[name] for name in found if name in done})
    print(f"{len(found)} cases, {len(failed)} failed{': ' if failed else ''}{', '.join(failed)}")
    return int(bool(failed))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", default=[], help=f"{cases.__doc__.splitlines()[2].strip()}")
    parser.add_argument("--frames", type=int, default=600, help="frames of a hundredth of a second. Default: 600.")
    parser.add_argument("--size", type=int, default=1000, help="particles of a garment. Default: 1000.")
    parser.add_argument("--limit", type=float, default=1800.0, help="seconds for a part. Default: 1800.")
    parser.add_argument(
        "--parts", choices=("all", PARTS[0]), default="all", help="all, or only the one that is judged. Default: all."
    )
    parser.add_argument("--jobs", type=int, default=1, help="cases at the same time. Default: 1.")
    parser.add_argument("--data", type=pathlib.Path, default=data_of_environment(), help="folder of the characters.")
    parser.add_argument("--summary", type=pathlib.Path, help="a CSV with one line for each case.")
    parser.add_argument(
        "--out", type=pathlib.Path, default=pathlib.Path("out/long-runs"), help="Default: out/long-runs."
    )
    parser.add_argument("--again", action="store_true", help="repeat parts that are done. Default: off.")
    parser.add_argument("--part", choices=PARTS, help=argparse.SUPPRESS)
    sys.exit(main(parser.parse_args()))

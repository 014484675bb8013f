"""Attack on `pliant drape`: random garments on random characters, clips and options end with the right exit code,
finite frames in files that can be read, and no frame that takes far longer than the others of its run."""

import contextlib
import io
import itertools
import json
import os
import pathlib
import re
import tempfile
import time

import numba
import numpy as np

import pliant
from attack import cast, wardrobe
from pliant import cli
from pliant.io.animation import load_clip
from pliant.simulation import preroll
from pliant.simulation.step import Simulation

SLOW = 30.0  # times the median CPU time of the frames of a run
CHEAP = 0.01  # seconds of CPU time: a median below this counts as this, so that frames below 0.3 s are never too slow
# words of NumPy and Numba, which no error for a user has
INTERNAL = re.compile(r"broadcast|shape mismatch|out of bounds|ufunc|dtype|zero-size array|\bndarray\b|inhomogeneous")
REFUSED = 0.02  # share of cases with options that may be refused
DEEP = 1e-5  # metres inside a body that must not pass; less may be rounding
FAR = 4.0  # times the extent of everything at the start, of the path of the character, of free fall and of flight
SUFFIXES = (".glb", ".npz", ".obj", ".pc2", ".usda")
# option, its values, and the share of the cases that have it
CHOICES = (
    ("--dt", ("0.005", "0.02", "0.0333333", "0.0001"), 0.3),
    ("--lead-in", ("0", "0", "0.02", "0.1"), 0.8),  # the default is calm, and longer than these runs
    ("--substeps", ("1", "1", "2", "2", "9"), 0.8),
    ("--solver", ("implicit", "xpbd"), 0.3),
    ("--self-contact", ("off", "push", "safe"), 0.4),
    ("--self-method", ("bvh", "sphere-surface", "continuous", "spatial-hash", "active-pairs"), 0.04),
    ("--self-response", ("projection", "penalty", "geometric", "separate"), 0.04),
    ("--friction", ("0", "1"), 0.3),
    ("--friction-model", ("simple",), 0.05),
    ("--eps", ("1mm", "8mm"), 0.2),
    ("--thickness", ("0.5mm", "3mm"), 0.2),
    ("--hold", ("none",), 0.3),
    ("--method", ("bvh", "bone-boxes", "distance-field"), 0.2),
    ("--teleports", ("keep",), 0.15),
    ("--root-motion", ("remove",), 0.15),
    ("--attach", ("waist", "neck", "boundary", "all"), 0.1),
    ("--material", ("silk", "denim", "leather", "jersey"), 0.2),
    ("--material.stretch", ("5", "50000"), 0.05),
    ("--material.density", ("0.01", "2"), 0.05),
    ("--restitution", ("0.5", "1"), 0.1),
    ("--subdivide", ("1",), 0.05),
    ("--rest-scale", ("0.9", "1.1", "0.8,1.2"), 0.1),
    ("--proxy", ("100", "300"), 0.1),
    ("--units", ("cm", "ft", "1000"), 0.05),
    ("--place", ("as-is", "as-is", "above"), 0.03),
    ("--closing", ("0", "0.01"), 0.03),
    ("--up", ("z",), 0.03),
)


def attack(trial):
    rng, before, threads = trial.rng, pathlib.Path.cwd(), numba.get_num_threads()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        numba.set_num_threads(1)  # the cases are small, and processes run side by side
        try:
            worn = cast.any_character(rng, pathlib.Path(folder))
            garments = [wardrobe.any_garment(rng, worn.radius, "inner")]
            if rng.random() < 0.15:
                garments.append(wardrobe.any_garment(rng, 1.15 * worn.radius, "outer"))
            what = f"{garments[0][1]} on {worn.what}, {worn.clip}"
            trial.note(f"body: {worn.what}")
            trial.note(f"clip: {worn.clip}")
            for k, (mesh, kind, odd) in enumerate(garments):
                pliant.save(f"garment{k}.obj", worn.fitted(mesh))
                for name in (kind, *odd):
                    trial.note(f"garment: {name}")
            words, out = options(rng, worn.path.name, len(garments))
            if rng.random() > REFUSED:
                words = allowed(words, worn, garments)
            for word, value in itertools.pairwise(words):
                if word in ("--solver", "--self-contact", "--method", "--attach", "--proxy"):
                    trial.note(f"{word[2:]}: {value}")
            judge(trial, what, words, out)
        finally:
            os.chdir(before)
            numba.set_num_threads(threads)


def options(rng, body, layers):
    """The words of a random `pliant drape`, and its output file."""
    out = f"run{rng.choice(SUFFIXES)}"
    words = ["drape", "garment0.obj", body, "-o", out, "--json", "--frames", str(int(rng.integers(4, 9)))]
    for k in range(1, layers):
        words += ["--layer", f"garment{k}.obj"]
    for name, values, share in CHOICES:
        if rng.random() < share:
            words += [name, str(rng.choice(values))]
    for word, share in (("--no-fix-start", 0.3), ("--no-measure", 0.1)):
        if rng.random() < share:
            words.append(word)
    if rng.random() < 0.1:
        words += ["--wind", "0", "0", "20"]
    if rng.random() < 0.04:
        words += ["--gravity", *rng.choice([["0", "0", "0"], ["0", "-1000", "0"], ["9.81", "0", "0"]])]
    if rng.random() < 0.01:  # beyond a lead-in, which is calm
        words[words.index("--frames") + 1] = "60"
    return words, out


def allowed(words, worn, garments):
    """The words without options that `pliant drape` refuses: what the garment has nothing for, or another excludes."""
    has = dict(itertools.pairwise(words))
    closed = any(not mesh.welded.topology.boundary.any() for mesh, _, _ in garments)
    places = ("all",) if closed else ("boundary", "all", *(("waist", "neck") if worn.bones else ()))
    instead = {}
    if has.get("--attach", "all") not in places:
        instead["--attach"] = places[0]
    if has.get("--place") == "above":  # of a character, which has its own position
        instead["--place"] = "as-is"
    if has.get("--self-contact") == "off" and {"--self-method", "--self-response"} & set(has):
        instead["--self-contact"] = "push"
    return words[:1] + [instead.get(name, word) for name, word in itertools.pairwise(words)]


def judge(trial, what, words, out):
    code, said, talk, frames, spread, strain = run(words)
    line = f"{what}: pliant {' '.join(words)}"
    lines = talk.strip().splitlines() or [""]
    last = lines[-1]
    if not trial.check(code in (0, 1, 2), f"{line}: exit code {code}: {' '.join(lines[-8:])}"):
        return
    if code == 2:  # refused: one line says why
        trial.check(last.startswith("error: ") and not said.strip(), f"{line}: exit code 2 without an error: {last}")
        trial.check(not INTERNAL.search(last), f"{line}: an error of the program, not of its input: {last}")
        trial.remark(f"refused: {last[:120]}")
        return
    trial.note(f"exit code {code}")
    summary = json.loads(said)
    if "--no-measure" not in words:
        bad = wrong(summary)
        trial.check(code == 1 or not bad, f"{line}: exit code 0, but {bad}")
        trial.check(code == 0 or bad or figures(summary), f"{line}: exit code 1 without a problem")
    shown = readable(out)
    trial.check(len(shown) > 0, f"{line}: nothing was written")
    for name, arrays in shown.items():
        trial.check(np.isfinite(arrays).all(), f"{line}: {name} is not finite", x=arrays)
    trial.check(spread <= FAR, f"{line}: the cloth spreads over {spread:.3g} times the size of the scene")
    if slowest(frames)[0] > SLOW:
        # kernels of the first run may have been compiled within a frame, and a busy machine disturbs CPU times
        frames = [list(map(min, some, again)) for some, again in zip(frames, run(words)[3])]
    ratio, slow = slowest(frames)
    trial.check(ratio <= SLOW, f"{line}: {slow}")
    trial.measure("frame over the median, CPU time", ratio)
    trial.measure("extent of cloth over that of the scene", spread)
    trial.measure("strain of an edge, 99 %", strain)


def run(words):
    """Exit code, stdout, stderr, the CPU seconds of each frame of a command, those of a pre-roll in a list of their
    own, because they last as long as they need, whatever the others; how far its cloth spread: the largest
    extent of the cloth over that of everything at the start, of the path of the bodies, of free fall, and of a flight
    at the highest speed of a body so far; and the largest 99th percentile of the strain of its edges."""
    frames, spread, strain, step, advance = [[], []], [0.0], [0.0], Simulation.step, preroll.preroll
    part = [1]

    def timed(self, **how):
        if not any(frames):
            timed.low, timed.high = self.state.x.min(0), self.state.x.max(0)
            timed.bodies, timed.speed, timed.flight = np.zeros((0, 3)), 0.0, 0.0
        began = time.process_time()
        frame = step(self, **how)
        frames[part[0]].append(time.process_time() - began)
        cloth = self.scene.deformable_rows
        bodies = np.delete(frame.x, cloth, axis=0)
        timed.low, timed.high = np.minimum(timed.low, bodies.min(0)), np.maximum(timed.high, bodies.max(0))
        fall = 0.5 * np.linalg.norm(self.scene.gravity) * frame.time**2  # of what nothing holds
        if len(bodies) == len(timed.bodies):  # what a body hits flies as fast as the body
            timed.speed = max(timed.speed, np.linalg.norm(bodies - timed.bodies, axis=1).max(initial=0.0) / self.dt)
        timed.bodies, timed.flight = bodies, timed.flight + timed.speed * self.dt
        room = (timed.high - timed.low).max() + fall + timed.flight
        spread.append(float(np.ptp(frame.x[cloth], axis=0).max() / room))
        strain.append(max(stretch(self.scene, b, frame.x) for b in self.scene.cloths))
        return frame

    def prerolled(*args):
        part[0] = 0
        advance(*args)
        part[0] = 1

    said, talk = io.StringIO(), io.StringIO()
    Simulation.step, preroll.preroll = timed, prerolled
    try:
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(talk):
            code = cli.run(words)
    finally:
        Simulation.step, preroll.preroll = step, advance
    return code, said.getvalue(), talk.getvalue(), frames, max(spread), max(strain)


def stretch(scene, body, x):
    """The 99th percentile of the strain of the edges of a cloth."""
    mesh = scene.bodies[body].mesh.welded
    ends = mesh.topology.edges
    rest = np.linalg.norm(mesh.vertices[ends[:, 0]] - mesh.vertices[ends[:, 1]], axis=1)
    now = np.linalg.norm(x[ends[:, 0] + scene.first[body]] - x[ends[:, 1] + scene.first[body]], axis=1)
    long = rest > 1e-6
    return float(np.percentile(now[long] / rest[long] - 1.0, 99.0)) if long.any() else 0.0


def slowest(frames):
    """How many times the median of its run, or of the pre-roll, at least `CHEAP`, the slowest frame took, and which it
    was."""
    found = [(0.0, "")]
    for part, seconds in zip(("frame of the pre-roll", "frame"), frames):
        if seconds:
            most, median = max(seconds), max(float(np.median(seconds)), CHEAP)
            where = f"{part} {int(np.argmax(seconds))} took {most:.2f} s of CPU time"
            found.append((most / median, f"{where}, {most / median:.0f} times {median:.3f} s"))
    return max(found)


def wrong(summary):
    """Figures of a run that must not come with exit code 0."""
    safe = summary["self_contact"] == "safe"
    found = {"crossing_pairs_bodies_most": summary["crossing_pairs_bodies_most"]}
    found["penetration_m"] = summary["penetration_m"] > DEEP
    if safe:
        found |= {name: summary[name] for name in ("intersecting_pairs_cloth_most", "failed_substeps")}
    return [name for name, value in found.items() if value]


def figures(summary):
    """Figures that may explain exit code 1, also those of a run on proxies."""
    run = summary.get("proxy", {}).get("run", {})
    names = ("penetration_m", "failed_substeps", "given_up_pairs", "frames_with_intersecting_pairs")
    names += ("crossing_pairs_bodies_most", "intersecting_pairs_cloth_most", "intersecting_pairs_bodies_most")
    gained = summary.get("proxy", {}).get("gained_intersections_most")
    return [name for name in names if summary.get(name) or run.get(name)] + ["gained"] * bool(gained)


def readable(out):
    """Positions in the written files, by name; not finite where a text file has a number that is not."""
    path = pathlib.Path(out)
    files = sorted(path.parent.glob(f"{path.stem}*{path.suffix}"))
    if path.suffix in (".glb", ".npz"):
        with contextlib.redirect_stderr(io.StringIO()):  # which clip of several is used
            return {file.name: np.asarray(load_clip(file)[0].frames) for file in files}
    if path.suffix == ".obj":
        return {file.name: pliant.load(file).vertices for file in files}
    if path.suffix == ".pc2":
        return {file.name: np.frombuffer(file.read_bytes()[32:], "<f4") for file in files}
    texts = {file.name: file.read_text() for file in files}
    return {name: np.array([np.nan if re.search(r"\b(nan|inf)\b", text) else 0.0]) for name, text in texts.items()}

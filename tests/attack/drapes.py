"""Attack: the gradient of a drape is that of differences of its run, and the run is that of `Simulation` in free air.

Random sheets, materials and bodies, over a few frames with any number of substeps; also crumpled, taut, exactly at
rest, deep inside of the body, and held at four vertices. The derivative with respect to each input along a random
direction is compared with central differences of the run, at steps at which these agree with coarser ones: a nearest
feature may switch within a step. Without bodies the run is compared with `Simulation`, step by step, and with
checkpoints the gradient has the same bits.
"""

import dataclasses

import numpy as np

import pliant
from gradients import drapes
from pliant.gradients.drape import DifferentiableDrape

BOUND = 1e-5  # of a derivative, relative to itself or to a thousandth of the largest one of the case
SMOOTH = 1e-6  # by which differences of second and of fourth order agree where nothing switches
STATES = ("as it is", "at rest", "crumpled", "taut", "inside", "held")


def attack(trial):
    rng = trial.rng
    kind, state = (str(rng.choice(names)) for names in (("ball", "box", "plane"), STATES))
    options = {
        "frames": int(rng.integers(1, 4)),
        "substeps": int(rng.integers(1, 17)),
        "width": 10.0 ** rng.uniform(-4, -2.3),
    }
    held = np.arange(4) if state == "held" else None
    drape, frames, given, of_x, of_v = drapes.case(rng, kind, held=held, **options)
    change(rng, state, given)
    trial.note(state)
    told = f"{kind}, {state}, {frames} frames of {drape.substeps} substeps, width {drape.width:.2g}"
    try:
        tape = drape.run(frames, **given)
    except ValueError as error:  # stiff cloth in few substeps
        trial.check("diverges" in str(error), f"{told}: {error}")
        trial.note("diverges")
        return
    found = tape.backward(of_x, of_v)
    finite = all(np.isfinite(value).all() for value in vars(found).values() if value is not None)
    if not trial.check(finite, f"{told}: not finite"):
        return
    judge_slopes(trial, told, (drape, frames, given, of_x, of_v), found)
    judge_checkpoints(trial, told, (drape, frames, given, of_x, of_v), found)
    if rng.random() < 0.3:
        judge_run(trial, told, drape.scene, frames)


def change(rng, state, given):
    """Change the start of a drape."""
    x = given["x"]
    if state == "at rest":
        given["x"] = x = given["rest"].copy()
        given["v"] = np.zeros(x.shape)
        given["body"] = given["body"][0] if given["body"].ndim == 3 else given["body"]
    elif state in ("crumpled", "taut"):
        given["x"] = x = x * [0.05, 1.0, 0.05] if state == "crumpled" else x * [1.6, 1.0, 1.6]
    elif state == "inside":
        given["x"] = x = x - [0.0, rng.uniform(0.005, 0.03), 0.0]
    given.pop("pins", None) if state != "as it is" else None


def judge_slopes(trial, told, case, found):
    drape, frames, given, of_x, of_v = case
    rng, slopes = trial.rng, {}
    for name, value in given.items():
        way = drapes.direction(rng, drape, name, value, given)
        if way is None:
            continue

        def at(t, name=name, value=value, way=way):
            return drapes.loss(drape, frames, given | {name: value + t * way}, of_x, of_v)

        slopes[name] = float(np.sum(getattr(found, name) * way)), *smooth_difference(at)
    least = 1e-3 * max(abs(slope) for slope, *_ in slopes.values())
    tape = drape.run(frames, **given)
    terms = float(abs(tape.x * of_x).sum() + abs(tape.v * of_v).sum())
    for name, (slope, truth, doubt, step) in slopes.items():
        size = max(abs(truth), least, 1e-300)
        if doubt > SMOOTH * size:
            trial.note("not smooth within a step")
            continue
        rounding = drapes.ROUNDING * terms / step
        trial.measure(f"error, {name}", max(abs(slope - truth) - rounding, 0.0) / size)
        trial.check(
            abs(slope - truth) <= BOUND * size + rounding, f"{told}: of {name} {slope:.9g}, differences {truth:.9g}"
        )


def smooth_difference(f):
    """The derivative of f at 0 by central differences of fourth order, with the step at which it differs least from
    that of second order; this difference, and the step."""
    found = []
    for h in (1e-4, 1e-5, 1e-6, 1e-7):
        near, far = f(h) - f(-h), f(2.0 * h) - f(-2.0 * h)
        truth = (8.0 * near - far) / (12.0 * h)
        found.append((abs(truth - near / (2.0 * h)), truth, h))
    doubt, truth, step = min(found)
    return truth, doubt, step


def judge_checkpoints(trial, told, case, found):
    """With as little memory as the run needs, the gradient has the same bits."""
    drape, frames, given, of_x, of_v = case
    memory = 1.01 * drape.bytes_per_frame
    less = DifferentiableDrape(drape.scene, drape.dt, substeps=drape.substeps, width=drape.width, memory=memory)
    again = less.run(frames, **given).backward(of_x, of_v)
    same = all(np.array_equal(value, getattr(again, name)) for name, value in vars(found).items() if value is not None)
    trial.check(same, f"{told}: another gradient with checkpoints")


def judge_run(trial, told, scene, frames):
    """Without bodies, the run is that of `Simulation`."""
    scene = dataclasses.replace(scene, bodies=[body for body in scene.bodies if not body.obstacle])
    tape = DifferentiableDrape(scene).run(frames)
    for frame in pliant.Simulation(scene, solver="xpbd").run(frames):
        off = abs(tape.x[frame.index] - frame.x).max()
        trial.measure("off Simulation, m", off)
        trial.check(off < 1e-11, f"{told}: {off:.3g} m off Simulation in frame {frame.index}")

"""Attack: a run that is saved at any frame and loaded again continues bitwise identically."""

import dataclasses
import pathlib
import tempfile

import numpy as np

from attack import scenes
from pliant import Simulation
from pliant.respond import RESPONSES

METHODS = (
    "tree",
    "brute-force",
    "continuous",
    "spatial-hash",
    "stochastic-tree",
    "sphere-surface",
)  # active pairs are not saved, as documented
OWN = ("tree", "brute-force", "continuous", "spatial-hash", "stochastic-tree")


def attack(trial):
    rng = trial.rng
    made = scenes.any_scene(rng)
    mode = str(rng.choice(["off", "push", "safe", "safe"]))
    scene = dataclasses.replace(made.scene, self_contact=mode)
    options = {"method": str(rng.choice(METHODS)), "response": str(rng.choice(list(RESPONSES)))}
    if mode == "push" and rng.random() < 0.6:
        options |= {"self_method": str(rng.choice(OWN)), "self_response": str(rng.choice(list(RESPONSES)))}
    try:
        sim = Simulation(scene, made.dt, substeps=min(made.substeps, 4), **options)
    except ValueError as error:
        trial.note(f"refused: {error}"[:60])
        return
    told = f"{made.what}, {mode}, {options}"
    with np.errstate(all="ignore"):
        compare(trial, sim, scene, told)


def compare(trial, sim, scene, told):
    before, after = int(trial.rng.integers(0, 4)), int(trial.rng.integers(1, 3))
    for _ in range(before):
        sim.step()
    if not (np.isfinite(sim.state.x).all() and np.abs(sim.state.x).max() < 1e12):
        trial.check(False, f"{told}: not finite or above 1e12 after {before} frames")
        return
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "run.npz"
        sim.save(path)
        again = Simulation.load(path, scene)
    for k in range(after):
        one, two = sim.step(), again.step()
        same = one.x.tobytes() == two.x.tobytes() and sim.state.v.tobytes() == again.state.v.tobytes()
        same &= one.contacts.tobytes() == two.contacts.tobytes() and one.index == two.index
        trial.check(same, f"{told}: frame {before + k + 1} differs after a restart at {before}", x=one.x, y=two.x)
    trial.note("restarts")

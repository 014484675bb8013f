"""Every scene, method and response gives the same bits on one thread, on two, and in a process of its own.

Parallel loops leave small work to one thread; here they share out all of it, so that small scenes will do.
"""

import functools
import hashlib
import importlib
import itertools
import json
import pkgutil
import subprocess
import sys
from typing import Any, NamedTuple

import pytest

from characters import post
from pliant import Scene, kernels, shapes
from pliant.detect import METHODS
from pliant.detect.base import Finds
from pliant.detect.choose import AUTO
from pliant.kernels import jit
from pliant.respond import RESPONSES
from pliant.scenes import SCENES
from pliant.scenes.defaults import default_run_length
from pliant.scenes.dressing import dress_scene
from pliant.simulation import Simulation
from pliant.state import State
from time_limit import PATIENCE

# of scenes whose cloth would have no face to meet anything with, or whose meshes are large at their own
SIZES = {
    "stack": 5,
    "waving-mannequin": 16,
    "cylinders": 2,
    "intestine": 3,
    "liver": 6,
    "creatures": 6,
    "two-figures": 24,
    "hair-on-bust": 8,
    "surgical-tool": 6,
    "two-organs": 6,
    "gut-with-mesentery": 2,
}
SETTLED = {
    "curtain": 22,
    "cylinders": 14,
    "creatures": 24,
    "liver": 40,
    "waving-mannequin": 12,
    "twist": 220,
    "pinch": 130,
}
FRAMES = 2


class Case(NamedTuple):
    """What differs from how the scene is run without options."""

    scene: str
    method: str = ""
    response: str = ""
    self_method: str = ""
    self_response: str = ""


SHORT = [
    *(Case("cloth-on-box-corner", method=name) for name in METHODS),
    *(Case("cloth-on-box-corner", response=name) for name in RESPONSES),
    *(Case("stack", self_method=name) for name in METHODS),
    *(Case("stack", self_response=name) for name in RESPONSES),
    Case("cylinders", self_method="spatial-hash"),
    Case("cylinders", self_method="image-space", self_response="volume"),
    Case("post", method="bone-boxes"),
    Case("hair-on-bust"),
    Case("surgical-tool", method="image-space:test=view-volume"),
]


def cases_of(name: str) -> list[Case]:
    """Every method with every response on bodies, and among soft ones where the scene keeps them apart."""
    scene, found = scene_of(name), [Case(name)]
    if scene.deformable and scene.obstacles:
        found += [Case(name, m, r) for m, r in itertools.product(METHODS, RESPONSES)]
    if scene.deformable and scene.self_contact != "off":
        able = [m for m, made in METHODS.items() if Finds.SELF in made.finds]
        found += [Case(name, self_method=m, self_response=r) for m, r in itertools.product(able, RESPONSES)]
    return found


@functools.cache
def scene_of(name: str) -> Scene:
    if name == "post":
        return dress_scene([shapes.cloth(0.3, 0.3, 12, centre=(0.0, 1.01, 0.0))], post(), hold="none", lead_in=0.1)
    return SCENES[name](resolution=SIZES.get(name, 12))


@functools.cache
def settled(name: str) -> State:
    """Where the scene is when its cloth lies on something; always on one thread."""
    before, sim = jit.threads(), started(Case(name), None)
    jit.set_threads(1)
    try:
        for _ in sim.run(SETTLED.get(name, 25)):
            pass
    finally:
        jit.set_threads(before)
    return sim.state


def started(case: Case, state: State | None) -> Simulation:
    scene = scene_of(case.scene)
    quick = "bvh" if case.self_method or case.self_response else AUTO  # a field is not made for every case
    return Simulation(
        scene,
        substeps=min(default_run_length(scene).substeps or 4, 4),
        method=case.method or quick,
        response=case.response or "projection",
        self_method=case.self_method or None,
        self_response=case.self_response or None,
        state=state,
    )


def bits(case: Case) -> tuple[str, int]:
    """A hash of all that a few frames gave, and how many contacts they had; of what does not apply, why."""
    try:
        sim = started(case, settled(case.scene))
    except ValueError as error:
        return f"does not apply: {error}", 0
    total, count = hashlib.sha256(), 0
    for frame in sim.run(FRAMES):
        total.update(frame.x.tobytes() + frame.contacts.tobytes() + sim.state.v.tobytes())
        count += len(frame.contacts)
    return total.hexdigest(), count


def all_bits(cases: list[Case], threads: int) -> list[tuple[str, int]]:
    before = jit.threads()
    jit.set_threads(threads)
    try:
        return [bits(case) for case in cases]
    finally:
        jit.set_threads(before)


def share_everything() -> Any:
    """Let no parallel loop run on one thread because it is short; returns what undoes it."""
    for module in pkgutil.walk_packages(kernels.__path__, "pliant.kernels."):
        if not module.name.startswith("pliant.kernels.gpu"):  # no loop of these runs on threads
            importlib.import_module(module.name)
    loaded = [module for name, module in list(sys.modules.items()) if name.startswith("pliant.kernels")]
    found = {id(f): f for module in loaded for f in vars(module).values() if hasattr(f, "serial")}
    kept = [(f, f.serial) for f in found.values()]
    for f in found.values():
        f.serial = f
    pliant = [module for name, module in list(sys.modules.items()) if name.startswith("pliant.")]
    bounds = [(m, name, value) for m in pliant for name, value in vars(m).items() if name.startswith("_WORTH_THREADS")]
    for module, name, _ in bounds:
        setattr(module, name, 0)

    def undo() -> None:
        for f, serial in kept:
            f.serial = serial
        for module, name, value in bounds:
            setattr(module, name, value)

    return undo


def elsewhere(cases: list[Case], threads: int) -> list[tuple[str, int]]:
    """The same in a new process."""
    run = subprocess.run(
        [sys.executable, __file__, str(threads)],
        input=json.dumps(cases),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert run.returncode == 0, run.stderr[-3000:]
    return [tuple(row) for row in json.loads(run.stdout)]


@pytest.fixture
def shared():
    undo = share_everything()
    yield
    undo()


@pytest.mark.compiled
def test_every_method_and_response_gives_the_same_bits_on_one_thread_here_and_two_in_another_process(shared):
    one, other = all_bits(SHORT, 1), elsewhere(SHORT, 2)
    assert dict(zip(SHORT, one)) == dict(zip(SHORT, other))
    ran = [case for case, (said, _) in zip(SHORT, one) if not said.startswith("does not apply")]
    assert {case.method or case.self_method for case in ran} >= {*METHODS}
    assert {case.response or case.self_response for case in ran} >= {*RESPONSES}
    assert sum(count > 0 for _, count in one) > 0.8 * len(ran)


@pytest.mark.compiled
@pytest.mark.long
@pytest.mark.parametrize("name", SCENES)
def test_every_case_of_a_scene_gives_the_same_bits(name, shared):
    cases = cases_of(name)
    one, two, other = all_bits(cases, 1), all_bits(cases, 2), elsewhere(cases, 2)
    ran = [count for said, count in one if not said.startswith("does not apply")]
    print(f"{name:20} {len(cases):4} cases  {len(ran):4} apply  {sum(n > 0 for n in ran):4} with contacts")
    assert dict(zip(cases, one)) == dict(zip(cases, two))
    assert dict(zip(cases, one)) == dict(zip(cases, other))
    assert ran


if __name__ == "__main__":
    share_everything()
    asked = [Case(*row) for row in json.load(sys.stdin)]
    print(json.dumps(all_bits(asked, int(sys.argv[1]))))

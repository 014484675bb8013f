"""Attack: results are bitwise identical on one thread and on two, with the serial shortcut for small work disabled."""

import numpy as np

import pliant
from attack import bodies, meshes, scenes
from pliant.detect import METHODS
from pliant.detect.base import Finds
from pliant.kernels import jit
from pliant.simulation import Simulation
from test_determinism import share_everything


def attack(trial):
    what = (contacts, contacts, queries, run)[int(trial.rng.integers(4))]
    seed = int(trial.rng.integers(2**62))
    undo, before, answers = share_everything(), jit.threads(), []
    try:
        for threads in (1, 2):
            jit.set_threads(threads)
            answers.append(what(np.random.default_rng(seed)))
    finally:
        jit.set_threads(before)
        undo()
    one, two = answers
    trial.note(what.__name__)
    trial.check(one == two, f"{what.__name__}: {one[0]}: differs on two threads (case seed {seed})", len(one))


def contacts(rng):
    """Contacts of any method on any two meshes, or on one."""
    names = [name for name in METHODS if name != "bone-boxes"]
    method = names[int(rng.integers(len(names)))]
    able = METHODS[method].finds
    a = pliant.Mesh(*meshes.any_mesh(rng))
    alone = bool(able & Finds.SELF) and rng.random() < 0.3
    b = None if alone else pliant.Mesh(*meshes.solid(rng))
    try:
        found = pliant.detector(method, a, b, within=float(10.0 ** rng.uniform(-3, -0.5))).find()
    except ValueError as error:
        return [method, str(error)]
    return [method, found.tobytes()]


def queries(rng):
    """Nearest points, intersecting pairs, a distance field, the largest collision-free step."""
    _, _, x, faces = bodies.any_body(rng)
    body = pliant.Mesh(x, faces)
    points = rng.uniform(x.min(0) - 0.1, x.max(0) + 0.1, (200, 3))
    out = [a.tobytes() for a in pliant.closest_point(body, points)]
    out.append(pliant.intersections(body).tobytes())
    out.append(pliant.collision_free_step(body, x, x + 0.1 * rng.normal(size=x.shape)))
    field = pliant.DistanceField.bake(body, 16)
    out += [a.tobytes() for a in field.sample(points)]
    return ["a body", *out]


def run(rng):
    """Two frames of a scene."""
    made = scenes.any_scene(rng)
    method = str(rng.choice(["tree", "brute-force", "continuous", "sphere-surface"]))
    sim = Simulation(made.scene, made.dt, substeps=min(made.substeps, 4), method=method)
    out = [f"{made.what}, {method}"]
    for _ in range(2):
        frame = sim.step()
        out += [frame.x.tobytes(), frame.contacts.tobytes(), sim.state.v.tobytes()]
    return out

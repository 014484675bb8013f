"""Random drapes, and the comparison of their gradients with central differences of what the run itself computes."""

import numpy as np

import pliant
from pliant.gradients.drape import DifferentiableDrape

MATERIAL = ("stretch", "stretch_weft", "shear", "bend", "density", "damping", "air", "friction")


ROUNDING = 1e-15  # of the terms of a loss, in each of its values


def sheet(rng, size=0.2):
    """A bumpy sheet with an irregular mesh, curved at rest, with its lowest point about at the origin."""
    n = (int(rng.integers(4, 8)), int(rng.integers(4, 8)))
    mesh = pliant.shapes.cloth(size, size, n)
    x = mesh.vertices + rng.uniform(-0.2, 0.2, mesh.vertices.shape) * [size / n[0], 0.01 * size, size / n[1]]
    x[:, 1] -= x[:, 1].min()
    return mesh.moved(x)


def material(rng):
    weft = rng.random() < 0.5
    return pliant.Cloth(
        density=rng.uniform(0.1, 0.4),
        stretch=10.0 ** rng.uniform(1.5, 2.7),
        shear=10.0 ** rng.uniform(1.0, 2.0),
        bend=10.0 ** rng.uniform(-5.0, -3.5),
        damping=rng.choice([0.0, 0.01, 0.05]),
        air=rng.choice([0.0, 1.2]),
        stretch_weft=10.0 ** rng.uniform(1.5, 2.7) if weft else None,
        bend_weft=10.0 ** rng.uniform(-5.0, -3.5) if weft else None,
    )


def body(rng, kind):
    """A body below the origin, and how its vertices move in a second (3,)."""
    if kind == "ball":
        mesh = pliant.shapes.ball(0.1, int(rng.integers(0, 3)), centre=(*rng.uniform(-0.03, 0.03, 1), -0.1, 0.01))
    elif kind == "box":
        mesh = pliant.shapes.box(0.12, int(rng.integers(1, 3)), centre=(0.01, -0.06, 0.02))
        turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
        x = (mesh.vertices - mesh.vertices.mean(0)) @ (turn * np.sign(np.linalg.det(turn))).T
        mesh = mesh.moved(x - [0.0, x[:, 1].max(), 0.0])
    else:
        mesh = pliant.shapes.box((0.6, 0.02, 0.6), 1, centre=(0.0, -0.01, 0.0))
    return mesh, np.concatenate([rng.uniform(-0.3, 0.3, 1), rng.uniform(-0.1, 0.1, 1), rng.uniform(-0.3, 0.3, 1)])


def case(rng, kind, frames=6, substeps=16, width=5e-4, held=None):
    """A drape with contact, the inputs of a run, and derivatives of a loss on its frames."""
    mesh, stuff = sheet(rng), material(rng)
    pins = rng.choice(mesh.n_vertices, int(rng.integers(0, 3)), replace=False) if held is None else held
    solid, drift = body(rng, kind)
    gap = 0.005 + rng.uniform(-0.3, 2.0) * width
    mesh = mesh.moved(mesh.vertices + np.array([0.0, gap, 0.0]))
    bodies = [pliant.Body(solid, obstacle=True), pliant.Body(mesh, pins=pins, material=stuff, flat=rng.random() < 0.3)]
    friction = rng.uniform(0.0, 0.6)
    scene = pliant.Scene(bodies, self_contact="off", wind=tuple(rng.uniform(-1, 1, 3)), friction=friction)
    drape = DifferentiableDrape(scene, dt=0.01, substeps=substeps, width=width)
    share = np.arange(frames + 1)[:, None, None] / max(frames, 1)
    x = mesh.vertices + rng.normal(size=mesh.vertices.shape) * 1e-4
    given = {
        "x": x,
        "v": rng.normal(size=x.shape) * 0.05 - [0.0, 0.1, 0.0],
        "rest": mesh.vertices + rng.normal(size=x.shape) * 1e-4,
        "body": solid.vertices + share * 0.01 * frames * drift if rng.random() < 0.7 else solid.vertices,
        "friction": friction,
    }
    if len(pins):
        given["pins"] = x[np.unique(pins)] + share * rng.normal(size=(1, len(pins), 3)) * 2e-3
    for name in MATERIAL[:-1]:
        if getattr(stuff, name) is not None:
            given[name] = getattr(stuff, name)
    of_x, of_v = rng.normal(size=(2, frames + 1, *x.shape))
    of_x[:-1] *= rng.random(frames)[:, None, None] < 0.3
    return drape, frames, given, of_x, 1e-2 * of_v


def loss(drape, frames, given, of_x, of_v):
    tape = drape.run(frames, **given)
    return float((tape.x * of_x).sum() + (tape.v * of_v).sum())


def errors(drape, frames, given, of_x, of_v, step=1e-6, rng=None):
    """Per input, the error of the derivative along a random direction, and its size, by central differences of fourth
    order. A number is moved by its own size per unit, positions by centimetres."""
    rng = np.random.default_rng(0) if rng is None else rng
    tape = drape.run(frames, **given)
    found = tape.backward(of_x, of_v)
    out, scale = {}, {}
    terms = float(abs(tape.x * of_x).sum() + abs(tape.v * of_v).sum())
    for name, value in given.items():
        way = direction(rng, drape, name, value, given)
        if way is None:
            continue
        slope = np.sum(getattr(found, name) * way)

        def at(t, name=name, value=value, way=way):
            return loss(drape, frames, given | {name: value + t * way}, of_x, of_v)

        truth = difference(at, step * (100.0 if np.ndim(value) == 0 else 10.0 if name == "v" else 1.0), terms)
        out[name], scale[name] = abs(slope - truth), abs(truth)
    return out, scale


def difference(f, step, terms):
    """The derivative of f at 0 by central differences of fourth order: with a tenth of the step, or a hundredth, where
    that of second order shows that something switches within it, such as a nearest feature. terms: the sum of the sizes
    of what f adds up, for its rounding."""
    found = []
    for h in (step, 0.1 * step, 0.01 * step):
        near, far = f(h) - f(-h), f(2.0 * h) - f(-2.0 * h)
        truth, coarse = (8.0 * near - far) / (12.0 * h), near / (2.0 * h)
        found.append((abs(truth - coarse) + ROUNDING * terms / h, truth))
        if abs(truth - coarse) <= 1e-5 * abs(truth):
            break
    return min(found)[1]


def direction(rng, drape, name, value, given):
    """A random direction in which to move an input, or None where it does not move."""
    if np.ndim(value) == 0:
        return value if value > 0.0 else None
    way = rng.normal(size=np.shape(value)) * (1.0 if name == "v" else 0.05)
    if name in ("x", "v") and "pins" in given:
        way[drape.held] = 0.0
    return way

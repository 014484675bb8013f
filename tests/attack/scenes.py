"""Random small scenes for safe mode: fast bodies, spins, deforming bodies, grips, pins, drags, layers, slivers.

Everything is created at about 1 m and then scaled; whether the bodies leave the cloth space is known by construction.
"""

import dataclasses

import numpy as np

import pliant
from attack import bodies, meshes
from pliant import Body, Grip, Motion, Recorded, Scene


@dataclasses.dataclass
class Attacked:
    scene: Scene
    dt: float
    substeps: int
    frames: int
    room: bool  # the bodies leave the cloth space on some side at all times
    what: str
    drags: list  # (frame, vertex, target): drag constraints
    scale: float = 1.0


def any_scene(rng):
    kind = KINDS[int(rng.integers(len(KINDS)))]
    turn = meshes.rotation(rng) if rng.random() < 0.6 else np.eye(3)
    scale = 10.0 ** rng.uniform(-6, 8) if rng.random() < 0.3 else 1.0
    made = kind(rng, Builder(rng, turn, scale))
    made.what, made.scale = kind.__name__, scale
    return made


class Builder:
    """Meshes, motions and velocities of a scene at 1 m, transformed and scaled."""

    def __init__(self, rng, turn, scale):
        self.rng, self.turn, self.scale = rng, turn, scale
        self.thickness = float(rng.choice([0.002, 0.005, 0.01, 1e-5, 1e-9]))
        self.eps = float(rng.choice([0.003, 0.01, self.thickness]))
        self.dt, self.substeps = float(rng.choice([0.01, 0.04])), int(rng.choice([1, 4, 12]))

    def place(self, x):
        return self.scale * np.asarray(x) @ self.turn.T

    def vector(self, v):
        return tuple((self.scale * self.turn @ np.asarray(v, float)).tolist())

    def sheet(self, at=(0.0, 0.0, 0.0), size=0.4, n=None, damages=True):
        """Faces and vertices of a sheet in the plane y = 0 around `at`, sometimes with slivers or T-junctions."""
        rng = self.rng
        n = n or int(rng.integers(3, 7))
        x, faces = meshes.grid(rng, n, n)
        x[:, 1] = 0.0
        inner = (np.abs(x[:, [0, 2]]) < 0.49).all(1)
        x[inner] += rng.choice([0.0, 0.15 / n]) * rng.uniform(-1, 1, (int(inner.sum()), 3)) * [1, 0, 1]
        x = size * x + np.asarray(at)
        if damages and rng.random() < 0.4:
            damage = (meshes.t_junctions, meshes.cracks, meshes.needles)[int(rng.integers(3))]
            x, faces = damage(rng, x, faces, 0.3)
        return x, faces

    def cloth(self, x, faces, velocity=(0.0, 0.0, 0.0), **more):
        return Body(pliant.Mesh(self.place(x), faces), velocity=self.vector(velocity), **more)

    def obstacle(self, x, faces, motion=None):
        return Body(pliant.Mesh(self.place(x), faces), obstacle=True, motion=motion)

    def path(self, times, offsets, spins=None):
        """A rigid motion: offsets (k,3), and rotations about the y axis, radians."""
        poses = np.zeros((len(times), 3, 4))
        for k, (offset, angle) in enumerate(zip(offsets, np.zeros(len(times)) if spins is None else spins)):
            c, s = np.cos(angle), np.sin(angle)
            poses[k, :, :3] = self.turn @ np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]]) @ self.turn.T
            poses[k, :, 3] = self.vector(offset)
        return Motion(times, poses)

    def scene(self, parts, gravity=(0.0, -9.81, 0.0)):
        return Scene(
            parts,
            gravity=self.vector(gravity),
            eps=self.scale * self.eps,
            thickness=self.scale * self.thickness,
            self_contact="safe",
            friction=float(self.rng.choice([0.0, 0.3])),
        )

    def attacked(self, parts, frames, room, drags=(), **more):
        return Attacked(self.scene(parts, **more), self.dt, self.substeps, frames, room, "", list(drags))

    @property
    def speed(self):
        return float(10.0 ** self.rng.uniform(0, 3))


def fast_body(rng, make):
    """A small body at up to 1000 m/s against a free sheet, which has space on all sides."""
    speed, frames = make.speed, int(rng.integers(2, 6))
    x, faces = make.sheet()
    pins = rng.choice(len(x), 2, replace=False) if rng.random() < 0.3 else ()
    y, other = meshes.ball(rng, 0.0, 1, 0.06) if rng.random() < 0.6 else meshes.box((0.1, 0.08, 0.12))
    end = frames * make.dt
    start = 0.07 + rng.uniform(0.0, 0.3) * speed * make.dt
    y = y @ meshes.rotation(rng).T + np.array([*rng.uniform(-0.1, 0.1, 2), 0.0])[[0, 2, 1]] + [0.0, -start - 0.02, 0.0]
    ball = make.obstacle(y, other, make.path([0.0, end], [[0, 0, 0], [0, speed * end, 0]]))
    return make.attacked([make.cloth(x, faces, pins=pins), ball], frames, not len(pins), gravity=(0, 0, 0))


def spin(rng, make):
    """A box that rotates fast above or below a falling sheet."""
    frames, rate = 5, float(rng.choice([10.0, 100.0, 1000.0]))
    x, faces = make.sheet(at=(0.0, 0.03, 0.0))
    y, other = meshes.box((0.25, 0.03, 0.06))
    y = y + np.array([rng.uniform(-0.05, 0.05), -0.005, 0.0])
    times = np.linspace(0.0, frames * make.dt, 2 + int(rate * frames * make.dt / 2.0))
    body = make.obstacle(y, other, make.path(times, np.zeros((len(times), 3)), rate * times))
    return make.attacked([make.cloth(x, faces, (0, -rng.uniform(0, 5), 0)), body], frames, True)


def deforming(rng, make):
    """A body that is stretched and sheared from frame to frame without self-intersections."""
    frames = int(rng.integers(3, 7))
    x, faces = make.sheet(at=(0.0, 0.12, 0.0))
    y, other = meshes.ball(rng, 0.0, 1, 0.1)
    times, shapes = make.dt * np.arange(frames + 1), []
    for k in range(frames + 1):
        a = np.eye(3) + (rng.uniform(-0.35, 0.35, (3, 3)) if k else 0.0)
        shapes.append(make.place(y @ a.T + [0.0, 0.02 * rng.uniform(-1, 1) if k else 0.0, 0.0]))
    body = Body(pliant.Mesh(shapes[0], other), obstacle=True, motion=Recorded(times, np.stack(shapes)))
    return make.attacked([make.cloth(x, faces, (0, -rng.uniform(0, 3), 0)), body], frames, True)


def grip(rng, make):
    """A corner of a sheet that is moved at any speed, beside a body or not."""
    frames = int(rng.integers(3, 7))
    x, faces = make.sheet(at=(0.0, 0.08, 0.0))
    held = rng.choice(len(x), int(rng.integers(1, 4)), replace=False)
    if rng.random() < 0.5:
        held = np.flatnonzero(x[:, 0] < x[:, 0].min() + 1e-9)
    speed = min(make.speed, 300.0)
    times = make.dt * np.arange(frames + 1)
    steps = rng.normal(size=(frames, 3)) * speed * make.dt
    steps[:, 1] = np.abs(steps[:, 1])  # upward: not into the body
    motion = make.path(times, np.concatenate([np.zeros((1, 3)), np.cumsum(steps, 0)]))
    parts = [make.cloth(x, faces, grips=[Grip(held, motion)])]
    if rng.random() < 0.5:
        y, other = meshes.box((0.3, 0.1, 0.3))
        parts.append(make.obstacle(y, other))
    return make.attacked(parts, frames, True)


def press(rng, make):
    """Layers of sheets that fall, fast or under great weight, on a box."""
    x_y = [make.sheet(at=(0.01 * k, 0.06 + 0.02 * k, 0.005 * k), size=0.2) for k in range(int(rng.integers(1, 4)))]
    sheets = [make.cloth(x, faces, (0, -rng.choice([1.0, 10.0, 100.0]), 0)) for x, faces in x_y]
    y, other = meshes.box((0.3, 0.1, 0.3))
    pull = min(float(rng.choice([9.81, 500.0, 1e5])), 1e11 / make.scale)
    return make.attacked([*sheets, make.obstacle(y, other)], int(rng.integers(3, 8)), True, gravity=(0.0, -pull, 0.0))


def crumple(rng, make):
    """One sheet whose vertices start with random velocities and can only collide with each other."""
    x, faces = make.sheet()
    made = make.attacked([make.cloth(x, faces)], int(rng.integers(3, 7)), True, gravity=(0, 0, 0))
    made.kick = make.speed * make.scale * rng.normal(size=(len(x), 3))
    return made


def drag(rng, make):
    """Drag constraints that pull a sheet through, onto and around a body."""
    frames = int(rng.integers(4, 8))
    x, faces = make.sheet(at=(0.0, 0.12, 0.0))
    y, other = meshes.ball(rng, 0.0, 1, 0.1)
    drags = [(int(rng.integers(0, 2)), int(rng.integers(len(faces))), make.vector(rng.normal(size=3) * 0.5))]
    return make.attacked([make.cloth(x, faces), make.obstacle(y, other)], frames, True, drags)


def squeeze(rng, make):
    """Two bodies that close on a sheet until no gap is left: intersections must be reported."""
    frames, speed = 5, float(rng.choice([1.0, 10.0]))
    x, faces = make.sheet()
    y, other = meshes.box((0.3, 0.1, 0.3))
    end = frames * make.dt
    stop = min(speed * end, 0.1)
    up = make.path([0.0, stop / speed, end + stop / speed], [[0, 0, 0], [0, stop, 0], [0, stop, 0]])
    low = make.obstacle(y - np.array([0, 0.1, 0]), other, up)
    return make.attacked([make.cloth(x, faces), low, make.obstacle(y + np.array([0, 0.1, 0]), other)], frames, False)


def shells(rng, make):
    """A sheet that falls on a body of several shells, some inside others."""
    parts = (bodies.nested, bodies.apart, bodies.hollow)[int(rng.integers(3))](rng)
    y, other = bodies.joined(parts)
    y = 0.2 * y
    x, faces = make.sheet(at=(0.0, float(y[:, 1].max()) + 0.02, 0.0))
    velocity = (0, -rng.choice([1.0, 10.0, 100.0]), 0)
    return make.attacked([make.cloth(x, faces, velocity), make.obstacle(y, other)], int(rng.integers(3, 7)), True)


KINDS = (fast_body, spin, deforming, grip, press, crumple, drag, squeeze, shells)

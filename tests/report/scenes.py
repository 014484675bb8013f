"""A little run made by formula: a cloth sinks onto a ball that stands still."""

import numpy as np

from pliant.mesh import Mesh
from pliant.motion.clip import Clip

RED, STONE = (0.60, 0.06, 0.05), (0.7, 0.7, 0.68)


def grid(n: int, side: float) -> Mesh:
    """n x n vertices of a flat square at y = 0, facing up."""
    s = np.linspace(-side / 2, side / 2, n)
    x = np.stack([np.tile(s, n), np.zeros(n * n), np.repeat(s, n)], 1)
    corner = (np.arange(n - 1)[:, None] * n + np.arange(n - 1)).ravel()
    a, b, c, d = corner, corner + 1, corner + n, corner + n + 1
    faces = np.concatenate([np.stack([a, c, b], 1), np.stack([b, c, d], 1)])
    return Mesh(x, faces, name="cloth", uv=(x[:, (0, 2)] / side + 0.5)[faces])


def ball(radius: float, n: int = 16) -> Mesh:
    """Closed, with a seam: the first and last meridian have vertices of their own, as files do."""
    polar, around = np.meshgrid(np.linspace(0, np.pi, n), np.linspace(0, 2 * np.pi, 2 * n), indexing="ij")
    around[:, -1] = 0.0
    x = radius * np.stack([np.sin(polar) * np.sin(around), np.cos(polar), np.sin(polar) * np.cos(around)], 2)
    x[0], x[-1] = (0, radius, 0), (0, -radius, 0)
    index = np.arange(2 * n * n).reshape(n, 2 * n)
    a, b, c, d = index[:-1, :-1].ravel(), index[:-1, 1:].ravel(), index[1:, :-1].ravel(), index[1:, 1:].ravel()
    return Mesh(x.reshape(-1, 3), np.concatenate([np.stack([a, c, b], 1), np.stack([b, c, d], 1)]), name="ball")


def drape(frames: int = 21, n: int = 17, radius: float = 0.5, sides: int = 16) -> list[Clip]:
    """The cloth falls from twice the radius and wraps the ball; every frame differs from the one before."""
    cloth, body = grid(n, 4 * radius), ball(radius, sides)
    s, t = cloth.vertices[:, 0], cloth.vertices[:, 2]
    r, angle = np.hypot(s, t), np.arctan2(t, s)
    run = []
    for u in np.linspace(0, 1, frames):
        bend = np.maximum(u, 1e-3) * r / (1.08 * radius)
        reach = np.where(bend > 0, 1.08 * radius * np.sin(np.minimum(bend, 2.2)) / np.maximum(u, 1e-3), 0)
        y = 1.08 * radius * (np.cos(np.minimum(bend, 2.2)) + 1.2 * (1 - u))
        run.append(np.stack([reach * np.cos(angle), y, reach * np.sin(angle)], 1))
    return [Clip(cloth, np.array(run, np.float32), RED), Clip(body, body.vertices[None], STONE)]


def rolling(frames: int = 21) -> Clip:
    """A ball that rolls along x under the cloth, turning as it goes: one frame and its poses."""
    body, u = ball(0.2, 8), np.linspace(0.0, 1.0, frames)
    poses = np.zeros((frames, 3, 4))
    c, s = np.cos(-3.0 * u), np.sin(-3.0 * u)
    poses[:, :2, :2] = np.array([[c, -s], [s, c]]).transpose(2, 0, 1)
    poses[:, 2, 2], poses[:, 0, 3] = 1.0, 0.6 * u
    return Clip(body, body.vertices[None].astype(np.float32), STONE, poses)

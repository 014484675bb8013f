"""Attack: the gradient of a signed distance is within its bound of differences, and nothing is ever nan.

Along random directions in which a point and all vertices move, the derivative is compared with central differences in
extended precision of the distance from the nearest face, which shares no code with pliant; inside of overlapping parts,
where the nearest boundary is that of the union, with differences of `closest_point`, attacked by `sides`. Where the
distance bends within the step, at a tie or an edge, the error may be as large as the change of slope there. On the
surface, where a direction is chosen, and in the losses of PyTorch, where it is installed, everything is finite.
"""

import importlib.util

import numpy as np

import pliant
from attack import bodies, meshes, referees
from attack.sides import around
from gradients.exact_distance import LONG, unsigned
from pliant.gradients import formulas
from pliant.gradients.bodies import find_stencils
from pliant.kernels.gradients.stencils import CREASE

POINTS = 12
STEP, COARSE = 1e-9, 1e-6  # of differences in extended and in double precision, times the size of the body
BOUND = 1e-6  # of a derivative along a direction in which vertices move by the size of the body per unit


def attack(trial):
    rng = trial.rng
    kind, name, x, faces = bodies.any_body(rng)
    points = np.concatenate([rng.permutation(around(rng, x, faces))[: POINTS - 2], x[rng.integers(len(x), size=2)]])
    scale, far = meshes.scale_and_offset(rng)
    far = far if np.abs(far).max() < 1e2 * scale else 0.0 * far  # farther away, differences are rounding
    trial.note(kind)
    # vertices at one place move as one, or closed bodies would open
    way = np.concatenate([rng.normal(size=(1, 3)), rng.normal(size=x.shape)[referees.same_places(x)]]) / np.sqrt(3.0)
    given = {"x": scale * x + far, "faces": faces, "points": scale * points + far}
    judge(trial, name, given, way, rng.random() < 0.1)


def judge(trial, name, given, way, framework):
    """Judge stored input; a point moves along the first row of `way`, and the vertices along the others."""
    x, faces, p = given["x"], given["faces"], given["points"]
    size = float(np.ptp(x, axis=0).max())
    d, directions, along = ours(p, x, faces, size * way)
    finite = np.isfinite(d).all() and np.isfinite(directions).all() and np.isfinite(along).all()
    if not trial.check(finite, f"{name}: not finite", **given):
        return
    length = np.linalg.norm(directions, axis=1)
    trial.check((abs(length - 1.0) < 1e-9).all(), f"{name}: the gradient has length {length.min():.3g}", **given)
    slope, bend = truth(p, x, faces, size * way, d)
    off = np.where(abs(d) > 1e-6 * size, abs(along - slope), 0.0) / size  # on the surface, a direction is chosen
    excess = off - bend / size
    k = int(np.argmax(excess))
    smooth = bend < 1e-6 * size
    trial.note("points with a derivative", int(smooth.sum()))
    trial.measure("error where there is a derivative", off[smooth].max(initial=0.0))
    told = f"{name}: the derivative of point {k} is {along[k]:.9g}; differences {slope[k]:.9g}, size {size:.3g}"
    trial.check(excess[k] <= BOUND, told, len(p), **given)
    if framework and importlib.util.find_spec("torch"):
        judge_losses(trial, name, given)


def ours(p, x, faces, way):
    """Distances (n,), their gradients (n,3) with respect to the points, and derivatives (n,) along a direction."""
    s = find_stencils(p, x, faces)
    d = np.asarray(formulas.distances(np, p, x[s.rows], s))
    move = way[0] - np.einsum("ij,ijk->ik", s.weights, way[1:][s.rows])
    along = np.einsum("ij,ij->i", s.direction, move)
    creased = np.flatnonzero(s.kind == CREASE)
    if len(creased):
        used, triangles = s.planes[creased] >= 0, faces[np.maximum(s.planes[creased], 0)]
        d[creased] = formulas.crease_distances(np, p[creased], x[triangles], used)
        h = LONG(1e-7)
        at, corners, sway = p[creased].astype(LONG), x[triangles].astype(LONG), way[1:][triangles]
        more, less = (formulas.crease_distances(np, at + t * way[0], corners + t * sway, used) for t in (h, -h))
        along[creased] = (more - less) / (2 * h)
    return d, s.direction, along


def truth(p, x, faces, way, d):
    """Central differences (n,) of the distances d (n,) along a direction, and by how much the slope changes there."""
    size = float(np.ptp(x, axis=0).max())
    fine, ways = np.array([0, STEP, -STEP], LONG), way.astype(LONG)
    moved = x.astype(LONG) + fine[:, None, None] * ways[None, 1:]
    f = np.stack([unsigned(q + fine[:, None] * ways[0], moved, faces) for q in p.astype(LONG)], 1)
    sign, h = np.where(d < 0.0, -1.0, 1.0), np.full(len(p), STEP)
    other = abs(abs(d) - f[0]) > 1e-9 * size  # from the boundary of a union
    if other.any():
        steps = (0.0, COARSE, -COARSE)
        at = [pliant.closest_point(pliant.Mesh(x + t * way[1:], faces), p + t * way[0]) for t in steps]
        f[:, other], h[other] = [abs(values[other]) for values, _ in at], COARSE
    return np.asarray(sign * (f[1] - f[2]) / (2 * h), float), np.asarray(abs(f[1] + f[2] - 2 * f[0]) / h, float)


def judge_losses(trial, name, given):
    """Losses of PyTorch and their derivatives are finite, in both precisions."""
    import torch

    import pliant.torch

    for dtype in (torch.float64, torch.float32):
        x = torch.tensor(given["x"], dtype=dtype, requires_grad=True)
        p = torch.tensor(given["points"], dtype=dtype, requires_grad=True)
        f = torch.tensor(given["faces"])
        losses = {
            "penetration": pliant.torch.penetration(p, x, f, power=1.5),
            "self_penetration": pliant.torch.self_penetration(x, f),
        }
        for what, loss in losses.items():
            found = torch.autograd.grad(loss, [x, p], allow_unused=True)
            fine = bool(torch.isfinite(loss)) and all(bool(torch.isfinite(g).all()) for g in found if g is not None)
            trial.check(fine, f"{what}, {name}, {dtype}: not finite", **given)
    trial.note("losses of PyTorch")

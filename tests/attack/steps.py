"""Times of impact are never late: nothing touches before the step that was called free.

The judge is Tight Inclusion (IPC Toolkit); where it sees a contact in the free part, the least distance of the pair on
the way decides, because it may take a near miss for one.
"""

import numpy as np

import pliant
from attack import judges, meshes

SAMPLES = 400


def attack(trial):
    if trial.rng.random() < 0.5:
        primitives(trial)
    else:
        meshes_that_move(trial)


def meshes_that_move(trial):
    import ipctk

    ipctk.set_num_threads(1)
    ipctk.set_logger_level(ipctk.LoggerLevel.off)
    rng = trial.rng
    one, two = meshes.grid(rng), (meshes.grid, meshes.solid)[int(rng.integers(2))](rng)
    gap = np.array([0.0, rng.uniform(0.3, 1.0), 0.0])
    x = np.concatenate([one[0], 0.5 * two[0] @ meshes.rotation(rng).T + gap])
    faces = np.concatenate([one[1], two[1] + len(one[0])])
    end = x + 10.0 ** rng.uniform(-3, 0) * rng.normal(size=x.shape)
    end[len(one[0]) :] -= rng.uniform(0.0, 3.0) * gap
    scale, far = meshes.scale_and_offset(rng)
    x, end = scale * x + far, scale * end + far
    mesh = pliant.Mesh(x, faces)
    judge = ipctk.CollisionMesh(np.asfortranarray(x), ipctk.edges(faces.astype(np.int32)), faces.astype(np.int32))
    if ipctk.has_intersections(judge, np.asfortranarray(x)):
        trial.note("start not clean")
        return
    step = pliant.collision_free_step(mesh, x, end)
    given = {"x": x, "end": end, "faces": faces, "step": step}
    if not trial.check(np.isfinite(step) and 0.0 <= step <= 1.0, f"a step of {step}", **given):
        return
    last = x + step * (end - x)
    late, d = touched(x, last, faces)
    trial.check(not late, f"a step of {step:.6g} touches on the way (distance {d:.3g})", **given)
    cut = ipctk.has_intersections(judge, np.asfortranarray(last))
    trial.check(not cut, f"after a step of {step:.6g} triangles meet", **given)
    # and useful: where Tight Inclusion goes much farther, ours should not have stopped far before
    other = ipctk.compute_collision_free_stepsize(judge, np.asfortranarray(x), np.asfortranarray(end))
    trial.note("steps", 1)
    if step < 0.5 * other and other > 1e-6:
        trial.note("less than half of Tight Inclusion's")


def touched(x, last, faces):
    """Whether any vertex and face or two edges come so near on the way that only a contact explains it: a sign change
    of the volume they span, with the contact within both at that time."""
    edges = judges.edges_of(faces)
    v = np.arange(len(x))
    a, f = np.meshgrid(v, np.arange(len(faces)), indexing="ij")
    free = (faces[f] != a[..., None]).all(-1)
    quads = np.concatenate([a[free][:, None], faces[f[free]]], 1)
    e, g = np.triu_indices(len(edges), 1)
    apart = ~(edges[e][:, :, None] == edges[g][:, None, :]).any((1, 2))
    lines = np.concatenate([edges[e[apart]], edges[g[apart]]], 1)
    for rows, face in ((quads, True), (lines, False)):
        p, q = x[rows], last[rows]
        lo, hi = np.minimum(p, q), np.maximum(p, q)
        first, second = (lo[:, :1], lo[:, 1:]) if face else (lo[:, :2], lo[:, 2:])
        first_h, second_h = (hi[:, :1], hi[:, 1:]) if face else (hi[:, :2], hi[:, 2:])
        meet = ((first.min(1) <= second_h.max(1)) & (second.min(1) <= first_h.max(1))).all(1)
        for k in np.flatnonzero(meet):
            hit, d = passes(p[k], q[k], face)
            if hit:
                return True, d
    return False, 0.0


def passes(p, q, face):
    """Roots of the volume that four moving points span, and whether the contact is proper at one of them."""
    p, q = np.asarray(p, judges.Long), np.asarray(q, judges.Long)
    p, q = p - p[0], q - q[0]
    t = np.linspace(judges.Long(0), judges.Long(1), SAMPLES)[:, None, None]
    x = p + t * (q - p)
    volume = _volume(x)
    for k in np.flatnonzero(volume[:-1] * volume[1:] < 0):
        lo, hi = t[k], t[k + 1]
        sign = volume[k]
        for _ in range(70):
            half = (lo + hi) / 2
            value = _volume(p + half * (q - p))
            lo, hi = (half, hi) if value * sign > 0 else (lo, half)
        at = (p + hi * (q - p)).reshape(4, 3)
        size = float(np.abs(at).max())
        if face:
            low, _ = judges.vertex_face(at[:1], at[None, 1:])
        else:
            low, _ = judges.edge_edge(at[None, :2], at[None, 2:])
        if low[0, 0] <= 1e-15 * size:
            return True, float(low[0, 0])
    return False, 0.0


def _volume(x):
    a, b, c = x[..., 1, :] - x[..., 0, :], x[..., 2, :] - x[..., 0, :], x[..., 3, :] - x[..., 0, :]
    return (a * np.cross(b, c)).sum(-1)


def primitives(trial):
    """Impacts that are built from a chosen time and place: the time that is told is never later."""
    rng, n = trial.rng, 40
    face = bool(rng.random() < 0.5)
    time = rng.uniform(0.05, 1.0, n)
    share = rng.dirichlet(np.ones(3), n) if face else rng.uniform(0, 1, (n, 2))
    corner = rng.random(n) < 0.3
    share[corner] = np.eye(share.shape[1])[rng.integers(0, share.shape[1], int(corner.sum()))]
    middle = rng.normal(size=(n, 4, 3))
    thin = rng.random(n) < 0.3
    middle[thin, 3] = middle[thin, 2] + 10.0 ** rng.uniform(-12, -3, (int(thin.sum()), 1)) * rng.normal(size=3)
    if face:
        middle[:, 0] = np.einsum("ij,ijk->ik", share, middle[:, 1:])
    else:
        at = (1 - share[:, :1]) * middle[:, 2] + share[:, :1] * middle[:, 3]
        middle[:, 1] = middle[:, 0] + (at - middle[:, 0]) / np.maximum(share[:, 1:], 0.05)
    speed = 10.0 ** rng.uniform(-3, 3, (n, 1, 1)) * rng.normal(size=(n, 4, 3))
    scale, far = meshes.scale_and_offset(rng)
    p_0 = scale * (middle - time[:, None, None] * speed) + far
    p_1 = scale * (middle + (1 - time)[:, None, None] * speed) + far
    if max(np.abs(p_0).max(), np.abs(p_1).max()) > 1e12:
        return
    ask = pliant.geometry.vertex_face_impact if face else pliant.geometry.edge_edge_impact
    hit, told = ask(p_0, p_1)
    trial.check(np.isfinite(told).all() and (told >= 0).all() and (told <= 1).all(), "a time beyond 0..1", n)
    for k in range(n):
        # by rounding the contact that was built may not be one any more: judged again from what was given
        proper, _ = passes(p_0[k], p_1[k], face)
        if not proper:
            continue
        first = first_root(p_0[k], p_1[k], face)
        what = "vertex and face" if face else "edges"
        good = hit[k] and told[k] <= first + 1e-12
        trial.check(good, f"{what} touch at {first:.9g}, told {hit[k]} {told[k]:.9g}", p_0=p_0[k], p_1=p_1[k])


def first_root(p, q, face):
    """The first time at which they touch, by halving what passes."""
    lo, hi = 0.0, 1.0
    for _ in range(50):
        half = 0.5 * (lo + hi)
        p_long, q_long = np.asarray(p, judges.Long), np.asarray(q, judges.Long)
        if passes(p_long, p_long + judges.Long(half) * (q_long - p_long), face)[0]:
            hi = half
        else:
            lo = half
    return hi

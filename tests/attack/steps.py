"""Attack: times of impact are conservative, and a collision-free step contains no contact.

The referee is Tight Inclusion (IPC Toolkit). As it may report a near miss as a contact, the least distance of the pair
during the step decides.
"""

import numpy as np

import pliant
from attack import meshes, referees

SAMPLES = 100


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
    referee = ipctk.CollisionMesh(np.asfortranarray(x), ipctk.edges(faces.astype(np.int32)), faces.astype(np.int32))
    if ipctk.has_intersections(referee, np.asfortranarray(x)):
        trial.note("start intersects")
        return
    step = pliant.collision_free_step(mesh, x, end)
    given = {"x": x, "end": end, "faces": faces, "step": step}
    if not trial.check(np.isfinite(step) and 0.0 <= step <= 1.0, f"a step of {step}", **given):
        return
    last = x + step * (end - x)
    late, when = touched(x, last, faces)
    trial.check(not late, f"a step of {step:.6g} has a contact at {when:.6g} of it", **given)
    cut = ipctk.has_intersections(referee, np.asfortranarray(last))
    trial.check(not cut, f"after a step of {step:.6g} triangles intersect", **given)
    # efficiency: the step should not be much shorter than that of Tight Inclusion
    other = ipctk.compute_collision_free_stepsize(referee, np.asfortranarray(x), np.asfortranarray(end))
    trial.note("steps", 1)
    if step < 0.5 * other and other > 1e-6:
        trial.note("less than half of Tight Inclusion's step")


def touched(x, last, faces):
    """Whether any vertex-face or edge-edge pair touches during the step, and when."""
    edges = referees.edges_of(faces)
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
        hit = first_contacts(p[meet], q[meet], face)
        if np.isfinite(hit).any():
            return True, float(hit.min())
    return False, 0.0


def first_contacts(p, q, face):
    """(k,) the first time of a proper contact of stencils (k,4,3) that move linearly from p to q; inf for none.

    A contact is a change of sign of the volume spanned by the four points, with the touching points inside both
    features at that time. Grazing contacts without a change of sign are not counted.
    """
    p, q = np.asarray(p, referees.Long), np.asarray(q, referees.Long)
    p, q = p - p[:, :1], q - q[:, :1]
    times = np.linspace(referees.Long(0), referees.Long(1), SAMPLES)
    volume = np.stack([_volume(p + t * (q - p)) for t in times], 1)
    out = np.full(len(p), np.inf)
    row, m = np.nonzero(volume[:, :-1] * volume[:, 1:] < 0)
    lo, hi, sign = times[m], times[m + 1], volume[row, m]
    for _ in range(64):
        half = (lo + hi) / 2
        before = _volume(_between(p[row], q[row], half)) * sign > 0
        lo, hi = np.where(before, half, lo), np.where(before, hi, half)
    for k, t, at in zip(row, hi, _between(p[row], q[row], hi)):
        bounds = referees.vertex_face(at[:1], at[None, 1:]) if face else referees.edge_edge(at[None, :2], at[None, 2:])
        if bounds[0][0, 0] <= 1e-15 * float(np.abs(at).max()):
            out[k] = min(out[k], float(t))
    return out


def _between(p, q, t):
    return p + t[:, None, None] * (q - p)


def _volume(x):
    a, b, c = (np.moveaxis(x[..., k, :] - x[..., 0, :], -1, 0) for k in (1, 2, 3))
    return a[0] * (b[1] * c[2] - b[2] * c[1]) + a[1] * (b[2] * c[0] - b[0] * c[2]) + a[2] * (b[0] * c[1] - b[1] * c[0])


def primitives(trial):
    """Impacts constructed from a chosen time and position: the returned time is never later."""
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
    trial.check(np.isfinite(told).all() and (told >= 0).all() and (told <= 1).all(), "a time outside 0..1", n)
    # rounding may have removed the constructed contact, so it is recomputed from the input
    first = first_contacts(p_0, p_1, face)
    for k in np.flatnonzero(np.isfinite(first)):
        what = "vertex and face" if face else "edges"
        good = hit[k] and told[k] <= first[k] + 1e-12
        trial.check(good, f"{what} touch at {first[k]:.9g}, reported {hit[k]} {told[k]:.9g}", p_0=p_0[k], p_1=p_1[k])

"""Attack: `intersections` is the exact list of intersecting triangle pairs; the referee uses exact fractions."""

import numpy as np

import pliant
from attack import meshes, referees
from attack.trial import Trial


def attack(trial):
    rng = trial.rng
    alone = rng.random() < 0.5
    x, faces = small(rng)
    y, other = (x, faces) if alone else small(rng)
    if not alone:
        on = rng.dirichlet(np.ones(3)) @ x[faces[rng.integers(len(faces))]]
        y = y - y[rng.integers(len(y))] + on
        if rng.random() < 0.4:  # identical positions: shared vertices, edges and faces
            y = y + (x[rng.integers(len(x))] - y[rng.integers(len(y))])
    scale, far = meshes.scale_and_offset(rng)
    turn = meshes.rotation(rng) if rng.random() < 0.5 else np.eye(3)
    x, y = scale * x @ turn.T + far, scale * y @ turn.T + far
    given = {"x": x, "faces": faces} | ({} if alone else {"y": y, "faces_b": other})
    judge(trial, given)


def judge(trial, given):
    """Judge the list of pairs for stored input: one mesh, or two."""
    x, faces, y, other = (given.get(name) for name in ("x", "faces", "y", "faces_b"))
    alone = y is None
    a, b = pliant.Mesh(x, faces), None if alone else pliant.Mesh(y, other)
    found = {tuple(pair) for pair in pliant.intersections(a, b).tolist()}
    if alone:
        judged = [k for k, f in enumerate(referees.same_places(x)[faces]) if len(set(f.tolist())) == 3]
        keep = set(judged)  # faces that list a vertex twice are ignored
        found = {pair for pair in found if keep.issuperset(pair)}
        truth = {pair for pair in referees.crossing_pairs(x, faces) if keep.issuperset(pair)}
    else:
        truth = referees.crossing_pairs(x, faces, y, other)
    trial.note("intersecting pairs", len(truth))
    missed, extra = truth - found, found - truth
    kind = "of one mesh" if alone else "of two meshes"
    trial.check(not missed, f"misses {len(missed)} of {len(truth)} pairs {kind}, {min(missed, default='')}", **given)
    trial.check(not extra, f"{len(extra)} pairs {kind} do not intersect, {min(extra, default='')}", len(found), **given)


def fails(arrays):
    trial = Trial("crossings", 0, 0)
    judge(trial, arrays)
    return trial.failures[0] if trial.failures else ""


def small(rng):
    """At most about 20 faces, often with small integer coordinates, so that most of them touch."""
    if rng.random() < 0.35:
        k = int(rng.integers(1, 9))
        x = rng.integers(-2, 3, (3 * k, 3)).astype(float)
        return x, np.arange(3 * k).reshape(-1, 3)
    if rng.random() < 0.5:
        x, faces = meshes.damaged(rng, *meshes.soup(rng), most=1)
    else:
        x, faces = meshes.damaged(rng, *meshes.grid(rng, int(rng.integers(1, 3)), int(rng.integers(1, 3))), most=1)
    if rng.random() < 0.3:
        x = np.round(4 * x) / 4
    return x, faces

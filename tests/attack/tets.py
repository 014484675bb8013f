"""Attack: vertices in tetrahedra are found exactly, also in flat, inverted and needle-like ones; exact fractions."""

import numpy as np

import naive
from attack import meshes
from pliant.detect.queries.tet_hash import TetHash


def attack(trial):
    rng = trial.rng
    n, m = int(rng.integers(5, 14)), int(rng.integers(1, 8))
    kind = rng.integers(4)
    if kind == 0:  # small integer coordinates: many touch
        x = rng.integers(-2, 3, (n, 3)).astype(float)
    elif kind == 1:  # all coplanar
        x = rng.normal(size=(n, 3)) * [1.0, 0.0, 1.0]
    else:
        x = rng.normal(size=(n, 3)) * 10.0 ** rng.uniform(-3, 0)
    tets = np.array([rng.choice(n, 4, replace=False) for _ in range(m)])
    for k in np.flatnonzero(rng.random(n) < 0.3):  # on a corner, an edge, a face or inside of a tet
        share = rng.dirichlet(np.ones(4)) * (rng.random(4) < 0.7)
        if share.sum() > 0 and not (tets[0] == k).any():
            x[k] = (share / share.sum()) @ x[tets[0]]
    scale, far = meshes.scale_and_offset(rng)
    turn = meshes.rotation(rng) if rng.random() < 0.5 else np.eye(3)
    x = scale * x @ turn.T + far
    found = {tuple(pair) for pair in TetHash(x, tets).pairs().tolist()}
    low, high = x[tets].min(1), x[tets].max(1)
    truth = set()
    for v in range(n):
        for t in np.flatnonzero(((x[v] >= low) & (x[v] <= high)).all(1)):
            # a tet without volume contains nothing
            if v not in tets[t] and naive.orient3d(*x[tets[t]]) and naive.point_in_tetra(x[v], *x[tets[t]]):
                truth.add((v, int(t)))
    trial.note("pairs", len(truth))
    missed, extra = truth - found, found - truth
    trial.check(not missed, f"misses {len(missed)} of {len(truth)} vertices in tets", n * m, x=x, tets=tets)
    trial.check(not extra, f"{len(extra)} reported vertices are in no tet", x=x, tets=tets)

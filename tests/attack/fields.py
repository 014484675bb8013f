"""Attack: a distance field has the correct sign, and its error is within its bound, wherever it is defined.

The sign is checked with libigl's winding number, the distance with `closest_point`, which has an attack of its own.
"""

import numpy as np

import pliant
from attack import bodies, meshes
from attack.sides import DOUBT, Sides, around


def attack(trial):
    rng = trial.rng
    kind, name, x, faces = bodies.any_body(rng)
    scale, far = meshes.scale_and_offset(rng)
    far = far if np.abs(far).max() < 1e4 * scale else 0.0 * far  # fields are single precision about their origin
    points = around(rng, x, faces)
    x, points = scale * x + far, scale * points + far
    body, size = pliant.Mesh(x, faces), float(np.ptp(x, axis=0).max())
    trial.note(kind)
    given = {"x": x, "faces": faces, "points": points}
    try:
        field = pliant.DistanceField.bake(
            body, int(rng.choice([8, 16, 24])), storage=str(rng.choice(["sparse", "dense"]))
        )
    except ValueError as error:
        trial.note(f"refused: {error}"[:60])
        return
    judge(trial, name, body, field, Sides(x, faces, points, size), given)


def judge(trial, name, body, field, truth, given):
    value = field.sample(truth.points)[0]
    bound = 0.8661 * field.spacing
    known = np.isfinite(value) & truth.clear & (truth.away > bound)
    if not truth.closed:  # an open obstacle is one-sided where the winding number is ambiguous (docs/inside.md)
        known &= (truth.number < 0.1 - DOUBT) | (truth.number > 0.5)
    wrong = known & ((value < 0.0) != truth.inside)
    k = int(np.argmax(wrong))
    told = f"field, {name}: {wrong.sum()} of {known.sum()} wrong signs; point {k}, winding number {truth.number[k]:.2f}"
    trial.check(not wrong.any(), told, int(known.sum()), **given)
    exact = pliant.closest_point(body, truth.points)[0]
    good = known & np.isfinite(exact) & ((exact < 0.0) == truth.inside)
    off = good & (np.abs(value - exact) > bound + 1e-5 * np.abs(exact) + truth.slack)
    trial.check(not off.any(), f"field, {name}: {off.sum()} errors beyond the bound", **given)

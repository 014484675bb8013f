"""Attack: `check` agrees with an exact test of a garment on a body, and `fix` never makes it worse."""

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

import pliant
from attack import bodies, meshes, referees
from pliant.audit.findings import Limits, NoteKind


def attack(trial):
    rng = trial.rng
    kind, name, x, faces = bodies.any_body(rng)
    cloth, own = meshes.grid(rng, int(rng.integers(2, 6)), int(rng.integers(2, 6)))
    if rng.random() < 0.3:
        cloth = cloth * [1.0, 0.1, 1.0] + 0.3 * rng.normal(size=cloth.shape) * rng.choice([0.0, 0.3])
    size = float(rng.choice([0.1, 0.6, 2.0, 5.0]))
    at = (np.zeros(3), x[rng.integers(len(x))], 0.5 * rng.normal(size=3))[int(rng.integers(3))]
    cloth = size * cloth @ meshes.rotation(rng).T + at
    scale = 10.0 ** rng.uniform(-3, 3) if rng.random() < 0.3 else 1.0
    x, cloth = scale * x, scale * cloth
    trial.note(kind)
    given = {"cloth": cloth, "own": own, "x": x, "faces": faces}
    garment, body = pliant.Mesh(cloth, own, name="garment"), pliant.Mesh(x, faces, name="body")
    report = pliant.check(garment, body)
    # a body that is inside out is judged as if its faces were reversed, which the report notes
    turned = any(note.kind is NoteKind.FLIPPED for note in report.notes)
    truth = Truth(x, outward_shells(x, faces[:, ::-1] if turned else faces), cloth, own)
    found = report.frames[0]
    trial.check(
        found.body_pairs == len(truth.cuts),
        f"check, {name}: {found.body_pairs} pairs of garment and body, {len(truth.cuts)} intersect",
        len(own),
        **given,
    )
    own_pairs = f"check, {name}: {found.self_pairs} self-intersections, exact {truth.own}"
    trial.check(found.self_pairs == truth.own, own_pairs, **given)
    bad = report.broken(Limits())
    verdict = truth.crossing or truth.own > 0 or (truth.sided and truth.sure_inside > 0)
    trial.check(not verdict or bad, f"check, {name}: reports no defect; {truth.words}", **given)
    clean = not truth.cuts and truth.own == 0 and truth.maybe_inside == 0
    trial.check(not clean or not bad, f"check, {name}: reports {bad}, but there is none: {truth.words}", **given)
    if truth.sided and report.has_inside:
        trial.check(
            truth.sure_inside <= found.inside <= truth.maybe_inside,
            f"check, {name}: {found.inside} vertices inside, {truth.words}",
            len(cloth),
            **given,
        )
    if rng.random() < 0.3 and len(faces) < 300:
        fixed(trial, name, garment, body, truth, scale, given)


def outward_shells(x, faces):
    """The faces of a closed body, those of shells reversed that point inward and are no cavity: parts joined by
    vertices, of which more than a tenth are outside of the shells with a positive volume, by libigl's winding number.
    """
    if not bodies.is_closed(x, faces):
        return faces
    _, weld = np.unique(x, axis=0, return_inverse=True)
    corner = weld.reshape(-1)[faces]
    pairs = np.concatenate([corner[:, :2], corner[:, 1:]])
    ones, n = np.ones(len(pairs)), int(weld.max()) + 1
    label = connected_components(coo_array((ones, pairs.T), shape=(n, n)), directed=False)[1][corner[:, 0]]
    a, b, c = (x[faces[:, k]] for k in range(3))
    centre = np.stack([np.bincount(label, a[:, k]) for k in range(3)], 1) / np.maximum(np.bincount(label), 1)[:, None]
    a, b, c = (each - centre[label] for each in (a, b, c))
    normal = np.cross(b, c)
    rounding = 1e-12 * np.linalg.norm(np.ptp(x, axis=0)) * np.bincount(label, np.linalg.norm(normal, axis=1))
    wrong = np.bincount(label, np.einsum("ij,ij->i", a, normal)) < -rounding
    right = faces[~wrong[label]]
    out = faces.copy()
    for s in np.flatnonzero(wrong):
        corners = x[np.unique(faces[label == s])]
        if not len(right) or np.mean(referees.winding(x, right, corners) < 0.5) > 0.1:
            out[label == s] = faces[label == s][:, ::-1]
    return out


class Truth:
    """The ground truth: intersecting pairs in exact fractions, vertices inside by libigl's winding numbers."""

    def __init__(self, x, faces, cloth, own):
        self.x, self.faces = x, faces
        self.cuts = referees.crossing_pairs(cloth, own, x, faces)
        self.own = len(referees.crossing_pairs(cloth, own))
        # pairs that only touch may pass; crossing pairs may not
        self.crossing = any(referees.goes_through(cloth[own[f]], x[faces[g]]) for f, g in self.cuts)
        number = referees.winding(x, faces, cloth)
        away = referees.unsigned(x, faces, cloth)
        sure = (np.abs(number - 0.5) > 0.1) & (away > 1e-9 * np.ptp(x, axis=0).max())
        self.sided = bodies.is_closed(x, faces)
        self.sure_inside = int((sure & (number > 0.5)).sum())
        self.maybe_inside = int((~sure | (number > 0.5)).sum())

    @property
    def words(self):
        pairs = f"{len(self.cuts)} intersecting pairs, {self.own} self-intersections"
        return f"{pairs}, {self.sure_inside} to {self.maybe_inside} inside"


def fixed(trial, name, garment, body, truth, scale, given):
    """The result of `fix` is finite, its report is correct, and it is no worse than the input."""
    done = pliant.fix(garment, body, clearance=0.001 * scale)
    x = np.asarray(done.garment.at(0), float)
    trial.note("fixes")
    if not trial.check(np.isfinite(x).all(), f"fix, {name}: not finite", **given):
        return
    after = Truth(truth.x, truth.faces, x, garment.faces)
    told = done.after.frames[0]
    trial.check(
        told.body_pairs == len(after.cuts) and told.self_pairs == after.own,
        f"fix, {name}: reports {told.body_pairs} and {told.self_pairs} pairs; {after.words}",
        **given,
    )
    worse = len(after.cuts) + after.own + after.sure_inside > len(truth.cuts) + truth.own + truth.maybe_inside
    trial.check(not worse, f"fix, {name}: worse: {truth.words}; after: {after.words}", **given)

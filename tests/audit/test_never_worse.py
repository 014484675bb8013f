"""`fix` makes no frame of an animation worse, and moves no frame alone. Judged by fractions, libigl and samples."""

import igl
import numpy as np
import pytest

from attack import referees
from attack.wardrobe import tube
from pliant import Clip, Mesh, check, fix, shapes
from pliant.audit.acceptance import Acceptance, worse_frames
from pliant.audit.ranking import Ranking
from wild import post

pytestmark = pytest.mark.compiled
FRAMES, GRID = 10, 8
SAMPLED = 0.002  # m, by which samples of a face may miss its deepest point
KNOWN = 1.05  # `check` knows a depth between vertices to 5 %


def skirt_and_arm(seed: int) -> tuple[Clip, Clip]:
    """A skirt that sways a little, and an arm that swings through it."""
    rng = np.random.default_rng(seed)
    x, faces = tube(np.linspace(0.0, 0.5, 9), np.linspace(0.3, 0.16, 9), 20, closed=False)
    arm, arm_faces = post(-0.1, 0.7, 0.035 * rng.uniform(0.8, 1.4), 10, 17)
    time = np.linspace(0.0, 1.0, FRAMES)
    least, most = np.radians(rng.uniform(5, 25)), np.radians(rng.uniform(15, 50))
    angle = least + most * np.sin(2.0 * np.pi * time + rng.uniform(0, 6))
    hinge = np.array([rng.uniform(0.1, 0.2), 0.7, rng.uniform(-0.05, 0.05)])
    turns = [[[np.cos(a), -np.sin(a), 0.0], [np.sin(a), np.cos(a), 0.0], [0.0, 0.0, 1.0]] for a in angle]
    arms = np.stack([(arm - [0.0, 0.7, 0.0]) @ np.transpose(turn) + hinge for turn in turns])
    skirts = np.stack([x + np.array([0.02 * np.sin(6.0 * t), 0.0, 0.0]) for t in time])
    return Clip(Mesh(x, faces), skirts), Clip(Mesh(arms[0], arm_faces), arms)


def judged(garment: np.ndarray, faces: np.ndarray, body: np.ndarray, others: np.ndarray) -> dict[str, float]:
    """Vertices deeper than 0.1 mm, the deepest of many samples of the surface, and crossing pairs."""
    i, j = (k.ravel() for k in np.meshgrid(np.arange(GRID + 1), np.arange(GRID + 1)))
    weights = np.stack([i, j, GRID - i - j], 1)[i + j <= GRID] / GRID
    points = np.concatenate([garment, np.einsum("kc,fci->fki", weights, garment[faces]).reshape(-1, 3)])
    kind = igl.SIGNED_DISTANCE_TYPE_WINDING_NUMBER
    away = np.ravel(igl.signed_distance(points, body, others.astype(np.int64), sign_type=kind)[0])
    return {
        "inside": int((away[: len(garment)] < -1e-4).sum()),
        "depth": float(max(-away.min(), 0.0)),
        "crossing": len(referees.crossing_pairs(garment, faces, body, others)),
    }


def alone(moved: np.ndarray) -> float:
    """The largest displacement (T,n) of a frame of which a neighbour is left as it was."""
    most = np.concatenate([[np.inf], moved.max(1), [np.inf]])
    beside = np.minimum(most[:-2], most[2:])
    return float(most[1:-1][beside < 1e-6].max(initial=0.0))


# an arm that ends deeper between the vertices in one frame; more crossing pairs in another; a frame that stays alone
@pytest.mark.parametrize("seed", [45, 60])
def test_no_frame_has_more_problems_or_a_deeper_one_than_it_had(seed):
    garment, body = skirt_and_arm(seed)
    fixed = fix(garment, body)
    faces, others = garment.mesh.faces, body.mesh.faces
    for t in np.flatnonzero(fixed.moved.max(1)):
        one = judged(np.asarray(garment.at(t), float), faces, body.at(t), others)
        two = judged(np.asarray(fixed.garment.at(t), float), faces, body.at(t), others)
        assert two["depth"] <= KNOWN * one["depth"] + SAMPLED
        assert two["inside"] <= one["inside"]
        assert two["crossing"] <= one["crossing"]
    most = int(fixed.moved.max(1).argmax())
    assert len(referees.crossing_pairs(fixed.garment.at(most), faces)) == 0
    assert sum(f.crossings for f in fixed.after.frames) < sum(f.crossings for f in fixed.before.frames)
    assert alone(fixed.moved) < 0.01


def pushed_ball() -> tuple[Clip, Mesh]:
    """A tube around a ball, which in every frame is moved 2 cm into it."""
    x, faces = tube(np.linspace(-0.06, 0.06, 8), np.full(8, 0.104), 16, closed=False)
    return Clip(Mesh(x, faces), np.stack([x + np.array([0.02, 0.0, 0.0])] * 15)), shapes.ball(0.1, 2)


def test_a_correction_that_one_frame_refuses_fades_over_the_frames_beside_it(monkeypatch):
    garment, body = pushed_ball()
    free = fix(garment, body)
    best, worse = Ranking.best, Acceptance._worse_with
    everything = np.ones(garment.mesh.n_vertices, np.bool_)
    monkeypatch.setattr(
        Ranking, "best", lambda self, t, x, tried: (None, (1, 0, 0)) if t == 7 else best(self, t, x, tried)
    )
    monkeypatch.setattr(
        Acceptance, "_worse_with", lambda self, t, u: everything if t == 7 and u.any() else worse(self, t, u)
    )
    fixed = fix(garment, body)
    moved, full = fixed.moved.max(1), free.moved.max(1)
    assert full.min() > 0.015
    assert moved[7] == 0.0
    assert 7 in fixed.unchanged
    # the shares of a step that a binomial mean over three frames on either side smooths, after a small first one
    for k, share in enumerate(np.cumsum([7, 15, 20, 15, 6, 1, 0]) / 64.0, 1):
        assert moved[7 + k] <= share * full[7 + k] + 1e-9
        assert moved[7 - k] <= share * full[7 - k] + 1e-9
    assert moved[[0, 14]].max() > 0.005


def test_corrections_of_which_no_frame_is_better_are_dropped(monkeypatch):
    garment, body = pushed_ball()
    monkeypatch.setattr(Ranking, "best", lambda self, t, x, tried: (None, (1, 0, 0)))
    given = np.asarray(garment.frames)
    monkeypatch.setattr(Acceptance, "_better", lambda self, t, u: False)
    monkeypatch.setattr(
        Acceptance, "_worse_with", lambda self, t, u: None if np.abs(u).max() < 0.01 else np.ones(len(u), np.bool_)
    )
    assert np.array_equal(fix(garment, body).garment.frames, given)


def test_frames_that_check_alone_finds_worse_are_given_back(monkeypatch):
    garment, body = pushed_ball()
    pushed = np.asarray(garment.frames) + np.array([0.01, 0.0, 0.0])
    assert worse_frames(check(garment, body), check(Clip(garment.mesh, pushed), body), tangles=True) == list(range(15))
    monkeypatch.setattr(Acceptance, "accepted", lambda self, u, accepted: np.full_like(u, 0.01) * [1.0, 0.0, 0.0])
    fixed = fix(garment, body)
    assert np.array_equal(fixed.garment.frames, garment.frames)
    assert fixed.unchanged == tuple(range(15))


def test_the_table_counts_frames_and_says_what_remains_and_that_it_shakes():
    garment, body = skirt_and_arm(51)
    fixed = fix(garment, body)
    left = sum(1 for f in fixed.after.frames if f.inside or f.crossings or f.self_pairs)
    were = sum(1 for f in fixed.before.frames if f.inside or f.crossings or f.self_pairs)
    rows = {name: (a, b) for name, a, b in fixed.comparison}
    assert rows["frames with problems"] == (str(were), str(left))
    sums = [sum(f.crossings for f in report.frames) for report in (fixed.before, fixed.after)]
    assert rows["garment intersects body, all frames"] == tuple(f"{n} pairs" for n in sums)
    assert "least clearance" not in rows  # negative in both: the depth again
    assert fixed.remaining.startswith(f"{left} of {FRAMES} frames still have problems, most of them in the ")
    assert "docs/fix.md#limits" in fixed.remaining
    before, after = fixed.jitter
    assert bool(fixed.shaking) == (after > 2.0 * before)


def test_what_shakes_is_said():
    garment, body = pushed_ball()
    fixed = fix(garment, body)
    assert not fixed.shaking
    x = np.array(fixed.garment.frames)
    x[::2] += [0.0, 0.01, 0.0]
    moving = Clip(garment.mesh, np.array(garment.frames) + 1e-4 * (np.arange(15)[:, None, None] % 2))
    shaken = type(fixed)(**{**vars(fixed), "garment": Clip(garment.mesh, x), "before": check(moving, body)})
    assert "times that of the input" in shaken.shaking

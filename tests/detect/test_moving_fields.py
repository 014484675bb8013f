"""Fields that ride on bodies: contacts turn with them, parts are one thing, far ones cost nothing."""

import numpy as np
import pytest

from motion.test_rigid import random_poses
from pliant.contacts import VERTEX_FIELD, gap
from pliant.detect.base import Side
from pliant.detect.detectors.distance_field import DistanceFieldDetector
from pliant.detect.detectors.rigid_parts import PartsDetector
from pliant.detect.fields.field import DistanceField
from pliant.motion.rigid import placed
from pliant.shapes import ball, box, cloth
from pliant.state import State

pytestmark = pytest.mark.compiled
WITHIN = 0.03
SHEET = cloth(0.6, 0.6, 13, irregular=True)
BODY = box((0.3, 0.2, 0.25), 2)
FIELD = DistanceField.bake(BODY, 40, band=6.0)


def detector(body: int = 1, field: DistanceField = FIELD) -> DistanceFieldDetector:
    sides = Side(SHEET, 0, 0), Side(field.mesh, SHEET.n_vertices, body)
    return DistanceFieldDetector(*sides, within=WITHIN, field=field)


def state(x: np.ndarray, *poses: np.ndarray) -> State:
    made = State.at(np.concatenate([x, BODY.vertices]), pose=np.stack([np.eye(3, 4), *poses]))
    made.lapse = 0.01
    return made


def test_moving_body_and_cloth_together_moves_the_contacts(rng):
    x = SHEET.vertices + np.array([0.0517, 0.1123, 0.0231])  # on no plane of the grid, where the gradient jumps
    rest = detector().find(state(x, np.eye(3, 4)))
    assert len(rest) > 20
    for pose in random_poses(rng, 5):
        moved = state(placed(x, pose), pose)
        moved.pose_start[1] = np.eye(3, 4)
        found = detector().find(moved)
        assert (found["elements"] == rest["elements"]).all()
        assert np.abs(found["distance"] - rest["distance"]).max() < 1e-12
        assert np.abs(found["normal"] - rest["normal"] @ pose[:, :3].T).max() < 1e-9
        assert np.abs(found["anchor"] - placed(rest["anchor"], pose)).max() < 1e-12
        assert np.abs((found["normal"] * gap(found, moved.x)).sum(1) - found["distance"]).max() < 1e-14
        speed = (placed(rest["anchor"], pose) - rest["anchor"]) / 0.01
        assert np.abs(found["anchor_velocity"] - speed).max() < 1e-9


def test_a_body_that_stands_gives_the_same_bits_with_and_without_poses():
    x = SHEET.vertices + np.array([0.05, 0.11, 0.02])
    bare = State.at(np.concatenate([x, BODY.vertices]))
    assert (detector().find(bare) == detector().find(state(x, np.eye(3, 4)))).all()


def test_a_far_field_is_never_asked(rng, monkeypatch):
    def asked(*_):
        raise AssertionError("a far field was sampled")

    monkeypatch.setattr(DistanceField, "probe", asked)
    away = np.eye(3, 4)
    away[:, 3] = 0.0, 0.35, 0.0
    assert len(detector().find(state(SHEET.vertices, away))) == 0
    parts = PartsDetector([detector(1), detector(2)])
    assert len(parts.find(state(SHEET.vertices, away, away))) == 0


def test_of_two_parts_the_nearer_touches_and_of_equals_the_first(rng):
    x = SHEET.vertices + np.array([0.0, 0.11, 0.0])
    aside = np.eye(3, 4)
    aside[:, 3] = 0.08, -0.004, 0.01
    both = state(x, np.eye(3, 4), aside)
    one, other = detector(1).find(both), detector(2).find(both)
    found = PartsDetector([detector(2), detector(1)]).find(both)
    key = lambda hits: list(zip(hits["kind"].tolist(), hits["elements"][:, 0].tolist()))  # noqa: E731
    best: dict[tuple[int, int], np.void] = {}
    for hits in (one, other):
        for name, hit in zip(key(hits), hits):
            if name not in best or hit["distance"] < best[name]["distance"]:
                best[name] = hit
    assert sorted(key(found)) == sorted(best)
    assert all(hit == best[name] for name, hit in zip(key(found), found))
    assert len(np.unique(found["bodies"][:, 1])) == 2
    order = np.lexsort((found["elements"][:, 0], found["bodies"][:, 1], found["kind"]))
    assert (order == np.arange(len(found))).all()
    same = PartsDetector([detector(2), detector(1)]).find(state(x, np.eye(3, 4), np.eye(3, 4)))
    assert (same["bodies"][:, 1] == 1).all()


def test_outside_two_overlapping_balls_the_distance_is_that_of_their_union(rng):
    left = DistanceField.bake(ball(0.15, 3), 60, band=5.0)
    aside = np.eye(3, 4)
    aside[0, 3] = 0.12
    x = SHEET.vertices + np.array([0.03, 0.14, 0.0])
    parts = PartsDetector([detector(1, left), detector(2, left)])
    found = parts.find(state(x, np.eye(3, 4), aside))
    found = found[found["kind"] == VERTEX_FIELD]
    p = x[found["elements"][:, 0]]
    union = np.minimum(np.linalg.norm(p, axis=1), np.linalg.norm(p - aside[:, 3], axis=1)) - 0.15
    assert len(found) > 8
    assert np.abs(found["distance"] - union).max() < 0.3 * left.spacing

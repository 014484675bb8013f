"""Marching: a garment stays on the side of a limb on which it is at rest."""

import numpy as np
import pytest

from attack.wardrobe import tube
from pliant import Clip, Mesh, check, fix, shapes
from pliant.audit.edge_solver import EdgeSolver
from pliant.audit.marching import March
from pliant.audit.repair import Repair
from pliant.respond.edge_lengths import lengths
from wild import post

pytestmark = pytest.mark.compiled
CLEARANCE = 0.002


def march(begin: float) -> tuple[March, Repair, np.ndarray]:
    """A sheet in the plane y = 0 that stays where it is, and a ball that at rest is `begin` metres above it and in four
    frames has gone more than half of the way through it."""
    sheet, ball = shapes.cloth(0.3, 0.3, 21), shapes.ball(0.06, 2)
    x = np.array(sheet.vertices) - sheet.vertices.mean(0)
    flat = sheet.moved(x)
    body = Clip(
        ball.moved(ball.vertices + np.array([0.0, begin, 0.0])),
        np.stack([ball.vertices - np.array([0.0, 0.01, 0.0])] * 4),
    )
    frames = np.stack([x] * 4)
    clip = Clip(flat, frames)
    work = Repair(clip, body, [], CLEARANCE, True, None, check(clip, body))
    solver = EdgeSolver(flat, lengths(x, flat.topology.edges), work.untangler.stiffness)
    assert work.worn is not None
    return March(flat, work.worn, work.projector, solver, CLEARANCE), work, frames


def test_the_sheet_stays_below_the_ball_that_comes_from_above_although_the_shortest_way_out_is_up():
    marching, work, frames = march(0.1)
    assert marching.begins_outside
    out = frames + marching.displacements(frames)
    for t, x in enumerate(out):
        assert work.worn is not None
        work.worn.move(t)
        assert work.worn.query(x)[0].min() > 0.9 * CLEARANCE
    middle = np.argmin(np.linalg.norm(frames[0], axis=1))
    assert (out[:, middle, 1] < -0.06).all()
    # the shortest way
    assert work.worn.query(frames[0][[middle]])[1][0, 1] > 0.9


def test_it_does_not_begin_outside_where_the_ball_is_in_the_sheet_at_rest():
    assert not march(0.03)[0].begins_outside


def test_a_sleeve_that_swings_off_a_still_arm_stays_on_it():
    arm = Mesh(*post(0.0, 0.8, 0.05, 16, 17))
    x, faces = tube(np.linspace(0.25, 0.6, 13), np.full(13, 0.065), 16, closed=False)
    swing = np.radians(60.0) * np.linspace(0.0, 1.0, 5)[:, None] * np.clip((x[:, 1] - 0.25) / 0.1, 0.0, 1.0)
    up = x[:, 1] - 0.25
    turned = [np.cos(swing) * x[:, 0] - np.sin(swing) * up, np.sin(swing) * x[:, 0] + np.cos(swing) * up + 0.25]
    given = Clip(Mesh(x, faces), np.stack([*turned, np.broadcast_to(x[:, 2], swing.shape)], 2))
    fixed = fix(given, arm)
    # two steps from frame to frame, farther than the arm is wide, leave it through the wall of the sleeve
    assert fixed.before.worst_depth > 0.04
    assert [found for found in fixed.after.frames if found.inside or found.body_pairs or found.self_pairs] == []
    assert fixed.jitter[1] < 2.0 * fixed.jitter[0]
    assert fixed.marched == (1, 2, 3, 4)
    assert fixed.changes["marched"].startswith("4 frames, the first 1")

"""Room: cloth between parts of a body that press into each other stays as it was given; elsewhere it comes out."""

import numpy as np
import pytest

from pliant import Mesh, shapes
from pliant.audit.fix import fix
from pliant.audit.room import has_room
from pliant.detect.queries.penetration import DeformingClosestPoints

pytestmark = pytest.mark.compiled


def two_balls(gap: float) -> Mesh:
    """Two balls of 10 cm in one body, with a gap between them, or pressed into each other."""
    one = shapes.ball(0.1, 3)
    apart = one.vertices + np.array([0.2 + gap, 0.0, 0.0])
    return Mesh(np.concatenate([one.vertices, apart]), np.concatenate([one.faces, one.faces + one.n_vertices]))


def sock() -> Mesh:
    """A cloth 1 mm below the skin of the first ball."""
    ball = shapes.ball(0.1, 3)
    return ball.moved(0.99 * ball.vertices)


@pytest.mark.parametrize(("gap", "covered"), [(0.01, 0), (-0.06, 1)])
def test_skin_that_another_part_covers_has_no_room(gap, covered):
    body = DeformingClosestPoints(two_balls(gap))
    room = has_room(body, sock().vertices, 0.001)
    buried = np.linalg.norm(sock().vertices - [0.2 + gap, 0.0, 0.0], axis=1) < 0.09
    assert buried.any() == covered
    assert not room[buried].any()
    assert room[sock().vertices[:, 0] < 0.0].all()


def test_cloth_without_room_stays_and_is_counted_and_the_rest_comes_out():
    cloth, body = sock(), two_balls(-0.06)
    fixed = fix(cloth, body, untangle=False)
    x = np.asarray(fixed.garment.frames[0], float)
    away = np.linalg.norm(x, axis=1) - 0.1
    buried = np.linalg.norm(cloth.vertices - [0.14, 0.0, 0.0], axis=1) < 0.07
    assert np.linalg.norm(x - cloth.vertices, axis=1)[buried].max() < 0.01  # 60 mm would bring them out
    assert away[cloth.vertices[:, 0] < 0.0].min() > 0.0
    assert fixed.without_room[0] >= buried.sum()
    assert fixed.to_json()["without_room"] == list(fixed.without_room)
    assert "press into each other" in fixed.facts["no room"]

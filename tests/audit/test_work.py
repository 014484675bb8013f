"""Work: a repair ends when its share is spent, and says in which frames something was not done to its end."""

import numpy as np
import pytest

from pliant import Clip, fix, shapes
from pliant.audit import work
from pliant.audit.work import PASSES, Work

pytestmark = pytest.mark.compiled


@pytest.fixture
def folded() -> Clip:
    """A sheet that goes through itself like the figure eight, in two frames."""
    sheet = shapes.cloth(0.4, 0.2, (31, 11))
    s = 7.0 * (sheet.vertices[:, 0] - sheet.vertices[:, 0].mean()) / 0.2
    along = sheet.vertices[:, np.argsort(np.ptp(sheet.vertices, axis=0))[1]]
    x = np.stack([0.1 * np.sin(0.5 * s), 0.05 * np.sin(s), along], 1)
    return Clip(sheet.moved(x), np.stack([x, x]))


def test_enough_work_frees_the_sheet_and_nothing_is_cut_short(folded):
    done = fix(folded)
    assert max(frame.self_pairs for frame in done.before.frames) > 0
    assert max(frame.self_pairs for frame in done.after.frames) == 0
    assert done.cut_short == ()
    assert "work limit" not in done.facts


def test_without_work_left_it_ends_and_says_what_was_not_done(folded, monkeypatch):
    monkeypatch.setattr(work, "MOST", 0)
    done = fix(folded)
    assert done.cut_short == (("self-intersections were not followed further", (0, 1)),)
    assert done.facts["work limit"] == "self-intersections were not followed further in 2 frames, the first 0"
    assert [frame.self_pairs for frame in done.after.frames] == [frame.self_pairs for frame in done.before.frames]


def test_a_frame_may_spend_an_equal_share_of_what_is_left(monkeypatch):
    monkeypatch.setattr(work, "MOST", 3)
    share = Work(10, 100)  # 3 000 queries in 300 turns
    share.begin(0)
    share.spend(9)
    assert not share.is_spent(0, "it")
    share.spend(1)
    assert share.is_spent(0, "it")
    share.begin(PASSES * 100 - 2)  # the last two may have all that is left
    share.spend(1400)
    assert not share.is_spent(99, "it")
    assert share.cut_short == {"it": [0]}

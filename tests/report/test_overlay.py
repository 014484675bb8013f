"""An overlay is seen through what is before it, is another mesh in every frame, and is read off beside the picture."""

import json
import re

import numpy as np
import pytest
from PIL import Image

from pliant.motion.clip import Clip
from pliant.report.overlay import Overlay
from pliant.report.replay import replay_html, write_replay
from pliant.report.sheet import contact_sheet
from pliant.shapes import ball, box
from report.test_replay import Visit, browser, is_cloth  # noqa: F401

pytestmark = pytest.mark.compiled
FRAMES = 3
BODY = Clip(box((1.0, 1.0, 1.0), (2, 2, 2)), np.repeat(box((1.0, 1.0, 1.0), (2, 2, 2)).vertices[None], FRAMES, 0))
OVERLAY = Overlay([None, ball(0.2, 2), box((0.3, 0.3, 0.3), (1, 1, 1))])  # inside the box, never seen by itself


@pytest.mark.browser
def test_it_shines_through_the_body_in_the_frames_that_have_it(browser, tmp_path):  # noqa: F811
    readings = {"volume now": ["none", "33 l", "27 l"]}
    write_replay(tmp_path / "run.html", [BODY], 10, facts={"a": "b"}, overlays=[OVERLAY], readings=readings)
    visit = Visit(browser, tmp_path / "run.html", 500, 400)
    red = []
    for frame in range(FRAMES):
        pixels = visit.show(frame)
        red.append(is_cloth(pixels)[100:300, 150:350].mean())
        assert visit.page.locator("#facts .reading td").text_content() == readings["volume now"][frame]
    visit.page.close()
    assert red[0] == 0.0
    assert min(red[1:]) > 0.03
    assert red[1] != red[2]
    assert visit.complaints == []


def test_the_contact_sheet_shows_it_too(tmp_path):
    sizes = []
    for overlays in ((), (OVERLAY,)):
        contact_sheet([BODY], 10, tmp_path / "sheet.png", frames=3, tile=(120, 100), overlays=overlays)
        sizes.append(is_cloth(np.asarray(Image.open(tmp_path / "sheet.png").convert("RGB"), float)).sum())
    assert sizes[0] == 0
    assert sizes[1] > 300


def test_an_overlay_of_another_length_than_the_run_is_refused():
    with pytest.raises(ValueError, match="'overlay' has 1 frames; expected 3"):
        replay_html([BODY], 10, overlays=[Overlay([None])])


def test_positions_of_all_frames_are_kept_within_half_a_step():
    page = replay_html([BODY], 10, overlays=[OVERLAY])
    run = json.loads(re.search(r'<script id="run" type="application/json">(.*?)</script>', page, re.S)[1])
    (packed,) = run["overlays"]
    assert packed["vertices"] == [0, OVERLAY.meshes[1].n_vertices, OVERLAY.meshes[2].n_vertices]
    assert packed["faces"] == [0, OVERLAY.meshes[1].n_faces, OVERLAY.meshes[2].n_faces]
    assert np.abs(np.array(packed["low"]) + 0.2).max() < 1e-3

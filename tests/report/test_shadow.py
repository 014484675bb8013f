"""Shadows in a browser: the same whichever way its graphics keep depth."""

import numpy as np
import pytest

from pliant.motion.clip import Clip
from pliant.report.replay import replay_html
from report.scenes import STONE, ball
from report.test_replay import Visit, browser

__all__ = ["browser"]  # a fixture
pytestmark = pytest.mark.browser

# a map of floats does not clamp what is compared with it, one of whole numbers does; a browser may take either
FLOATS = """<script>
const kept = WebGL2RenderingContext.prototype.texStorage2D;
WebGL2RenderingContext.prototype.texStorage2D = function (target, levels, format, ...size) {
  return kept.call(this, target, levels, format === this.DEPTH_COMPONENT24 ? this.DEPTH_COMPONENT32F : format, ...size);
};
</script>"""


def test_the_floor_beyond_the_map_of_the_sun_is_lit_where_depth_is_kept_as_floats(browser, tmp_path):
    pole = ball(0.5)
    page, shots = replay_html([Clip(pole, pole.vertices[None] * (0.3, 2.0, 0.3), STONE)], 25), []
    for name, text in (("whole", page), ("floats", page.replace("<body>", "<body>" + FLOATS, 1))):
        (tmp_path / f"{name}.html").write_text(text, "utf-8")
        visit = Visit(browser, tmp_path / f"{name}.html", 480, 360)
        near = visit.page.evaluate("pliant.view.distance")
        visit.page.mouse.move(240, 120)
        visit.page.mouse.wheel(0, 200)
        visit.page.wait_for_function("near => pliant.view.distance > near", arg=near)
        shots.append(visit.show(0))
        visit.page.close()
        assert visit.complaints == []
    assert (np.abs(shots[0] - shots[1]).max(-1) > 10).mean() < 0.001

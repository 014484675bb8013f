"""What a notebook displays of the results of audits; runs are in test_replay.py."""

import pliant
from pliant.report.replay import iframe_html


def test_results_of_audits_are_displayed_as_their_pages(tmp_path):
    ball, sheet = pliant.shapes.ball(0.1, 2), pliant.shapes.cloth(0.16, 0.16, 9, centre=(0.0, 0.09, 0.0))
    compared = pliant.compare(sheet, ball, within=0.01, methods=["brute-force"])
    for result in (pliant.check(sheet, ball), pliant.fix(sheet, ball), compared):
        result.to_html(tmp_path / "page.html")
        page = (tmp_path / "page.html").read_text("utf-8")
        assert result._repr_html_() == iframe_html(page, height=760)
        assert "default-src 'none'" in page  # it asks for nothing, which the frame keeps

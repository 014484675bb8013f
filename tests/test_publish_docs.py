"""`tools/publish_docs.py`: a folder per version, a list of all, and a page that leads to the newest release."""

import importlib.util
import pathlib

import pytest

PATH = pathlib.Path(__file__).resolve().parents[1] / "tools" / "publish_docs.py"


@pytest.fixture
def tool():
    spec = importlib.util.spec_from_file_location("publish_docs", PATH)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_versions_stand_beside_each_other_newest_first(tool, tmp_path):
    built, site = tmp_path / "built", tmp_path / "site"
    built.mkdir()
    site.mkdir()
    with pytest.raises(SystemExit, match="run make docs first"):
        tool.publish(built, site, "dev")
    for name in ("dev", "0.9.0", "0.10.0", "0.2.0"):
        (built / "index.html").write_text(name)
        tool.publish(built, site, name)
    (built / "index.html").write_text("again")
    assert tool.publish(built, site, "0.9.0") == ["0.10.0", "0.9.0", "0.2.0", "dev"]
    assert (site / "0.9.0" / "index.html").read_text() == "again"
    lists = {path.read_text() for path in site.glob("*/_static/version-list.js")}
    assert lists == {'window.pliantVersions = ["0.10.0", "0.9.0", "0.2.0", "dev"];\n'}
    assert 'url=0.10.0/index.html"' in (site / "index.html").read_text()


def test_the_version_is_that_of_the_package(tool):
    import pliant

    assert tool.version() == pliant.__version__

"""The public API changes only together with the listing of it, in tests/public_api.txt."""

import difflib
import importlib.util
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[1]


def test_the_public_api_is_the_one_that_is_listed() -> None:
    spec = importlib.util.spec_from_file_location("list_api", ROOT / "tools" / "list_api.py")
    assert spec is not None
    assert spec.loader is not None
    list_api = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(list_api)
    listed, now = list_api.FILE.read_text(encoding="utf-8"), list_api.listing()
    changes = list(difflib.unified_diff(listed.splitlines(), now.splitlines(), "listed", "now", n=0, lineterm=""))
    # if this is intended: make api, and a line in CHANGELOG.md; what was public keeps an alias (docs/stability.md)
    assert changes == []

"""Common parts of all pages: the head with styles and scripts, and the substitution of template placeholders."""

import html
import importlib.resources
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from .. import __version__

SELF_CONTAINED = "this page is self-contained and makes no network requests."


def fill_template(
    template: str,
    title: str,
    styles: Sequence[str],
    parts: Mapping[str, str],
    *,
    scripts: Sequence[str] = (),
    images: str = "data:",
    made: str = SELF_CONTAINED,
) -> str:
    """A page as text: the common head, and the body `template` with `parts` by the names of its placeholders.

    The content security policy permits only `scripts` and images from the sources `images`.
    """
    runs = " script-src 'unsafe-inline';" if scripts else ""
    common = {
        "title": html.escape(title),
        "policy": f"default-src 'none';{runs} style-src 'unsafe-inline'; img-src {images}",
        "style": "".join(static(name) for name in ("base.css", *styles)),
        "script": "\n".join(static(name) for name in scripts),
        "made": f"pliant {html.escape(__version__)}; {html.escape(made)}",
    }
    if twice := common.keys() & parts.keys():
        raise ValueError(f"parts has {sorted(twice)}, which are filled on every page; rename the placeholder")
    return _fill(static("head.html"), common) + _fill(static(template), {**common, **parts})


def _fill(text: str, parts: Mapping[str, str]) -> str:
    """Substitute placeholders once; inserted text is not scanned again and may contain braces."""
    return re.sub(r"\{\{(\w+)\}\}", lambda hole: parts[hole[1]], text)


def script_data(value: Any) -> str:
    """JSON for a script element; "<" is escaped so that no text can close the element."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")


def static(name: str) -> str:
    return importlib.resources.files(__package__).joinpath("static", name).read_text("utf-8")

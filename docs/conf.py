"""The site: `make docs`. Needs no network, and fetches nothing when it is read.

Pages are plain Markdown that reads well without the site. The build adds four things: the table of contents, which
follows the headings and links of index.md; the API, from the names in api.md; charts, drawn from the tables in
benchmarks/results; and replays, computed by pliant, where a page has a comment that asks for one (`played.py`).
"""

import os
import pathlib
import re
import subprocess
import sys

from sphinx.application import Sphinx

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import api_text
import played

import pliant

project = "pliant"
author = "the pliant authors"
copyright = "MIT licence"
release = version = pliant.__version__

highlight_language = "text"  # of blocks without a language: tables of commands, output, errors
extensions = ["myst_parser"]
exclude_patterns: list[str] = []
nitpicky = True
suppress_warnings: list[str] = []
myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence"]
myst_links_external_new_tab = False

html_theme = "furo"
html_title = "pliant"
html_static_path = ["_static"]
html_css_files = ["pliant.css"]
html_js_files = [(f"{name}.js", {"defer": ""}) for name in ("gallery", "copy", "version-list", "versions")]
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#8a1f2c", "color-brand-content": "#8a1f2c"},
    "dark_css_variables": {"color-brand-primary": "#f0a3a9", "color-brand-content": "#f0a3a9"},
}
pygments_style = "friendly"
pygments_dark_style = "github-dark"

# pages that live at the top of the repository and are part of the site, too
MOVED = {"../CONTRIBUTING.md": "contributing.md", "../CHANGELOG.md": "changelog.md"}
REPLAY = re.compile(r"<!-- replay: ([\w-]+) (.*?)-->\n(!\[[^\]]*\]\([^)]*\)\n)?")


def contents(text: str) -> str:
    """index.md with a hidden toctree for each of its headings, of the pages that are linked below it and no later."""
    done, *groups = re.split(r"^(?=## )", text, flags=re.M)
    linked = [dict.fromkeys(re.findall(r"\]\((?!\.\.)([^)#:]+)\.md\)", group)) for group in groups]
    for k, group in enumerate(groups):
        rows = "\n".join(line for line in group.splitlines() if not line.startswith("|"))  # a table may name them first
        listed = dict.fromkeys(re.findall(r"\]\((?!\.\.)([^)#:]+)\.md\)", rows)) | linked[k]
        pages = [page for page in listed if not any(page in later for later in linked[k + 1 :])]
        caption = group.splitlines()[0].removeprefix("## ")
        done += "\n".join([group, "```{toctree}", ":hidden:", f":caption: {caption}", "", *pages, "```", "", ""])
    return done


def framed(asked: re.Match[str]) -> str:
    """A frame that plays the scene, in place of the comment and of the picture that stands for it elsewhere."""
    return (
        f'<iframe class="replay" src="_static/{asked[1]}.html" title="A replay that can be turned and played" '
        'loading="lazy" sandbox="allow-scripts" allowfullscreen></iframe>\n'
    )


def draw_charts(app: Sphinx) -> None:
    """Draw the charts of the pages beside their tables, in a process of its own that finds the benchmarks."""
    folder = pathlib.Path(__file__).resolve().parents[1] / "benchmarks"
    path = os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
    subprocess.run(
        [sys.executable, folder / "studies" / "charts.py"], check=True, env=os.environ | {"PYTHONPATH": path}
    )


def prepare(app: Sphinx, name: str, source: list[str]) -> None:
    text = source[0]
    if name == "index":
        text = contents(text)
    if name == "api":
        text = api_text.expanded(text)
    for there, here in MOVED.items():
        text = text.replace(f"]({there})", f"]({here})")
    source[0] = played.buttons(REPLAY.sub(framed, text))


def record(app: Sphinx, error: Exception | None) -> None:
    """Run the scenes that pages show; a replay that is there already is kept."""
    if error or app.builder.format != "html" or not app.config.replays:
        return
    for page in sorted(app.env.found_docs):
        text = app.env.doc2path(page).read_text("utf-8")
        played.make_pages(text, pathlib.Path(app.outdir, "_static"))
        for asked in REPLAY.finditer(text):
            target = pathlib.Path(app.outdir, "_static", f"{asked[1]}.html")
            if not target.exists():
                command = [sys.executable, "-m", "pliant", "drape", *asked[2].split(), "--replay", str(target)]
                subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_config_value("replays", True, "html", bool)  # -D replays=0 for a quick look without them
    app.connect("builder-inited", draw_charts)
    app.connect("source-read", prepare)
    app.connect("build-finished", record)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

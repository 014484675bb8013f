"""Pages that the site plays: made by the commands that a page of the documentation shows below a picture.

`<!-- play: NAME.html -->` above a picture makes it a button for that page, in a higher frame with `NAME.html tall`.
The blocks of Python and of shell commands between the picture and the next heading are run in an empty folder, in
order, and must write the page there.
"""

import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

PLAY = re.compile(r"<!-- play: ([\w-]+)\.html( tall)? -->\n(!\[[^\]]*\]\([^)]*\))\n")
_BLOCK = re.compile(r"^```(sh|python)\n(.*?)^```$", re.M | re.S)
_SECTION = re.compile(r"^(?=#+ )", re.M)
ALLOWED = {"sh": (0, 1), "python": (0,)}  # exit codes; 1 of a command: it found a problem, as `pliant check` does


def buttons(text: str) -> str:
    """The text of a page with its pictures as links that `gallery.js` replaces by the page in a frame."""
    return PLAY.sub(r'<a class="play\2" href="_static/\1.html" title="Play">\3</a>\n', text)


def sections(text: str) -> list[tuple[list[str], list[tuple[str, str]]]]:
    """The sections that show pages: the names of the pages, and the blocks that make them, each with its language."""
    found = [(PLAY.findall(part), _BLOCK.findall(part)) for part in _SECTION.split(text)]
    return [([page[0] for page in pages], blocks) for pages, blocks in found if pages]


def commands(block: str) -> list[list[str]]:
    """The command lines of a block, without comments; each is of `pliant`, and runs with this Python."""
    lines = [shlex.split(line, comments=True) for line in block.splitlines()]
    wrong = [words[0] for words in lines if words and words[0] != "pliant"]
    if wrong:
        raise ValueError(f"a page is made by commands of pliant; found {wrong[0]!r}")
    return [[sys.executable, "-m", *words] for words in lines if words]


def make_pages(text: str, target: pathlib.Path) -> list[pathlib.Path]:
    """Make the pages that a text shows and `target` does not contain yet; return them."""
    made = []
    for names, blocks in sections(text):
        missing = [f"{name}.html" for name in names if not (target / f"{name}.html").exists()]
        if not missing:
            continue
        with tempfile.TemporaryDirectory() as folder:
            for language, block in blocks:
                for command in commands(block) if language == "sh" else [[sys.executable, "-c", block]]:
                    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
                    if done.returncode not in (
                        (0, 1) if language == "sh" else (0,)
                    ):  # 1: `pliant check` found a problem
                        raise RuntimeError(f"{shlex.join(command)}\n{done.stderr}")
            for name in missing:
                page = pathlib.Path(folder, name).read_bytes()  # raises an error if no command wrote it
                (target / name).write_bytes(page)
                made.append(target / name)
    return made

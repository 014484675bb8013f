"""Output of commands: results on stdout, messages and progress on stderr; colour on terminals unless NO_COLOR."""

import contextlib
import json
import logging
import math
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal

from . import interruption

if TYPE_CHECKING:
    from rich.console import Console

WIDE = 200  # width in characters of tables that are not printed on a terminal


def console(stderr: bool = False) -> "Console":
    """A console on the current stdout or stderr (tests and notebooks replace them)."""
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    wide = None if stream.isatty() or "COLUMNS" in os.environ else WIDE
    return Console(stderr=stderr, width=wide, highlight=False)


def say(text: str) -> None:
    """Print a message on stderr."""
    print(text, file=sys.stderr, flush=True)


def error(text: str) -> None:
    _coloured("error", "red", text)


def warn(text: str) -> None:
    _coloured("warning", "yellow", text)


def _coloured(word: str, colour: str, text: str) -> None:
    from rich.text import Text

    console(stderr=True).print(Text.assemble((f"{word}: ", f"bold {colour}"), (text, colour)), soft_wrap=True)


def say_if_compiling(kernel: str) -> None:
    """Announce compilation if `kernel`, such as "fields.bake.bake_tiles", is not in the kernel cache yet."""
    from ..kernels import jit

    if jit.COMPILED and not jit.is_cached(kernel):
        say("compiling (first run only; takes a minute or two)")


class LogLines(logging.Handler):
    """Log handler that prints the library's log on stderr."""

    def emit(self, record: logging.LogRecord) -> None:
        (warn if record.levelno >= logging.WARNING else say)(record.getMessage())


def print_json(value: Any) -> None:
    """Print `value` as JSON on stdout; NumPy values become plain ones, nan and inf become null. Letters beyond ASCII
    are escaped where stdout is not UTF-8, as in a file that Windows redirects to: JSON is."""
    unicode = (sys.stdout.encoding or "utf-8").lower().replace("-", "") == "utf8"
    print(json.dumps(_plain(value), indent=2, ensure_ascii=not unicode, allow_nan=False))


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_plain(v) for v in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return str(value)


def table(
    columns: Sequence[str], rows: Iterable[Sequence[Any]], *, title: str | None = None, right: str = "", keys: int = 0
) -> None:
    """Print a table on stdout; the columns named in `right` (separated by blanks) are right-aligned.

    With `keys`, a table wider than the terminal is split into several, each with the first `keys` columns; without,
    its cells are folded.
    """
    from rich import box
    from rich.table import Table
    from rich.text import Text

    cells = [[str(cell) for cell in row] for row in rows]
    widths = [max(len(text) for text in column) for column in zip(columns, *cells)]
    room = console().width if keys else sum(widths) + 3 * len(widths)
    for number, block in enumerate(_blocks(widths, keys, room)):
        printed = Table(title=title if not number else None, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
        for k in block:
            justify: Literal["left", "right"] = "right" if columns[k] in right.split() else "left"
            name = not k and 2 * widths[0] < console().width  # keep names whole, for copying
            printed.add_column(columns[k], justify=justify, overflow="fold", no_wrap=name)
        for row in cells:
            printed.add_row(*(Text(row[k]) for k in block))
        console().print(printed)


def _blocks(widths: Sequence[int], keys: int, room: int) -> list[list[int]]:
    """Column indices of each table: as few tables as fit, each with at least one column besides the keys."""
    between = 3  # padding between columns as set by rich
    first = list(range(min(keys, len(widths))))
    blocks, used = [list(first)], 0
    start = sum(widths[k] + between for k in first)
    for k in range(len(first), len(widths)):
        if used and start + used + widths[k] + between > room:
            blocks.append(list(first))
            used = 0
        blocks[-1].append(k)
        used += widths[k] + between
    return blocks


@contextlib.contextmanager
def fraction_bar(what: str) -> Iterator[Callable[[float], None]]:
    """A progress bar; the yielded function sets the completed fraction, 0..1."""
    with progress(what, 100) as advance:
        done = 0.0

        def set_fraction(share: float) -> None:
            nonlocal done
            advance(100.0 * (share - done))
            done = share

        yield set_fraction


def _progress_lines(what: str, total: int | None) -> Callable[..., None]:
    """Print the start, and return a function that prints a line for every completed hundredth."""
    done, printed = 0.0, 0

    def advance(count: float = 1, note: str = "") -> None:
        nonlocal done, printed
        interruption.raise_if_requested()
        done += count
        share = min(done / total, 1.0) if total else 0.0
        if int(100.0 * share) > printed:
            printed = int(100.0 * share)
            say(f"progress {share:.2f} {what}")

    say(f"progress 0.00 {what}")
    return advance


@contextlib.contextmanager
def progress(what: str, total: int | None = None) -> Iterator[Callable[..., None]]:
    """A progress bar on stderr while the block runs: `with progress("draping", 200) as advance: ... advance()`.

    `advance(count=1, note="")` moves the bar and sets the text beside it. Where stderr is not a terminal, one line is
    printed at the start; with PLIANT_PROGRESS=lines also lines `progress 0.25 draping`, for programs that read them.
    Each step raises KeyboardInterrupt if Ctrl-C was pressed and its exception was lost.
    """
    if not sys.stderr.isatty() and os.environ.get("PLIANT_PROGRESS") == "lines":
        yield _progress_lines(what, total)
        return
    if not sys.stderr.isatty():
        say(f"{what} ...")
        yield lambda count=1, note="": interruption.raise_if_requested()
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=total)

        def advance(count: float = 1, note: str = "") -> None:
            interruption.raise_if_requested()
            bar.update(task, advance=count, description=f"{what} {note}".rstrip())

        yield advance

"""What a paper states with numbers, place by place, beside what is measured here, and why the two differ."""

import dataclasses
import re
from collections.abc import Iterable, Sequence

from pliant.report.tables import Column, Table

COLUMNS = (Column("where"), Column("what"), Column("paper", "the-paper"), Column("ours"), Column("why"))
NOTE = (
    "The first table lists every table and figure of the paper, and the results that its text states; why: the reason "
    "where ours differs. The text of the paper is at hand, its plots are not: of a plot the table has what the text "
    "and the caption say about it."
)
PICTURE = "a picture without numbers"


@dataclasses.dataclass(frozen=True)
class Statement:
    """A result at one place of a paper, the same here, and one line on why they differ, empty where they agree."""

    where: str
    what: str
    paper: str
    ours: str
    why: str = ""


def picture(where: str, what: str, ours: str) -> Statement:
    """A figure that has no numbers to compare; `ours` says what shows or judges the same thing here."""
    return Statement(where, what, PICTURE, ours)


def statements_table(name: str, said: Iterable[Statement]) -> Table:
    rows = [dataclasses.asdict(one) for one in said]
    return Table(f"{name}-statements", "Every table and figure of the paper, and ours", COLUMNS, rows)


def places(table: Table) -> set[str]:
    """The tables and figures that the rows are about, such as "figure 7"."""
    found = set()
    for row in table.rows:
        for kind, numbers in re.findall(r"(figure|table)s? (\d+(?:(?:, | and | to )\d+)*)", row["where"]):
            found |= {f"{kind} {number}" for number in _numbers(numbers)}
    return found


def _numbers(text: str) -> Sequence[int]:
    ends = re.fullmatch(r"(\d+) to (\d+)", text)
    return range(int(ends[1]), int(ends[2]) + 1) if ends else [int(number) for number in re.findall(r"\d+", text)]


def span(values: Iterable[float], show: str = "{:.2f}") -> str:
    """The least and the largest value, once if both read alike."""
    known = list(values)
    return " to ".join(dict.fromkeys(show.format(one) for one in (min(known), max(known))))

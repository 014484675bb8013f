"""`pliant methods`: the table of detection methods."""

import enum
from typing import Any

from . import output

COLUMNS = ("name", "guarantee", "finds", "needs", "gives", "source")


def methods(*, json: bool = False) -> None:
    """The detection methods: what they find, what they need and what they promise.

    Guarantee A: exact or conservative, never misses. B: an error bound, stated and tested. C: statistical, with
    measured recall.

    Parameters
    ----------
    json
        Print JSON instead of a table.
    """
    from ..detect import METHODS

    rows = [{column: _words(getattr(method, column, "")) for column in COLUMNS} for method in METHODS.values()]
    if json:
        output.print_json(rows)
    else:
        output.table(COLUMNS, [list(row.values()) for row in rows])
        output.console().print("guarantee A: never misses; B: stated error bound; C: measured recall")


def _words(value: Any) -> str:
    """Flags as `obstacle, pair`, sequences joined, anything else as it is."""
    if isinstance(value, enum.Flag):
        return ", ".join(str(flag.name).lower() for flag in type(value) if flag in value)
    if isinstance(value, enum.Enum):
        return str(value.name)
    if isinstance(value, (list, tuple, set, frozenset)):
        return ", ".join(map(_words, value))
    return str(value)

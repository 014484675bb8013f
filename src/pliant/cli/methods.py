"""`pliant methods`: the table of detection methods."""

import enum
from typing import Any

from . import output

COLUMNS = ("name", "guarantee", "finds", "needs", "gives", "source")


def methods(*, json: bool = False) -> None:
    """List the detection methods: what they find, what they need and what they guarantee.

    Guarantee A: exact or conservative, never misses. B: stated and tested error bound. C: stochastic, measured recall.

    Parameters
    ----------
    json
        Print JSON instead of a table.
    """
    from ..detect import METHODS

    rows = [{column: _plain(getattr(method, column)) for column in COLUMNS} for method in METHODS.values()]
    if json:
        output.print_json(rows)
    else:
        output.table(COLUMNS, [[", ".join(c) if isinstance(c, list) else c for c in row.values()] for row in rows])
        output.console().print("guarantee A: never misses; B: stated error bound; C: measured recall")


def _plain(value: Any) -> str | list[str]:
    """The names of the set flags as a list, any other value as a string."""
    if isinstance(value, enum.Flag):
        return [str(flag.name).lower() for flag in type(value) if flag in value]
    return str(value)

"""Writing tables as Parquet; requires pyarrow."""

import json
import os
from collections.abc import Sequence
from typing import Any

from ..files import atomic_write


def write_parquet(path: str | os.PathLike[str], columns: Sequence[str], rows: Sequence[dict[str, Any]]) -> None:
    """Write one row group; a column of mixed types is written as text."""
    import pyarrow
    from pyarrow import parquet

    arrays = [_array(pyarrow, [row.get(name) for row in rows]) for name in columns]
    with atomic_write(path) as stream:
        parquet.write_table(pyarrow.table(arrays, names=list(columns)), stream)


def _array(pyarrow: Any, values: list[Any]) -> Any:
    try:
        return pyarrow.array(values)
    except pyarrow.ArrowException:
        return pyarrow.array([None if v is None else v if isinstance(v, str) else json.dumps(v) for v in values])

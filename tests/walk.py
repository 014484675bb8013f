"""Every public callable with everything that can be wrong about each of its arguments, and what may come of it.

A `Call` is one callable with good arguments and, for each parameter, what kind of thing it takes. `outcomes` puts each
wrong value of that kind in its place, one at a time. What is refused must be refused by one sentence that names the
parameter; what is accepted must give a value. `python tests/walk.py SHARE SEED [NAME ...]` does so for a share of all
values in a process of its own, which a crash or a hang ends, and prints what it found as JSON.
"""

# ruff: noqa: E501  (tables)
import collections.abc
import contextlib
import dataclasses
import io
import json
import pathlib
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

NAN, INF = float("nan"), float("inf")
WRONG_ARRAYS: dict[str, Any] = {
    "text": "a", "None": None, "nan": [[NAN, 0.0, 0.0]], "bytes": b"ab", "ragged": [[1, 2], [1]], "objects": [object()],
    "dict": {"a": 1}, "complex": [1j], "dates": np.array(["2020-01-01"], "M8[D]"), "deep": np.zeros((2, 2, 2, 2)),
    "class": dict, "huge": [[1e300, 0.0, 0.0]],
}  # fmt: skip
WRONG_NUMBERS: dict[str, Any] = {
    "text": "a", "None": None, "nan": NAN, "bytes": b"1", "list": [1.0, 2.0], "array": np.zeros(3), "dict": {}, "flag": True,
    "complex": 1j, "object": object(), "class": int, "empty": np.zeros(0),
}  # fmt: skip
EXTREMES: dict[str, Any] = {
    "inf": INF, "-inf": -INF, "negative": -1.0, "zero": 0, "huge": 1e300, "tiny": 5e-324, "big whole": 10**400,
    "2**63": 2**63, "-2**63": -(2**63), "half": 0.5, "np.float32": np.float32(2.0), "np.int64": np.int64(2),
}  # fmt: skip
# by kind: values that must be refused, and values that may be, as the range of the parameter has it
REFUSED: dict[str, dict[str, Any]] = {
    "number": WRONG_NUMBERS,
    "whole": WRONG_NUMBERS | {"half": 0.5, "inf": INF},
    "flag": {"text": "no", "None": None, "number": 2, "half": 0.5, "list": [], "array": np.ones(2), "bytes": b""},
    "text": {"None": None, "number": 3, "bytes": b"a", "list": ["a"], "flag": True, "object": object(), "class": str},
    "choice": {
        "None": None, "number": 3, "bytes": b"a", "list": ["a"], "flag": True, "unknown": "no-such-thing", "empty": "",
        "object": object(), "class": str,
    },
    "mesh": {
        "None": None, "number": 3, "text": "a.obj", "path": pathlib.Path("a.obj"), "bytes": b"a", "list": [], "flag": True,
        "array": np.zeros((3, 3)), "dict": {"vertices": 1}, "class": dict, "object": object(),
        "pair of wrong shapes": (np.zeros((3, 2)), np.zeros((1, 3), int)), "nan": (np.full((3, 3), NAN), [[0, 1, 2]]),
        "index": (np.zeros((3, 3)), [[0, 1, 7]]), "empty": (np.zeros((0, 3)), np.zeros((0, 3), int)),
    },
    "path": {"None": None, "number": 3, "bytes": b"a.obj", "list": ["a"], "flag": True, "object": object(), "empty": ""},
    "called": {"text": "a", "number": 3, "list": [], "flag": True},
    "array": WRONG_ARRAYS,
    "instance": {
        "None": None, "number": 3, "text": "a", "bytes": b"a", "list": [3], "flag": True, "array": np.zeros((3, 3)),
        "object": object(), "class": dict,
    },
    "several": {"None": None, "number": 3, "text": "a", "bytes": b"a", "items": [3], "flag": True, "nested": [[3]], "object": object()},
    "mapping": {"number": 3, "text": "a", "list": [3], "flag": True, "unknown": {"no_such_option": 1}},
}  # fmt: skip
REFUSED["rows"] = {name: value for name, value in WRONG_ARRAYS.items() if name != "deep"}  # any shape is one list
REFUSED["numbers"] = {name: value for name, value in WRONG_ARRAYS.items() if name not in ("nan", "huge")}  # any numbers
MAY: dict[str, dict[str, Any]] = {
    "number": EXTREMES, "whole": EXTREMES, "array": {"empty": np.zeros((0, 3)), "zeros": np.zeros((1, 3)), "flags": np.ones((3, 3), bool),
    "strings": np.array([["a"]]), "wide": np.zeros((2, 9)), "whole": np.ones((4, 3), int), "one": 1.0, "inf": [[INF, 0, 0]]},
    "text": {"empty": "", "long": "x" * 10000, "odd": "a\0b/..\n"},
}  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Call:
    name: str
    call: Callable[..., Any]
    good: dict[str, Any]  # arguments that work
    kinds: dict[
        str, str
    ]  # parameter -> kind; "kind?" where None is an answer as well, "kind~" where a good one is slow
    said: dict[str, str] = dataclasses.field(default_factory=dict)  # the name that errors use, where it is another

    def values(self, parameter: str) -> Iterator[tuple[str, Any, bool]]:
        """Names of wrong values, the values, and whether they must be refused."""
        kind = self.kinds[parameter]
        for name, value in REFUSED[kind.rstrip("?~")].items():
            if not (name == "None" and "?" in kind):
                yield name, value, True
        for name, value in MAY.get(kind.rstrip("?"), {}).items():  # none of those that are slow
            yield name, value, False


def outcomes(call: Call, chosen: Callable[[], bool] = lambda: True) -> Iterator[dict[str, Any]]:
    """What is wrong with the answers to wrong arguments, those that are `chosen`."""
    fine = (ValueError, TypeError)
    from pliant.errors import MeshFileError

    for parameter in call.kinds:
        for name, value, must in call.values(parameter):
            if not chosen():
                continue
            given = {**call.good, parameter: value}
            began = time.perf_counter()
            fault = ""
            try:
                with contextlib.redirect_stdout(io.StringIO()), np.errstate(all="ignore"):
                    made = call.call(**given)
                    if isinstance(made, collections.abc.Iterator):
                        list(made)
                if must:
                    fault = f"accepted, gave {type(made).__name__}"
            except (*fine, MeshFileError) as error:
                text, words = str(error), {*call.kinds, *call.said.values(), "no_such_option"}  # or the other one
                if not any(word in text for word in words) and not isinstance(error, MeshFileError):
                    fault = f"{type(error).__name__} does not name it: {text[:150]}"
                elif "\n" in text.strip() or "numba" in text.lower():
                    fault = f"not one sentence: {text[:150]}"
            except OverflowError as error:
                fault = f"OverflowError: {error}"
            except Exception as error:
                fault = f"{type(error).__name__}: {str(error)[:150]}"
            took = time.perf_counter() - began
            if took > 10.0:
                fault = f"took {took:.0f} s; {fault}"
            if fault:
                yield {"call": call.name, "parameter": parameter, "value": name, "fault": fault}


def unknown_option(call: Call) -> str:
    """What is wrong with the answer to an option that there is not."""
    try:
        call.call(**call.good, no_such_option=1)
    except TypeError as error:
        return "" if "no_such_option" in str(error) else f"does not name it: {error}"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "accepted an option that there is not"


def calls(folder: pathlib.Path) -> list[Call]:
    """Every public callable, with small and quick arguments."""
    import walk_table

    return walk_table.table(folder)


def main(share: float, seed: int, names: list[str]) -> None:
    rng = np.random.default_rng(seed)
    count = [0]

    def chosen() -> bool:
        taken = bool(rng.random() < share)
        count[0] += taken
        return taken

    with tempfile.TemporaryDirectory() as folder:
        for call in calls(pathlib.Path(folder)):
            if names and call.name not in names:
                continue
            print(json.dumps({"start": call.name}), flush=True)
            began = time.perf_counter()
            for fault in outcomes(call, chosen):
                print(json.dumps(fault), flush=True)
            if fault := unknown_option(call):
                print(json.dumps({"call": call.name, "parameter": "no_such_option", "fault": fault}), flush=True)
            print(json.dumps({"done": call.name, "took": round(time.perf_counter() - began, 2)}), flush=True)
    print(json.dumps({"tried": count[0]}), flush=True)


if __name__ == "__main__":
    sys.path.insert(0, str(pathlib.Path(__file__).parent))
    main(float(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])

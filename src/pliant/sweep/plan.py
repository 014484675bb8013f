"""From a TOML file to a list of runs: garments x bodies x parameters, each combination with a unique id."""

import dataclasses
import hashlib
import itertools
import json
import math
import os
import pathlib
import random
import tomllib
from typing import Any

from .. import __version__, renamed, validate
from .inputs import BODIES, GARMENTS, TABLECLOTH, Input, find
from .parameters import EARLIER, KINDS, NEED_BODY, PARAMETERS, checked, is_vector, is_whole

MOST = 1_000_000  # runs of one sweep
_KEYS = ("run", "garments", "bodies", "scenes", "files", "thumbnails", "fixed", "product", "zip", "random")
_INPUTS = {"garments": "garment", "bodies": "body", "scenes": "scene"}
FILES = {
    "drape": ("glb", "usda", "npz", "sheet", "replay"),
    "check": ("json", "report", "sheet"),
    "bake": (),
}
Row = dict[str, Any]  # values of some inputs and parameters


@dataclasses.dataclass(frozen=True, kw_only=True)
class Run:
    """One combination. `inputs`: garment, body or scene; `files`: files written in addition to its figures; `device`:
    where it is computed, on which its results do not depend."""

    id: str
    kind: str
    inputs: dict[str, Input]
    parameters: dict[str, Any]
    files: tuple[str, ...]
    thumbnail: bool
    device: str = "cpu"

    @property
    def named(self) -> dict[str, Any]:
        """Names of the inputs, and parameters, as shown in tables."""
        return {what: found.name for what, found in self.inputs.items()} | self.parameters

    def plain(self) -> dict[str, Any]:
        """Return a JSON-serialisable dict; `Run.of` is the inverse."""
        return dataclasses.asdict(self)

    @classmethod
    def of(cls, plain: dict[str, Any]) -> "Run":
        inputs = {what: Input(**found) for what, found in plain["inputs"].items()}
        return cls(**(plain | {"inputs": inputs, "files": tuple(plain["files"])}))


@dataclasses.dataclass(frozen=True)
class Plan:
    """All runs of a sweep in file order; `varied`: the inputs and parameters that differ between them."""

    name: str
    kind: str
    runs: tuple[Run, ...]

    @property
    def varied(self) -> list[str]:
        columns = dict.fromkeys(itertools.chain.from_iterable(run.named for run in self.runs))
        return [c for c in columns if len({json.dumps(run.named.get(c)) for run in self.runs}) > 1]


def read_plan(path: str | os.PathLike[str]) -> Plan:
    """Read a sweep from a TOML file, with paths relative to it; raise ValueError or OSError if it is invalid."""
    file = pathlib.Path(path)
    with open(file, "rb") as stream:
        try:
            table = tomllib.load(stream)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"{file} is not TOML: {error}") from None
    try:
        return plan_of(table, file.stem, file.resolve().parent)
    except ValueError as error:
        raise ValueError(f"{file}: {error}") from None


def plan_of(table: dict[str, Any], name: str, folder: pathlib.Path) -> Plan:
    """Build the plan from a parsed table; file names are relative to `folder`."""
    for key in table:
        validate.choice("key", key, _KEYS)
    if "run" not in table:
        raise ValueError(f"run is missing; expected run = one of: {', '.join(map(repr, KINDS))}")
    kind = validate.choice("run", table["run"], KINDS)
    blocks = _blocks(table, kind, folder)
    count = math.prod(map(len, blocks))
    if count > MOST:
        raise ValueError(f"the lists give {count:,} runs; expected at most {MOST:,}")
    files = tuple(
        validate.choice("file to write", name, FILES[kind])
        for name in _list("files", table.get("files", FILES[kind][:1]), empty=True)
    )
    picture = table.get("thumbnails", True)
    if not isinstance(picture, bool):
        raise ValueError(f"thumbnails = {picture!r}; expected true or false")
    runs = []
    for choice in itertools.product(*blocks):
        merged: Row = {}
        for row in choice:
            merged |= row
        runs.append(_run(kind, merged, files, picture))
    return Plan(name, kind, tuple(runs))


def _run(kind: str, merged: Row, files: tuple[str, ...], picture: bool) -> Run:
    inputs = {what: merged.pop(what) for what in _INPUTS.values() if what in merged}
    if kind == "bake" and "resolution" in merged and "spacing" in merged:
        raise ValueError("resolution and spacing are given; expected one of them")
    if kind == "check" and "body" not in inputs and (about := [name for name in NEED_BODY if name in merged]):
        raise ValueError(f"{about[0]} needs a body; expected bodies = [...]")
    names = {what: [found.name, found.digest] for what, found in inputs.items()}
    whole = [1, __version__, kind, names, sorted(merged.items()), sorted(files), picture]
    name = hashlib.sha256(json.dumps(whole, sort_keys=True).encode()).hexdigest()[:16]
    return Run(id=name, kind=kind, inputs=inputs, parameters=merged, files=files, thumbnail=picture)


def _blocks(table: dict[str, Any], kind: str, folder: pathlib.Path) -> list[list[Row]]:
    """Return lists of rows; the runs are their Cartesian product."""
    tables = {key: _table(key, table.get(key, {})) for key in ("fixed", "product", "zip", "random")}
    _once(table, tables)
    blocks = []
    zipped = tables["zip"]
    given = {key for key in _INPUTS if key in table or key in zipped}
    _check_inputs(kind, given)
    if kind == "drape" and "bodies" in given and "garments" not in given:
        blocks.append([{"garment": Input(TABLECLOTH, None, "")}])
    for key in _INPUTS:
        if key in table:
            values = _list(key, table[key])
            blocks.append([{_INPUTS[key]: _input(kind, key, n, value, folder)} for n, value in enumerate(values)])
    fixed = {k: _value(kind, "fixed", k, v) for k, v in tables["fixed"].items()}
    blocks.append([fixed])
    for key, values in tables["product"].items():
        listed = _values(kind, "product", key, values)
        blocks.append([{key: value} for value in listed])
    if zipped:
        blocks.append(_zipped(kind, zipped, folder))
    if tables["random"]:
        blocks.append(_drawn(kind, tables["random"]))
    return blocks


def _check_inputs(kind: str, given: set[str]) -> None:
    if kind == "drape" and "scenes" in given and given != {"scenes"}:
        raise ValueError("scenes have their own garments and bodies; expected either scenes or these")
    if kind != "drape" and "scenes" in given:
        raise ValueError(f"scenes are for run = 'drape'; this is {kind!r}")
    if kind == "drape" and not given & {"scenes", "bodies"}:
        raise ValueError("bodies are missing; expected bodies = [...], or scenes = [...]")
    if kind == "check" and "garments" not in given:
        raise ValueError(
            "garments are missing; expected garments = [...] to check, and bodies = [...] they are worn on"
        )
    if kind == "bake" and given != {"bodies"}:
        raise ValueError("a bake reads only bodies; expected bodies = [...] and no other inputs")


def _once(table: dict[str, Any], tables: dict[str, Any]) -> None:
    """Raise if a key is given more than once."""
    seen: dict[str, str] = {key: "at the top" for key in _INPUTS if key in table}
    for where, entries in tables.items():
        for key in entries:
            if key in seen:
                raise ValueError(f"{key} is given {seen[key]} and in [{where}]; expected it once")
            seen[key] = f"in [{where}]"


def _table(name: str, value: Any) -> dict[str, Any]:
    """Return a flat table of parameters: nested tables are flattened (material.bend), underscores become hyphens, and
    earlier names become the present ones."""
    if not isinstance(value, dict):
        raise ValueError(f"{name} = {value!r}; expected a table: [{name}]")
    flat: dict[str, Any] = {}
    for key, entry in value.items():
        if isinstance(entry, dict) and key == "material":
            flat |= {key if inner == "name" else f"{key}.{inner}": v for inner, v in entry.items()}
            continue
        written = key.replace("_", "-")
        parameter = EARLIER.get(written, written)
        if parameter in flat:
            raise ValueError(f"[{name}] {parameter} is given twice, also as {written}; expected it once")
        if parameter != written:
            renamed.warn(f"[{name}] {written}", parameter)
        flat[parameter] = entry
    return flat


def _list(where: str, value: Any, empty: bool = False) -> list[Any]:
    if isinstance(value, (list, tuple)) and (len(value) or empty):
        return list(value)
    if isinstance(value, (list, tuple)):
        raise ValueError(f"{where} is an empty list; expected at least one entry")
    raise ValueError(f"{where} = {value!r}; expected a list: [...]")


def _value(kind: str, table: str, name: str, value: Any) -> Any:
    validate.choice(f"parameter in [{table}]", name, tuple(PARAMETERS[kind]))
    if isinstance(value, list) and not is_vector(kind, name):
        raise ValueError(f"[{table}] {name} is a list; expected one value, or the list in [product]")
    return checked(kind, f"[{table}]", name, value)


def _values(kind: str, table: str, name: str, values: Any) -> list[Any]:
    """Validate every entry of a list."""
    validate.choice(f"parameter in [{table}]", name, tuple(PARAMETERS[kind]))
    listed = _list(f"[{table}] {name}", values)
    return [_value(kind, table, name, value) for value in listed]


def _input(kind: str, key: str, n: int, value: Any, folder: pathlib.Path) -> Input:
    where = f"{key}[{n}]"
    if key == "scenes":
        from ..scenes import SCENES

        return Input(validate.choice(where, value, tuple(SCENES)), None, "")
    if key == "garments":
        return find(where, value, folder, GARMENTS, (TABLECLOTH,) if kind == "drape" else ())
    return find(where, value, folder, BODIES)


def _zipped(kind: str, entries: dict[str, Any], folder: pathlib.Path) -> list[Row]:
    """Combine lists of equal length element by element."""
    columns: dict[str, list[Any]] = {}
    for key, values in entries.items():
        if key in _INPUTS:
            listed = _list(f"[zip] {key}", values)
            columns[_INPUTS[key]] = [_input(kind, key, n, value, folder) for n, value in enumerate(listed)]
        else:
            columns[key] = _values(kind, "zip", key, values)
    lengths = {key: len(values) for key, values in columns.items()}
    if len(set(lengths.values())) > 1:
        lengths_text = ", ".join(f"{key} has {n}" for key, n in lengths.items())
        raise ValueError(f"[zip] lists differ in length ({lengths_text}); expected equal lengths")
    return [dict(zip(columns, row)) for row in zip(*columns.values())]


def _drawn(kind: str, entries: dict[str, Any]) -> list[Row]:
    """Draw `count` samples; each parameter has its own random stream, independent of the other parameters."""
    entries = dict(entries)
    count = validate.whole("[random] count", entries.pop("count", None), low=1, high=MOST)
    seed = validate.whole("[random] seed", entries.pop("seed", 0))
    if not entries:
        raise ValueError("[random] has no parameter; expected for example friction = [0.1, 0.9]")
    columns = {}
    for key, spread in entries.items():
        validate.choice("parameter in [random]", key, ("count", "seed", *PARAMETERS[kind]))
        stream = random.Random(f"{seed} {key}")
        columns[key] = [checked(kind, "[random]", key, _draw(kind, key, spread, stream)) for _ in range(count)]
    return [dict(zip(columns, row)) for row in zip(*columns.values())]


def _draw(kind: str, key: str, spread: Any, stream: random.Random) -> Any:
    """Draw one of {choices = [...]}, or a number between low and high: [low, high] or {low, high, log = true}."""
    where = f"[random] {key}"
    if isinstance(spread, dict):
        for word in spread:
            validate.choice(f"key of {where}", word, ("low", "high", "log", "choices"))
        if "choices" in spread:
            if len(spread) > 1:
                others = ", ".join(word for word in spread if word != "choices")
                raise ValueError(f"{where} has choices and {others}; expected choices alone, or low and high")
            return stream.choice(_list(f"{where} choices", spread["choices"]))
        low, high, log = spread.get("low"), spread.get("high"), spread.get("log", False)
        if not isinstance(log, bool):
            raise ValueError(f"{where} log = {log!r}; expected true or false")
        if log and is_whole(kind, key):
            raise ValueError(f"{where} is a whole number, drawn uniformly; expected no log, or {{choices = [...]}}")
    else:
        if not isinstance(spread, list) or len(spread) != 2:
            raise ValueError(f"{where} = {spread!r}; expected [low, high], or {{low = , high = , log = true}}")
        (low, high), log = spread, False
    low, high = validate.number(f"{where} low", low), validate.number(f"{where} high", high)
    if not low < high:
        raise ValueError(f"{where} has low {low:g} and high {high:g}; expected low < high")
    if log and not low > 0.0:
        raise ValueError(f"{where} has a logarithmic scale from {low:g}; expected low > 0")
    share = stream.random()
    if is_whole(kind, key):
        return min(math.floor(low + share * (high - low + 1.0)), math.floor(high))
    return math.exp(math.log(low) + share * math.log(high / low)) if log else low + share * (high - low)

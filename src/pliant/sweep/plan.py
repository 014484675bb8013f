"""From a TOML file to a list of runs: garments x bodies x parameters, each combination with an id of its own."""

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

from .. import __version__, validate
from .inputs import BODIES, GARMENTS, TABLECLOTH, Input, find
from .parameters import KINDS, NEED_BODY, PARAMETERS, checked, is_vector, is_whole

MOST = 1_000_000  # runs of one sweep
_KEYS = ("run", "garments", "bodies", "scenes", "files", "thumbnails", "fixed", "product", "zip", "random")
_INPUTS = {"garments": "garment", "bodies": "body", "scenes": "scene"}
FILES = {
    "drape": ("glb", "usda", "npz", "sheet", "replay"),
    "check": ("json", "report", "sheet"),
    "bake": (),
}
Row = dict[str, Any]  # one choice of some inputs and parameters


@dataclasses.dataclass(frozen=True)
class Run:
    """One combination. `inputs`: garment, body; `files`: what is written beside its figures."""

    id: str
    kind: str
    inputs: dict[str, Input]
    parameters: dict[str, Any]
    files: tuple[str, ...]
    thumbnail: bool

    @property
    def named(self) -> dict[str, Any]:
        """Inputs and parameters for people and tables."""
        return {what: found.name for what, found in self.inputs.items()} | self.parameters

    def plain(self) -> dict[str, Any]:
        """For JSON; `Run.of` makes it a run again."""
        return dataclasses.asdict(self)

    @classmethod
    def of(cls, plain: dict[str, Any]) -> "Run":
        inputs = {what: Input(**found) for what, found in plain["inputs"].items()}
        return cls(**(plain | {"inputs": inputs, "files": tuple(plain["files"])}))


@dataclasses.dataclass(frozen=True)
class Plan:
    """All runs of a sweep in the order of the file; `varied`: what differs between them."""

    name: str
    kind: str
    runs: tuple[Run, ...]

    @property
    def varied(self) -> list[str]:
        columns = dict.fromkeys(itertools.chain.from_iterable(run.named for run in self.runs))
        return [c for c in columns if len({json.dumps(run.named.get(c)) for run in self.runs}) > 1]


def read_plan(path: str | os.PathLike[str]) -> Plan:
    """The sweep that a TOML file describes; ValueError or OSError says what is wrong with it. Paths are from there."""
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
    """The same from the table itself; names of files are relative to `folder`."""
    for key in table:
        validate.choice("key", key, _KEYS)
    if "run" not in table:
        raise ValueError(f"run is missing; expected run = one of: {', '.join(map(repr, KINDS))}")
    kind = validate.choice("run", table["run"], KINDS)
    blocks = _blocks(table, kind, folder)
    count = math.prod(map(len, blocks))
    if count > MOST:
        raise ValueError(f"these lists make {count:,} runs; expected at most {MOST:,}")
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
        raise ValueError(f"{about[0]} is about a body; expected bodies = [...]")
    told = {what: [found.name, found.digest] for what, found in inputs.items()}
    whole = [1, __version__, kind, told, sorted(merged.items()), sorted(files), picture]
    name = hashlib.sha256(json.dumps(whole, sort_keys=True).encode()).hexdigest()[:16]
    return Run(name, kind, inputs, merged, files, picture)


def _blocks(table: dict[str, Any], kind: str, folder: pathlib.Path) -> list[list[Row]]:
    """Lists of choices; a run takes one of each."""
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
        raise ValueError("scenes bring their own garments and bodies; expected either scenes or these")
    if kind != "drape" and "scenes" in given:
        raise ValueError(f"scenes are for run = 'drape'; this is {kind!r}")
    if kind == "drape" and not given & {"scenes", "bodies"}:
        raise ValueError("bodies are missing; expected bodies = [...], or scenes = [...]")
    if kind == "check" and "garments" not in given:
        raise ValueError(
            "garments are missing; expected garments = [...] to check, and bodies = [...] they are worn on"
        )
    if kind == "bake" and given != {"bodies"}:
        raise ValueError("a bake has bodies = [...] and nothing else to read")


def _once(table: dict[str, Any], tables: dict[str, Any]) -> None:
    """Nothing is said twice."""
    seen: dict[str, str] = {key: "at the top" for key in _INPUTS if key in table}
    for where, entries in tables.items():
        for key in entries:
            if key in seen:
                raise ValueError(f"{key} stands {seen[key]} and in [{where}]; expected it once")
            seen[key] = f"in [{where}]"


def _table(name: str, value: Any) -> dict[str, Any]:
    """A table of parameters: tables in it are flattened (material.bend), underscores will do for hyphens."""
    if not isinstance(value, dict):
        raise ValueError(f"{name} = {value!r}; expected a table: [{name}]")
    flat: dict[str, Any] = {}
    for key, entry in value.items():
        if isinstance(entry, dict) and key == "material":
            flat |= {f"{key}.{inner}": v for inner, v in entry.items()}
        else:
            flat[key.replace("_", "-")] = entry
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
    """Every entry of a list, looked at."""
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
    """Lists of one length, taken together."""
    columns: dict[str, list[Any]] = {}
    for key, values in entries.items():
        if key in _INPUTS:
            listed = _list(f"[zip] {key}", values)
            columns[_INPUTS[key]] = [_input(kind, key, n, value, folder) for n, value in enumerate(listed)]
        else:
            columns[key] = _values(kind, "zip", key, values)
    lengths = {key: len(values) for key, values in columns.items()}
    if len(set(lengths.values())) > 1:
        told = ", ".join(f"{key} has {n}" for key, n in lengths.items())
        raise ValueError(f"[zip] lists are of several lengths ({told}); expected one")
    return [dict(zip(columns, row)) for row in zip(*columns.values())]


def _drawn(kind: str, entries: dict[str, Any]) -> list[Row]:
    """`count` samples; each parameter has a stream of its own, so that another beside it changes none."""
    entries = dict(entries)
    count = validate.whole("[random] count", entries.pop("count", None), low=1, high=MOST)
    seed = validate.whole("[random] seed", entries.pop("seed", 0))
    if not entries:
        raise ValueError("[random] names no parameter; expected such as friction = [0.1, 0.9]")
    columns = {}
    for key, spread in entries.items():
        validate.choice("parameter in [random]", key, ("count", "seed", *PARAMETERS[kind]))
        stream = random.Random(f"{seed} {key}")
        columns[key] = [checked(kind, "[random]", key, _draw(kind, key, spread, stream)) for _ in range(count)]
    return [dict(zip(columns, row)) for row in zip(*columns.values())]


def _draw(kind: str, key: str, spread: Any, stream: random.Random) -> Any:
    """One of {choices = [...]}, or a number between low and high: [low, high] or {low, high, log = true}."""
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
            raise ValueError(f"{where} is a whole number, drawn evenly; expected no log, or {{choices = [...]}}")
    else:
        if not isinstance(spread, list) or len(spread) != 2:
            raise ValueError(f"{where} = {spread!r}; expected [low, high], or {{low = , high = , log = true}}")
        (low, high), log = spread, False
    low, high = validate.number(f"{where} low", low), validate.number(f"{where} high", high)
    if not low < high:
        raise ValueError(f"{where} goes from {low:g} to {high:g}; expected a low end and a higher one")
    if log and not low > 0.0:
        raise ValueError(f"{where} is drawn by logarithm from {low:g}; expected a low end above 0")
    share = stream.random()
    if is_whole(kind, key):
        return min(math.floor(low + share * (high - low + 1.0)), math.floor(high))
    return math.exp(math.log(low) + share * math.log(high / low)) if log else low + share * (high - low)

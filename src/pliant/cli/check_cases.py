"""The cases of `pliant check`: files from the command line and from `pliant.toml`, each with its options and limits.

Options of the command line replace those of a `[[check.case]]` in `pliant.toml`, which replace those of `[check]`.
"""

import dataclasses
import pathlib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

NAME = "pliant.toml"
# options that a file may give: their type, and whether they are about the body
LIMITS = {"max-depth": str, "max-inside": int, "max-self": int, "max-body-pairs": int, "min-clearance": str}
FRAMES = {"part": str, "body-part": str, "clip": str, "body-clip": str, "rest": bool, "fps": float, "every": int}
FILES = {"units": str, "up": str, "body-units": str, "body-up": str}
PATHS = {"body": str, "points": str, "body-points": str}
OF_BODY = ("max-inside", "max-body-pairs", "min-clearance")
_COMMON = {**LIMITS, **FRAMES, **FILES, **PATHS}
_WORDS = {str: "text", int: "a whole number", float: "a number", bool: "true or false"}
CHARACTERS = (".glb", ".gltf")  # files with animations of their own: a folder of them is no sequence


@dataclasses.dataclass(frozen=True)
class Case:
    """A file to check. options: by name as typed; own: those of them that were given for this case alone; body_of:
    the body that was typed in place of this file."""

    file: pathlib.Path
    options: Mapping[str, Any]
    own: frozenset[str] = frozenset()
    body_of: pathlib.Path | None = None

    def same(self, other: "Case") -> bool:
        """True if both check the same file with the same options."""
        return self.file.resolve() == other.file.resolve() and self.options == other.options

    @property
    def name(self) -> str:
        """The file, and its part where one is selected."""
        part = self.options.get("part")
        return f"{self.file.as_posix()} [{part}]" if part else self.file.as_posix()


class Settings(NamedTuple):
    """What a `pliant.toml` says about checks. common: options of `[check]`; cases: patterns and options of each."""

    path: pathlib.Path
    common: dict[str, Any]
    cases: list[tuple[tuple[str, ...], dict[str, Any]]]


def cases_of(files: Sequence[pathlib.Path], typed: Mapping[str, Any], settings: Settings | None) -> list[Case]:
    """The cases of the files that were typed, or without any those of `pliant.toml`."""
    if not files:
        if settings is None or not settings.cases:
            where = f"{settings.path} has no [[check.case]]" if settings else f"there is no {NAME} that lists files"
            raise ValueError(f"name a file to check; {where}")
        return [case for number in range(len(settings.cases)) for case in _configured(settings, number, typed)]
    found: list[Case] = []
    for file in (each for path in files for each in _expanded(path)):
        matching = [] if settings is None else _matching(settings, file, typed)
        common = {} if settings is None else settings.common
        for case in matching or [Case(file, {**common, **typed}, frozenset(typed))]:
            # the files of a commit may name garment and body of one case; a file that is typed twice stays twice
            if not any(case.body_of is not None or other.body_of is not None for other in found if case.same(other)):
                found.append(case)
    return found


def _expanded(path: pathlib.Path) -> list[pathlib.Path]:
    """The characters in a folder and its subfolders; any other path as it is."""
    if not path.is_dir():
        return [path]
    return sorted(f for f in path.rglob("*") if f.suffix.lower() in CHARACTERS and f.is_file()) or [path]


def _configured(settings: Settings, number: int, typed: Mapping[str, Any]) -> list[Case]:
    patterns, given = settings.cases[number]
    found = []
    for pattern in patterns:
        files = sorted(settings.path.parent.glob(pattern))
        if not files:
            raise ValueError(f"{settings.path}: no file matches {pattern!r} of [[check.case]] {number + 1}")
        found += [Case(_shown(f), {**settings.common, **given, **typed}, frozenset({*given, *typed})) for f in files]
    return found


def _matching(settings: Settings, file: pathlib.Path, typed: Mapping[str, Any]) -> list[Case]:
    """A case for each `[[check.case]]` whose patterns match the file, and the cases that it is the body of."""
    found, wanted = [], file.resolve()
    for number, (patterns, given) in enumerate(settings.cases):
        matches = (f.resolve() for pattern in patterns for f in settings.path.parent.glob(pattern))
        options = {**settings.common, **given, **typed}
        if wanted in set(matches):
            found.append(Case(file, options, frozenset({*given, *typed})))
        elif "body" not in typed and "body" in options and options["body"].resolve() == wanted:
            found += [dataclasses.replace(case, body_of=file) for case in _configured(settings, number, typed)]
    return found


def file_names(cases: Sequence[Case]) -> list[str]:
    """A name for the files that each case writes: that of its file and part, with a number where it occurs again."""
    names: list[str] = []
    for case in cases:
        part = case.options.get("part")
        name = stem = f"{case.file.stem}-{part}" if part else case.file.stem
        number = 2
        while name in names:
            name, number = f"{stem}-{number}", number + 1
        names.append(name)
    return names


def _shown(path: pathlib.Path) -> pathlib.Path:
    """The path relative to the current folder where it is below it."""
    here = pathlib.Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


def find_settings(config: pathlib.Path | None) -> Settings | None:
    """The settings of --config, or of the nearest `pliant.toml` above the current folder within the same repository."""
    if config is not None:
        return read_settings(config)
    here = pathlib.Path.cwd()
    for folder in (here, *here.parents):
        if (folder / NAME).is_file():
            return read_settings(folder / NAME)
        if (folder / ".git").exists():
            return None
    return None


def read_settings(path: pathlib.Path) -> Settings:
    """Read and validate the tables `[check]` and `[[check.case]]`; an error names the file and the key."""
    import tomllib

    with open(path, "rb") as stream:
        try:
            found = tomllib.load(stream)
        except ValueError as error:
            raise ValueError(f"{path} is not TOML: {error}") from None
    table = found.get("check", {})
    if not isinstance(table, dict):
        raise ValueError(f"{path}: check must be a table, [check]")
    entries = table.pop("case", [])
    if not isinstance(entries, list) or not all(isinstance(each, dict) for each in entries):
        raise ValueError(f"{path}: case must be a list of tables, [[check.case]]")
    common = _options(path, "[check]", table)
    return Settings(path.resolve(), common, [_entry(path, k + 1, entry) for k, entry in enumerate(entries)])


def _entry(path: pathlib.Path, number: int, entry: dict[str, Any]) -> tuple[tuple[str, ...], dict[str, Any]]:
    where = f"[[check.case]] {number}"
    patterns = entry.pop("files", None)
    patterns = [patterns] if isinstance(patterns, str) else patterns
    if not isinstance(patterns, list) or not patterns or not all(isinstance(each, str) and each for each in patterns):
        raise ValueError(f"{path}: {where} needs files, a path or a list of paths such as 'characters/*.glb'")
    for pattern in patterns:
        if pathlib.PurePath(pattern).is_absolute():
            raise ValueError(f"{path}: files of {where} are relative to this file, {pattern!r} is not")
    return tuple(patterns), _options(path, where, entry)


def _options(path: pathlib.Path, where: str, table: dict[str, Any]) -> dict[str, Any]:
    """The options of a table with checked names and types; paths become relative to the file."""
    found: dict[str, Any] = {}
    for key, value in table.items():
        wanted = _COMMON.get(key)
        if wanted is None:
            raise ValueError(f"{path}: {where} has no key {key!r}; one of: {', '.join(_COMMON)}")
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if key in ("max-depth", "min-clearance") and number:
            value = str(value)
        if wanted is float and number:
            value = float(value)
        if not isinstance(value, wanted) or (wanted is int and isinstance(value, bool)):
            raise ValueError(f"{path}: {key} of {where} must be {_WORDS[wanted]}, not {value!r}")
        found[key] = _shown(path.resolve().parent / str(value)) if key in PATHS else value
    return found

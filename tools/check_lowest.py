"""Check that this Python has the lowest versions of all dependencies that pyproject.toml names."""

import importlib.metadata
import pathlib
import re
import tomllib

ROOT = pathlib.Path(__file__).resolve().parents[1]


def main() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for requirement in project["dependencies"]:
        name, lowest = re.fullmatch(r"([\w-]+)>=([\d.]+)", requirement).groups()  # type: ignore[union-attr]
        found = importlib.metadata.version(name)
        if not (found + ".").startswith(lowest + "."):
            raise SystemExit(f"{name} {found} is installed, {lowest} is the lowest version of pyproject.toml")
        print(f"{name} {found}")


if __name__ == "__main__":
    main()

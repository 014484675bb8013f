"""Put a built documentation site beside those of other versions: `python tools/publish_docs.py SITE [--dev]`.

SITE is what a web server or GitHub Pages serves, with one folder per version. After `make docs`, this copies out/docs
to SITE/0.1.0, the version of the package, or with --dev to SITE/dev, writes the list of all versions into each, from
which its pages fill their menu, and SITE/index.html, which leads to the newest release, or to dev without one.
"""

import argparse
import json
import pathlib
import re
import shutil
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
VERSION = re.compile(r"\d+(\.\d+)*")


def version() -> str:
    """The version of the package, without importing it."""
    return re.findall(r'"(.*)"', (ROOT / "src" / "pliant" / "_version.py").read_text("utf-8"))[0]


def ordered(names: list[str]) -> list[str]:
    """Names of versions, newest first, and dev last."""
    releases = [name for name in names if VERSION.fullmatch(name)]
    releases.sort(key=lambda name: tuple(map(int, name.split("."))), reverse=True)
    return releases + [name for name in names if name == "dev"]


def publish(built: pathlib.Path, site: pathlib.Path, name: str) -> list[str]:
    """Copy a built site to site/name, in place of an earlier one; return all versions."""
    if not (built / "index.html").is_file():
        raise SystemExit(f"{built} has no index.html; run make docs first")
    if (site / name).exists():
        shutil.rmtree(site / name)
    shutil.copytree(built, site / name)
    names = ordered([path.name for path in site.iterdir() if (path / "index.html").is_file()])
    for each in names:
        (site / each / "_static").mkdir(exist_ok=True)
        (site / each / "_static" / "version-list.js").write_text(f"window.pliantVersions = {json.dumps(names)};\n")
    lead = f'<meta http-equiv="refresh" content="0; url={names[0]}/index.html"><title>pliant</title>'
    (site / "index.html").write_text(f'<!doctype html><meta charset="utf-8">{lead}\n', "utf-8")
    (site / ".nojekyll").touch()  # GitHub Pages would leave out folders that begin with _
    return names


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("site", type=pathlib.Path)
    parser.add_argument("--dev", action="store_true", help="as the version in development")
    given = parser.parse_args()
    names = publish(ROOT / "out" / "docs", given.site, "dev" if given.dev else version())
    print(f"{given.site}: {', '.join(names)}", file=sys.stderr)


if __name__ == "__main__":
    main()

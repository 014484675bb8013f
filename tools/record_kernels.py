"""Record which kernels the first runs of commands compile: writes src/pliant/kernels/calls/.

    python tools/record_kernels.py            # all lists, some minutes
    python tools/record_kernels.py check fix  # these

It runs the commands of RUNS, those of a list one after the other, and notes each kernel that Python calls with its
types, in the order of the calls. Then it compiles the list in one process with an empty cache, and notes the seconds
of processor time of each kernel. `pliant play` uses the list of `drape`.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
LISTS = ROOT / "src" / "pliant" / "kernels" / "calls"
HOURS = 3600.0
BODY = "samples/body.obj"
# the command of `make demo`, and those of the README for files of `pliant samples`
RUNS = {
    "drape": ["drape --material wool --resolution 100 --frames 150 -o a.glb --replay a.html --sheet a.png"],
    "bind": ["bind samples/skirt.obj samples/walker.glb -o bound.glb"],
    "check": [
        f"check samples/clipping.obj --body {BODY} --report a.html",
        "bind samples/skirt.obj samples/walker.glb -o bound.glb",
        "check bound.glb --part skirt --body bound.glb --body-part mannequin",
    ],
    "fix": [f"fix samples/clipping.obj --body {BODY} --clearance 2mm -o fixed.obj"],
}


def record(words: list[str], file: str) -> None:
    """Run a command in this process and write the calls of kernels to `file`, one row each."""
    from pliant.kernels import disk_cache
    from pliant.kernels.call_text import PACKAGE, to_text

    rows: list[list[object]] = []
    share = disk_cache.share

    def listening(compiled, folder):  # type: ignore[no-untyped-def]
        share(compiled, folder)
        usual = compiled.compile

        def compile_noted(signature):  # type: ignore[no-untyped-def]
            function = compiled.py_func
            if not getattr(disk_cache._held, "depth", 0) and function.__module__.startswith(PACKAGE + "."):
                name = f"{function.__module__.removeprefix(PACKAGE + '.')}.{function.__qualname__}"
                row = [name, 0.0, [to_text(kind) for kind in signature]]
                if row not in rows:
                    rows.append(row)
            return usual(signature)

        compiled.compile = compile_noted

    disk_cache.share = listening
    from pliant.cli import run

    if (code := run(words)) > (words[0] == "check"):  # 1: it has found what there is
        raise SystemExit(f"pliant {' '.join(words)} ended with exit code {code}")
    pathlib.Path(file).write_text(json.dumps(rows))


def measure(file: str) -> None:
    """Compile the rows of `file` with an empty cache, and fill in the seconds."""
    from pliant.kernels.ahead import Call, compile_call

    rows = json.loads(pathlib.Path(file).read_text())
    for k, row in enumerate(rows):
        row[1] = round(compile_call(Call(k, *row)), 2)
    pathlib.Path(file).write_text(json.dumps(rows))


def apart(how: str, file: pathlib.Path, folder: pathlib.Path, *words: str) -> None:
    """Call a function of this file in a process of its own, with the cache in `folder`."""
    environment = os.environ | {"PLIANT_CACHE": str(folder / "cache"), "PLIANT_AHEAD": "0"}
    command = [sys.executable, __file__, how, str(file), *words]
    subprocess.run(command, cwd=folder, env=environment, check=True, timeout=HOURS)


def main(names: list[str]) -> None:
    for name in names or RUNS:
        with tempfile.TemporaryDirectory() as first, tempfile.TemporaryDirectory() as second:
            folder, rows = pathlib.Path(first), []
            subprocess.run([sys.executable, "-m", "pliant", "samples"], cwd=folder, check=True, timeout=HOURS)
            for words in map(str.split, RUNS[name]):
                apart("record", folder / "rows.json", folder, *words)
                if words[0] == name:
                    rows += [row for row in json.loads((folder / "rows.json").read_text()) if row not in rows]
            (folder / "rows.json").write_text(json.dumps(rows))
            apart("measure", folder / "rows.json", pathlib.Path(second))
            rows = json.loads((folder / "rows.json").read_text())
        LISTS.mkdir(exist_ok=True)
        target = LISTS / f"{name}.json"
        target.write_text("[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n")
        print(f"{target.relative_to(ROOT)}: {len(rows)} kernels, {sum(row[1] for row in rows):.1f} s")


if __name__ == "__main__":
    if sys.argv[1:2] == ["record"]:
        record(sys.argv[3:], sys.argv[2])
    elif sys.argv[1:2] == ["measure"]:
        measure(sys.argv[2])
    else:
        main(sys.argv[1:])

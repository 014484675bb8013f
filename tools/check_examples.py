"""Check the types of the Python examples in the documentation with pyright in strict mode (`pip install pyright`).

Each page is one file of its blocks in order, as the tests run it. Two rules do not fit pages: they display expressions,
as a notebook does, and a later block may repeat the imports of an earlier one. What the types of an optional library or
of SciPy leave unknown is no defect of an example: pages that need one are not checked where it is absent, and not for
unknown types. Exit code 1: there are errors.
"""

import importlib.util
import json
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
BLOCK = re.compile(r"^(?:<!-- needs: (\w+) -->\n)?```python\n(.*?)^```$", re.M | re.S)
NEEDS = {"usd": "pxr", "cluster": "distributed", "torch": "torch", "jax": "jax", "cuda": "cupy", "pandas": "pandas"}
SETTINGS = {"typeCheckingMode": "strict", "reportUnusedExpression": False, "reportDuplicateImport": False}
UNKNOWN = ("reportUnknown", "reportMissingTypeStubs", "reportMissingModuleSource")


def examples() -> dict[str, tuple[str, set[str]]]:
    """The code of each page by its path, and the optional libraries that it needs; without pages that lack one."""
    pages = [*sorted((ROOT / "docs").rglob("*.md")), *sorted(ROOT.glob("*.md"))]
    found = {}
    for page in pages:
        blocks = BLOCK.findall(page.read_text("utf-8"))
        needs = {NEEDS[need] for need, _ in blocks if need}
        if blocks and all(importlib.util.find_spec(name) for name in needs):
            found[page.relative_to(ROOT).as_posix()] = "\n\n".join(code for _, code in blocks), needs
    return found


def main() -> int:
    if importlib.util.find_spec("pyright") is None:
        print("pyright is not installed: pip install pyright", file=sys.stderr)
        return 2
    pages = examples()
    with tempfile.TemporaryDirectory() as folder:
        files = {}
        for name, (code, _) in pages.items():
            file = pathlib.Path(folder, re.sub(r"\W", "_", name) + ".py")
            file.write_text(code, "utf-8")
            files[str(file.resolve())] = name
        pathlib.Path(folder, "pyrightconfig.json").write_text(json.dumps(SETTINGS), "utf-8")
        command = [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable, "-p", folder]
        answer = subprocess.run(command, capture_output=True, text=True, check=False, timeout=1800)
    if not answer.stdout.startswith("{"):
        print(answer.stdout + answer.stderr, file=sys.stderr)
        return 2
    errors = 0
    for found in json.loads(answer.stdout)["generalDiagnostics"]:
        name = files[str(pathlib.Path(found["file"]).resolve())]
        untyped = pages[name][1] or "scipy" in pages[name][0]
        if untyped and str(found.get("rule")).startswith(UNKNOWN):
            continue
        errors += 1
        line = pages[name][0].splitlines()[found["range"]["start"]["line"]].strip()
        print(f"{name}: {found['message']} ({found.get('rule')})\n    {line}")
    print(f"{errors} errors in the examples of {len(pages)} pages")
    return int(errors > 0)


if __name__ == "__main__":
    sys.exit(main())

"""Install the wheel `sys.argv[1]` into a clean environment outside the checkout and run it there."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
WINDOWS = sys.platform == "win32"


def run(*command: str | os.PathLike[str], **options: object) -> str:
    result = subprocess.run([os.fspath(c) for c in command], text=True, stdout=subprocess.PIPE, **options)  # type: ignore[call-overload]
    if result.returncode:
        raise SystemExit(f"{' '.join(map(str, command))} ended with exit code {result.returncode}\n{result.stdout}")
    return str(result.stdout)


def main() -> None:
    (wheel,) = pathlib.Path(sys.argv[1]).resolve().glob("*.whl")
    here = pathlib.Path(sys.executable).parent
    uv = here / ("uv.exe" if WINDOWS else "uv")
    with tempfile.TemporaryDirectory() as folder:
        venv, empty = pathlib.Path(folder) / "venv", pathlib.Path(folder) / "empty"
        empty.mkdir()
        # a separate kernel cache, so that no kernel compiled by the checkout is used
        env = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "VIRTUAL_ENV")}
        env["PLIANT_CACHE"] = str(pathlib.Path(folder) / "cache")
        python = venv / ("Scripts/python.exe" if WINDOWS else "bin/python")
        pliant = venv / ("Scripts/pliant.exe" if WINDOWS else "bin/pliant")
        run(uv, "venv", "--quiet", "--python", sys.executable, venv)
        run(uv, "pip", "install", "--quiet", "--python", python, "-c", ROOT / "constraints.txt", wheel)
        version = run(pliant, "--version", cwd=empty, env=env).strip()
        report = json.loads(run(pliant, "doctor", "--json", cwd=empty, env=env))
        if version != report["versions"]["pliant"] or not report["well"]:
            raise SystemExit(f"--version reports {version}, doctor reports {report}")
        # the replay needs data files beside the modules, which the wheel must contain
        wanted = ["drape.glb", "drape.html", "drape.png"]
        outputs = [word for pair in zip(("--out", "--replay", "--sheet"), wanted) for word in pair]
        said = run(pliant, "drape", "--frames", "2", "--resolution", "8", "--json", *outputs, cwd=empty, env=env)
        if json.loads(said)["files"] != wanted or not all((empty / name).stat().st_size for name in wanted):
            raise SystemExit(f"pliant drape did not write the expected files: {said}")
    print(f"{wheel.name} installs and runs in a clean environment: pliant {version}")


if __name__ == "__main__":
    main()

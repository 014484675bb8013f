"""A program of its own: makes an environment and installs pliant into it. `install_program.py WHEEL FOLDER`

It runs in Blender's Python, but outside of Blender, and imports nothing of it. Progress goes to stderr as the lines of
pliant do, a JSON object with the version to stdout; it ends when its input is closed.
"""

import json
import os
import pathlib
import subprocess
import sys
import threading

LINES = 75  # of pip that are counted for the progress, about those of a first installation
READY = "ready.json"


def program(folder: pathlib.Path, name: str) -> pathlib.Path:
    """A program of the environment."""
    return folder / "Scripts" / f"{name}.exe" if os.name == "nt" else folder / "bin" / name


def main(wheel: str, folder: pathlib.Path) -> None:
    threading.Thread(target=_end_with_input, daemon=True).start()
    _say(0.0, "making an environment")
    _run([sys.executable, "-I", "-m", "venv", "--clear", str(folder)])
    python = str(program(folder, "python"))
    pip = [python, "-I", "-m", "pip", "--disable-pip-version-check", "--no-input"]
    _run([*pip, "install", "--progress-bar", "off", wheel], 0.05)
    _say(0.98, "starting it once")
    done = subprocess.run([str(program(folder, "pliant")), "--version"], capture_output=True, text=True, check=True)
    (folder / READY).write_text(json.dumps({"version": done.stdout.strip()}), "utf-8")
    sys.stdout.write((folder / READY).read_text("utf-8"))


def _run(words: list[str], start: float | None = None) -> None:
    """Run a command; its lines are progress from `start` on. Where it fails, its errors or last lines say why."""
    lines: list[str] = []
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL) as process:
        for raw in process.stdout or ():
            line = raw.decode("utf-8", "replace").strip()
            if line:
                lines.append(line)
            if start is not None and line.startswith(("Collecting", "Downloading", "Installing", "Using cached")):
                _say(start + (0.95 - start) * min(len(lines) / LINES, 1.0), line.split(" (")[0])
    if process.returncode:
        errors = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")]
        sys.exit(f"error: {words[3]} failed: {'; '.join((errors or lines)[-3:])}")


def _say(fraction: float, what: str) -> None:
    sys.stderr.write(f"progress {fraction:.3f} {what}\n")
    sys.stderr.flush()


def _end_with_input() -> None:
    """End with whoever started this, and end what this has started."""
    while os.read(0, 1):
        pass
    if os.name == "posix":
        import signal

        os.killpg(os.getpgid(0), signal.SIGTERM)
    os._exit(3)


if __name__ == "__main__":
    main(sys.argv[1], pathlib.Path(sys.argv[2]))

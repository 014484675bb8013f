"""A pliant process in the background: its output goes to files, which are read as they grow."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time
from typing import Any


class Problem(Exception):
    """Something the user can mend; its text says what and how."""


class PliantProcess:
    """One command, in a folder of its own that `close` removes."""

    def __init__(self) -> None:
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="pliant-"))
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, program: str, *words: str) -> None:
        """Start the command in the folder; its stdout and stderr are files there."""
        found = shutil.which(program)
        if found is None:
            mend = "press Install Pliant, or run pip install pliant and name it in the preferences"
            raise Problem(f"{program!r} is not a program; {mend}")
        environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
        with open(self.folder / "stdout", "wb") as out, open(self.folder / "stderr", "wb") as err:
            self._process = subprocess.Popen(
                [found, *words],
                cwd=self.folder,
                stdin=subprocess.PIPE,  # the system closes it however Blender ends, and with it ends pliant
                stdout=out,
                stderr=err,
                env=environment | {"PLIANT_PROGRESS": "lines", "PLIANT_END_WITH_INPUT": "1", "NO_COLOR": "1"},
                start_new_session=os.name == "posix",
            )

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def progress(self) -> tuple[float, str]:
        """The completed fraction, 0..1, and what is being done."""
        for line in reversed(self.messages):
            words = line.split(None, 2)
            if len(words) == 3 and words[0] == "progress":
                return float(words[1]), words[2]
        return 0.0, "starting"

    @property
    def messages(self) -> list[str]:
        path = self.folder / "stderr"
        return path.read_text("utf-8", "replace").splitlines() if path.is_file() else []

    def wait(self) -> None:
        while self.running:
            time.sleep(0.02)

    def result(self) -> dict[str, Any]:
        """The JSON that the finished command printed; a failed command raises what it said."""
        code = None if self._process is None else self._process.returncode
        printed = self.folder / "stdout"
        if code not in (0, 1) or not printed.stat().st_size:  # check ends with 1 where a limit is exceeded
            said = [line for line in self.messages if not line.startswith("progress ")]
            error = next((line for line in said if line.startswith("error: ")), said[-1] if said else "no message")
            raise Problem(f"pliant: {error.removeprefix('error: ')} (exit code {code})")
        return json.loads(printed.read_text("utf-8"))

    def cancel(self) -> None:
        """End the process and the processes it started."""
        if self._process is not None and self._process.poll() is None:
            if os.name == "posix":
                os.killpg(self._process.pid, signal.SIGTERM)
            else:
                self._process.terminate()
            try:
                self._process.wait(3.0)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()

    def close(self) -> None:
        self.cancel()
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()
        shutil.rmtree(self.folder, ignore_errors=True)

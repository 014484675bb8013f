"""Pliant in an environment of its own: made by the button Install, from the wheel in this extension and PyPI.

Blender's own packages are not touched: the environment is a folder of this extension's user data.
"""

import pathlib
import shutil
import sys
from typing import Any

import bpy

from . import install_program
from .jobs import Job
from .process import Problem
from .settings import environment, installed, wheel


class Install(Job):
    """Makes the environment; a failed or cancelled one is removed."""

    label = "Install"

    def start(self) -> None:
        made = wheel()
        if made is None:
            raise Problem("this extension was built without pliant's wheel; install pliant with pip and name it below")
        if not bpy.app.online_access:
            raise Problem("Install downloads from PyPI: switch on Preferences > System > Network > Allow Online Access")
        self.folder = environment()
        self.process.start(sys.executable, "-I", install_program.__file__, str(made), str(self.folder))

    folder: pathlib.Path | None = None

    def bring_back(self, found: dict[str, Any]) -> str:
        if not installed():
            raise Problem(f"there is no program in {self.folder}")
        return f"pliant {found['version']} is installed"

    def fail(self) -> None:
        self.process.cancel()
        if self.folder is not None:
            shutil.rmtree(self.folder, ignore_errors=True)

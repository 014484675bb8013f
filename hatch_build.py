"""The build hook of the wheel: with PLIANT_KERNELS=FOLDER, compiled kernels go into it, and it is for this platform
only.

`tools/compile_kernels.py` makes the folder. Without the variable the wheel is for every platform, and kernels are
compiled at the first run.
"""

import os
import pathlib
import platform
import sys
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

# compiled kernels call nothing but the C library, of any version; macOS 11 is the first on ARM
PLATFORMS = {"linux": "manylinux2014_{}", "darwin": "macosx_11_0_{}", "win32": "win_{}"}


class CompiledKernels(BuildHookInterface):  # type: ignore[type-arg]
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        folder = os.environ.get("PLIANT_KERNELS")
        if not folder or version == "editable":
            return
        if not (pathlib.Path(folder) / "manifest.json").is_file():
            raise FileNotFoundError(
                f"PLIANT_KERNELS={folder} holds no compiled kernels: python tools/compile_kernels.py FOLDER"
            )
        machine = platform.machine() if sys.platform != "win32" else platform.machine().lower()
        python = f"cp{sys.version_info[0]}{sys.version_info[1]}"
        build_data["pure_python"] = False
        build_data["tag"] = f"{python}-{python}-{PLATFORMS[sys.platform].format(machine)}"
        build_data["force_include"][str(pathlib.Path(folder).resolve())] = "pliant/kernels/compiled"

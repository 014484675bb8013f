"""Compile the kernels of first runs for a baseline of processors, to be shipped in a wheel for this platform.

    python tools/compile_kernels.py build/kernels
    PLIANT_KERNELS=build/kernels uv build --wheel --out-dir dist

The second line makes a wheel for this Python and this operating system (hatch_build.py), from which `pliant` starts
without compiling; `src/pliant/kernels/shipped.py` says when its kernels are used.
"""

import hashlib
import json
import os
import pathlib
import shutil
import sys
import tempfile


def main(folder: pathlib.Path) -> None:
    from pliant.kernels import shipped

    kind = shipped.baseline()
    if kind is None:
        raise SystemExit(f"no baseline of processors is defined for this machine: {shipped.stamp()}")
    os.environ.update(NUMBA_CPU_NAME=kind[0], NUMBA_CPU_FEATURES="")  # for the processes that compile
    with tempfile.TemporaryDirectory() as cache:
        os.environ["PLIANT_CACHE"] = cache
        from pliant.kernels import ahead

        for command in ahead.LISTS:
            wanted = ahead.calls(command)
            for done in ahead.compile_ahead(command, wanted):
                if done is not None:
                    print(f"{done.name}", flush=True)
        kernels: dict[str, dict[str, str]] = {}
        found = pathlib.Path(cache) / "kernels"
        shutil.rmtree(folder, ignore_errors=True)
        for index in sorted(found.glob("*/**/*.nbi")):
            if index.name.startswith("inner."):  # needed only to compile other kernels
                continue
            code = index.parent.glob(f"{index.name.removesuffix('.nbi')}.*.nbc")
            files = {}
            for file in [index, *sorted(code)]:
                name = file.relative_to(found).as_posix()
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(file, folder / name)
                files[name] = hashlib.sha256(file.read_bytes()).hexdigest()
            kernels[index.relative_to(found).as_posix()] = files
    manifest = {"stamp": shipped.stamp(), "processor": kind[0], "kernels": kernels}
    (folder / "manifest.json").write_text(json.dumps(manifest, indent=1) + "\n")
    size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    print(f"{folder}: {len(kernels)} kernels for {kind[0]}, {size / 1e6:.1f} MB")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))

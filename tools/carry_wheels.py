"""Wheels for a machine with a graphics card and without a network: downloaded, without what is not needed there, packed
tightly, in pieces.

    python tools/carry_wheels.py pack             # here: writes out/carried/own/ and out/carried/peers/
    python tools/carry_wheels.py unpack FOLDER    # there: unpacks what is in out/carried/ into FOLDER, for PYTHONPATH

The libraries of the processor are stripped of their symbols and packed by LZMA with a filter for x86, which makes
them a third smaller than their wheels. Wheels that were packed before are not packed again.
"""

import argparse
import io
import lzma
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile
import zipfile

ROOT = pathlib.Path(__file__).parents[1]
CARRIED = ROOT / "out" / "carried"
PIECE = 18_000_000  # bytes
PYTHON = "3.12"
# what runs the kernels and their tests; and what they are compared with
SETS = {
    "own": ("numba==0.68.1", "llvmlite", "numba-cuda==0.30.4", "cuda-core", "cuda-bindings", "cuda-pathfinder",
            "pytest", "pluggy", "iniconfig", "pygments", "cyclopts", "attrs", "rich-rst", "docstring-parser", "rich",
            "markdown-it-py", "mdurl"),
    "peers": ("warp-lang==1.19.0", "newton==1.8.0"),
}  # fmt: skip
PLATFORMS = ("manylinux_2_28", "manylinux_2_27", "manylinux_2_24", "manylinux_2_17", "manylinux2014")
# not needed there: tests, examples, headers, and the compiler of Warp for processors
LEFT_OUT = re.compile(r"(^|/)(include|licenses)/|\.(pyx|pxd|pxi|cpp|h|hpp|html)$")
KEPT = re.compile(r"^(warp/native|numba|numba_cuda|newton)/")
FILTERS = [{"id": lzma.FILTER_X86}, {"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME}]


def download(names: tuple[str, ...], folder: pathlib.Path) -> list[pathlib.Path]:
    """Download the wheels of these packages at the versions of constraints.txt."""
    folder.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:",
               "--python-version", PYTHON, "--dest", str(folder)]  # fmt: skip
    for platform in PLATFORMS:
        command += ["--platform", f"{platform}_x86_64"]
    constraints = ROOT / "constraints.txt"
    subprocess.run([*command, "--constraint", str(constraints), *names], check=True, timeout=600)
    wanted = {re.split(r"[=<>]", name)[0].replace("-", "_").lower() for name in names}
    return [wheel for wheel in sorted(folder.glob("*.whl")) if wheel.name.split("-")[0].lower() in wanted]


def is_needed(name: str) -> bool:
    """Whether a file of a wheel is needed there."""
    if name.endswith((".pyc", "warp-clang.so")) or "/tests/" in name or "/examples/" in name:
        return False
    return bool(KEPT.match(name)) or not LEFT_OUT.search(name)


def stripped(content: bytes) -> bytes:
    """A library without its symbols."""
    with tempfile.NamedTemporaryFile(suffix=".so") as file:
        file.write(content)
        file.flush()
        done = subprocess.run(["strip", "--strip-unneeded", file.name], capture_output=True, timeout=600)
        return pathlib.Path(file.name).read_bytes() if done.returncode == 0 else content


def pack(wheel: pathlib.Path) -> bytes:
    """An LZMA archive of the files of a wheel that are needed."""
    packed = wheel.with_suffix(".tar.xz")
    if not packed.exists():
        unfinished = packed.with_suffix(".part")
        with (
            zipfile.ZipFile(wheel) as source,
            lzma.open(unfinished, "wb", filters=FILTERS) as stream,
            tarfile.open(fileobj=stream, mode="w") as archive,
        ):
            for entry in source.infolist():
                if entry.is_dir() or not is_needed(entry.filename):
                    continue
                content = source.read(entry)
                content = stripped(content) if re.search(r"\.so(\.\d+)*$", entry.filename) else content
                member = tarfile.TarInfo(entry.filename)
                member.size = len(content)
                archive.addfile(member, io.BytesIO(content))
        unfinished.rename(packed)
    return packed.read_bytes()


def pack_all() -> None:
    for name, packages in SETS.items():
        folder = CARRIED / name
        folder.mkdir(parents=True, exist_ok=True)
        for old in folder.glob("*.tar.xz.*"):
            old.unlink()
        for wheel in download(packages, ROOT / "out" / "wheels" / name):
            content = pack(wheel)
            for k in range(-(-len(content) // PIECE)):
                piece = folder / f"{wheel.name.split('-')[0]}.tar.xz.{k:02d}"
                piece.write_bytes(content[k * PIECE : (k + 1) * PIECE])
            print(f"{name}: {wheel.name}: {len(content) / 2**20:.1f} MiB", flush=True)
        total = sum(piece.stat().st_size for piece in folder.iterdir())
        print(f"{folder.relative_to(ROOT)}: {total / 2**20:.1f} MiB", flush=True)


def unpack(folder: pathlib.Path) -> None:
    """Unpack every archive in out/carried/ that is not yet in `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    for first in sorted(CARRIED.glob("*/*.tar.xz.00")):
        name = first.name.removesuffix(".tar.xz.00")
        mark = folder / f".{name}"
        if not mark.exists():
            pieces = sorted(first.parent.glob(f"{name}.tar.xz.*"))
            content = lzma.decompress(b"".join(piece.read_bytes() for piece in pieces))
            with tarfile.open(fileobj=io.BytesIO(content)) as archive:
                archive.extractall(folder, filter="data")
            mark.touch()
        print(f"unpacked {name}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("do", choices=["pack", "unpack"])
    parser.add_argument("folder", nargs="?", type=pathlib.Path, help="where to unpack")
    arguments = parser.parse_args()
    if arguments.do == "pack":
        pack_all()
    elif arguments.folder is None:
        parser.error("unpack needs a folder")
    else:
        unpack(arguments.folder)


if __name__ == "__main__":
    main()

"""Wheels for a machine with a graphics card and without a network: downloaded, without what is not needed there, packed
tightly, in pieces.

    python tools/carry_wheels.py pack             # here: writes out/carried/compiler/, own/, garments/ and peers/
    python tools/carry_wheels.py unpack FOLDER    # there: unpacks them into FOLDER, for PYTHONPATH; pieces may come in
                                                  # several calls

The libraries of the processor are stripped of their symbols and packed by LZMA with a filter for x86, which makes
them a third smaller than their wheels. Wheels that were packed before are not packed again.
"""

import argparse
import io
import lzma
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tarfile
import tempfile
import zipfile

ROOT = pathlib.Path(__file__).parents[1]
CARRIED = ROOT / "out" / "carried"
PIECE = 18_000_000  # bytes
PYTHON = "3.12"
# the compiler, if it is not there; what runs the kernels and their tests; what makes garments of the gauntlet
# (benchmarks/studies/long_runs.py); and what the kernels are compared with
SETS = {
    "compiler": ("numba==0.68.1", "llvmlite"),
    "own": ("numba-cuda==0.30.4", "cuda-core", "cuda-bindings", "cuda-pathfinder",
            "pytest", "pluggy", "iniconfig", "pygments", "cyclopts", "attrs", "rich-rst", "docstring-parser", "rich",
            "markdown-it-py", "mdurl"),
    "garments": ("scikit-image", "lazy-loader", "pillow"),
    "peers": ("warp-lang==1.19.0", "newton==1.8.0"),
}  # fmt: skip
PLATFORMS = ("manylinux_2_28", "manylinux_2_27", "manylinux_2_24", "manylinux_2_17", "manylinux2014")
# not needed there: tests, examples, headers, and the compiler of Warp for processors
LEFT_OUT = re.compile(r"(^|/)(include|licenses)/|\.(pyx|pxd|pxi|cpp|h|hpp|html)$")
KEPT = re.compile(r"^(warp/native|numba|numba_cuda|newton)/")
ARCHITECTURE = 90  # of the card, for example of an H200
FAT = struct.pack("<IH", 0xBA55ED50, 1)  # begins code for several architectures
FILTERS = [{"id": lzma.FILTER_X86}, {"id": lzma.FILTER_LZMA2, "preset": 9}]


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


def without_other_cards(content: bytes) -> bytes:
    """A library in which the code for cards other than ARCHITECTURE is zeroed; what is left finds it by its headers."""
    parts, at = bytearray(content), content.find(FAT)
    while at >= 0:
        header, size = struct.unpack_from("<HQ", parts, at + 6)
        entry, end = at + header, at + header + size
        while header == 16 and entry < end <= len(parts):
            before, inside = struct.unpack_from("<IQ", parts, entry + 4)
            architecture = struct.unpack_from("<I", parts, entry + 28)[0]
            if architecture != ARCHITECTURE:
                parts[entry + before : entry + before + inside] = bytes(inside)
            entry += before + inside
        at = content.find(FAT, end if header == 16 and end <= len(parts) else at + 4)
    return bytes(parts)


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
                if re.search(r"\.so(\.\d+)*$", entry.filename):
                    content = without_other_cards(stripped(content))
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
            count = -(-len(content) // PIECE)
            for k in range(count):
                piece = folder / f"{wheel.name.split('-')[0]}.tar.xz.{k + 1}-of-{count}"
                piece.write_bytes(content[k * PIECE : (k + 1) * PIECE])
            print(f"{name}: {wheel.name}: {len(content) / 2**20:.1f} MiB", flush=True)
        total = sum(piece.stat().st_size for piece in folder.iterdir())
        print(f"{folder.relative_to(ROOT)}: {total / 2**20:.1f} MiB", flush=True)


def unpack(folder: pathlib.Path) -> None:
    """Keep the pieces in out/carried/ below `folder`, and unpack every archive of which all have come."""
    kept = folder / ".pieces"
    kept.mkdir(parents=True, exist_ok=True)
    for piece in CARRIED.glob("*/*.tar.xz.*"):
        shutil.copyfile(piece, kept / piece.name)
    for last in sorted(kept.glob("*.tar.xz.*-of-*")):
        name, _, number = last.name.rpartition(".")
        count = int(number.split("-of-")[1])
        pieces = [kept / f"{name}.{k + 1}-of-{count}" for k in range(count)]
        mark = kept / f"{name}.unpacked"
        if mark.exists() or not all(piece.exists() for piece in pieces):
            continue
        content = lzma.decompress(b"".join(piece.read_bytes() for piece in pieces))
        with tarfile.open(fileobj=io.BytesIO(content)) as archive:
            archive.extractall(folder, filter="data")
        mark.touch()
        print(f"unpacked {name}", flush=True)


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

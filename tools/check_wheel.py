"""Check the wheel and the sdist in the folder `sys.argv[1]`: build both again from the sdist, byte for byte the same,
then install the wheel into a clean environment outside the checkout and run it there."""

import hashlib
import json
import os
import pathlib
import subprocess
import sys
import tarfile
import tempfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
WINDOWS = sys.platform == "win32"
PATIENCE = 600.0  # seconds for each command
HOW = "pip install ./benchmarks"
# as in the Makefile: the tool that builds has the version of constraints.txt, too
BUILD = ("build", "--quiet", "--build-constraints", ROOT / "constraints.txt")
# what compiled kernels are kept by: their sources, the version of Numba and the switches
DIGEST = "from pliant.kernels import jit; print(jit.sources_digest())"


def run(*command: str | os.PathLike[str], **options: object) -> str:
    words = [os.fspath(c) for c in command]
    result = subprocess.run(words, text=True, stdout=subprocess.PIPE, timeout=PATIENCE, **options)  # type: ignore[call-overload]
    if result.returncode:
        raise SystemExit(f"{' '.join(map(str, command))} ended with exit code {result.returncode}\n{result.stdout}")
    return str(result.stdout)


def check_contents(wheel: pathlib.Path) -> None:
    """Refuse a wheel with a file outside of the package, such as a benchmark, a test or a study."""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    strange = [
        name for name in names if not name.startswith(("pliant/", f"{'-'.join(wheel.name.split('-')[:2])}.dist-info/"))
    ]
    strange += [name for name in names if name.startswith(("pliant/bench/", "pliant/kernels/cubic_batches"))]
    if strange:
        raise SystemExit(f"{wheel.name} contains files that are not part of the package: {', '.join(strange)}")


def check_reproducible(uv: pathlib.Path, folder: pathlib.Path) -> None:
    """Build again from the sdist, in another folder, with files of another date: the same bytes must result."""
    (sdist,) = folder.glob("*.tar.gz")
    with tempfile.TemporaryDirectory() as elsewhere:
        with tarfile.open(sdist) as archive:
            archive.extractall(elsewhere, filter="data")
        (source,) = pathlib.Path(elsewhere).iterdir()
        for file in source.rglob("*"):
            os.utime(file, (1.5e9, 1.5e9))
        run(uv, *BUILD, "--out-dir", source / "dist", source)
        first, again = digests(folder), digests(source / "dist")
    if first != again:
        raise SystemExit(f"a second build differs: {first} and {again}")
    for name, digest in first.items():
        print(f"{name} builds reproducibly: sha256 {digest}")


def digests(folder: pathlib.Path) -> dict[str, str]:
    files = [*folder.glob("*.whl"), *folder.glob("*.tar.gz")]
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in sorted(files)}


def check_kernels(pliant: pathlib.Path, empty: pathlib.Path, env: dict[str, str]) -> None:
    """A wheel with compiled kernels compiles none in a first run."""
    run(pliant, "drape", "--material", "wool", "--frames", "2", "--resolution", "100", cwd=empty, env=env)
    compiled = pathlib.Path(env["PLIANT_CACHE"]).rglob("inner.*.nbc")  # wheels have no inner kernels
    if names := sorted({file.name for file in compiled}):
        raise SystemExit(f"a first run with shipped kernels compiled {len(names)} others: {', '.join(names[:9])}")


def main() -> None:
    folder = pathlib.Path(sys.argv[1]).resolve()
    (wheel,) = folder.glob("*.whl")
    check_contents(wheel)
    here = pathlib.Path(sys.executable).parent
    uv = here / ("uv.exe" if WINDOWS else "uv")
    shipped = not wheel.name.endswith("none-any.whl")  # compiled kernels, which LLVM need not write twice the same
    if not shipped:
        check_reproducible(uv, folder)
    with tempfile.TemporaryDirectory() as clean:
        venv, empty = pathlib.Path(clean) / "venv", pathlib.Path(clean) / "empty"
        empty.mkdir()
        env = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "VIRTUAL_ENV")}
        python = venv / ("Scripts/python.exe" if WINDOWS else "bin/python")
        pliant = venv / ("Scripts/pliant.exe" if WINDOWS else "bin/pliant")
        run(uv, "venv", "--quiet", "--python", sys.executable, venv)
        run(uv, "pip", "install", "--quiet", "--python", python, "-c", ROOT / "constraints.txt", wheel)
        # the kernels that the tests compile are those of the wheel if, and only if, the digests agree
        if run(python, "-c", DIGEST, cwd=empty, env=env) != run(sys.executable, "-c", DIGEST, cwd=ROOT):
            raise SystemExit(f"{wheel.name} contains other kernels than the checkout, or depends on another Numba")
        version = run(pliant, "--version", cwd=empty, env=env).strip()
        tag = os.environ.get("GITHUB_REF_NAME") if os.environ.get("GITHUB_REF_TYPE") == "tag" else None
        if tag not in (None, f"v{version}"):
            raise SystemExit(f"the tag is {tag}, the version of the package {version}: it must be v{version}")
        alone = env | {"PLIANT_CACHE": str(pathlib.Path(clean) / "cache")}  # so that the doctor has to compile
        report = json.loads(run(pliant, "doctor", "--json", cwd=empty, env=alone))
        if version != report["versions"]["pliant"] or not report["well"]:
            raise SystemExit(f"--version reports {version}, doctor reports {report}")
        if shipped:
            check_kernels(pliant, empty, alone)
        # the benchmarks are a package of their own; without it the command says so in one line
        command = [pliant, "bench", "peers"]
        bench = subprocess.run(command, text=True, capture_output=True, cwd=empty, env=env, timeout=PATIENCE)
        if (bench.returncode, bench.stdout, bench.stderr.count("\n")) != (2, "", 1) or HOW not in bench.stderr:
            raise SystemExit(f"pliant bench without the benchmarks: exit code {bench.returncode}, {bench.stderr}")
        # the replay needs data files beside the modules, which the wheel must contain
        wanted = ["drape.glb", "drape.html", "drape.png"]
        outputs = [word for pair in zip(("--out", "--replay", "--sheet"), wanted) for word in pair]
        said = run(pliant, "drape", "--frames", "2", "--resolution", "8", "--json", *outputs, cwd=empty, env=env)
        if json.loads(said)["files"] != wanted or not all((empty / name).stat().st_size for name in wanted):
            raise SystemExit(f"pliant drape did not write the expected files: {said}")
    print(f"{wheel.name} installs and runs in a clean environment: pliant {version}")


if __name__ == "__main__":
    main()

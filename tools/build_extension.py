"""Build the Blender extension: `build_extension.py FOLDER` writes `pliant-VERSION.zip` there, as Blender's own command
`extension build` does, without Blender. In it is the wheel of pliant, for the button Install: Blender never sees it as
a package of its own."""

import pathlib
import subprocess
import sys
import tempfile
import tomllib
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
SOURCE = ROOT / "integrations" / "blender"


def build(folder: pathlib.Path) -> pathlib.Path:
    """Write the zip; files have a fixed date, so that equal sources give equal bytes."""
    manifest = tomllib.loads((SOURCE / "blender_manifest.toml").read_text("utf-8"))
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{manifest['id']}-{manifest['version']}.zip"
    files = {file.name: file.read_bytes() for file in [*SOURCE.glob("*.py"), SOURCE / "blender_manifest.toml"]}
    with tempfile.TemporaryDirectory() as name:
        command = [sys.executable, "-m", "uv", "build", "--quiet", "--wheel", "--out-dir", name, str(ROOT)]
        subprocess.run(command, check=True)
        files |= {f"program/{wheel.name}": wheel.read_bytes() for wheel in pathlib.Path(name).glob("*.whl")}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for file, content in sorted(files.items()):
            archive.writestr(zipfile.ZipInfo(file, (1980, 1, 1, 0, 0, 0)), content, zipfile.ZIP_DEFLATED)
    return path


if __name__ == "__main__":
    print(build(pathlib.Path(sys.argv[1])))

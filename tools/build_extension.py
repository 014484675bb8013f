"""Build the Blender extension: `build_extension.py FOLDER` writes `pliant-VERSION.zip` there, as Blender's own command
`extension build` does, without Blender."""

import pathlib
import sys
import tomllib
import zipfile

SOURCE = pathlib.Path(__file__).resolve().parents[1] / "integrations" / "blender"


def build(folder: pathlib.Path) -> pathlib.Path:
    """Write the zip; files have a fixed date, so that equal sources give equal bytes."""
    manifest = tomllib.loads((SOURCE / "blender_manifest.toml").read_text("utf-8"))
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{manifest['id']}-{manifest['version']}.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted([*SOURCE.glob("*.py"), SOURCE / "blender_manifest.toml"]):
            archive.writestr(zipfile.ZipInfo(file.name, (1980, 1, 1, 0, 0, 0)), file.read_bytes(), zipfile.ZIP_DEFLATED)
    return path


if __name__ == "__main__":
    print(build(pathlib.Path(sys.argv[1])))

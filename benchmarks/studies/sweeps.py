"""The picture of docs/sweep.md, and the cost of a bake in slabs: `studies/sweeps.py gallery | slabs MESH CELLS`."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from PIL import Image

ROOT = pathlib.Path(__file__).resolve().parents[2]


def draw_gallery() -> None:
    """The first example of the page, run and captured by a headless browser."""
    from playwright.sync_api import sync_playwright

    names = ("chromium", "chromium-browser", "google-chrome")
    found = os.environ.get("PLIANT_CHROMIUM") or next(filter(None, map(shutil.which, names)))
    example = re.search(r"```toml\n(.*?)```", (ROOT / "docs" / "sweep.md").read_text("utf-8"), re.S)
    assert example is not None
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(os.environ.get("PLIANT_SWEEP_KEEP", folder)) / "fabrics.toml"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(example[1])
        subprocess.run([sys.executable, "-m", "pliant", "sweep", str(file)], check=True)
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
            page = browser.new_page(viewport={"width": 1180, "height": 900}, color_scheme="light")
            page.goto((file.with_suffix("") / "gallery.html").as_uri())
            page.select_option("#by", label="stretch most, %")
            page.click("#turn")
            page.screenshot(path=file.with_name("shot.png"))
            browser.close()
        small = Image.open(file.with_name("shot.png")).convert("RGB").quantize(256)
        small.save(ROOT / "docs" / "images" / "sweep-gallery.png", optimize=True)


def measure_slabs(mesh: str, cells: int) -> None:
    """CPU seconds and peak memory: a field in one piece, its slabs one after the other, and joining them."""
    start = (
        "import pliant, sys; from pliant.detect.fields.slabs import *\n"
        "mesh = pliant.load(sys.argv[1]); place = layout(mesh, int(sys.argv[2]), slabs=int(sys.argv[3]))\n"
        "files = [f'{sys.argv[4]}/{k}.npz' for k in range(place.slabs)]\n"
    )
    whole = start + "pliant.DistanceField.bake(mesh, int(sys.argv[2]), max_bytes=1e12)"
    slabs = start + "[save_slab(file, bake_slab(mesh, place, k)) for k, file in enumerate(files)]"
    join = start + "join_slabs(f'{sys.argv[4]}/field.npz', mesh, place, files)"
    with tempfile.TemporaryDirectory() as folder:
        print("16 cells", _cost(whole, mesh, "16", "1", folder))
        print("one piece", _cost(whole, mesh, str(cells), "1", folder))
        for count in ("4", "16"):
            words = (mesh, str(cells), count, folder)
            print(count, "slabs", _cost(slabs, *words), "join", _cost(join, *words))


def _cost(code: str, *words: str) -> dict[str, float]:
    """User time and peak memory of a separate process."""
    child = subprocess.Popen([sys.executable, "-c", code, *words])
    _, status, used = os.wait4(child.pid, 0)
    assert status == 0
    return {"seconds": round(used.ru_utime, 2), "mebibytes": round(used.ru_maxrss / 1024)}


if __name__ == "__main__":
    if sys.argv[1:2] == ["slabs"]:
        measure_slabs(sys.argv[2], int(sys.argv[3]))
    else:
        draw_gallery()

"""`pliant samples`: meshes to try the commands with."""

import pathlib
from collections.abc import Callable
from typing import TYPE_CHECKING

from . import output
from .output_paths import check_output

if TYPE_CHECKING:
    from ..mesh import Mesh


def samples(folder: pathlib.Path = pathlib.Path("samples"), *, json: bool = False) -> None:
    """Write meshes to try the commands with into FOLDER: a body, a walking character, garments, a scan.

    Files that are already there are not overwritten.

    Parameters
    ----------
    folder
        The folder, which is created if it is missing.
    json
        Print JSON instead of a table.
    """
    for name in SAMPLES:
        if (folder / name).exists():
            raise ValueError(f"{folder / name} exists already; name another folder: pliant samples FOLDER")
        check_output(folder / name)
    folder.mkdir(parents=True, exist_ok=True)
    for name, (write, _) in SAMPLES.items():
        write(folder / name)
    rows = [(str(folder / name), what) for name, (_, what) in SAMPLES.items()]
    if json:
        output.print_json([{"file": file, "what": what} for file, what in rows])
    else:
        output.table(("written", "what it is"), rows)


def _shape(make: "Callable[[], Mesh]") -> Callable[[pathlib.Path], None]:
    def write(path: pathlib.Path) -> None:
        from ..io import save

        save(path, make())

    return write


def _body() -> "Mesh":
    from .. import shapes

    return shapes.mannequin()


def _skirt() -> "Mesh":
    from .. import shapes

    return shapes.skirt()


def _trousers() -> "Mesh":
    from .. import shapes

    return shapes.trousers()


def _clipping() -> "Mesh":
    import numpy as np

    skirt = _skirt()
    return skirt.moved(skirt.vertices + np.array([0.02, 0.0, -0.03]))


def _scan() -> "Mesh":
    from .. import shapes

    bust = shapes.bust()
    return bust.moved(1000.0 * bust.vertices[:, [0, 2, 1]] * [1.0, -1.0, 1.0])


def _walker(path: pathlib.Path) -> None:
    from .. import shapes
    from ..io import save_character

    save_character(path, shapes.walking_mannequin())


# file -> what writes it, what it is
SAMPLES: dict[str, tuple[Callable[[pathlib.Path], None], str]] = {
    "body.obj": (_shape(_body), "a mannequin"),
    "walker.glb": (_walker, "the same as a character with bones, and a clip in which it walks"),
    "skirt.obj": (_shape(_skirt), "a skirt, as it is worn by both"),
    "trousers.obj": (_shape(_trousers), "trousers, as they are worn by both"),
    "clipping.obj": (_shape(_clipping), "the skirt 3 cm too far back, so that the body protrudes through it"),
    "scan.stl": (_shape(_scan), "a bust in millimetres, with z up"),
}

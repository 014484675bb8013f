"""The Python function `pliant.drape`: from two meshes to a finished run. The command is in `cli/drape.py`, the scene in
`scenes/drape.py`."""

import inspect
import time
from collections.abc import Callable, Mapping
from typing import Any

from .. import validate
from ..arguments import check_arguments
from ..errors import unknown_option
from ..mesh import Mesh
from ..proxies.proxy import FEWEST, MOST
from ..scene import Scene
from ..scenes.drape import drape_scene
from ..scenes.holding import Holding
from .carrying import Proxies, refuse_rows
from .frame import Frame
from .result import Result
from .step import Simulation


@check_arguments
def drape(
    cloth: Mesh,
    body: Mesh,
    frames: int = 250,
    *,
    dt: float = 0.01,
    substeps: int | None = None,
    method: str = "distance-field",
    proxy: int | None = None,
    measure: bool = True,
    progress: Callable[[Frame], None] | None = None,
    **options: Any,
) -> Result:
    """Drape `cloth` over `body` and keep every frame. Options are those of `drape_scene` (place, eps, friction ...).

    proxy: simulate a proxy of about this number of vertices in place of a denser cloth, and carry the cloth along
    (see `pliant.proxy`); the result is that of the cloth as given.

    The command `pliant drape` also reads files, built-in scenes and characters, fixes garments that start inside the
    body (call `pliant.fix` for that here), chooses the method by "auto" (here one fixed method is the default, as in
    `Simulation`), and takes a method and response for self-contact; for these use `Simulation` and `record`.

    >>> pliant.drape(pliant.shapes.cloth(), pliant.shapes.ball(0.25)).save("out.glb")
    """
    start = time.perf_counter()
    check_options(options)
    if proxy is not None:
        proxy = validate.whole("proxy", proxy, low=FEWEST, high=MOST)
        refuse_rows(options.get("pins", ()), options.get("attach", ()), options.get("stitches", ()))
    proxies = Proxies(proxy)
    scene = proxies.with_offsets(drape_scene(proxies.replace(cloth, body), body, **options), tuple(options))
    sim = Simulation(scene, dt, substeps=substeps, method=method)
    result = proxies.record(sim, frames, measure=measure, progress=progress)
    result.seconds[0] = time.perf_counter() - start - float(result.seconds[1:].sum())
    return result


def check_options(options: Mapping[str, Any]) -> None:
    """Raise TypeError for an option that neither this function, nor `drape_scene` nor a `Scene` has."""
    takers = (drape, drape_scene, Holding, Scene)
    named = {name for taker in takers for name in inspect.signature(taker).parameters}
    known = named - {"cloth", "body", "bodies", "options"}
    for name in options:
        if name not in known:
            raise unknown_option("drape", name, known)

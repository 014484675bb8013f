"""The Python function `pliant.drape`: from two meshes to a finished run. The command is in `cli/drape.py`, the scene in
`scenes/drape.py`."""

import time
from collections.abc import Callable
from typing import Any

from ..arguments import check_arguments
from ..mesh import Mesh
from ..proxies.proxy import proxy as make_proxy
from ..scenes.drape import drape_scene
from .carrying import record_carried, refuse_rows, with_room_for
from .record import record
from .result import Result
from .step import Frame, Simulation


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

    The command `pliant drape` runs the same simulation. It also reads files, built-in scenes and characters, chooses
    the method by "auto" (here one fixed method is the default, as in `Simulation`), reads and stores baked distance
    fields in the cache, and takes a method and response for self-contact; for these use `Simulation` and `record`.

    >>> pliant.drape(pliant.shapes.cloth(), pliant.shapes.ball(0.25)).save("out.glb")
    """
    start = time.perf_counter()
    made = None if proxy is None else make_proxy(cloth, proxy, body=body)
    if made is not None:
        refuse_rows(options.get("pins", ()), options.get("attach", ()), options.get("stitches", ()))
    scene = drape_scene(cloth if made is None else made.mesh, body, **options)
    if made is None or made.is_garment:
        sim = Simulation(scene, dt, substeps=substeps, method=method)
        result = record(sim, frames, measure=measure, progress=progress)
    else:
        sim = Simulation(with_room_for(scene, [made], tuple(options)), dt, substeps=substeps, method=method)
        result = record_carried(sim, [made], frames, measure=measure, progress=progress)
    result.seconds[0] = time.perf_counter() - start - float(result.seconds[1:].sum())
    return result

"""The Python function `pliant.drape`: from two meshes to a finished run. The command is in `cli/drape.py`, the scene in
`scenes/drape.py`."""

import inspect
import time
from collections.abc import Callable, Mapping
from typing import Any

from .. import validate
from ..arguments import check_arguments
from ..detect.choose import resolve_method_for_scene
from ..errors import unknown_option
from ..mesh import Mesh
from ..motion.character import Character
from ..proxies.proxy import FEWEST, MOST
from ..scene import Scene
from ..scenes.defaults import default_run_length
from ..scenes.drape import drape_scene
from ..scenes.dressing import dress_scene, rest_skin
from ..scenes.holding import Holding
from .carrying import Proxies, refuse_rows
from .frame import Frame
from .result import Result
from .step import Simulation


@check_arguments
def drape(
    cloth: Mesh,
    body: Mesh | Character,
    frames: int | None = None,
    *,
    dt: float = 0.01,
    substeps: int | None = None,
    method: str | None = None,
    proxy: int | None = None,
    measure: bool = True,
    progress: Callable[[Frame], None] | None = None,
    **options: Any,
) -> Result:
    """Drape `cloth` over `body` and keep every frame. Options are those of `drape_scene` (place, eps, friction ...); of
    `dress_scene` (clip, lead_in, attach ...) on a `Character`, which plays a clip and wears the cloth.

    frames: default: 250, or the clip of the character. method: default: "distance-field", on a character "auto".
    proxy: simulate a proxy of about this number of vertices in place of a denser cloth, and carry the cloth along
    (see `pliant.proxy`); the result is that of the cloth as given.

    The command `pliant drape` also reads files, built-in scenes and characters, fixes garments that start inside the
    body (call `pliant.fix` for that here), chooses the method by "auto" for every body, and takes a method and response
    for self-contact; for these use `Simulation` and `record`.

    >>> pliant.drape(pliant.shapes.cloth(), pliant.shapes.ball(0.25)).save("out.glb")
    """
    start = time.perf_counter()
    worn = isinstance(body, Character)
    check_options(options, dress_scene if worn else drape_scene)
    if proxy is not None:
        proxy = validate.whole("proxy", proxy, low=FEWEST, high=MOST)
        refuse_rows(options.get("pins", ()), options.get("attach", ()), options.get("stitches", ()))
    proxies = Proxies(proxy)
    if isinstance(body, Character):
        scene = dress_scene([proxies.replace(cloth, rest_skin(body))], body, **options)
    else:
        scene = drape_scene(proxies.replace(cloth, body), body, **options)
    scene = proxies.with_offsets(scene, tuple(options))
    frames = default_run_length(scene, dt).frames if frames is None else frames
    chosen = resolve_method_for_scene(scene, ("auto" if worn else "distance-field") if method is None else method)
    sim = Simulation(scene, dt, substeps=substeps, method=chosen)
    result = proxies.record(sim, frames, measure=measure, progress=progress)
    result.seconds[0] = time.perf_counter() - start - float(result.seconds[1:].sum())
    return result


def check_options(options: Mapping[str, Any], makes: Callable[..., Scene] = drape_scene) -> None:
    """Raise TypeError for an option that neither this function, nor what `makes` the scene, nor a `Scene` has."""
    takers = (drape, makes, Holding, Scene)
    named = {name for taker in takers for name in inspect.signature(taker).parameters}
    known = named - {"cloth", "body", "bodies", "options", "garments", "character"}
    for name in options:
        if name not in known:
            raise unknown_option("drape", name, known)

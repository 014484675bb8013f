"""The option `--proxy`: how many vertices it names, what goes with it, and a note about the proxy that is made."""

from typing import TYPE_CHECKING, Any

from . import output

if TYPE_CHECKING:
    from ..mesh import Mesh
    from ..simulation.carrying import Proxies


def proxies_of(text: str | None, held: Any, given: bool) -> "Proxies":
    """Return the proxies of as many vertices as the option names, 5k or 5000; `held` are the options that hold the
    cloth, `given` tells whether there is a file of it."""
    from .. import validate
    from ..proxies.proxy import FEWEST
    from ..simulation.carrying import Proxies, refuse_rows

    if text is None:
        return Proxies()
    if not given:
        raise ValueError("--proxy is for the mesh file of a garment; a generated cloth takes --resolution")
    refuse_rows(held.pin, held.attach, held.stitches or ())
    return Proxies(validate.count("--proxy", text, low=FEWEST, high=1_000_000))


def simulated(garment: "Mesh", body: "Mesh", proxies: "Proxies | None") -> "Mesh":
    """Return the mesh that is simulated for a garment on a body, and say what it is if it is a proxy."""
    if proxies is None or proxies.vertices is None:
        return garment
    with output.progress(f"making a proxy of {garment.name}"):
        mesh = proxies.replace(garment, body)
    output.say(f"note: simulated is {proxies.made[-1]}")
    return mesh

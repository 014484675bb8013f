"""The option `--proxy`: its number of vertices, the options that exclude it, and a note about each proxy."""

from typing import TYPE_CHECKING, Any

from . import output

if TYPE_CHECKING:
    from ..mesh import Mesh
    from ..simulation.carrying import Proxies


def proxies_of(text: str | None, held: Any, given: bool) -> "Proxies":
    """Return proxies with the number of vertices that the option gives, 5k or 5000; `held` are the options that hold
    the cloth, and `given` tells whether the cloth is read from a file."""
    from .. import validate
    from ..proxies.proxy import FEWEST, MOST
    from ..simulation.carrying import Proxies, refuse_rows

    if text is None:
        return Proxies()
    if not given:
        raise ValueError("--proxy is for the mesh file of a garment; a generated cloth takes --resolution")
    refuse_rows(held.pin, held.attach, held.stitches or ())
    return Proxies(validate.count("--proxy", text, low=FEWEST, high=MOST))


def simulated(garment: "Mesh", body: "Mesh", proxies: "Proxies | None") -> "Mesh":
    """Return the mesh that is simulated for a garment on a body; with `--proxy`, print a note about it."""
    if proxies is None or proxies.vertices is None:
        return garment
    if len(garment.lines):
        raise ValueError(f"--proxy is for cloth; {garment.name!r} has lines")
    with output.progress(f"making a proxy of {garment.name}"):
        mesh = proxies.replace(garment, body)
    output.say(f"note: simulating {proxies.made[-1]}")
    return mesh

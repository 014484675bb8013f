"""Proxies on the command line: made as garments are read, and carried back after the run."""

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from . import output

if TYPE_CHECKING:
    from ..mesh import Mesh
    from ..proxies.proxy import Proxy
    from ..scene import Scene
    from ..simulation import Simulation
    from ..simulation.result import Result


@dataclasses.dataclass(frozen=True)
class GarmentProxies:
    """The proxies of the garments of a scene, in their order; without a number of `vertices` there are none."""

    vertices: int | None = None
    made: "list[Proxy]" = dataclasses.field(default_factory=list)

    @classmethod
    def of(cls, text: str | None) -> "GarmentProxies":
        """Proxies of as many vertices as an option names: 5k or 5000."""
        from .. import validate
        from ..proxies.proxy import FEWEST

        return cls(None if text is None else validate.count("--proxy", text, low=FEWEST, high=1_000_000))

    def check(self, held: Any, given: bool) -> None:
        """Raise ValueError for options without a garment, and for vertices of it by their numbers."""
        if self.vertices is None:
            return
        if not given:
            raise ValueError("--proxy is for the mesh file of a garment; a generated cloth takes --resolution")
        from ..simulation.carrying import refuse_rows

        refuse_rows(held.pin, held.attach, held.stitches or ())

    def replace(self, garment: "Mesh", body: "Mesh") -> "Mesh":
        """Return the mesh that is simulated for a garment on a body: a proxy of it, or the garment itself."""
        if self.vertices is None:
            return garment
        from ..proxies.proxy import proxy

        with output.progress(f"making a proxy of {garment.name}"):
            self.made.append(proxy(garment, self.vertices, body=body))
        output.say(f"note: simulated is {self.made[-1]}")
        return self.made[-1].mesh

    def with_room(self, scene: "Scene", given: Sequence[str]) -> "Scene":
        """Return the scene with room for the thickness of the garments, except in the options that were given."""
        from ..simulation.carrying import with_room_for

        return with_room_for(scene, self.made, given)

    def record(self, sim: "Simulation", frames: int, **options: Any) -> "Result":
        """Run the simulation; the result is that of the garments."""
        from ..simulation.carrying import record_carried
        from ..simulation.record import record

        if all(each.is_garment for each in self.made):
            return record(sim, frames, **options)
        return record_carried(sim, self.made, frames, **options)


NO_PROXIES = GarmentProxies()

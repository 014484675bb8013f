"""The option `--fix-start`: garments that start inside the body, or intersect themselves or others, are fixed first."""

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from . import output

if TYPE_CHECKING:
    from ..audit.start_pose import StartFix
    from ..mesh import Mesh

SHARE = 0.5  # of the contact offset: clearance of a garment that was fixed, which the guard keeps


@dataclasses.dataclass
class StartPoses:
    """Fixes start poses where `wanted`, says so, and remembers what was done."""

    wanted: bool = True
    done: "list[StartFix]" = dataclasses.field(default_factory=list)

    def fixed(self, garments: "Sequence[Mesh]", body: "Mesh", eps: float) -> "list[Mesh]":
        """The garments, inner to outer, each fixed on the body and over those before it where it needs to be."""
        if not self.wanted:
            return list(garments)
        from ..audit.start_pose import fix_start

        worn: list[Mesh] = []
        for garment in garments:
            found = fix_start(garment, body, SHARE * eps, worn)
            if found is not None:
                self.done.append(found)
                output.say(
                    f"note: the start of {garment.name!r} was fixed: {found.text} (--no-fix-start leaves it as it is)"
                )
            worn.append(garment if found is None else found.garment)
        return worn

    def to_json(self) -> dict[str, Any]:
        """What was fixed, for the summary."""
        return {"start_fixes": [each.to_json() for each in self.done]}

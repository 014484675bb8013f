"""The option `--fix-start`: garments that start inside the body, or intersect themselves or others, are fixed first."""

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from . import output

if TYPE_CHECKING:
    from ..audit.findings import Note
    from ..audit.start_pose import StartFix
    from ..mesh import Mesh


@dataclasses.dataclass
class StartPoses:
    """Fixes start poses where `wanted`, says so, and remembers what was done and noted about the body."""

    wanted: bool = True
    done: "list[StartFix]" = dataclasses.field(default_factory=list)
    notes: "list[Note]" = dataclasses.field(default_factory=list)

    def fixed(self, garments: "Sequence[Mesh]", body: "Mesh", eps: float) -> "list[Mesh]":
        """The garments, inner to outer, each fixed on the body and over those before it where it needs to be."""
        if not self.wanted:
            self.note(garments[0], body)
            return list(garments)
        from ..audit.start_pose import CLEARANCE, fix_start

        worn: list[Mesh] = []
        for garment in garments:
            # the body is the same for all garments: its notes are those of the first
            notes: list[Note] = []
            found = fix_start(garment, body, CLEARANCE * eps, worn, notes)
            self._say(notes)
            if found is not None:
                self.done.append(found)
                output.say(
                    f"note: the start of {garment.name!r} was fixed: {found.text} (--no-fix-start leaves it as it is)"
                )
                if found.unfit(body.size):
                    output.warn(
                        f"{garment.name!r} does not lie on this pose of the body: fixing its start moved "
                        f"{found.moved:,} of its {garment.n_vertices:,} vertices, and its rest shape with them; give "
                        "the body in the pose for which it was made (--body-rest for a sequence of meshes), or a "
                        "garment that fits"
                    )
            worn.append(garment if found is None else found.garment)
        return worn

    def note(self, garment: "Mesh", body: "Mesh") -> None:
        """Say which shells of the body are open or inside out, where no start is fixed."""
        from ..audit.start_pose import notes_on_body

        self._say(notes_on_body(garment, body))

    def _say(self, notes: "list[Note]") -> None:
        if not self.notes:
            self.notes = notes
            for note in notes:
                output.say(f"note: {note.text}")

    def to_json(self) -> dict[str, Any]:
        """What was fixed and noted, for the summary."""
        notes = [{"kind": str(note.kind), "text": note.text} for note in self.notes]
        return {"start_fixes": [each.to_json() for each in self.done], "body_notes": notes}

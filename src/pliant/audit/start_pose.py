"""Start poses: a garment that starts inside a body, or intersects itself or an inner garment, is fixed before it is
draped."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..detect.queries.intersections import intersections
from ..detect.queries.self_intersections import SelfIntersections
from ..mesh import Mesh
from .check import check
from .findings import Note, NoteKind, size_words
from .fix import fix

# notes that a simulation says, too
ON_BODY = (NoteKind.NO_INSIDE, NoteKind.OPEN, NoteKind.INWARD_SHELL, NoteKind.WHOLLY_INSIDE)
MOST_MOVED, FAR = 0.3, 0.02  # share of the vertices, and of the body's size: a garment that was moved by more is unfit
CLEARANCE = 0.5  # of a garment that is fixed, as a share of the contact offset; the guard keeps it (its BODY_SHARE)
WORN = 0.5  # share of the vertices inside: a garment with more of them is not worn on this body


class Problems(NamedTuple):
    """What is wrong with a garment in one pose."""

    inside: int  # vertices inside the body
    crossings: int  # triangle pairs of garment and body that cross
    own: int  # intersecting triangle pairs of one shell of the garment
    shells: int  # intersecting triangle pairs of two of its shells, as of a button and its cloth
    layers: int  # intersecting triangle pairs with inner garments

    @property
    def found(self) -> bool:
        """Whether anything is wrong that `fix` can remove; shells that intersect are meant to."""
        return bool(self.inside or self.crossings or self.own or self.layers)


class StartFix(NamedTuple):
    """A garment whose start pose was fixed."""

    garment: Mesh
    before: Problems
    after: Problems
    moved: int  # vertices
    farthest: float  # metres

    def unfit(self, size: float) -> bool:
        """Whether the garment was deformed beyond what a start that clips a little needs, on a body of this size."""
        return self.moved > MOST_MOVED * self.garment.n_vertices and self.farthest > FAR * size

    @property
    def text(self) -> str:
        """What was done, as part of a sentence."""
        names = (
            "vertices inside the body",
            "pairs crossing the body",
            "self-intersecting pairs",
            "",
            "pairs intersecting inner garments",
        )
        parts = [
            f"{name} {a:,} -> {b:,}"
            for name, a, b in zip(names, self.before, self.after, strict=True)
            if name and (a or b)
        ]
        moved = f"{self.moved:,} vertices moved by up to {size_words(self.farthest)}"
        return f"{', '.join(parts)}; {moved}"

    def to_json(self) -> dict[str, Any]:
        """The figures as plain values."""
        return {
            "garment": self.garment.name,
            "before": self.before._asdict(),
            "after": self.after._asdict(),
            "moved_vertices": self.moved,
            "farthest_m": self.farthest,
        }


def fix_start(
    garment: Mesh, body: Mesh, clearance: float, inner: Sequence[Mesh] = (), notes: list[Note] | None = None
) -> StartFix | None:
    """Fix `garment` on `body`, to `clearance` metres from it and outside of the `inner` garments; None where nothing is
    wrong, nothing better was found, or most of the garment is inside the body. The notes of the check on the body are
    added to `notes`."""
    before = problems(garment, body, inner, notes)
    if not before.found or before.inside > WORN * len(np.unique(garment.faces)):
        return None
    untangled = before.own > 0 and not before.shells
    done = fix(garment, body, clearance=clearance, inner=list(inner), untangle=untangled)
    moved = np.linalg.norm(done.garment.frames[0] - garment.vertices, axis=1)
    if not moved.any():
        return None
    better = garment.moved(np.asarray(done.garment.frames[0], np.float64))
    after = problems(better, body, inner)
    return StartFix(better, before, after, int((moved > 0.0).sum()), float(moved.max()))


def problems(garment: Mesh, body: Mesh, inner: Sequence[Mesh] = (), notes: list[Note] | None = None) -> Problems:
    """Count what is wrong with a garment on a body, over inner garments; add what is to be said of the body to
    `notes`."""
    found = check(garment, body)
    if notes is not None:
        notes += _on_body(found.notes)
    frame, shell = found.frames[0], garment.welded.topology.components
    pairs = SelfIntersections(garment).pairs() if frame.self_pairs else np.zeros((0, 2), np.int32)
    first = shell[garment.weld_index[garment.faces[:, 0]]]
    own = int((first[pairs[:, 0]] == first[pairs[:, 1]]).sum())
    return Problems(
        inside=frame.inside if found.has_inside else 0,
        crossings=frame.crossings,
        own=own,
        shells=len(pairs) - own,
        layers=sum(len(intersections(garment, each)) for each in inner),
    )


def notes_on_body(garment: Mesh, body: Mesh) -> list[Note]:
    """Return what is to be said of the shells of a body that a garment is draped on."""
    return _on_body(check(garment, body).notes)


def _on_body(notes: Sequence[Note]) -> list[Note]:
    return [note for note in notes if note.kind in ON_BODY]

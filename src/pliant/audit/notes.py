"""Notes of a check on the shells of a body: where they leave the side of a point unknown, or have no inside."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..mesh import Mesh
from .findings import Finding, Note, NoteKind
from .shells import Shell

_LISTED = 4  # shells named in a note
NEARLY_ALL = 0.95  # of the vertices of a garment, in every frame: one of which fewer are inside may be worn
DEEP = 0.05  # of its size: median depth from which on such a garment is not one that is merely too tight
SMALL = 0.05  # of the size of the body: a garment below this is in other units


def notes_on_shells(body: Mesh, shells: Sequence[Shell], frames: Sequence[Finding]) -> list[Note]:
    """Return the notes on open shells and on shells that are inside out."""
    notes = []
    if any(not shell.closed for shell in shells):
        notes.append(_open(body, shells, frames))
    wrong = [shell for shell in shells if shell.turned]
    if wrong:
        text = f"{_listed(wrong)} of body {body.name!r}: faces point inward; treated as if these were reversed"
        notes.append(Note(NoteKind.INWARD_SHELL, text))
    return notes


def note_on_place(garment: Mesh, body: Mesh, distances: NDArray[np.float32], shells: Sequence[Shell]) -> Note | None:
    """Return the note on a garment that is deep inside the body as a whole, in every frame; None where it is not.
    distances (T,n): of all its vertices from the body, negative inside."""
    away = distances[:, np.unique(garment.faces)]
    if not ((away < 0.0).mean(1) >= NEARLY_ALL).all() or float(-np.median(away)) < DEEP * garment.size:
        return None
    ratio = garment.size / body.size
    if ratio < SMALL:
        why = f"the garment has {ratio:.2g} times the size of the body, probably other units: scale one of them"
    elif not all(shell.closed for shell in shells):
        why = "the body is open, so its faces may point inward; or the garment is in another place"
    else:
        apart = float(np.linalg.norm(garment.bounds.mean(0) - body.bounds.mean(0)))
        why = (
            f"place it as it is worn (the centre of its bounding box is {apart:.3g} m from that of the body), or "
            "give the files in the order garment, body"
        )
    least, count = int((away < 0.0).sum(1).min()), away.shape[1]
    inside = f"{'' if len(away) == 1 or least == count else 'at least '}{least:,} of {count:,}"
    always = "" if len(away) == 1 else " in every frame"
    text = f"{inside} vertices of garment {garment.name!r} are deep inside body {body.name!r}{always}: {why}"
    return Note(NoteKind.WHOLLY_INSIDE, text)


def note_on_duplicates(garment: Mesh) -> Note:
    """Return the note on faces that a garment has more than once."""
    copies = garment.issues.duplicate
    text = (
        f"{len(copies):,} faces of garment {garment.name!r} have the same corners as earlier ones (first {copies[0]})"
    )
    return Note(
        NoteKind.DUPLICATE, f"{text}; their self-intersections are not counted, and only deleting them removes these"
    )


def note_on_left_out(body: Mesh, left_out: NDArray[np.bool_]) -> Note:
    """Return the note on faces (m,) of a body that decide no side, because others have the same corners."""
    rows = np.flatnonzero(left_out)
    text = f"{len(rows):,} faces of body {body.name!r} have the same corners as others (first {rows[0]})"
    return Note(NoteKind.DUPLICATE, f"{text}; inside and outside are those of the surface without them")


def _open(body: Mesh, shells: Sequence[Shell], frames: Sequence[Finding]) -> Note:
    if not any(shell.sided for shell in shells):
        text = f"vertices inside, depth and overlap: body {body.name!r} has no inside ({body.issues.words()}); "
        return Note(NoteKind.NO_INSIDE, f"{text}only distances and intersections are checked")
    some = sorted(
        (shell for shell in shells if not shell.closed), key=lambda shell: (-shell.boundary_edges, shell.number)
    )
    worst = max(frames, key=lambda found: found.unknown)
    unsure = "the side of every vertex is known"
    if worst.unknown:
        unsure = f"the side of up to {worst.unknown:,} vertices near its openings is unknown (frame {worst.frame})"
    text = f"body {body.name!r} is open: {_listed(some)}; {unsure}"
    return Note(NoteKind.OPEN, f"{text}; depth is a lower bound where its shells overlap")


def _listed(shells: Sequence[Shell]) -> str:
    said = []
    for shell in shells[:_LISTED]:
        at = "" if shell.boundary_at is None else f" around ({', '.join(f'{v:.3f}' for v in shell.boundary_at)}) m"
        edges = f", {shell.boundary_edges:,} boundary edges{at}" if shell.boundary_edges else ""
        said.append(f"shell {shell.label} ({shell.faces:,} faces{edges})")
    more = f" and {len(shells) - _LISTED} more" if len(shells) > _LISTED else ""
    return ", ".join(said) + more

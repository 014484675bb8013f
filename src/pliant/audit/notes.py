"""Notes of a check on the shells of a body: where they leave the side of a point unknown, or have no inside."""

from collections.abc import Sequence

from ..mesh import Mesh
from .findings import Finding, Note, NoteKind
from .shells import Shell

_LISTED = 4  # shells named in a note


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


def note_on_duplicates(garment: Mesh) -> Note:
    """Return the note on faces that a garment has more than once."""
    copies = garment.issues.duplicate
    text = (
        f"{len(copies):,} faces of garment {garment.name!r} have the same corners as earlier ones (first {copies[0]})"
    )
    return Note(
        NoteKind.DUPLICATE, f"{text}; their self-intersections are not counted, and only deleting them removes these"
    )


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

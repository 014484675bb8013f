"""Result of a check: findings per frame and in total, the worst locations, and the comparison with limits."""

import dataclasses
import enum
import functools
import os
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import brief, renamed
from ..files import atomic_write
from ..motion.clip import Clip
from .limits import Finding as Finding
from .limits import Limits as Limits
from .limits import Point, Violation, find_violations, plural
from .limits import size_words as size_words
from .shells import Shell

# kind of a location -> what is wrong there
KIND_TEXT = {"inside": "inside the body", "self": "intersects itself", "body": "intersects the body"}


class Location(NamedTuple):
    """A location: a patch of vertices inside the body, or an intersection curve."""

    frame: int
    kind: str  # "inside", "self" or "body"
    depth: float  # m, of the deepest vertex, or of the deepest sample beside a curve with the body
    length: float  # m, of the curve
    size: int  # number of vertices or of triangle pairs
    vertex: int  # the deepest; -1 for a curve
    place: Point
    direction: Point | None


class Curves(NamedTuple):
    """Segments (k,2,3), metres, of the intersection curves in one frame."""

    own: NDArray[np.float32]  # garment with itself
    body: NDArray[np.float32]  # garment with body


class NoteKind(enum.StrEnum):
    """What a note of a check is about."""

    NO_INSIDE = "no-inside"  # the body has no inside anywhere: vertices inside, depth and overlap are undefined
    OPEN = "open"  # shells of the body are open: near their boundaries the side of a point is unknown
    INWARD_SHELL = "inward-shell"  # shells of the body are inside out: treated as reversed
    NO_OVERLAP = "no-overlap"  # garment or body is not closed: the overlap volume is undefined
    DUPLICATE = "duplicate"  # faces with the same corners as others do not count
    WHOLLY_INSIDE = "wholly-inside"  # the garment is deep inside the body: wrong units, place or files
    FLIPPED = "flipped"  # the faces of the body point inward; they were reversed for the check


class Note(NamedTuple):
    """A property that could not be checked, or a remark on how it was checked."""

    kind: NoteKind
    text: str

    @property
    def line(self) -> str:
        """The note as one line of output."""
        known = self.kind in (NoteKind.FLIPPED, NoteKind.OPEN, NoteKind.INWARD_SHELL, NoteKind.DUPLICATE)
        known |= self.kind == NoteKind.WHOLLY_INSIDE
        return f"{'note' if known else 'not checked'}: {self.text}"


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class Report:
    """frames: a `Finding` each. places: worst first, out of `place_count`. notes: what could not be checked, and why.
    distances: (T,n) single precision, signed distance of every vertex of the garment from the body; nan without one.
    curves: intersection curves per frame. has_inside: whether the body has an inside anywhere. shells: the connected
    parts of the body.
    """

    garment: Clip
    body: Clip | None
    fps: float
    frames: tuple[Finding, ...]
    places: tuple[Location, ...]
    place_count: int
    notes: tuple[Note, ...]
    distances: NDArray[np.float32]
    curves: tuple[Curves, ...] = ()
    has_inside: bool = True
    shells: tuple[Shell, ...] = ()

    unjudged = renamed.attribute("unjudged", "unchecked")
    away = renamed.attribute("away", "distances")
    cuts = renamed.attribute("cuts", "curves")
    sided = renamed.attribute("sided", "has_inside")

    @property
    def unchecked(self) -> tuple[str, ...]:
        """The texts of the notes."""
        return tuple(note.text for note in self.notes)

    @property
    def has_shells(self) -> bool:
        """Whether the body is more than one closed shell, so that their figures tell more than those of the body."""
        return len(self.shells) > 1 or any(not shell.closed for shell in self.shells)

    @property
    def penetrating(self) -> bool:
        """True if in any frame a vertex is inside the body, or triangles of garment and body cross."""
        return any(f.penetrating for f in self.frames)

    @property
    def worst_depth(self) -> float:
        """Largest depth of the garment in any frame, metres: exact at vertices, a lower bound between them."""
        return max(f.depth for f in self.frames)

    @property
    def crossings(self) -> int:
        """Largest number of crossing triangle pairs of garment and body in one frame."""
        return max(f.crossings for f in self.frames)

    @property
    def problem_frames(self) -> tuple[Finding, ...]:
        """The frames with vertices inside the body, or pairs of triangles that cross it or intersect each other."""
        return tuple(f for f in self.frames if f.penetrating or f.self_pairs)

    @property
    def ok(self) -> bool:
        """True if nothing is inside the body, and the garment neither crosses the body nor intersects itself."""
        return not self.broken(Limits())

    @property
    def self_intersections(self) -> int:
        """Largest number of self-intersecting triangle pairs of the garment in one frame."""
        return max(f.self_pairs for f in self.frames)

    @functools.cached_property
    def worst(self) -> Finding:
        """The frame with the deepest point; without any, the one with the most intersections."""
        return max(self.frames, key=lambda f: (f.depth, f.self_pairs + f.crossings, -f.frame))

    def violations(self, limits: Limits) -> list[Violation]:
        """The exceeded limits, each with its rule, its frame and a sentence."""
        return find_violations(self.frames, limits, has_body=self.body is not None, has_inside=self.has_inside)

    def broken(self, limits: Limits) -> list[str]:
        """A sentence for each exceeded limit."""
        return [violation.text for violation in self.violations(limits)]

    @property
    def facts(self) -> dict[str, str]:
        """The results as readable text, by row heading."""
        mesh, many = self.garment.mesh, len(self.frames) > 1
        out = {"garment": f"{mesh.name}: {mesh.n_vertices:,} vertices, {mesh.n_faces:,} triangles"}
        if self.body is not None:
            body = self.body.mesh
            out["body"] = f"{body.name}: {body.n_vertices:,} vertices, {body.n_faces:,} triangles"
        if many:
            last = self.frames[-1]
            out["frames"] = f"{len(self.frames)}, to {last.time:.2f} s"
        if self.body is not None:
            out |= self._body_facts(many)
        most = max(self.frames, key=lambda f: f.self_pairs)
        out["self-intersections"] = _count(most.self_pairs, "pair of triangles", "pairs of triangles")
        if most.self_pairs:
            out["self-intersections"] += f", {_curves(most.self_loops, most.self_length)}{_in(most, many)}"
        out["mesh"] = mesh.issues.words() or "no defects"
        return out

    def _body_facts(self, many: bool) -> dict[str, str]:
        out: dict[str, str] = {}
        if self.has_shells:
            closed = sum(shell.closed for shell in self.shells)
            out["shells of the body"] = f"{len(self.shells):,}: {closed:,} closed, {len(self.shells) - closed:,} open"
        if self.has_inside:
            most, worst = max(self.frames, key=lambda f: f.inside), self.worst
            crossing = f"; {self.crossings:,} pair{plural(self.crossings)} of triangles cross between them"
            out["vertices inside"] = f"none{crossing if self.crossings else ''}"
            if most.inside:
                total = sum(1 for f in self.frames if f.inside)
                frames = f", in {total} of {len(self.frames)} frames" if many else ""
                number = f"{'at most ' if many else ''}{most.inside:,}"
                out["vertices inside"] = f"{number} ({most.share:.1%} of the surface){_in(most, many)}{frames}"
            if worst.depth > 0.0:
                where = f"at vertex {worst.vertex}" if worst.deepest >= worst.between else "between vertices"
                out["deepest"] = f"{size_words(worst.depth)} {where}{_in(worst, many)}"
        if unsure := max(f.unknown for f in self.frames):
            out["on no known side"] = f"{'at most ' if many else ''}{unsure:,} vertices, near openings of the body"
        least = min(self.frames, key=lambda f: f.clearance)
        out["least clearance"] = f"{size_words(least.clearance)}{_in(least, many)}"
        crossed = max(self.frames, key=lambda f: (f.crossings, f.body_pairs))
        out["garment intersects body"] = _count(crossed.crossings, "pair of triangles", "pairs of triangles")
        if crossed.crossings:
            out["garment intersects body"] += f", {_curves(crossed.loops, crossed.loop_length)}{_in(crossed, many)}"
        if touch := crossed.body_pairs - crossed.crossings:
            out["garment intersects body"] += f"; {touch:,} {'touch' if touch > 1 else 'touches'} without crossing"
        full = max(self.frames, key=lambda f: np.nan_to_num(f.overlap))
        if np.isfinite(full.overlap):
            within = f", error at most {_cm3(full.overlap_bound)}" if full.overlap_bound > 0.0 else ""
            out["overlap"] = f"{_cm3(full.overlap)}{within}{_in(full, many)}" if full.overlap > 0.0 else "none"
        own = max(f.body_self_pairs for f in self.frames)
        if own:
            out["body intersects itself"] = f"{own:,} pairs of triangles: between such parts there may be no outside"
        return out

    def __repr__(self) -> str:
        return brief.facts(self, self.garment.mesh.name)

    def to_html(self, path: str | os.PathLike[str]) -> None:
        """Write a self-contained HTML page: frames coloured by depth, charts over time, the worst locations."""
        from ..report.check_page import write_check_page
        from .views import check_view

        write_check_page(path, check_view(self))

    def _repr_html_(self) -> str:
        from ..report.check_page import check_page
        from ..report.replay import iframe_html
        from .views import check_view

        return iframe_html(check_page(check_view(self)), height=760)

    def to_png(self, path: str | os.PathLike[str]) -> None:
        """Write a picture of the worst locations, each in its whole frame and in close-up."""
        from ..report.check_sheet import write_check_sheet
        from .views import check_view

        write_check_sheet(path, check_view(self))

    def save_distances(self, path: str | os.PathLike[str]) -> None:
        """Write an npz with `distances` (T,n) and the numbers `frames` (T,) of the frames that were checked."""
        with atomic_write(path) as stream:
            np.savez(stream, distances=self.distances, frames=np.array([f.frame for f in self.frames]))

    def to_json(self) -> dict[str, Any]:
        """All results except the distances of vertices, as plain values; None for what could not be checked."""
        worst = self.worst
        unsure = not self.has_inside or any(f.unknown for f in self.frames)
        unknown = {} if self.has_inside else dict.fromkeys(("inside", "deepest", "share", "between"))
        return {
            "garment": self.garment.mesh.name,
            "body": None if self.body is None else self.body.mesh.name,
            "penetrating": True if self.penetrating else None if unsure else False,
            "worst_depth_m": self.worst_depth if self.has_inside else None,
            "worst_frame": worst.frame,
            "crossings": self.crossings,
            "crossings_total": sum(f.crossings for f in self.frames),
            "self_intersections": self.self_intersections,
            "notes": [note._asdict() for note in self.notes],
            "unchecked": list(self.unchecked),
            "unjudged": list(self.unchecked),  # the earlier name of "unchecked", for one version
            "issues": self.garment.mesh.issues.summary(),
            "place_count": self.place_count,
            "places": [place._asdict() for place in self.places],
            "shells": [shell._asdict() for shell in self.shells],
            "frames": [finding._asdict() | unknown for finding in self.frames],
        }


def _cm3(cubic_metres: float) -> str:
    return f"{1e6 * cubic_metres:.3g} cm3" if cubic_metres < 0.9995e-3 else f"{1e3 * cubic_metres:.4g} litres"


def _in(finding: Finding, many: bool) -> str:
    return f", frame {finding.frame}" if many else ""


def _count(n: int, one: str, more: str) -> str:
    return "none" if not n else f"{n:,} {one if n == 1 else more}"


def _curves(count: int, length: float) -> str:
    return f"{count:,} curve{'' if count == 1 else 's'} of {size_words(length)} in all"


__getattr__ = renamed.module(__name__, {"Place": f"{__name__}:Location"})

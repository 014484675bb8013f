"""Check: find intersections and defects of a mesh, a garment on a body or an animation, exactly, frame by frame."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import validate
from ..arguments import check_arguments
from ..detect.queries.duplicate_faces import unneeded, without
from ..detect.queries.intersections import Intersections
from ..detect.queries.penetration import DeformingClosestPoints
from ..detect.queries.self_intersections import SelfIntersections
from ..detect.queries.shell_orientation import inside_out, with_reversed
from ..detect.queries.solid_boundary import Signs
from ..detect.queries.winding import UNKNOWN
from ..mesh import Mesh
from ..motion.clip import Clip
from .body_crossings import crossing_pairs
from .contours import Contours, contours
from .face_depth import MARGIN, NO_POINT, DeepestPoint, deepest_point
from .findings import Curves, Finding, Location, Note, NoteKind, Report
from .notes import note_on_duplicates, note_on_left_out, note_on_place, notes_on_shells
from .shells import Shell, ShellCounter

Floats = NDArray[np.float64]
MOST_PLACES = 200  # most locations kept of each kind, the worst over all frames; the report has the total number
NO_CURVES = np.zeros((0, 2, 3), np.float32)


@check_arguments
def check(
    garment: Mesh | Clip,
    body: Mesh | Clip | None = None,
    *,
    fps: float = 30.0,
    every: int = 1,
    progress: Callable[[float], None] | None = None,
) -> Report:
    """Find intersections and defects of `garment`, alone or on `body`, in every `every`-th frame.

    Both may be animated (`Clip`, with the same number of frames) or static. Depths are exact distances from the body's
    surface; pairs are the exact lists of intersecting triangles. Meshes may be open, non-manifold, inside out or
    self-intersecting; what could not be checked is listed in `Report.notes`, and `Report.shells` has the figures of
    each connected part of the body.
    """
    one = as_clip("garment", garment)
    two = None if body is None else as_clip("body", body)
    fps = validate.number("fps", fps, above=0.0)
    every = validate.whole("every", every, low=1)
    if two is not None and not one.still and not two.still and len(one) != len(two):
        raise ValueError(
            f"garment has {len(one)} frames and body has {len(two)}; expected the same number, or a static one"
        )
    count = max(len(one), len(two) if two else 1)
    checker = _Checker(one.mesh, two.mesh if two else None)
    found, places, distances, curves = [], [], [], []
    checked = range(0, count, every)
    for k, t in enumerate(checked):
        x = np.asarray(one.at(t), np.float64)
        # a static body is updated only once
        y = None if two is None or (two.still and k) else np.asarray(two.at(t), np.float64)
        frame = checker.check_frame(t, t / fps, x, y)
        found.append(frame.finding)
        places += frame.places
        distances.append(frame.distances)
        curves.append(frame.curves)
        if progress is not None:
            progress((k + 1) / len(checked))
    shells = checker.shells()
    if two is not None:
        checker.notes += notes_on_shells(two.mesh, shells, found)
        place = note_on_place(one.mesh, two.mesh, np.stack(distances), shells) if checker.has_inside else None
        checker.notes += [] if place is None else [place]
    return Report(
        garment=one,
        body=two,
        fps=fps,
        frames=tuple(found),
        places=_worst(places),
        place_count=len(places),
        notes=tuple(checker.notes),
        distances=np.stack(distances),
        curves=tuple(curves),
        has_inside=two is None or checker.has_inside,
        shells=shells,
    )


def _worst(places: list[Location]) -> tuple[Location, ...]:
    """The worst locations, limited per kind so that many shallow penetrations do not hide self-intersections."""
    places = sorted(places, key=lambda place: (-place.depth, -place.length, place.frame, place.vertex))
    left = dict.fromkeys(("inside", "body", "self"), MOST_PLACES)
    kept = []
    for place in places:
        left[place.kind] -= 1
        if left[place.kind] >= 0:
            kept.append(place)
    return tuple(kept)


def as_clip(name: str, what: Any) -> Clip:
    if isinstance(what, Mesh):
        what = Clip(what, what.vertices[None])
    if not isinstance(what, Clip):
        raise ValueError(f"{name} is a {type(what).__name__}; expected a Mesh or a Clip")
    if not what.mesh.n_faces:
        raise ValueError(f"{name} {what.mesh.name!r} has no faces; expected a surface")
    return what.welds


class _Frame(NamedTuple):
    """Everything that was found in one frame."""

    finding: Finding
    places: list[Location]
    distances: NDArray[np.float32]  # (n,) signed distance of each vertex from the body
    curves: Curves


class _Checker:
    """BVHs of both meshes, refitted from frame to frame."""

    def __init__(self, garment: Mesh, body: Mesh | None) -> None:
        self.garment, self.notes = garment, []  # type: Mesh, list[Note]
        self.own = SelfIntersections(garment)
        if len(garment.issues.duplicate):
            self.notes.append(note_on_duplicates(garment))
        self.weld, self.skin = garment.weld_index, garment.welded
        self.first = np.unique(self.weld, return_index=True)[1]
        self.used = np.zeros(garment.n_vertices, np.bool_)
        self.used[garment.faces] = True
        self.body = None if body is None else _BodyChecker(garment, body, self.notes)

    @property
    def has_inside(self) -> bool:
        return self.body is not None and self.body.has_inside

    def shells(self) -> tuple[Shell, ...]:
        return () if self.body is None else self.body.counter.shells()

    def check_frame(self, t: int, time: float, x: Floats, y: Floats | None) -> "_Frame":
        """Check frame t at the garment's vertices x. y: the body's vertices, None where they have not moved."""
        x_w = x[self.first]
        joined = x_w[self.weld]  # copies at seams differ by rounding
        own = self.own.update(joined).pairs()
        self_curves = contours(x_w, self.skin.topology, own)
        places = _curve_places(t, "self", self_curves)
        distance, direction, worn = np.full(len(x), np.nan), np.zeros((len(x), 3)), None
        between = NO_POINT
        if self.body is not None:
            worn = self.body.query(x, joined, x_w, self.skin, y)
            distance, direction = worn.distance, worn.direction
            used = self.used
            self.body.counter.add(t, self.body.y_welded, x[used], distance[used], worn.sign[used])
        known = np.where(self.used, distance, np.nan)
        inside = np.flatnonzero(known < 0.0)
        worst = int(inside[np.argmin(known[inside])]) if len(inside) else -1
        deepest = -float(known[worst]) if worst >= 0 else 0.0
        if worn is not None and self.body is not None:
            # a patch of vertices inside is a location itself, unless the body penetrates deeper between them
            touched = (known < 0.0)[self.garment.faces[worn.pairs[:, 0]]].any(1)
            label = worn.curves.label
            apart = np.setdiff1d(label, label[worn.crosses])  # curves of touching, not crossing, pairs
            between, depth = self.body.between(x, self.garment.faces, worn, deepest)
            known_by_vertex = np.unique(label[touched])
            known_by_vertex = known_by_vertex[depth[known_by_vertex] <= (1.0 + MARGIN) * deepest]
            places += _curve_places(t, "body", worn.curves, np.union1d(known_by_vertex, apart), depth)
        places += self._depth_places(t, x, known, direction, inside)
        finding = Finding(
            frame=t,
            time=time,
            inside=len(inside),
            deepest=deepest,
            vertex=worst,
            place=_point(x[worst]) if worst >= 0 else None,
            direction=_point(direction[worst]) if worst >= 0 else None,
            share=self._share(x, inside),
            clearance=_clearance(known, worn, between) if worn is not None else np.inf,
            body_pairs=0 if worn is None else len(worn.curves.label),
            loops=0 if worn is None else worn.curves.n_curves,
            loop_length=0.0 if worn is None else float(worn.curves.lengths.sum()),
            self_pairs=len(own),
            self_loops=self_curves.n_curves,
            self_length=float(self_curves.lengths.sum()),
            body_self_pairs=0 if worn is None else worn.own_pairs,
            overlap=float("nan") if worn is None else worn.overlap,
            overlap_bound=float("nan") if worn is None else worn.overlap_bound,
            crossings=0 if worn is None else int(worn.crosses.sum()),
            between=between.depth,
            between_at=_point(between.position) if between.depth > 0.0 else None,
            unknown=0 if worn is None else int((worn.sign[self.used] == UNKNOWN).sum()),
        )
        body_ends = NO_CURVES if worn is None else worn.curves.ends.astype(np.float32)
        curves = Curves(own=self_curves.ends.astype(np.float32), body=body_ends)
        return _Frame(finding, places, distance.astype(np.float32), curves)

    def _share(self, x: Floats, inside: NDArray[np.int64]) -> float:
        """Fraction 0..1 of the surface area at these vertices, with a third of each face assigned to each corner."""
        if not len(inside):
            return 0.0
        faces = self.garment.faces
        a, b, c = (x[faces[:, k]] for k in range(3))
        twice = np.linalg.norm(np.cross(b - a, c - a), axis=1)
        deep = np.zeros(len(x), np.bool_)
        deep[inside] = True
        total = float(twice.sum())
        return float((twice * deep[faces].sum(1)).sum() / (3.0 * total)) if total > 0.0 else 0.0

    def _depth_places(
        self, t: int, x: Floats, distance: Floats, direction: Floats, inside: NDArray[np.int64]
    ) -> list[Location]:
        """Patches of neighbouring vertices inside the body, each with its deepest vertex."""
        if not len(inside):
            return []
        label = _patches(self.weld, self.skin.topology.edges, inside)
        order = np.lexsort((distance[inside], label))
        _, start, size = np.unique(label[order], return_index=True, return_counts=True)
        return [
            Location(
                frame=t,
                kind="inside",
                depth=-float(distance[v]),
                length=0.0,
                size=int(count),
                vertex=int(v),
                place=_point(x[v]),
                direction=_point(direction[v]),
            )
            for v, count in zip(inside[order[start]], size)
        ]


class _BodyFindings(NamedTuple):
    """A garment on a body in one frame."""

    distance: Floats  # (n,) signed distance of each vertex
    direction: Floats  # (n,3) unit separation direction
    sign: Signs  # (n,) inside, outside or unknown
    pairs: NDArray[np.int32]  # (k,2) faces of garment and body that intersect
    crosses: NDArray[np.bool_]  # (k,) mask of pairs that cross; the others only touch
    curves: Contours
    own_pairs: int  # of the body with itself
    overlap: float  # m3, nan where undefined
    overlap_bound: float


class _BodyChecker:
    """The body, with the data structures for queries about a garment on it."""

    def __init__(self, garment: Mesh, body: Mesh, notes: list[Note]) -> None:
        self.cross, self.other = Intersections(garment, body), Intersections(body)
        self.skin, self.first = body.welded, np.unique(body.weld_index, return_index=True)[1]
        self.weld, self.size = body.weld_index, body.size
        self.y_welded = body.vertices[self.first]  # of the last query
        self.own_pairs: NDArray[np.int32] | None = None  # of the body with itself, at these positions
        left_out = unneeded(body)
        wrong = np.zeros(body.n_faces, np.bool_)
        wrong[~left_out] = inside_out(without(body, left_out))
        turned = with_reversed(body, wrong)
        solid = without(turned, left_out)
        issues, all_wrong = solid.issues, bool(wrong[~left_out].all())
        self.closed = issues.encloses
        self.depths = DeformingClosestPoints(solid)
        self.counter = ShellCounter(turned, wrong & (not all_wrong), left_out)
        if left_out.any():
            notes.append(note_on_left_out(body, left_out))
        if all_wrong:
            text = f"body {body.name!r} is inside out (its faces point inward); it was checked as if flipped"
            notes.append(Note(NoteKind.FLIPPED, text))
        self.volume = None
        if issues.closed and garment.issues.closed:
            from ..detect.queries.overlap import Overlaps

            self.volume = Overlaps(_outward(garment), _outward(solid))
        elif self.closed:
            what, mesh = ("body", body) if garment.issues.closed else ("garment", garment)
            text = f"overlap volume: {what} {mesh.name!r} is not closed: {mesh.issues.words()}"
            notes.append(Note(NoteKind.NO_OVERLAP, text))

    @property
    def has_inside(self) -> bool:
        """Whether the body has an inside somewhere: it is closed, or open with the inside behind some of its faces."""
        return self.closed or bool(self.counter.sided.any())

    def query(self, x: Floats, joined: Floats, x_w: Floats, garment: Mesh, y: Floats | None) -> _BodyFindings:
        """Query the body about the garment. x: its vertices; joined: the same, with copies at seams made equal; x_w:
        the welded ones. y: the body's vertices, None where they have not moved."""
        if y is not None:
            first = self.own_pairs is None
            self.y_welded = y[self.first]
            y = self.y_welded[self.weld]  # copies at seams differ by rounding
            self.depths.update(y)
            self.own_pairs = self.other.update(y).pairs()
            self.counter.add_pairs(self.own_pairs)
            if first:
                self.counter.begin(self.y_welded, self.own_pairs, self.depths)
        distance, _, _, direction, sign = self.depths.signed_distances(x)
        distance = distance if self.has_inside else np.abs(distance)
        pairs = self.cross.update(joined, y).pairs()
        crosses = self._crosses(x_w, garment.faces, pairs)
        curves = contours(x_w, garment.topology, pairs, self.y_welded, self.skin.topology)
        overlap = bound = float("nan")
        if self.volume is not None:
            a, b = (len(surface.vertices) for surface in self.volume.surfaces)
            shared = self.volume.at(x_w[:a], self.y_welded[:b])
            overlap, bound = shared.volume, shared.bound
        own_pairs = 0 if self.own_pairs is None else len(self.own_pairs)
        return _BodyFindings(distance, direction, sign, pairs, crosses, curves, own_pairs, overlap, bound)

    def _crosses(self, x: Floats, faces: NDArray[np.int32], pairs: NDArray[np.int32]) -> NDArray[np.bool_]:
        """(k,) mask of pairs that cross, including faces that reach inside only through edges or corners."""
        distance = self._distance if self.closed else None
        return crossing_pairs((x, faces), (self.y_welded, self.skin.faces), pairs, distance, self.size)

    def between(
        self, x: Floats, faces: NDArray[np.int32], worn: _BodyFindings, deepest: float
    ) -> tuple[DeepestPoint, NDArray[np.float64]]:
        """The deepest point between vertices, and the depth of the deepest sample beside each curve (c,)."""
        depth = np.zeros(worn.curves.n_curves)
        crossing_faces, row = np.unique(worn.pairs[worn.crosses, 0], return_inverse=True)
        if not self.has_inside or not len(crossing_faces):
            return NO_POINT, depth
        found = deepest_point(x[faces[crossing_faces]], self._distance, deepest, self.size)
        np.maximum.at(depth, worn.curves.label[worn.crosses], found.face_depths[row])
        return found, depth

    def _distance(self, points: Floats) -> Floats:
        return self.depths.query(points)[0]


def _clearance(distance: Floats, worn: _BodyFindings, between: DeepestPoint) -> float:
    """The least signed distance of vertices and of points found between them; at most 0 where faces cross."""
    least = float(np.nanmin(distance, initial=np.inf))
    return min(least, -between.depth) if worn.crosses.any() else least


def _outward(mesh: Mesh) -> Mesh:
    """The welded mesh, flipped where its faces point inward."""
    surface = mesh.surface
    turned = Mesh(surface.vertices, surface.faces[:, ::-1], name=mesh.name, groups=surface.groups)
    return turned if surface.issues.inward else surface


def _point(p: Floats) -> tuple[float, float, float]:
    return float(p[0]), float(p[1]), float(p[2])


def _curve_places(
    t: int, kind: str, curves: Contours, without: NDArray[np.int64] | None = None, depth: Floats | None = None
) -> list[Location]:
    """One location per intersection curve except those in `without`: the point nearest to its mean. depth: (c,) of
    each curve, metres."""
    if not curves.n_curves:
        return []
    label, size = curves.label, np.bincount(curves.label)
    middle = curves.ends.mean(1)
    mean = np.stack([np.bincount(label, middle[:, k]) for k in range(3)], 1) / size[:, None]
    order = np.lexsort((np.linalg.norm(middle - mean[label], axis=1), label))
    nearest = order[np.concatenate([[0], np.cumsum(size)[:-1]])]
    left = np.setdiff1d(np.arange(curves.n_curves), [] if without is None else without)
    lengths, deep = curves.lengths, np.zeros(curves.n_curves) if depth is None else depth
    return [
        Location(
            frame=t,
            kind=kind,
            depth=float(deep[c]),
            length=float(lengths[c]),
            size=int(size[c]),
            vertex=-1,
            place=_point(middle[nearest[c]]),
            direction=None,
        )
        for c in left
    ]


def _patches(weld: NDArray[Any], edges: NDArray[Any], inside: NDArray[np.int64]) -> NDArray[np.int64]:
    """(k,) label of the connected patch of each of the vertices `inside` (k,)."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    n = int(weld.max()) + 1
    of = np.zeros(n, np.bool_)
    of[weld[inside]] = True
    kept = edges[of[edges].all(1)]
    graph = coo_array((np.ones(len(kept), np.int8), (kept[:, 0], kept[:, 1])), shape=(n, n))
    return np.asarray(connected_components(graph, directed=False)[1][weld[inside]], np.int64)

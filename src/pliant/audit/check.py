"""Check: what is wrong with a mesh, with a garment on a body, or with an animation of them; exact, frame by frame."""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import validate
from ..clip import Clip
from ..detect.tree.crossings import Crossings
from ..detect.tree.depth import Depths
from ..mesh import Mesh
from .contours import contours
from .findings import Finding, Place, Report

Floats = NDArray[np.float64]
MOST_PLACES = 200  # of the worst, over all frames; the report says how many there are in all


def check(
    garment: Mesh | Clip,
    body: Mesh | Clip | None = None,
    *,
    fps: float = 30.0,
    every: int = 1,
    progress: Callable[[float], None] | None = None,
) -> Report:
    """Everything that is wrong with `garment`, alone or on `body`, in every `every`-th frame.

    Both may move (`Clip`, of the same number of frames) or stand still. Depths are exact distances from the body's
    surface; pairs are the exact lists of triangles that meet. Works on whatever is open, non-manifold, inside out or
    cut by itself; what cannot be judged is named in `Report.unjudged`.
    """
    one = as_clip("garment", garment)
    two = None if body is None else as_clip("body", body)
    fps = validate.number("fps", fps, above=0.0)
    every = validate.whole("every", every, low=1)
    if two is not None and not one.still and not two.still and len(one) != len(two):
        raise ValueError(
            f"garment has {len(one)} frames and body has {len(two)}; expected as many, or one that stands still"
        )
    count = max(len(one), len(two) if two else 1)
    audit = _Audit(one.mesh, two.mesh if two else None)
    found, places, depths = [], [], []
    shown = range(0, count, every)
    for k, t in enumerate(shown):
        x = np.asarray(one.at(t), np.float64)
        finding, spots, depth = audit.look(t, t / fps, x, None if two is None else np.asarray(two.at(t), np.float64))
        found.append(finding)
        places += spots
        depths.append(depth)
        if progress is not None:
            progress((k + 1) / len(shown))
    places.sort(key=lambda place: (-place.depth, -place.length, place.frame, place.vertex))
    return Report(
        one, two, fps, tuple(found), tuple(places[:MOST_PLACES]), len(places), tuple(audit.unjudged), np.stack(depths)
    )


def as_clip(name: str, what: Any) -> Clip:
    if isinstance(what, Mesh):
        what = Clip(what, what.vertices[None])
    if not isinstance(what, Clip):
        raise ValueError(f"{name} is a {type(what).__name__}; expected a Mesh or a Clip")
    if not what.mesh.n_faces:
        raise ValueError(f"{name} {what.mesh.name!r} has no faces; expected a surface")
    return what


class _Audit:
    """Trees that follow both meshes from frame to frame."""

    def __init__(self, garment: Mesh, body: Mesh | None) -> None:
        self.garment, self.body, self.unjudged = garment, body, []
        self.own = Crossings(garment)
        self.weld, self.skin = garment.weld_index, garment.welded
        self.used = np.zeros(garment.n_vertices, np.bool_)
        self.used[garment.faces] = True
        self.inner = 1.0
        self.depths: Depths | None = None
        if body is None:
            return
        self.cross, self.other = Crossings(garment, body), Crossings(body)
        self.depths = Depths(body)
        issues = body.issues
        self.closed = issues.closed
        if not self.closed:
            why = ", ".join(issues.words(defects_only=False).split(", "))
            self.unjudged.append(f"vertices inside, depth and overlap: body {body.name!r} has no inside ({why})")
        elif issues.inward:
            self.inner = -1.0
            self.unjudged.append(
                f"body {body.name!r} is inside out (its faces look inward); it was judged as if turned"
            )

    def look(
        self, t: int, time: float, x: Floats, y: Floats | None
    ) -> tuple[Finding, list[Place], NDArray[np.float32]]:
        """What is wrong in frame t, where, and the signed distance of each vertex from the body."""
        own = self.own.update(x).pairs()
        x_w = self._welded(x)
        self_curves = contours(x_w, self.skin.topology, own)
        spots = self._curve_places(t, "self", self_curves)
        away, body_pairs, body_own, curves = np.full(len(x), np.nan), 0, 0, None
        direction = np.zeros((len(x), 3))
        if self.body is not None and y is not None and self.depths is not None:
            away, _, _, direction = self.depths.update(y).query(x)
            away *= self.inner
            direction *= self.inner
            if not self.closed:
                away = np.abs(away)
            pairs = self.cross.update(x, y).pairs()
            y_w = y[np.unique(self.body.weld_index, return_index=True)[1]]
            curves = contours(x_w, self.skin.topology, pairs, y_w, self.body.welded.topology)
            body_pairs, body_own = len(pairs), self.other.update(y).count
            spots += self._curve_places(t, "body", curves) if not self.closed else []
        known = np.where(self.used, away, np.nan)
        inside = np.flatnonzero(known < 0.0)
        spots += self._depth_places(t, x, known, direction)
        area = self._areas(x)
        worst = int(inside[np.argmin(known[inside])]) if len(inside) else -1
        finding = Finding(
            frame=t,
            time=time,
            inside=len(inside),
            deepest=-float(known[worst]) if worst >= 0 else 0.0,
            vertex=worst,
            place=tuple(x[worst].tolist()) if worst >= 0 else None,
            direction=tuple(direction[worst].tolist()) if worst >= 0 else None,
            share=float(area[inside].sum() / area.sum()) if area.sum() > 0.0 else 0.0,
            clearance=float(np.nanmin(known, initial=np.inf)) if self.body is not None else np.inf,
            body_pairs=body_pairs,
            loops=0 if curves is None else curves.n_curves,
            loop_length=0.0 if curves is None else float(curves.lengths.sum()),
            self_pairs=len(own),
            self_loops=self_curves.n_curves,
            self_length=float(self_curves.lengths.sum()),
            body_self_pairs=body_own,
        )
        return finding, spots, away.astype(np.float32)

    def _welded(self, x: Floats) -> Floats:
        return x[self._first]

    @functools.cached_property
    def _first(self) -> NDArray[np.int64]:
        return np.unique(self.weld, return_index=True)[1]

    def _areas(self, x: Floats) -> Floats:
        """(n,) a third of the faces around each vertex, square metres."""
        a, b, c = (x[self.garment.faces[:, k]] for k in range(3))
        third = np.linalg.norm(np.cross(b - a, c - a), axis=1) / 6.0
        return np.asarray(np.bincount(self.garment.faces.ravel(), np.repeat(third, 3), len(x)), np.float64)

    def _depth_places(self, t: int, x: Floats, away: Floats, direction: Floats) -> list[Place]:
        """Patches of neighbouring vertices inside the body, each with its deepest vertex."""
        inside = away < 0.0
        if not inside.any():
            return []
        label = _patches(self.weld, self.skin.topology.edges, inside)
        found = []
        for name in np.unique(label[inside]):
            rows = np.flatnonzero(inside & (label == name))
            worst = int(rows[np.argmin(away[rows])])
            at, way = tuple(x[worst].tolist()), tuple(direction[worst].tolist())
            found.append(Place(t, "inside", -float(away[worst]), 0.0, len(rows), worst, at, way))
        return found

    def _curve_places(self, t: int, kind: str, curves: Any) -> list[Place]:
        """One for each curve along which surfaces cut each other."""
        found = []
        lengths = curves.lengths
        for c in range(curves.n_curves):
            rows = np.flatnonzero(curves.label == c)
            middle = curves.ends[rows].mean((0, 1))
            found.append(Place(t, kind, 0.0, float(lengths[c]), len(rows), -1, tuple(middle.tolist()), None))
        return found


def _patches(weld: NDArray[Any], edges: NDArray[Any], inside: NDArray[np.bool_]) -> NDArray[np.int64]:
    """(n,) a number for each connected patch of the vertices that are inside."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    n = int(weld.max()) + 1
    of = np.zeros(n, np.bool_)
    of[weld[inside]] = True
    kept = edges[of[edges].all(1)]
    graph = coo_array((np.ones(len(kept), np.int8), kept.T), shape=(n, n))
    return np.asarray(connected_components(graph, directed=False)[1][weld], np.int64)

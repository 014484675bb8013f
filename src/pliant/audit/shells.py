"""Shells of a body: its connected parts, whether each has an inside, and what of a garment is in it."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..detect.queries.duplicate_faces import without
from ..detect.queries.penetration import DeformingClosestPoints
from ..detect.queries.solid_boundary import Signs
from ..detect.queries.winding import INSIDE
from ..mesh import Mesh

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]
Point = tuple[float, float, float]
BEHIND = 1e-6  # of the body's size: distance behind a face at which the side of open shells is tested


class Shell(NamedTuple):
    """A connected part of a body, with the worst of all checked frames. Lengths in metres.

    A vertex is inside a shell where the winding number of this shell alone exceeds 1/2 (0.6 where it is open), and its
    depth is its distance from the boundary of this shell: in overlapping shells, each vertex counts in all of them.
    """

    number: int
    name: str  # of its node, mesh or group, and its material; empty where the file names none
    faces: int
    closed: bool  # along every edge, equally many faces run in each direction
    inward: bool  # its faces point inward: it is closed and a cavity of another shell, or it was `turned`
    turned: bool  # beside others that do not, faces of it point inward: treated as if these were reversed
    boundary_edges: int  # edges along which it is open
    boundary_at: Point | None  # mean of their ends in the first frame
    sided: float  # fraction 0..1 of its area with the inside of the body behind it, in the first frame; 0 for a cavity
    within: int  # shell that contains it in the first frame without intersecting it; -1: none
    overlaps: tuple[tuple[int, int], ...]  # shells that it intersects, each with the most pairs of triangles in a frame
    self_pairs: int  # most pairs of its own triangles that intersect in a frame
    inside: int  # most vertices of the garment inside it in a frame
    depth: float  # largest depth of such a vertex
    frame: int  # frame of the largest depth; -1: none inside

    @property
    def label(self) -> str:
        """Number and name, for tables and notes."""
        return f"{self.number} {self.name}".rstrip()


class ShellCounter:
    """The shells of a body, with what is found in them from frame to frame. `body`: its faces point outward; `turned`
    (m,): faces that pointed inward beside others, and have been reversed; `left_out` (m,): faces that decide no side,
    because others have the same corners."""

    def __init__(self, body: Mesh, turned: NDArray[np.bool_], left_out: NDArray[np.bool_]) -> None:
        self.mesh, self.size, self._kept = body.welded, body.size, ~left_out
        top = self.mesh.topology
        component = top.components[self.mesh.faces[:, 0]]
        _, first, self.of_face = np.unique(component, return_index=True, return_inverse=True)
        rank = np.argsort(np.argsort(first))  # in the order of their first faces
        self.of_face = rank[self.of_face]
        self.count = len(first)
        self.faces = [np.flatnonzero(self.of_face == s) for s in range(self.count)]
        self.rows = [np.unique(self.mesh.faces[faces]) for faces in self.faces]
        self._turned = np.array([bool(turned[faces].any()) for faces in self.faces])
        shell_of_row = np.zeros(self.mesh.n_vertices, np.int64)
        shell_of_row[self.mesh.faces] = self.of_face[:, None]
        solid = without(self.mesh, left_out).topology
        self.loose = solid.edges[solid.loose]
        self._loose_shell = shell_of_row[self.loose[:, 0]]
        self.open_edges = np.bincount(self._loose_shell, minlength=self.count)
        self.names = [_name(body, int(faces[0])) for faces in self.faces]
        self._queries: dict[int, DeformingClosestPoints] = {}
        self._overlaps: dict[tuple[int, int], int] = {}
        self._self_pairs = np.zeros(self.count, np.int64)
        self._inside, self._depth = np.zeros(self.count, np.int64), np.zeros(self.count)
        self._frame = np.full(self.count, -1)
        self._boundary_at: list[Point | None] = [None] * self.count
        self._inward, self._within = np.zeros(self.count, np.bool_), np.full(self.count, -1)
        self.sided = np.ones(self.count)

    @property
    def closed(self) -> NDArray[np.bool_]:
        return self.open_edges == 0

    def begin(self, y: Floats, pairs: NDArray[np.int32], whole: DeformingClosestPoints) -> None:
        """Classify the shells at the welded vertices y of the first frame; `whole`: queries of the body there."""
        a, b, c = (y[self.mesh.faces[:, k]] for k in range(3))
        normal = np.cross(b - a, c - a)
        centre = y[self.mesh.faces[:, 0]][[faces[0] for faces in self.faces]][self.of_face]
        volume = np.bincount(self.of_face, np.einsum("ij,ij->i", a - centre, normal), self.count)
        self._inward = self.closed & (volume < 0.0)
        for s in np.flatnonzero(~self.closed):
            ends = y[self.loose[self._loose_shell == s]].reshape(-1, 3).mean(0)
            self._boundary_at[s] = float(ends[0]), float(ends[1]), float(ends[2])
        twice = np.linalg.norm(normal, axis=1)
        rows = np.flatnonzero(~self.closed[self.of_face] & (twice > 0.0))
        if len(rows):
            points = (a + b + c)[rows] / 3.0 - BEHIND * self.size * normal[rows] / twice[rows, None]
            behind = whole.signs(points) == INSIDE
            area = np.bincount(self.of_face[rows], twice[rows], self.count)
            known = np.bincount(self.of_face[rows], twice[rows] * behind, self.count)
            np.divide(known, area, out=self.sided, where=~self.closed & (area > 0.0))
            self.sided[~self.closed & (area == 0.0)] = 0.0
        self.sided[self._inward] = 0.0
        self._find_containing(y, pairs)

    def _find_containing(self, y: Floats, pairs: NDArray[np.int32]) -> None:
        """Find the smallest closed shell that contains each shell; of two shells that do not intersect, one contains
        the other entirely or not at all, so one vertex decides."""
        if self.count == 1:
            return
        low, high = (np.array([least(y[rows], axis=0) for rows in self.rows]) for least in (np.min, np.max))
        extent = np.linalg.norm(high - low, axis=1)
        meet = {tuple(sorted(each)) for each in self.of_face[pairs].tolist()}
        for s in range(self.count):
            around = ((low <= low[s]) & (high >= high[s])).all(1) & self.closed & ~self._inward
            around[s] = False
            for t in sorted(np.flatnonzero(around).tolist(), key=lambda t: (extent[t], t)):
                if (min(s, t), max(s, t)) not in meet and self._query(t, y).signs(y[self.rows[s][:1]])[0] == INSIDE:
                    self._within[s] = t
                    break

    def add(self, frame: int, y: Floats, points: Floats, distance: Floats, sign: Signs) -> None:
        """Count the garment's vertices `points` (n,3) of a frame, with their distances (n,) and signs (n,) in the body
        as a whole, whose welded vertices are y."""
        if self.count == 1:
            self._add(0, frame, -distance[sign == INSIDE])
            return
        # a point that is outside of all shells together is inside of none, unless some count negative
        tested = sign == INSIDE if self.closed.all() and not self._inward.any() else np.ones(len(points), np.bool_)
        for s, rows in enumerate(self.rows):
            box = y[rows].min(0), y[rows].max(0)
            near = np.flatnonzero(tested & ((points >= box[0]) & (points <= box[1])).all(1))
            if not len(near):
                continue
            found = self._query(s, y).signed_distances(points[near])
            self._add(s, frame, -found.distance[found.sign == INSIDE])

    def _add(self, s: int, frame: int, depth: Floats) -> None:
        """Count vertices inside shell s by their depths (k,)."""
        self._inside[s] = max(self._inside[s], len(depth))
        if depth.max(initial=0.0) > self._depth[s]:
            self._depth[s], self._frame[s] = depth.max(), frame

    def add_pairs(self, pairs: NDArray[np.int32]) -> None:
        """Count the pairs (k,2) of the body's faces that intersect in a frame."""
        shells = np.sort(self.of_face[pairs], 1)
        own = shells[:, 0] == shells[:, 1]
        self._self_pairs = np.maximum(self._self_pairs, np.bincount(shells[own, 0], minlength=self.count))
        for (one, two), count in zip(*np.unique(shells[~own], axis=0, return_counts=True)):
            key = int(one), int(two)
            self._overlaps[key] = max(self._overlaps.get(key, 0), int(count))

    def _query(self, s: int, y: Floats) -> DeformingClosestPoints:
        rows = self.rows[s]
        if s not in self._queries:
            own = self.faces[s][self._kept[self.faces[s]]]
            faces = np.searchsorted(rows, self.mesh.faces[own]).astype(np.int32)
            apart = np.arange(len(rows), dtype=np.int32)
            shell = Mesh(self.mesh.vertices[rows], faces, name=self.names[s], groups=apart)
            self._queries[s] = DeformingClosestPoints(shell)
        return self._queries[s].update(y[rows])

    def shells(self) -> tuple[Shell, ...]:
        """The shells with their figures so far."""
        meets: list[list[tuple[int, int]]] = [[] for _ in range(self.count)]
        for (one, two), count in sorted(self._overlaps.items()):
            meets[one].append((two, count))
            meets[two].append((one, count))
        return tuple(
            Shell(
                number=s,
                name=self.names[s],
                faces=len(self.faces[s]),
                closed=bool(self.closed[s]),
                inward=bool(self._inward[s] or self._turned[s]),
                turned=bool(self._turned[s]),
                boundary_edges=int(self.open_edges[s]),
                boundary_at=self._boundary_at[s],
                sided=float(self.sided[s]),
                within=int(self._within[s]),
                overlaps=tuple(sorted(meets[s])),
                self_pairs=int(self._self_pairs[s]),
                inside=int(self._inside[s]),
                depth=float(self._depth[s]),
                frame=int(self._frame[s]),
            )
            for s in range(self.count)
        )


def shell_rows(shells: Sequence[Shell], most: int) -> list[tuple[str, ...]]:
    """Text of the worst `most` shells, the deepest first, in the columns of SHELL_COLUMNS."""
    worst = sorted(shells, key=lambda shell: (-shell.depth, -shell.inside, shell.number))[:most]
    return [
        (
            shell.label,
            f"{shell.faces:,}",
            _state(shell),
            ", ".join(f"{other} ({count:,})" for other, count in shell.overlaps) or "none",
            f"{shell.inside:,}",
            f"{1e3 * shell.depth:.2f} mm" if shell.inside else "",
        )
        for shell in worst
    ]


SHELL_COLUMNS = ("shell", "faces", "surface", "intersects (pairs)", "inside", "deepest")


def _state(shell: Shell) -> str:
    text = "closed" if shell.closed else f"open, {shell.boundary_edges:,} edges, {shell.sided:.0%} with an inside"
    if shell.turned:
        text = f"{text}, inside out"
    elif shell.inward:
        text = "closed, cavity"
    return f"{text}, within {shell.within}" if shell.within >= 0 else text


def _name(mesh: Mesh, face: int) -> str:
    """The first group of the face's first vertex, and the name of its material."""
    row = int(mesh.faces[face, 0])
    group = next((name for name, rows in mesh.marks.groups.items() if row in rows), "")
    material = "" if mesh.material is None else mesh.materials[int(mesh.material[face])].get("name", "")
    return " / ".join(part for part in (group, str(material or "")) if part)

"""Overlays: contacts, bounding boxes of BVHs and bones, slices of the exact distance, layered depth images."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..contacts import Contacts
from ..detect.base import with_defaults
from ..detect.bvh.tree import refit, tree_of
from ..detect.queries.closest_point import ClosestPoints
from ..detect.queries.depth_image import DepthCamera, screen_of
from ..detect.queries.winding import bounds_of, shortest
from ..report.slices import Scale, coloured
from ..scene import Scene
from ..simulation import Frame, Simulation

Floats = NDArray[np.float64]
# name -> label, highest level
OVERLAYS: dict[str, tuple[str, int]] = {
    "contacts": ("contacts, coloured by gap violation", 0),
    "normals": ("contact normals", 0),
    "boxes": ("bounding boxes, by level", 10),
    "slice": ("slice, coloured by the exact distance to the nearest obstacle", 20),
    "layers": ("layered depth image", 3),
}
MOST = 4000  # contacts drawn; more would be indistinguishable
_CORNERS = np.array([[a, b, c] for a in (0, 1) for b in (0, 1) for c in (0, 1)])
_EDGES = np.array([(i, j) for i in range(8) for j in range(i) if bin(i ^ j).count("1") == 1])


class Overlays:
    """The overlays of one scene, whether each is on and at which level. BVHs and images are built on first use."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.on: dict[str, bool] = dict.fromkeys(OVERLAYS, False)
        self.level = {name: most // 2 for name, (_, most) in OVERLAYS.items()}
        self._trees: dict[int, tuple[Any, NDArray[np.int64]]] = {}
        self._cameras: dict[int, DepthCamera] = {}
        self._static_queries: dict[int, ClosestPoints] = {}
        self._sliced: tuple[Any, dict[str, NDArray[Any]]] = (None, {})

    def draw(self, sim: Simulation, frame: Frame) -> dict[str, NDArray[Any]]:
        """Return arrays for `frame_encoding.encode`, as `static/overlays.js` expects them."""
        out: dict[str, NDArray[Any]] = {}
        if self.on["contacts"] or self.on["normals"]:
            found = frame.contacts
            if len(found) > MOST:
                found = found[np.linspace(0, len(found) - 1, MOST).astype(int)]
            out["points"] = _points(found, frame.x)
            if self.on["contacts"]:
                out["depths"] = self._violations(found, sim)
            if self.on["normals"]:
                out["normals"] = found["normal"]
        lines = []
        if self.on["boxes"]:
            lines.append(self._boxes(sim, frame.x))
        if self.on["layers"]:
            lines.append(self._layers(frame.x))
        if lines:
            out["lines"] = np.concatenate(lines)
        if self.on["slice"]:
            out |= self._slice(frame)
        return out

    def _violations(self, found: Contacts, sim: Simulation) -> Floats:
        """Return how far each contact is within its offset, metres: eps with obstacles, the thickness among deformable
        bodies."""
        among = np.isin(found["bodies"], self.scene.deformable).all(1)
        return np.asarray(np.where(among, sim.self_contact.thickness, sim.scene.eps) - found["distance"])

    def _boxes(self, sim: Simulation, x: Floats) -> Floats:
        """Return box edges (k,2,3): the detectors' own boxes if they have any, else a level of a BVH over each body."""
        boxes = [with_defaults(detector).box_corners() for detector in sim.detectors]
        own = [corners.reshape(-1, 8, 3)[:, _EDGES].reshape(-1, 2, 3) for corners in boxes if corners is not None]
        if own:
            return np.concatenate(own)
        found = [np.zeros((0, 2, 3))]
        for b, body in enumerate(self.scene.bodies):
            rows = x[self.scene.rows(b)]
            faces = body.mesh.welded.faces
            if b not in self._trees:
                tree = tree_of(rows, faces)
                self._trees[b] = tree, depths_of(tree.nodes["skip"])
            tree, depth = self._trees[b]
            refit(tree, rows, faces)
            skip = tree.nodes["skip"]
            last = (depth < self.level["boxes"]) & (skip == np.arange(len(skip)) + 1)  # leaves above the chosen level
            bounds = np.asarray(tree.nodes["bounds"][(depth == self.level["boxes"]) | last])
            found.append(box_edges(bounds[:, :3], bounds[:, 3:]))
        return np.concatenate(found)

    def _layers(self, x: Floats) -> Floats:
        """Return the segments (k,2,3) of rays inside closed bodies, for images of 16, 24, 32 or 48 pixels."""
        found = [np.zeros((0, 2, 3))]
        for b, body in enumerate(self.scene.bodies):
            mesh = body.mesh.welded
            if not mesh.issues.closed:
                continue
            if b not in self._cameras:
                self._cameras[b] = DepthCamera(mesh)
            rows = np.ascontiguousarray(x[self.scene.rows(b)])
            box = bounds_of(rows)
            screen = screen_of(box, shortest(box), (16, 24, 32, 48)[self.level["layers"]], float(np.ptp(box, 0).max()))
            layers = self._cameras[b].take(rows, screen, box)
            found.append(layers.places(layers.intervals_inside()))
        return np.concatenate(found)

    def _slice(self, frame: Frame) -> dict[str, NDArray[Any]]:
        """Return a slice at constant z through the obstacles, coloured by the exact distance to the nearest."""
        moving = self.scene.moving and frame.time  # frame.index restarts with every slider change
        key = (self.level["slice"], moving)
        if self._sliced[0] != key:
            self._sliced = key, self._sliced_at(frame)
        return self._sliced[1]

    def _sliced_at(self, frame: Frame) -> dict[str, NDArray[Any]]:
        obstacles = self.scene.obstacles
        if not obstacles:
            return {}
        positions = {b: frame.x[self.scene.rows(b)] for b in obstacles}
        low = np.min([p.min(0) for p in positions.values()], 0)
        high = np.max([p.max(0) for p in positions.values()], 0)
        margin = 0.15 * float((high - low).max())
        low, high = low - margin, high + margin
        side = 128 if not self.scene.moving else 48
        z = low[2] + margin + (high[2] - low[2] - 2 * margin) * self.level["slice"] / OVERLAYS["slice"][1]
        columns, rows = _grid(high - low, side)
        points = np.empty((rows, columns, 3))
        points[..., 0] = low[0] + (np.arange(columns) + 0.5) * (high[0] - low[0]) / columns
        points[..., 1] = (high[1] - (np.arange(rows) + 0.5) * (high[1] - low[1]) / rows)[:, None]
        points[..., 2] = z
        d = self._distances(positions, points.reshape(-1, 3)).reshape(rows, columns)
        longest = float((high - low).max())
        pixels = np.full((rows, columns, 4), 210, np.uint8)
        pixels[..., :3] = coloured(d, Scale(0.02 * longest, 0.2 * longest))
        pixels[np.isnan(d), 3] = 60
        corners = [[low[0], high[1], z], [high[0], high[1], z], [high[0], low[1], z], [low[0], low[1], z]]
        return {"slice": np.array(corners), "slice_image": pixels}

    def _distances(self, positions: dict[int, Floats], points: Floats) -> Floats:
        """Return exact distances (n,) to the nearest static or kinematic body."""
        found = np.full(len(points), np.inf)
        for b, x in positions.items():
            still = self.scene.bodies[b].motion is None
            if still:
                if b not in self._static_queries:
                    self._static_queries[b] = ClosestPoints(self.scene.bodies[b].mesh.welded)
                d = self._static_queries[b].query(points)[0]
            else:
                d = ClosestPoints(self.scene.bodies[b].mesh.welded.moved(x)).query(points)[0]
            found = np.where(np.isnan(d), found, np.minimum(found, d))
        return np.where(np.isinf(found), np.nan, found)


def _grid(size: Floats, side: int) -> tuple[int, int]:
    longest = float(size[:2].max())
    columns, rows = (max(8, round(side * float(size[k]) / longest)) for k in (0, 1))
    return columns, rows


def _points(found: Contacts, x: Floats) -> Floats:
    """Return the points (k,3) of contacts on their first side."""
    weights = np.where((found["weights"] > 0.0) & (found["vertices"] >= 0), found["weights"], 0.0)
    return np.einsum("ij,ijk->ik", weights, x[found["vertices"]])


def depths_of(skip: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return the depth (n,) of each node of a BVH in depth-first order."""
    depth = np.zeros(len(skip) + 1, np.int64)
    for i, after in enumerate(skip):  # nodes i+1..skip-1 are descendants of i
        depth[i + 1] += 1
        depth[after] -= 1
    return np.cumsum(depth)[: len(skip)]


def box_edges(low: Floats, high: Floats) -> Floats:
    """Return the edges (12 k,2,3) of boxes with corners (k,3)."""
    corners = np.where(_CORNERS, high[:, None], low[:, None])
    return corners[:, _EDGES].reshape(-1, 2, 3)

"""Overlays: contacts, the data structure of the method, slices of the exact distance, layered depth images."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..contacts import Contacts
from ..detect.base import with_defaults
from ..detect.queries.closest_point import ClosestPoints
from ..detect.queries.depth_image import DepthCamera, screen_of
from ..detect.queries.winding import bounds_of, shortest
from ..detect.structure import Structure, together
from ..report.slices import Scale, coloured
from ..scene import Scene
from ..simulation import Frame, Simulation

Floats = NDArray[np.float64]
HIGHEST = 64  # level of a data structure; the frames say which there are
# name -> label, highest level
OVERLAYS: dict[str, tuple[str, int]] = {
    "contacts": ("contacts, coloured by gap violation", 0),
    "normals": ("contact normals", 0),
    "structure": ("data structure", HIGHEST),
    "self_structure": ("self-contact structure", HIGHEST),
    "slice": ("slice, exact distance", 20),
    "layers": ("layered depth image", 3),
}
MOST = 4000  # contacts drawn; more would be indistinguishable
NOTHING = "this method has no data structure to draw"
NO_METHOD = {
    "structure": "the scene has no deformable body with an obstacle, and so no detector",
    "self_structure": "the guard handles self-contact: choose a method for it",
}


class Overlays:
    """The overlays of one scene, whether each is on and at which level. BVHs and images are built on first use."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.on: dict[str, bool] = dict.fromkeys(OVERLAYS, False)
        self.level = {name: most // 2 for name, (_, most) in OVERLAYS.items()}
        self.seen: dict[str, Structure] = {}  # what the last frame shows of data structures, by overlay
        self._levels: dict[tuple[str, frozenset[str]], int] = {}  # of data structures, by overlay and method
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
        self.seen = {}
        for name, detectors in _detectors(sim).items():
            if self.on[name]:
                self._add_structure(name, detectors, sim, out)
        if self.on["layers"]:
            out["lines"] = np.concatenate([out.get("lines", np.zeros((0, 2, 3))), self._layers(frame.x)])
        if self.on["slice"]:
            out |= self._slice(frame)
        return out

    def _violations(self, found: Contacts, sim: Simulation) -> Floats:
        """Return how far each contact is within its offset, metres: eps with obstacles, the thickness among deformable
        bodies."""
        among = np.isin(found["bodies"], self.scene.deformable).all(1)
        return np.asarray(np.where(among, sim.self_contact.thickness, sim.scene.eps) - found["distance"])

    def _add_structure(self, name: str, detectors: list[Any], sim: Simulation, out: dict[str, NDArray[Any]]) -> None:
        """Add the data structures of detectors, each at its last update, to the arrays, and set `seen`."""
        level = self._levels.get((name, _names(detectors)))
        parts = [with_defaults(one).structure(sim.state, level) for one in detectors]
        found = together([part for part in parts if part is not None])
        if found is None:
            self.seen[name] = Structure(NOTHING if detectors else NO_METHOD[name])
            return
        self.seen[name] = found
        for kind in ("lines", "accents", "spheres", "dots"):
            added = getattr(found, kind)
            if len(added):
                out[kind] = np.concatenate([out[kind], added]) if kind in out else added
        if found.slice is not None:
            image = _coloured(found.slice.distance, found.slice.step, found.slice.most)
            image[found.slice.marked, :3] //= 2
            image[np.isnan(found.slice.distance), 3] = 24
            out |= {"field_slice": found.slice.corners, "field_slice_image": image}

    def set_level(self, name: str, level: int, sim: Simulation) -> None:
        """Choose the level of an overlay; that of a data structure is remembered for each method."""
        self.level[name] = level
        if (detectors := _detectors(sim).get(name)) is not None:
            self._levels[name, _names(detectors)] = level

    @property
    def described(self) -> dict[str, dict[str, Any]]:
        """What the last frame shows of data structures, by overlay: legend, level, and highest level."""
        return {
            name: {"legend": seen.legend, "level": seen.level, "levels": seen.levels}
            for name, seen in self.seen.items()
        }

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
        pixels = _coloured(d, 0.02 * longest, 0.2 * longest)
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


def _detectors(sim: Simulation) -> dict[str, list[Any]]:
    """Return the detectors whose data structures the overlays show; the guard has none."""
    return {"structure": list(sim.detectors), "self_structure": list(getattr(sim.self_contact, "detectors", ()))}


def _names(detectors: list[Any]) -> frozenset[str]:
    """Return the names of detectors, of wrapped ones those within."""
    return frozenset(getattr(one, "detector", one).name for one in detectors)


def _coloured(d: Floats, step: float, most: float) -> NDArray[np.uint8]:
    """Return the pixels (h,w,4) of distances (h,w), almost transparent where there is none."""
    pixels = np.full((*d.shape, 4), 210, np.uint8)
    pixels[..., :3] = coloured(d, Scale(step, most))
    pixels[np.isnan(d), 3] = 60
    return pixels


def _points(found: Contacts, x: Floats) -> Floats:
    """Return the points (k,3) of contacts on their first side."""
    weights = np.where((found["weights"] > 0.0) & (found["vertices"] >= 0), found["weights"], 0.0)
    return np.einsum("ij,ijk->ik", weights, x[found["vertices"]])

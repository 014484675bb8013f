"""Runs on proxies: a simulation of coarse cloths, whose garments are carried along, projected out of bodies and
measured in every frame."""

import dataclasses
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..detect.queries.penetration import DeformingClosestPoints
from ..mesh import Mesh
from ..proxies.proxy import Proxy, proxy
from ..respond.project_out import Projector
from ..scene import FOLD, Body, Scene
from .frame import Frame
from .record import FrameRecord, Watch, record
from .result import Carried, Result
from .step import Simulation

Floats = NDArray[np.float64]
CLEARANCE = 0.05  # fraction of eps: distance from bodies to which a garment is projected


def with_offsets_for(scene: Scene, proxies: Sequence[Proxy], given: Sequence[str] = ()) -> Scene:
    """Return the scene of these proxies with larger offsets, because garments extend to both sides of their proxies:
    `eps` grows by half the thickness of the thickest garment, and `thickness` is at least that thickness, or `FOLD`
    edge lengths if that is less. Options that were `given` stay."""
    thick = max((each.thickness for each in proxies), default=0.0)
    if not thick or not scene.deformable:
        return scene
    edge = min(scene.bodies[b].mesh.median_edge for b in scene.deformable)
    kept = scene.thickness or 0.0
    changed: dict[str, Any] = {"eps": scene.eps + 0.5 * thick, "thickness": max(kept, min(thick, FOLD * edge))}
    return dataclasses.replace(scene, **{name: value for name, value in changed.items() if name not in given})


@dataclasses.dataclass(frozen=True)
class Proxies:
    """The proxies of the garments of a scene, in their order; without a number of `vertices` there are none."""

    vertices: int | None = None
    made: list[Proxy] = dataclasses.field(default_factory=list)

    def replace(self, garment: Mesh, body: Mesh) -> Mesh:
        """Return the mesh that is simulated for a garment on a body: a proxy of it, or the garment itself."""
        if self.vertices is None:
            return garment
        self.made.append(proxy(garment, self.vertices, body=body))
        return self.made[-1].mesh

    def with_offsets(self, scene: Scene, given: Sequence[str]) -> Scene:
        """Return the scene with offsets for the thickness of the garments; options that were `given` stay."""
        return with_offsets_for(scene, self.made, given)

    def record(self, sim: Simulation, frames: int, **options: Any) -> Result:
        """Run the simulation and return the result of the garments; without proxies this is `record`."""
        if all(each.is_garment for each in self.made):
            return record(sim, frames, **options)
        return record_carried(sim, self.made, frames, **options)


def refuse_rows(pins: Any, attach: Any, stitches: Any) -> None:
    """Raise ValueError for vertices that are given by their numbers: a proxy has other vertices."""
    texts = [each for given in (pins, attach) for each in ([given] if isinstance(given, str) else given)]
    if len(stitches) or any(not isinstance(each, str) or "ids:" in each.lower() for each in texts):
        raise ValueError(
            "pins, attachments and stitches name vertices of the garment by their numbers, and its proxy has others; "
            "select them by group, attribute, colour, box, sphere, boundary or side, or leave the proxy out"
        )


def record_carried(
    sim: Simulation,
    proxies: Sequence[Proxy],
    frames: int,
    *,
    measure: bool = True,
    count_intersections: bool | None = None,
    progress: Callable[[Frame], None] | None = None,
    watch: Watch | None = None,
) -> Result:
    """Run `sim`, whose cloths are the `proxies` in this order, as `record` does; the frames and measurements of the
    result are those of the garments, which `watch` sees, and `Result.carried` has the run of the proxies."""
    counted = sim.scene.self_contact != "off" if count_intersections is None else count_intersections
    kept = _Garments(sim, proxies, frames, measure, counted, watch)

    def carry(frame: Frame) -> None:
        kept.add(frame)
        if progress is not None:
            progress(frame)

    run = record(sim, frames, measure=measure, count_intersections=count_intersections, progress=carry)
    return kept.result(run)


class _Garments:
    """The garments of a run on proxies."""

    def __init__(
        self,
        sim: Simulation,
        proxies: Sequence[Proxy],
        n_frames: int,
        measure: bool,
        counted: bool,
        watch: Watch | None,
    ) -> None:
        self.proxies, self.proxy_scene = dict(zip(sim.scene.deformable, proxies, strict=True)), sim.scene
        self.scene = _scene_of_garments(sim.scene, self.proxies)
        self.wraps = {b: each.wrap for b, each in self.proxies.items() if not each.is_garment}
        self.projectors = {b: Projector(self.scene.bodies[b].mesh.welded) for b in self.wraps}
        self.bodies = {f: DeformingClosestPoints(sim.scene.bodies[f].mesh.welded) for f in sim.scene.obstacles}
        self.projected = np.zeros(n_frames + 1, np.int64)
        self.farthest, self.seconds = np.zeros(n_frames + 1), np.zeros(n_frames + 1)
        self.prerolled = sim.state.time > 0.0
        self.record = FrameRecord(sim, self.scene, self._placed(0, sim.state.x), n_frames, measure, counted, watch)
        self.t = 0
        self.gained = np.zeros(n_frames + 1, np.int64) if measure and counted else None
        self.shells = _Shells(self.scene)
        self.begin = self._pairs_of_shells()

    def add(self, frame: Frame) -> None:
        """Carry the garments to a frame of the proxies, and measure them."""
        self.t += 1
        begin = time.perf_counter()
        x = self._placed(self.t, frame.x)
        self.seconds[self.t] = time.perf_counter() - begin
        self.record.add(self.t, dataclasses.replace(frame, x=x))
        if self.gained is not None:
            self.gained[self.t] = _gained(self.begin, self._pairs_of_shells())

    def result(self, run: Result) -> Result:
        """Return the result of the garments, given the `run` of the proxies."""
        found = self.record.result()
        carried = Carried(run, tuple(self.proxies.values()), self.projected, self.farthest, self.gained)
        return dataclasses.replace(found, seconds=run.seconds + self.seconds, carried=carried)

    def _pairs_of_shells(self) -> dict[tuple[int, int], int]:
        """The number of intersecting triangle pairs per pair of intersecting shells, as of the last frame."""
        statistics = self.record.statistics
        if self.gained is None or statistics is None:
            return {}
        cloths = self.scene.deformable
        found = [self.shells.pairs(b, c, statistics.between(b, c)) for k, b in enumerate(cloths) for c in cloths[k:]]
        keys, counts = np.unique(np.concatenate(found), axis=0, return_counts=True)
        return {(one, two): count for (one, two), count in zip(keys.tolist(), counts.tolist())}

    def _placed(self, t: int, x: Floats) -> Floats:
        """The positions of the scene of garments in frame t, where those of the proxies are x."""
        out = np.empty((int(self.scene.first[-1]), 3))
        for f in self.scene.obstacles:
            out[self.scene.rows(f)] = x[self.proxy_scene.rows(f)]
            if t == 0 or f in self.proxy_scene.moving:
                self.bodies[f].update(x[self.proxy_scene.rows(f)])
        for b in self.scene.deformable:
            own = x[self.proxy_scene.rows(b)]
            if b not in self.wraps:
                out[self.scene.rows(b)] = own
                continue
            placed = self.wraps[b].place_welded(own)
            out[self.scene.rows(b)] = placed if t == 0 and not self.prerolled else self._outside(t, b, placed)
        return out

    def _outside(self, t: int, b: int, x: Floats) -> Floats:
        """The garment x (n,3) projected out of the bodies, if a vertex is inside of them."""
        inside = int((self._separation(x)[0] < 0.0).sum()) if self.bodies else 0
        if not inside:
            return x
        required = np.full(len(x), CLEARANCE * self.scene.eps)
        u = self.projectors[b].project(x, required, self._separation)
        self.projected[t] += inside
        self.farthest[t] = max(self.farthest[t], float(np.linalg.norm(u, axis=1).max()))
        return np.asarray(x + u)

    def _separation(self, points: Floats) -> tuple[Floats, Floats]:
        """Signed distance (k,) of points from the nearest body, and the direction out of it (k,3)."""
        least, out = np.full(len(points), np.inf), np.zeros((len(points), 3))
        for body in self.bodies.values():
            distance, _, _, direction = body.query(points)
            nearer = distance < least
            least, out = np.where(nearer, distance, least), np.where(nearer[:, None], direction, out)
        return least, out


class _Shells:
    """The connected shells of all garments of a scene, numbered consecutively."""

    def __init__(self, scene: Scene) -> None:
        self.of_face: dict[int, NDArray[np.int64]] = {}
        first = 0
        for b in scene.deformable:
            mesh = scene.bodies[b].mesh.welded
            self.of_face[b] = first + mesh.topology.components[mesh.faces[:, 0]].astype(np.int64)
            first = int(self.of_face[b].max(initial=first)) + 1

    def pairs(self, b: int, c: int, faces: NDArray[Any]) -> NDArray[np.int64]:
        """(k,2) the two shells, the lower one first, of pairs of faces (k,2) of two garments, or of one."""
        return np.sort(np.stack([self.of_face[b][faces[:, 0]], self.of_face[c][faces[:, 1]]], 1), 1)


def _gained(begin: dict[tuple[int, int], int], now: dict[tuple[int, int], int]) -> int:
    """Intersecting pairs beyond those at the start. Two shells that intersect at the start, like a button and the cloth
    it is sewn to, are meant to intersect: their pairs do not count."""
    own = sum(max(count - begin.get(key, 0), 0) for key, count in now.items() if key[0] == key[1])
    return own + sum(count for key, count in now.items() if key[0] != key[1] and key not in begin)


def _scene_of_garments(scene: Scene, proxies: dict[int, Proxy]) -> Scene:
    """The scene with the garments as its cloths, without self-contact, pins, grips and stitches, which act on the
    proxies."""
    bodies: list[Any] = list(scene.bodies)
    for b, each in proxies.items():
        body = scene.bodies[b]
        garment = each.garment
        bodies[b] = Body(garment, material=body.material, layer=body.layer, color=body.color, name=body.name)
    return dataclasses.replace(scene, bodies=bodies, stitches=(), self_contact="off")

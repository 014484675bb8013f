"""Guard: cloth meets cloth and bodies as triangles, and in safe mode never passes through any.

What is near is looked up at some positions, and no vertex leaves the room around its own in which nothing can happen
(see kernels/guard.py); before it would, things are looked up again. So a state without intersections stays so, whatever
the forces, the speeds and the size of the step. Not covered: bodies that overlap each other or leave the cloth no room
at all between them; then it says so, and goes on.
"""

import dataclasses
import logging
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from . import contacts as _contacts
from .contacts import Contacts
from .detect.tree.cover import Cover
from .detect.tree.near import NearPairs
from .kernels import guard as _kernels
from .kernels import records as _records
from .respond import Projection
from .scene import Scene
from .state import State
from .topology import Topology

log = logging.getLogger("pliant.guard")
Floats = NDArray[np.float64]
Rows = NDArray[np.int32]
ROUNDS = 6  # of looking and going on in a small step, before cloth that is still held back waits for the next one
STUCK = 300  # rounds after which a body goes on although there is no room for the cloth
REACH = 0.75  # of eps: how far around a body to look at first; cloth usually rests farther away
LEAST = 0.01  # of the thickness: distance that is never used up
BODY_SHARE = 0.5  # of eps: nearer than that to a body's triangles cloth is pushed away from them, too


@dataclasses.dataclass(eq=False)
class _Other:
    """A body beside the cloth."""

    near: NearPairs
    rows: Rows
    moves: bool
    reach: float = 0.0  # how far around it to look


class Guard:
    """Contacts of all cloths of a scene with themselves, with each other and, in safe mode, with the bodies."""

    def __init__(self, scene: Scene, state: State) -> None:
        self.safe = scene.self_contact == "safe"
        self.eps = scene.eps
        self.thickness = scene.eps if scene.thickness is None else scene.thickness
        self._cloth = Projection(scene, eps=self.thickness)
        self._bodies = Projection(scene, eps=BODY_SHARE * scene.eps, obstacles=True)
        self.rows = np.flatnonzero(scene.inverse_masses > 0.0).astype(np.int32)
        self._held = scene.held
        self.driven = np.concatenate([np.zeros(0, np.int32), *(_rows(scene, b) for b in scene.moving), scene.held])
        count = int(scene.first[-1])
        soft = _cover(scene, scene.soft, state.x, count)
        self._near = NearPairs(soft)
        self._others = []
        for b in scene.fixed if self.safe else ():
            cover = _cover(scene, [b], state.x, count)
            self._others.append(_Other(NearPairs(soft, cover), _rows(scene, b), b in scene.moving))
        self._body_of = np.repeat(np.arange(len(scene.bodies), dtype=np.int32), np.diff(scene.first))
        self._largest = max(_spacing(soft.top, state.x), 1.5 * self.thickness)
        self._settled = self._rest(soft, state.x)
        self.seen = state.x.copy()
        self.part = np.ones(count)
        self.contacts = self.touching = _contacts.empty()
        self._radius = np.zeros(count)
        self.looks, self.forced, self._slack = 0, 0, 0.0
        self._first = True

    def look(self, x: Floats, stride: float) -> None:
        """Find all that is near at positions x; `stride` is how far things go in a small step."""
        self.looks += 1
        reach = min(max(self.thickness + 8.0 * stride, 1.5 * self.thickness), self._largest)
        soft = self._near.a
        soft.move(x)
        self.contacts = self._records(self._near, soft, soft, reach)
        # half of what is beyond the thickness, so that no pair comes within it without being among the contacts
        self._slack = 0.49 * (reach - self.thickness)
        self.seen[:] = x
        self._radius[:] = np.inf
        self._radius[self.rows] = min(_kernels.SHARE * reach, self._slack)
        self._radius[self._held] = min(_kernels.SHARE * reach, self._slack)
        self.touching = np.concatenate([_contacts.empty(), *(self._look_at(body, x) for body in self._others)])
        self._first = False
        if self.safe:
            both = np.concatenate([self.contacts, self.touching])
            room = np.empty(len(both))
            _kernels.room_of(both, x, LEAST * self.thickness, room)
            self._walls = (both["vertices"].copy(), both["kind"].copy(), both["normal"].copy(), room)
        if len(self._settled):
            key = _keys(self.contacts)
            self.contacts = self.contacts[~np.isin(key, self._settled)]

    def _look_at(self, body: "_Other", x: Floats) -> Contacts:
        """Contacts with a body, and the room that is left where there are none."""
        soft = self._near.a
        if self._first or body.moves:
            body.near.b.move(x)
        found = self._records(body.near, soft, body.near.b, body.reach)
        around = body.near.b.tree.nodes[0]["bounds"]
        least = _kernels.far_from(soft.skin.corners, soft.at.boxes, around, body.reach, self._radius)
        if body.moves:
            self._radius[body.rows] = np.minimum(self._radius[body.rows], _kernels.SHARE * least)
        # the next look of this frame goes farther where that is cheap, and less far where it is not
        if len(found) > 4 * len(self.rows):
            body.reach = max(0.6 * body.reach, REACH * self.eps)
        elif body.moves and len(found) < len(self.rows) // 2:
            body.reach = min(1.5 * body.reach, max(self._largest, REACH * self.eps))
        return found

    def apply(self, state: State, dt: float) -> None:
        """Push apart what is too near, with friction; the pairs were found at the last look."""
        for found, response in ((self.contacts, self._cloth), (self.touching, self._bodies)):
            _kernels.refresh(found, state.x)
            response.begin(found, state)
            response.apply(found, state, dt)

    def begin(self, state: State, dt: float) -> None:
        """A new frame, with nothing remembered of the last one: so a run that is stopped and resumed is the same."""
        speed = max(float((state.v[rows] ** 2).sum(1).max(initial=0.0)) for rows in (self.rows, self.driven))
        for body in self._others:
            body.reach = REACH * self.eps
        self.look(state.x, speed**0.5 * dt)

    def follow(self, state: State) -> None:
        """Look again where pairs that were too far away may have come within the thickness; safe mode does it later."""
        if not self.safe and _kernels.farthest(self.rows, self.seen, state.x) > self._slack:
            self.look(state.x, self._stride(state))

    def keep(self, state: State, dt: float) -> None:
        """Let nothing go where it could touch: up to the bounds, look again, push apart, go on."""
        if not self.safe:
            return
        target, stride = state.x, self._stride(state)
        x = self.seen.copy()
        for rounds in range(STUCK):
            left, driven = self._go(target, x)
            if driven >= 1.0 and (left == 0 or rounds >= ROUNDS):
                break
            self.look(x, stride)
            self.apply(state, dt)
        else:
            self.forced += 1
            if self.forced == 1:
                log.warning("bodies leave the cloth no room at %.3f s; they go on, and it may be cut", state.time)
            x[self.driven] = target[self.driven]
        target[self.rows] = x[self.rows]

    def _go(self, target: Floats, x: Floats) -> tuple[int, float]:
        """Bring x as far towards `target` as is safe: how many vertices are not there, and what part bodies went."""
        for rows in (self.rows, self.driven):
            _kernels.within_ball(rows, self._radius, self.seen, target, self.part)
        self.part[self.driven] = self.part[self.driven].min(initial=1.0)
        held = np.zeros(len(self._walls[0]), np.bool_)
        while True:
            count = _kernels.limit(*self._walls, LEAST * self.thickness, self.seen, target, self.part, held)
            # what is driven keeps its shape: all of it goes as far as the least can
            driven = float(self.part[self.driven].min(initial=1.0))
            self.part[self.driven] = driven
            if not count or driven >= 1.0:
                break
        _kernels.go(self.driven, self.part, self.seen, target, x)
        return _kernels.go(self.rows, self.part, self.seen, target, x), driven

    def _stride(self, state: State) -> float:
        """How far anything goes in this small step."""
        return max(_kernels.farthest(rows, state.x_start, state.x) for rows in (self.rows, self.driven))

    def finish(self, state: State, dt: float) -> None:
        """Correct v for what was pushed."""
        for found, response in ((self.contacts, self._cloth), (self.touching, self._bodies)):
            response.finish(found, state, dt)

    @property
    def found(self) -> Contacts:
        """Pairs nearer than they should be, for a frame."""
        parts = [(self.contacts, self.thickness), (self.touching, self._bodies.eps)]
        return np.concatenate([found[found["distance"] <= eps] for found, eps in parts])

    def _records(self, pairs: NearPairs, a: Cover, b: Cover, reach: float) -> Contacts:
        there, back, edges = pairs.within(reach)
        out = np.empty(len(there) + len(back) + len(edges), _contacts.CONTACT)
        unclear, zero, none = np.empty(len(out), np.bool_), np.zeros(2, np.int32), np.zeros(0)
        one, two = len(there), len(there) + len(back)
        _records.fill_faces(a.x, b.x, b.top.faces, there, none, zero, zero, out[:one], unclear[:one])
        _records.fill_faces(b.x, a.x, a.top.faces, back, none, zero, zero, out[one:two], unclear[one:two])
        _records.fill_edges(a.x, a.top.edges, b.x, b.top.edges, edges, zero, zero, out[two:], unclear[two:])
        out["bodies"] = self._body_of[out["vertices"][:, [0, 2]]]
        return out

    def _rest(self, soft: Cover, x: Floats) -> NDArray[np.int64]:
        """Keys of pairs of near neighbours that are closer than the thickness from the start: these are not pushed."""
        soft.move(x)
        close = self._records(self._near, soft, soft, self.thickness)
        if not len(close):
            return np.zeros(0, np.int64)
        from scipy.sparse import coo_array

        ends, n = soft.top.edges, len(x)
        one = coo_array(
            (np.ones(2 * len(ends), np.int8), np.concatenate([ends, ends[:, ::-1]]).T), shape=(n, n)
        ).tocsr()
        two = one @ one
        v = close["vertices"]
        split = np.where(close["kind"] == _contacts.VERTEX_FACE, 1, 2)
        beside = np.zeros(len(close), np.bool_)
        for i in range(3):
            for j in range(i + 1, 4):
                across = (i < split) & (j >= split)
                beside |= across & ((one[v[:, i], v[:, j]] > 0) | (two[v[:, i], v[:, j]] > 0))
        return np.asarray(np.sort(_keys(close[beside])), np.int64)


def _keys(contacts: Contacts) -> NDArray[np.int64]:
    e = contacts["elements"].astype(np.int64)
    return np.asarray(contacts["kind"].astype(np.int64) << 62 | e[:, 0] << 31 | e[:, 1], np.int64)


def _rows(scene: Scene, b: int) -> Rows:
    return np.arange(scene.first[b], scene.first[b + 1], dtype=np.int32)


def _cover(scene: Scene, bodies: Sequence[int], x: Floats, count: int) -> Cover:
    """All faces of some bodies as one cover, on the one array of positions."""
    faces = [scene.bodies[b].mesh.welded.faces + np.int32(scene.first[b]) for b in bodies]
    top = Topology.of(np.concatenate([np.zeros((0, 3), np.int32), *faces]), count)
    return Cover(x, top, np.arange(count), lone=False)


def _spacing(top: Topology, x: Floats) -> float:
    """How far to look at most: nearer than neighbours usually are, so that flat cloth finds nothing."""
    if not len(top.edges):
        return 0.0
    span = x[top.edges[:, 0]] - x[top.edges[:, 1]]
    return 0.5 * float(np.median(np.sqrt((span**2).sum(1))))

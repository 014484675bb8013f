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
AROUND = 1.5  # of the thickness: how far around cloth to look at least
REACH = 0.75  # of eps: how far around a body to look at first; cloth usually rests farther away
LEAST = 0.01  # of the thickness: distance that is never used up
_EVERYWHERE = np.array([-np.inf] * 3 + [np.inf] * 3)
BODY_SHARE = 0.5  # of eps: nearer than that to a body's triangles cloth is pushed away from them, too


@dataclasses.dataclass(eq=False)
class _Other:
    """A body beside the cloth."""

    near: NearPairs
    rows: Rows
    moves: bool
    reach: float = 0.0  # how far around it to look

    @property
    def box(self) -> Floats:
        return np.asarray(self.near.b.tree.nodes[0]["bounds"])


class Guard:
    """Contacts of all cloths of a scene with themselves, with each other and, in safe mode, with the bodies."""

    def __init__(self, scene: Scene, state: State) -> None:
        self.safe = scene.self_contact == "safe"
        self.eps = scene.eps
        self.thickness = scene.eps if scene.thickness is None else scene.thickness
        self._cloth = Projection(scene, eps=self.thickness)
        self._bodies = Projection(scene, eps=BODY_SHARE * scene.eps, obstacles=True)
        count = int(scene.first[-1])
        soft = _cover(scene, scene.soft, state.x, count)
        # what lies inside a solid touches nothing: nobody asks where it goes
        skin = np.zeros(count, np.bool_)
        skin[soft.top.faces] = True
        self.rows = np.flatnonzero((scene.inverse_masses > 0.0) & skin).astype(np.int32)
        self._held = scene.held[skin[scene.held]]
        self.driven = np.concatenate([np.zeros(0, np.int32), *(_rows(scene, b) for b in scene.moving), self._held])
        self._near = NearPairs(soft)
        self._others = []
        for b in scene.fixed if self.safe else ():
            cover = _cover(scene, [b], state.x, count)
            self._others.append(_Other(NearPairs(soft, cover), _rows(scene, b), b in scene.moving))
        self._body_of = np.repeat(np.arange(len(scene.bodies), dtype=np.int32), np.diff(scene.first))
        self._largest = max(_spacing(soft.top, state.x), 1.5 * self.thickness)
        self._drifts = False
        links = [scene.bodies[b].mesh.welded.links + np.int32(scene.first[b]) for b in scene.soft]
        self._settled = self._rest(soft, state.x, np.concatenate([np.zeros((0, 2), np.int32), *links]))
        self.seen = state.x.copy()
        self._at = state.x.copy()  # where all was free the last time
        self._way = np.zeros_like(state.x)  # how far each vertex is expected to go from where it was seen
        self._steps = 0  # small steps of this frame that are left after the present one
        self._gone = False
        self._calm = True  # nothing was held back in this frame
        self.part = np.ones(count)
        self.contacts = self.touching = _contacts.empty()
        self._radius = np.zeros(count)
        self.looks, self.forced = 0, 0
        self._first = True

    def look(self, x: Floats, stride: float, way: Floats | None = None) -> None:
        """Find all that is near at positions x, or comes near while everything goes its `way` (n,3) from there.

        `stride` is how far things go in a small step.
        """
        self.looks += 1
        reach = min(max(self.thickness + (1.0 if self.safe else 8.0) * stride, AROUND * self.thickness), self._largest)
        soft = self._near.a
        soft.move(x)
        self._expect(x, way, reach)
        self.contacts = self._records(self._near, soft, soft, reach)
        # pushing alone takes half of what is beyond the thickness, so that no pair comes within it without being known
        radius = _kernels.SHARE * reach if self.safe else 0.49 * (reach - self.thickness)
        self.seen[:] = self._at[:] = x
        self._gone = False
        self._radius[:] = np.inf
        self._radius[self.rows] = self._radius[self._held] = radius
        self.touching = _contacts.join([self._look_at(body, x) for body in self._others])
        self._first = False
        if self.safe:
            both = _contacts.join([self.contacts, self.touching])
            room = np.empty(len(both))
            _kernels.room_of(both, x, LEAST * self.thickness, room)
            self._walls = (both["vertices"].copy(), both["kind"].copy(), both["normal"].copy(), room)
        if len(self._settled):
            key = keys(self.contacts)
            self.contacts = self.contacts[~np.isin(key, self._settled)]

    def _expect(self, x: Floats, way: Floats | None, reach: float) -> None:
        """Take everything to go its `way`, or as much of it as does not bring too many pairs near."""
        self._way[:] = 0.0 if way is None else way
        self._drifts = way is not None
        if way is None:
            return
        soft, most = self._near.a, 0.0
        for rows, box in [(self.rows, _EVERYWHERE), *((b.rows[: b.moves * len(b.rows)], b.box) for b in self._others)]:
            most = max(most, _kernels.fastest(self.rows, rows, x, way, box, reach))
        if most > self._largest * (self._steps + 1):
            # not even the present small step: then better as if all stood
            self._way[:], self._drifts = 0.0, False
            return
        if most > self._largest:
            self._way *= self._largest / most
        soft.send(self._way)
        for body in self._others:
            if body.moves:
                body.near.b.send(self._way)

    def _look_at(self, body: "_Other", x: Floats) -> Contacts:
        """Contacts with a body, and the room that is left where there are none."""
        soft = self._near.a
        if self._first or body.moves:
            body.near.b.move(x)
        found = self._records(body.near, soft, body.near.b, body.reach)
        share = _kernels.SHARE if body.moves else _kernels.STILL
        drifts = (soft.drift.boxes, body.near.b.drift.nodes[0]) if self._drifts else (np.zeros((0, 6)), np.zeros(6))
        least = _kernels.far_from(soft.skin.corners, soft.at.boxes, body.box, *drifts, body.reach, share, self._radius)
        if body.moves:
            self._radius[body.rows] = np.minimum(self._radius[body.rows], _kernels.SHARE * least)
        # the next look of this frame goes farther where that is cheap, and less far where it is not
        if self._drifts:
            return found
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

    def forget(self, state: State) -> None:
        """Nothing was pushed in this small step."""
        for found, response in ((self.contacts, self._cloth), (self.touching, self._bodies)):
            response.begin(found, state)

    def begin(self, state: State, dt: float, steps: int = 1) -> None:
        """A new frame of `steps` small ones of dt, with nothing remembered of the last one: so a run that is stopped
        and resumed is the same."""
        speed = max(float((state.v[rows] ** 2).sum(1).max(initial=0.0)) for rows in (self.rows, self.driven))
        for body in self._others:
            body.reach = REACH * self.eps
        self._steps, self._calm = steps - 1, True
        self.look(state.x, speed**0.5 * dt, state.v * (dt * steps))

    def follow(self, state: State) -> None:
        """Look again where pairs that were too far away may have come within the thickness; safe mode does it later."""
        if not self.safe and not self._expected(state.x):
            self.look(state.x, self._stride(state), (state.x - state.x_start) * self._steps)

    def keep(self, state: State, dt: float) -> None:
        """Let nothing go where it could touch: up to the bounds, look again, push apart, go on."""
        if not self.safe:
            return
        target = state.x
        if self._arrives(target):
            self._at[:], self._gone = target, True
            return
        stride, x = self._stride(state), self._at.copy()
        if self._gone:
            self.look(x, stride, self._ahead(state, x) if self._calm else None)
            self.apply(state, dt)
        for rounds in range(STUCK):
            left, driven = self._go(target, x)
            if driven >= 1.0 and (left == 0 or rounds >= ROUNDS):
                break
            # what is held back does not go where it was expected to
            self._calm = False
            self.look(x, stride)
            self.apply(state, dt)
        else:
            self.forced += 1
            if self.forced == 1:
                log.warning("bodies leave the cloth no room at %.3f s; they go on, and it may be cut", state.time)
            x[self.driven] = target[self.driven]
        target[self.rows] = x[self.rows]
        self._at[:], self._gone = target, True

    def _ahead(self, state: State, x: Floats) -> Floats:
        """How far everything will go from x to the end of the frame, if it keeps its speed."""
        return np.asarray((state.x - x) + (state.x - state.x_start) * self._steps)

    def _expected(self, target: Floats) -> bool:
        """Whether everything is about where it was expected to be at some moment."""
        go = self.seen, self._way, target
        one, two = (_kernels.progress(rows, *go) for rows in (self.rows, self.driven))
        whole = one[1] + two[1]
        t = min(max((one[0] + two[0]) / whole, 0.0), 1.0) if whole > 0.0 else 0.0
        return not any(_kernels.strays(rows, self._radius, *go, t) for rows in (self.rows, self.driven))

    def _arrives(self, target: Floats) -> bool:
        """Whether all can go to `target` at once."""
        if not self._expected(target):
            return False
        self.part[:] = 1.0
        held = np.zeros(len(self._walls[0]), np.bool_)
        count = _kernels.limit(*self._walls, LEAST * self.thickness, self.seen, target, self.part, held)
        return not count or float(self.part.min()) >= 1.0

    def _go(self, target: Floats, x: Floats) -> tuple[int, float]:
        """Bring x as far towards `target` as is safe: how many vertices are not there, and what part bodies went."""
        if self._arrives(target):
            x[self.rows], x[self.driven] = target[self.rows], target[self.driven]
            return 0, 1.0
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
        self._steps = max(self._steps - 1, 0)

    @property
    def found(self) -> Contacts:
        """Pairs nearer than they should be, for a frame."""
        parts = [(self.contacts, self.thickness), (self.touching, self._bodies.eps)]
        return _contacts.join([found[found["distance"] <= eps] for found, eps in parts])

    def _records(self, pairs: NearPairs, a: Cover, b: Cover, reach: float) -> Contacts:
        there, back, edges = pairs.within(reach, drifting=self._drifts)
        out = np.empty(len(there) + len(back) + len(edges), _contacts.CONTACT)
        unclear, zero, none = np.empty(len(out), np.bool_), np.zeros(2, np.int32), np.zeros(0)
        one, two = len(there), len(there) + len(back)
        _records.fill_faces(a.x, b.x, b.top.faces, there, none, zero, zero, out[:one], unclear[:one])
        _records.fill_faces(b.x, a.x, a.top.faces, back, none, zero, zero, out[one:two], unclear[one:two])
        _records.fill_edges(a.x, a.top.edges, b.x, b.top.edges, edges, zero, zero, out[two:], unclear[two:])
        if self._drifts:
            near = np.empty(len(out), np.bool_)
            _kernels.come_near(out, self._way, reach, near)
            out = out[near]
        out["bodies"] = self._body_of[out["vertices"][:, [0, 2]]]
        return out

    def _rest(self, soft: Cover, x: Floats, links: Rows) -> NDArray[np.int64]:
        """Keys of pairs of near neighbours that are closer than the thickness from the start: these are not pushed."""
        soft.move(x)
        close = self._records(self._near, soft, soft, self.thickness)
        if not len(close):
            return np.zeros(0, np.int64)
        return np.asarray(np.sort(keys(close[beside(close, links, len(x))])), np.int64)


def beside(contacts: Contacts, edges: Rows, count: int) -> NDArray[np.bool_]:
    """Which contacts (k,) are of features that no more than two of `edges` (m,2), on `count` vertices, lie between."""
    from scipy.sparse import coo_array

    both = np.concatenate([edges, edges[:, ::-1]])
    one = coo_array((np.ones(len(both), np.int8), both.T), shape=(count, count)).tocsr()
    two = one @ one
    v = contacts["vertices"]
    split = np.where(contacts["kind"] == _contacts.VERTEX_FACE, 1, 2)
    found = np.zeros(len(contacts), np.bool_)
    for i in range(3):
        for j in range(i + 1, 4):
            across = (i < split) & (j >= split)
            found |= across & ((one[v[:, i], v[:, j]] > 0) | (two[v[:, i], v[:, j]] > 0))
    return found


def keys(contacts: Contacts) -> NDArray[np.int64]:
    """A number for each pair of features of one detector."""
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

"""Recording: frames kept while a person plays, written as an animation and a page."""

import pathlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..report.referee import Referee
from ..report.result import Result
from ..scene import Scene
from ..simulation import Frame

MOST = 96 << 20  # bytes of frames that are kept; writing them takes up to seven times as much for a while
LONGEST = 60_000  # frames, where they are small
SPARSEST = 4  # a long recording has a frame in every so many


class Recording:
    """Frames of one scene, offered every `dt` seconds and kept with the single precision that files have.

    Only what bends is kept, and where all else was: `room` frames. Where more come, every second one is forgotten, and
    one in `every` is kept from then on; so the files still have all of the time, with fewer frames a second.
    """

    def __init__(self, scene: Scene, dt: float) -> None:
        self.scene, self.dt = scene, dt
        self._bends = [*scene.soft, *scene.shapes]
        count = sum(scene.bodies[b].mesh.welded.n_vertices for b in self._bends)
        self.room = int(np.clip(MOST // (12 * count + 96 * len(scene.bodies) + 16), 2, LONGEST))
        # the system gives memory as it is written to, so room that is not used costs nothing
        self._x = {b: np.empty((self.room, scene.bodies[b].mesh.welded.n_vertices, 3), np.float32) for b in self._bends}
        self._poses = np.empty((self.room, len(scene.bodies), 3, 4))
        self._touching, self._seconds = np.empty(self.room, np.int64), np.empty(self.room)
        self.every, self._count, self._offered, self._spent = 1, 0, 0, 0.0

    def __len__(self) -> int:
        return self._count

    @property
    def seconds(self) -> float:
        """How long it is."""
        return max(0, self._offered - 1) * self.dt

    @property
    def longest(self) -> float:
        """Seconds that there can be in all."""
        return (self.room * SPARSEST - 1) * self.dt

    @property
    def full(self) -> bool:
        return self._offered == self.room * SPARSEST

    def keep(self, frame: Frame) -> None:
        """A frame more, unless it is full."""
        if self.full:
            return
        if self._count == self.room and self._offered % self.every == 0:
            self._thin()
        self._spent += frame.seconds
        if self._offered % self.every == 0:
            t = self._count
            for b, kept in self._x.items():
                kept[t] = frame.x[self.scene.rows(b)]
            # of contacts only the number: the records themselves may be larger than all positions
            self._poses[t], self._touching[t], self._seconds[t] = frame.pose, len(frame.contacts), self._spent
            self._count, self._spent = t + 1, 0.0
        self._offered += 1

    def _thin(self) -> None:
        """Forget every second frame; the time it took to compute goes to the one after it."""
        count = (self._count + 1) // 2
        left = float(self._seconds[self._count - 1]) if self._count % 2 == 0 else 0.0
        arrays: list[NDArray[Any]] = [*self._x.values(), self._poses, self._touching]
        for t in range(1, count):  # in place: all at once would take half as much memory again
            self._seconds[t] = self._seconds[2 * t] + self._seconds[2 * t - 1]
            for array in arrays:
                array[t] = array[2 * t]
        self._spent += left
        self._count, self.every = count, 2 * self.every

    def result(self) -> Result:
        """The run as `pliant drape` has it, every frame measured by the exact referee as it is written."""
        scene, count = self.scene, self._count
        referee = Referee(scene) if scene.soft and scene.fixed else None
        deepest, pinched = np.full(count, np.nan), np.zeros((count, 2))
        if referee is not None:
            x = scene.start().x
            for t in range(count):
                for b, kept in self._x.items():
                    x[scene.rows(b)] = kept[t]
                deepest[t] = referee.least_distance(x, self._poses[t])
                pinched[t] = referee.pinched, referee.pinched_depth
        kept_frames: dict[int, NDArray[np.float32]] = {b: kept[:count] for b, kept in self._x.items()}
        return Result(
            scene,
            self.dt * self.every,
            {b: kept_frames[b] for b in scene.soft},  # type: ignore[misc]
            self._poses[:count],
            self._touching[:count],
            deepest,
            self._seconds[:count],
            shapes={b: kept_frames[b] for b in scene.shapes},
            pinched=pinched,
            skins=False,  # it may begin anywhere in the clip, and go back to its beginning
        )

    def write(self, folder: pathlib.Path) -> list[pathlib.Path]:
        """play-N.glb and play-N.html, N the first number that neither has yet."""
        n = 1
        while any((folder / f"play-{n}{ending}").exists() for ending in (".glb", ".html")):
            n += 1
        result = self.result()
        made, page = folder / f"play-{n}.glb", folder / f"play-{n}.html"
        result.save(made)
        try:
            result.to_html(page)
        except OSError:  # both or none: a second attempt takes the same name
            made.unlink(missing_ok=True)
            raise
        return [made, page]

"""Recording: frames of an interactive run, written as an animation and a replay page."""

import pathlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..scene import Scene
from ..simulation import Frame
from ..simulation.measure.referee import Referee
from ..simulation.result import Result

MOST = 96 << 20  # bytes of stored frames; writing them temporarily takes up to seven times as much
LONGEST = 60_000  # largest number of stored frames
SPARSEST = 4  # coarsest sampling of a long recording: every 4th frame


class Recording:
    """Frames of one scene, passed every `dt` seconds; positions are stored in float32, as in files.

    Stores positions of deforming bodies and poses of all bodies, for at most `capacity` frames. When `capacity`
    frames are stored, every second one is dropped and only one in `every` is stored from then on: the whole time at a
    lower frame rate. It is `full` after `SPARSEST * capacity` frames.
    """

    def __init__(self, scene: Scene, dt: float) -> None:
        self.scene, self.dt = scene, dt
        self._deforming = [*scene.deformable, *scene.deforming_motions]
        sizes = {b: scene.bodies[b].mesh.welded.n_vertices for b in self._deforming}
        count = sum(sizes.values())
        self.capacity = int(np.clip(MOST // (12 * count + 96 * len(scene.bodies) + 16), 2, LONGEST))
        # the system allocates pages on first write, so unused capacity costs nothing
        self._x = {b: np.empty((self.capacity, size, 3), np.float32) for b, size in sizes.items()}
        self._poses = np.empty((self.capacity, len(scene.bodies), 3, 4))
        self._contact_counts, self._seconds = np.empty(self.capacity, np.int64), np.empty(self.capacity)
        self.every, self._count, self._received, self._spent = 1, 0, 0, 0.0

    def __len__(self) -> int:
        return self._count

    @property
    def seconds(self) -> float:
        """Duration so far, seconds."""
        return max(0, self._received - 1) * self.dt

    @property
    def longest(self) -> float:
        """Largest possible duration, seconds."""
        return (self.capacity * SPARSEST - 1) * self.dt

    @property
    def full(self) -> bool:
        return self._received == self.capacity * SPARSEST

    def add(self, frame: Frame) -> None:
        """Add a frame unless the recording is full."""
        if self.full:
            return
        if self._count == self.capacity and self._received % self.every == 0:
            self._thin()
        self._spent += frame.seconds
        if self._received % self.every == 0:
            t = self._count
            for b, stored in self._x.items():
                stored[t] = frame.x[self.scene.rows(b)]
            # only the number of contacts: their records may be larger than all positions
            self._poses[t], self._contact_counts[t], self._seconds[t] = frame.pose, len(frame.contacts), self._spent
            self._count, self._spent = t + 1, 0.0
        self._received += 1

    def _thin(self) -> None:
        """Drop every second frame; add its computing time to the next one."""
        count = (self._count + 1) // 2
        left = float(self._seconds[self._count - 1]) if self._count % 2 == 0 else 0.0
        arrays: list[NDArray[Any]] = [*self._x.values(), self._poses, self._contact_counts]
        for t in range(1, count):  # in place: a copy would take half as much memory again
            self._seconds[t] = self._seconds[2 * t] + self._seconds[2 * t - 1]
            for array in arrays:
                array[t] = array[2 * t]
        self._spent += left
        self._count, self.every = count, 2 * self.every

    def result(self) -> Result:
        """Return the run as a `Result`, with every frame measured by the exact referee."""
        scene, count = self.scene, self._count
        referee = Referee(scene) if scene.deformable and scene.obstacles else None
        distance, pinched = np.full(count, np.nan), np.zeros((count, 2))
        if referee is not None:
            x = scene.start().x
            for t in range(count):
                for b, stored in self._x.items():
                    x[scene.rows(b)] = stored[t]
                distance[t] = referee.least_distance(x, self._poses[t])
                pinched[t] = referee.pinched, referee.pinched_depth
        frames: dict[int, NDArray[np.float32]] = {b: stored[:count] for b, stored in self._x.items()}
        return Result(
            scene=scene,
            dt=self.dt * self.every,
            x={b: frames[b] for b in scene.deformable},  # type: ignore[misc]
            poses=self._poses[:count],
            n_contacts=self._contact_counts[:count],
            least_distance=distance,
            seconds=self._seconds[:count],
            deforming_x={b: frames[b] for b in scene.deforming_motions},
            pinched=pinched,
            skins=False,  # a recording may start anywhere in the clip and contain resets
        )

    def write(self, folder: pathlib.Path) -> list[pathlib.Path]:
        """Write play-N.glb and play-N.html with the first unused number N; return the paths."""
        n = 1
        while any((folder / f"play-{n}{ending}").exists() for ending in (".glb", ".html")):
            n += 1
        result = self.result()
        made, page = folder / f"play-{n}.glb", folder / f"play-{n}.html"
        result.save(made)
        try:
            result.to_html(page)
        except OSError:  # both or none: a second attempt uses the same name
            made.unlink(missing_ok=True)
            raise
        return [made, page]

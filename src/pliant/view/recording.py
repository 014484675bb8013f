"""Recording: frames kept while a person plays, written as an animation and a page."""

import dataclasses
import pathlib

import numpy as np
from numpy.typing import NDArray

from .. import contacts as _contacts
from ..report.referee import Referee
from ..report.result import Result
from ..scene import Scene
from ..simulation import Frame

MOST = 1 << 30  # bytes of positions that are kept


class Recording:
    """Frames of one scene, a hundredth of a second apart."""

    def __init__(self, scene: Scene, dt: float) -> None:
        self.scene, self.dt = scene, dt
        self._kept: list[Frame] = []
        self._touching: list[int] = []
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._kept)

    def keep(self, frame: Frame) -> bool:
        """False where there is no room for more."""
        self._bytes += frame.x.nbytes
        if self._bytes > MOST:
            return False
        # only their number is told; the records themselves may be larger than all positions
        self._touching.append(len(frame.contacts))
        self._kept.append(dataclasses.replace(frame, contacts=_contacts.empty()))
        return True

    def result(self) -> Result:
        """The run as `pliant drape` has it, every frame measured by the exact referee."""
        scene, frames = self.scene, self._kept
        x = np.stack([frame.x for frame in frames])
        referee = Referee(scene) if scene.soft and scene.fixed else None
        deepest, pinched = np.full(len(frames), np.nan), np.zeros((len(frames), 2))
        if referee is not None:
            for t, frame in enumerate(frames):
                deepest[t] = referee.least_distance(frame.x, frame.pose)
                pinched[t] = referee.pinched, referee.pinched_depth
        shapes: dict[int, NDArray[np.float32]] = {b: x[:, scene.rows(b)].astype(np.float32) for b in scene.shapes}
        return Result(
            scene,
            self.dt,
            {b: x[:, scene.rows(b)] for b in scene.soft},
            np.stack([frame.pose for frame in frames]),
            np.array(self._touching),
            deepest,
            np.array([frame.seconds for frame in frames]),
            shapes=shapes,
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
        result.to_html(page)
        return [made, page]

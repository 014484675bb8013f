"""Point caches that grow while a simulation runs, for programs that show it meanwhile."""

import contextlib
import pathlib
from typing import Self

import numpy as np
from numpy.typing import NDArray

from ..io.named import ClipName, file_stems
from ..io.pc2 import GrowingCache
from ..scene import Scene


class LiveCaches(contextlib.ExitStack):
    """A `Watch` that writes the vertices of each cloth, in the order of its file, to a growing point cache: `path`, or
    with several cloths one file each, with the names of their meshes. As a context it is None without a path."""

    def __init__(self, path: pathlib.Path | None) -> None:
        super().__init__()
        self.path = path
        self.paths: list[pathlib.Path] = []
        self._caches: dict[int, GrowingCache] = {}

    def __enter__(self) -> Self | None:  # type: ignore[override]
        return None if self.path is None else super().__enter__()

    def __call__(self, *, scene: Scene, frame: int, x: dict[int, NDArray[np.float64]]) -> None:
        """Append a frame; the first one creates the files."""
        if not self._caches:
            self._create(scene, x)
        for b, cache in self._caches.items():
            cache.add(x[b][scene.bodies[b].mesh.weld_index])

    def _create(self, scene: Scene, x: dict[int, NDArray[np.float64]]) -> None:
        assert self.path is not None
        meshes = [scene.bodies[b].mesh for b in x]
        stems = file_stems(self.path.stem, [ClipName(mesh.name, False) for mesh in meshes])
        for b, mesh, stem in zip(x, meshes, stems):
            self.paths.append(self.path.with_name(stem + self.path.suffix))
            self.paths[-1].parent.mkdir(parents=True, exist_ok=True)
            self._caches[b] = GrowingCache(self.paths[-1], mesh.n_vertices)
            self.callback(self._caches[b].close)

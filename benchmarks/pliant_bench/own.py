"""The functions of pliant that the tasks call, in one place."""

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pliant.detect import detector as _detector
from pliant.detect.bvh.tree import refit, tree_of
from pliant.detect.detectors.continuous import Sweep
from pliant.detect.queries.intersections import Intersections
from pliant.mesh import Mesh
from pliant.scene import Scene
from pliant.simulation import Simulation

Floats = NDArray[np.float64]


def detector(method: str, mesh: Mesh, within: float) -> Any:
    """T4: self-contact; `.update(x).find()` returns contact records."""
    return _detector(method, mesh, within=within)


def sweep(mesh: Mesh) -> Sweep:
    """T5: `.step(x_0, x_1)` returns the collision-free fraction of the step."""
    return Sweep(mesh)


def crossings(a: Mesh, b: Mesh) -> Intersections:
    """T6: `.update(x_a, x_b)`, then `.pairs()` returns pairs of faces (k,2)."""
    return Intersections(a, b)


class FaceTree:
    """T6b: the BVH of the triangles of a mesh."""

    def __init__(self, mesh: Mesh) -> None:
        self.faces = mesh.faces
        self.tree = tree_of(mesh.vertices, mesh.faces)

    def refit(self, x: Floats) -> None:
        refit(self.tree, x, self.faces)

    @property
    def bounds(self) -> Floats:
        """Corners (2,3) of the root AABB."""
        return np.asarray(self.tree.nodes["bounds"][0], np.float64).reshape(2, 3)


def simulation(scene: Scene, dt: float, mode: str, solver: str | None, substeps: int | None) -> Simulation:
    """T8: with self-contact, `mode` as Scene takes it ("push": some may pass, "safe": nothing crosses). None: the
    default solver, and as many substeps as it needs."""
    thick = dataclasses.replace(scene, self_contact=mode, thickness=0.8 * scene.eps)
    chosen: dict[str, Any] = {} if solver is None else {"solver": solver}
    return Simulation(thick, dt, substeps=substeps, **chosen)

"""Soft bodies of tetrahedra by XPBD with substeps: elastic resistance to change of shape and volume, and viscosity."""

import numpy as np
from numpy.typing import NDArray

from ..kernels.dynamics import tets as _kernels
from ..kernels.dynamics.pieces import untwist
from ..scene import Scene, Solid
from ..state import State
from .cloth import by_colour
from .pieces import unconstrained_pieces

Floats = NDArray[np.float64]
_WORTH_THREADS = 8000  # tets; below it about 40 launches, one per colour, cost more than they save
_UPPER = np.triu_indices(6)
# the symmetric matrix of each strain in Voigt notation: 00, 11, 22, and engineering shear 01, 02, 12
_STRAINS = np.zeros((6, 3, 3))
for _n, (_k, _l) in enumerate(((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))):
    _STRAINS[_n, _k, _l] = _STRAINS[_n, _l, _k] = 1.0


class TetDynamics:
    """All solids of a scene as one system of constraints, on the same rows as `ClothDynamics`."""

    def __init__(self, scene: Scene) -> None:
        self.rows = scene.deformable_rows
        self.w = scene.inverse_masses[self.rows]
        self.masses = scene.masses[self.rows]
        corners, rest, energy, viscous = [], [], [], []
        for b in scene.solids:
            mesh, stuff = scene.bodies[b].mesh.welded, scene.bodies[b].material
            assert isinstance(stuff, Solid)
            x = mesh.vertices[mesh.tets]
            edges = x[:, 1:] - x[:, :1]
            volume = np.linalg.det(edges) / 6.0
            corners.append(mesh.tets + np.int32(scene.first[b] - self.rows.start))
            rest.append(np.linalg.inv(edges.transpose(0, 2, 1)))
            energy.append(volume[:, None] * (stuff.mu, 0.5 * stuff.lam))
            viscous.append(2.0 * volume * stuff.density * stuff.damping)
        tets = np.concatenate(corners)
        order, start = by_colour(tets)
        tets, inner = np.ascontiguousarray(tets[order]), np.concatenate(rest)[order]
        whole = np.concatenate([-inner.sum(1, keepdims=True), inner], 1)  # (k,4,3)
        weighed = self.w[tets][:, :, None] * whole
        self._products = np.einsum("nci,ncj->nij", weighed, whole)  # sum of w b b^T, (k,3,3)
        friction = np.stack([np.concatenate(viscous)[order], np.trace(self._products, axis1=1, axis2=2)], 1)
        self.tets = _kernels.Tets(tets, inner.reshape(-1, 9), np.concatenate(energy)[order], friction, start)
        self.pieces = unconstrained_pieces(tets, self.w)
        self._inverses: dict[float, _kernels.SystemInverses] = {}
        self._before = np.empty((len(self.w), 3))

    def apply_damping(self, state: State, dt: float) -> None:
        """Apply viscous damping to the velocities."""
        if self.tets.viscous[:, 0].any():
            _kernels.damp_tets(self.tets, 0, len(self.tets.tets), state.x[self.rows], state.v[self.rows], self.w, dt)

    def relax(self, state: State, dt: float) -> None:
        """Sweep once over all tetrahedra, preserving the angular momentum of unconstrained bodies."""
        x = state.x[self.rows]
        self._before[:] = x
        sweep = _kernels.relax_parallel if len(self.tets.tets) > _WORTH_THREADS else _kernels.relax_serial
        sweep(self.tets, self.inverses(dt), x, self.w)
        untwist(self.pieces, state.x_start[self.rows], self._before, x, self.masses)

    def inverses(self, dt: float) -> _kernels.SystemInverses:
        """Return the inverse of every tetrahedron's system, which is constant in its own frame for a given dt."""
        if dt not in self._inverses:
            energy = self.tets.energy * dt**2
            soft = np.full((len(energy), 3), np.inf)
            soft[:, 0], soft[:, 1] = 0.5 / energy[:, 0], 1.0 / energy[:, 0]
            np.divide(0.5, energy[:, 1], out=soft[:, 2], where=energy[:, 1] > 0.0)
            system = np.einsum("aij,bjk,nki->nab", _STRAINS, _STRAINS, self._products)
            system[:, range(6), range(6)] += np.repeat(soft[:, :2], 3, 1)
            inverse = np.linalg.inv(system)[:, _UPPER[0], _UPPER[1]]
            self._inverses[dt] = _kernels.SystemInverses(np.ascontiguousarray(inverse), soft)
        return self._inverses[dt]

    def elastic(self, state: State) -> float:
        """Return the elastic energy of the solids, joules."""
        return float(_kernels.tets_energy(self.tets, state.x[self.rows]))

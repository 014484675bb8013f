"""Cloth: triangles resist stretch and shear, hinges resist bending, air drag acts on faces.

`SOLVERS` names the two ways to integrate it: an implicit step (`implicit`), or one sweep of XPBD over all constraints.
"""

import logging
from collections.abc import Callable
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from ..contacts import Contacts, concatenate_unsorted
from ..kernels import jit
from ..kernels.dynamics import cloth as _kernels
from ..kernels.dynamics import damping as _damping
from ..kernels.dynamics.contact_springs import LastSubstep, Repulsion
from ..kernels.dynamics.damping import Air, Moving, Viscosity
from ..kernels.dynamics.springs import relax_springs, spring_energy
from ..kernels.respond.projection import Substep
from ..kernels.team import BATCHES, COUNTERS, fitting
from ..materials import Cloth
from ..mesh import Mesh
from ..scene import Scene
from ..state import State
from .contact_springs import SOFT
from .implicit import ImplicitSolver
from .rest_scale import RestScaling
from .rigidity import Hinged, hinge_rigidities
from .shared import once
from .slivers import softened
from .springs import StitchSprings
from .strain_limit import NO_GAPS, Points, StrainLimit, gaps_of, with_points
from .weave import rest_shapes, warp_directions

SOLVERS = ("implicit", "xpbd")
Floats = NDArray[np.float64]
Ints = NDArray[np.int32]
TENSION = 0.8  # of the strain limit: strain of cloth at an attached vertex from which on it yields
_WORTH_THREADS = 20000  # hinges; below it launching threads costs more than they save
_WORTH_THREADS_VERTICES = 8000
_TOO_STIFF = 10.0  # ratio of the stiffness of a material to what a sweep of XPBD enforces, above which a warning is due
log = logging.getLogger("pliant.dynamics")


class ClothDynamics:
    """All cloths of a scene as one system of constraints.

    Only the `rows` of the positions from the first to the last deformable body are processed, so that obstacles with
    many vertices cost nothing; indices in its own arrays are relative to the first of these rows. `solver` is one of
    SOLVERS.
    """

    def __init__(self, scene: Scene, solver: str = "implicit") -> None:
        self.rows = scene.deformable_rows
        self.w = scene.inverse_masses[self.rows]
        self.wind = scene.wind
        begin = self.rows.start
        parts = [(scene.bodies[b], scene.bodies[b].mesh.welded, int(scene.first[b]) - begin) for b in scene.cloths]
        self._parts, self._warned_of = parts, 0.0
        implicit = solver == "implicit" and _moves(parts, self.w)
        made_of: tuple[Any, ...] = ()
        for body, mesh, first in parts:
            made_of += mesh, body.material, body.warp, body.flat, first
            if not isinstance(body.rest_scale, tuple) or body.rest_scale != (1.0, 1.0):
                made_of += (scene,)  # `RestScaling` changes the membrane
        self.membrane = once("membrane", (*made_of, implicit), lambda: _membrane(parts, coloured=not implicit))
        self.hinges = once("hinges", made_of, lambda: _hinges(parts))
        faces = self.membrane.faces
        air = np.zeros(len(scene.bodies))
        for b in scene.cloths:
            air[b] = getattr(scene.bodies[b].material, "air", 0.0)
        faces = faces if air.any() else faces[:0]
        counts = np.bincount(faces.ravel(), minlength=len(self.w))
        self.air = Air(
            faces=faces,
            density=air[np.searchsorted(scene.first, faces[:, 0] + begin, side="right") - 1],
            start=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
            beside=np.argsort(faces.ravel(), kind="stable") // 3,
            force=np.zeros((len(faces), 3)),
        )
        self.viscous_pairs = once("viscosity", (*made_of, len(self.w)), lambda: _viscosity(parts, self.w))
        self._shares: dict[float, Floats] = {}
        self._team = np.zeros((0, 0, COUNTERS), np.int64)
        self._gravity = np.asarray(scene.gravity)
        self._fallen = -1.0, np.zeros(3)  # the last result of `_fall`, and by what it scales gravity
        self.seams = StitchSprings(scene)
        self._scaling = RestScaling(scene, self.membrane)
        self._implicit: ImplicitSolver | None = None
        if implicit:
            elements = softened(self.membrane, self.hinges)
            self._limit = StrainLimit(parts, self.w)
            longest = self._limit.longest_at(self.membrane.faces)
            self._implicit = ImplicitSolver(*elements, self.w, self.seams.springs, longest)
            self._yielding = scene.yielding_inverse_masses[self.rows]
            attached = self._yielding != self.w
            self._tension = StrainLimit(parts, attached.astype(np.float64), TENSION, attached)
        self._inverse_masses, self._eps = scene.inverse_masses, scene.eps
        self._friction = cast(float, scene.friction)

    @property
    def scaled(self) -> bool:
        """Whether `begin` changes the rest shapes of the membrane."""
        return self._scaling.scales

    def begin(self, state: State, dt: float) -> None:
        """Begin a frame of substeps of dt."""
        self._scaling.scale_at(state.time)
        if self._implicit is None and dt != self._warned_of:
            self._warned_of = dt
            _warn_of_stiffness(self._parts, dt)

    def apply_damping(self, state: State, dt: float) -> None:
        """Apply viscous damping and air drag to the velocities, which are v_start as well."""
        if len(self.viscous_pairs[2]) or len(self.air.faces):
            run = _damping.damp if self._team_size() > 1 else _damping.damp.serial
            run(self._viscosity(dt), self.air, self._moving(state), self.wind, dt, self._team)

    def predict(self, state: State, gravity: tuple[float, float, float], dt: float) -> None:
        """Apply damping and gravity, store x in x_start, and advance x by v."""
        run = _damping.damp_and_advance if self._team_size() > 1 else _damping.damp_and_advance.serial
        run(self._viscosity(dt), self.air, self._moving(state), self.wind, gravity, dt, self._team)

    def _team_size(self) -> int:
        """Make the team of a launch; return the number of its threads."""
        threads = min(jit.threads(), BATCHES) if len(self.w) >= _WORTH_THREADS_VERTICES else 1
        self._team = fitting(self._team, _damping.LOOPS, threads)
        return threads

    def _viscosity(self, dt: float) -> Viscosity:
        return Viscosity(*self.viscous_pairs[:2], self.viscous_share(dt))

    def _moving(self, state: State) -> Moving:
        rows = self.rows
        return Moving(state.x[rows], state.x_start[rows], state.v[rows], state.v_start[rows], self.w)

    def viscous_share(self, dt: float) -> Floats:
        """Return the fraction of each velocity difference exchanged in `dt`, limited for stability."""
        if dt not in self._shares:
            start, beside, rate = self.viscous_pairs
            own = np.repeat(np.arange(len(self.w)), np.diff(start))
            total = np.bincount(own, rate * self.w[own], len(self.w)) * dt
            cap = np.minimum(1.0, 0.5 / np.maximum(total, 1e-300))
            self._shares[dt] = rate * np.minimum(cap[own], cap[beside]) * self.w[own] * dt
        return self._shares[dt]

    def relax(self, state: State, dt: float) -> None:
        """Sweep once over all constraints, or solve them implicitly."""
        if self._implicit is not None:
            x, weight = state.x[self.rows], self.seams.weight_at(state.time)
            self._implicit.rest_lengths = self.seams.rest_at(state.time + dt)
            self._implicit.relax(x, state.x_start[self.rows], weight * self._gravity, dt)
            self._limit.apply(x)
            self._implicit.end_relax(x)
            return
        sweep = _kernels.relax_parallel if len(self.hinges.vertices) > _WORTH_THREADS else _kernels.relax_serial
        sweep(self.membrane, self.hinges, state.x[self.rows], self.w, dt)
        self.close_seams(state, dt)

    def close_seams(self, state: State, dt: float) -> None:
        """Project the stitches that are longer than their rest length."""
        if len(self.seams):
            relax_springs(self.seams.springs, self.seams.rest_at(state.time + dt), state.x[self.rows], self.w, dt)

    @property
    def may_repel(self) -> bool:
        """Whether contacts can repel cloth inside its solve (`relax_with`): by the implicit solver."""
        return self._implicit is not None

    def begin_solve(self, state: State, dt: float) -> None:
        """Begin a substep that `relax_with` ends; x is the prediction."""
        if self._implicit is not None:
            self._implicit.rest_lengths = self.seams.rest_at(state.time + dt)
            self._implicit.begin(state.x[self.rows])

    def guess(self, state: State, dt: float) -> None:
        """Move x from the prediction to the first guess of `relax_with`, after contacts have been detected."""
        if self._implicit is not None:
            self._implicit.guess(state.x[self.rows], self._fall(state, dt))

    def relax_with(self, state: State, contacts: Contacts, pushed: Floats, supports: Contacts, dt: float) -> None:
        """Solve once, with `contacts`, which repel cloth and some of which have moved vertices (pushed > 0), and with
        `supports`, which only repel it."""
        solver = self._implicit
        if solver is None:
            return
        x, substep = state.x[self.rows], Substep(state.x, state.x_start, self._inverse_masses, dt)
        fall = self._fall(state, dt)
        repulsion = Repulsion(self._eps, SOFT, self._friction, solver.still, (fall[0], fall[1], fall[2]))
        last = LastSubstep(state.slid, state.pressed)
        repelling = concatenate_unsorted([contacts, supports]) if len(supports) else contacts
        solver.contact_springs.collect(repelling, substep, last, self.rows.start, repulsion)
        # vertices pushed no farther than springs are compressed are left to them: a constraint would bear their load
        stopped = np.where(pushed > SOFT * self._eps, pushed, 0.0)
        solver.relax_with(contacts, stopped, x, substep, self.rows.start)
        solver.contact_springs.store_slides(x, solver.still, state.slid[self.rows], state.pressed[self.rows])

    def _fall(self, state: State, dt: float) -> Floats:
        """Return the displacement (3,) that gravity adds in a substep of dt, metres."""
        weight = dt * dt * self.seams.weight_at(state.time)
        if weight != self._fallen[0]:
            self._fallen = weight, np.asarray(weight * self._gravity)
        return self._fallen[1]

    def relax_in_contact(self, state: State, contacts: Contacts, pushed: Floats, dt: float) -> bool:
        """Solve again, by the implicit solver, if anything has moved vertices since the first solve; vertices that
        contacts have stopped (pushed > 0) can only slide.

        Return whether it was solved, so that the contacts have to be enforced again.
        """
        if self._implicit is None:
            return False
        x, substep = state.x[self.rows], Substep(state.x, state.x_start, self._inverse_masses, dt)
        return self._implicit.relax_in_contact(x, contacts, pushed, substep, self.rows.start)

    def limit_strain(
        self,
        state: State,
        keeping_open: Callable[[State], Contacts] | None,
        *,
        yielding: bool = False,
        points: Points | None = None,
    ) -> bool:
        """Shorten edges beyond the strain limit, which only the implicit solver has, without closing the gaps of the
        contacts that `keeping_open` returns; return whether any was longer. yielding: attached vertices move, too."""
        x = state.x[self.rows]
        if self._implicit is None or not self._limit.is_exceeded(x):
            return False
        gaps = gaps_of(keeping_open(state), state.x, self.rows) if keeping_open is not None else NO_GAPS
        if points is not None:
            gaps = with_points(gaps, points, self.rows)
        return self._limit.apply(x, self._implicit.surface, gaps, self._yielding if yielding else None)

    def yield_to_tension(self, state: State, keeping_open: Callable[[State], Contacts]) -> None:
        """Move attached vertices towards the cloth where it pulls at them with a strain above `TENSION` of its limit,
        without closing the gaps of the contacts that `keeping_open` returns."""
        x = state.x[self.rows]
        if self._implicit is not None and self._tension.is_exceeded(x):
            self._tension.apply(x, gaps=gaps_of(keeping_open(state), state.x, self.rows))

    def stretched_edges(self, state: State) -> Ints:
        """Return the edges (k,2) beyond the strain limit, which only the implicit solver has, as rows of x."""
        if self._implicit is None:
            return np.zeros((0, 2), np.int32)
        return self._limit.stretched(state.x[self.rows]) + np.int32(self.rows.start)

    def longest(self, state: State) -> float:
        """Return the length of the longest edge over the largest that the strain limit allows; 0 without a limit."""
        return 0.0 if self._implicit is None else self._limit.longest(state.x[self.rows])

    def let_into_surface(self, rows: Ints) -> None:
        """From now on in this substep, let the strain limit move these rows of x into the surfaces that they touch."""
        if self._implicit is not None and len(rows):
            own = rows[(rows >= self.rows.start) & (rows < self.rows.stop)] - self.rows.start
            self._implicit.surface.place[own] = -1

    def elastic(self, state: State) -> float:
        """Return the elastic energy of stretch, shear, bending and stitches, joules."""
        x = state.x[self.rows]
        sewn = spring_energy(self.seams.springs, self.seams.rest_at(state.time), x) if len(self.seams) else 0.0
        return float(_kernels.membrane_energy(self.membrane, x) + _kernels.hinge_energy(self.hinges, x) + sewn)


def _warn_of_stiffness(parts: list[Any], dt: float) -> None:
    """Warn of materials whose stiffness one sweep per substep cannot enforce: cloth then stretches as if its stiffness
    were about density edge^2 / dt^2 (measured: docs/dynamics/validation.md). The default stiffness causes no
    warning."""
    for body, mesh, _ in parts:
        stiffness = max(body.material.stretch_by_direction)
        ends = mesh.vertices[mesh.topology.edges]
        carried = body.material.density * float(np.median(((ends[:, 0] - ends[:, 1]) ** 2).sum(1))) / dt**2
        if stiffness > max(_TOO_STIFF * carried, Cloth().stretch):
            text = (
                "%r has a stretch stiffness of %.0f N/m; xpbd carries about %.2g N/m at this resolution and substep: "
            )
            log.warning(text + "use the solver implicit, or more substeps", body.label, stiffness, carried)


def _viscosity(parts: list[Any], w: Floats) -> tuple[NDArray[np.int64], NDArray[np.int64], Floats]:
    """Return the neighbours of every vertex as (start, rows), and the viscous exchange rate of each pair, kg/s."""
    ends, rates = [np.zeros((0, 2), np.int64)], [np.zeros(0)]
    for body, mesh, first in parts:
        if body.material.damping == 0.0:
            continue
        top = mesh.topology
        area = np.bincount(top.face_edges.ravel(), np.repeat(mesh.face_areas, 3), len(top.edges))
        span = mesh.vertices[top.edges[:, 0]] - mesh.vertices[top.edges[:, 1]]
        length2 = np.maximum((span**2).sum(1), 1e-300)
        ends.append(top.edges.astype(np.int64) + first)
        # finite-volume Laplacian: flux = viscosity * density * width / length, width = area / length
        rates.append(body.material.damping * body.material.density * area / length2)
    edges, rate = np.concatenate(ends), np.concatenate(rates)
    both, twice = np.concatenate([edges, edges[:, ::-1]]), np.concatenate([rate, rate])
    order = np.lexsort((both[:, 1], both[:, 0]))
    start = np.searchsorted(both[order, 0], np.arange(len(w) + 1)).astype(np.int64)
    return start, np.ascontiguousarray(both[order, 1]), twice[order]


def by_colour(elements: Ints) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Graph-colour `elements`: return their order by colour, and the start of each colour. Elements of a colour share
    no vertex."""
    if not len(elements):
        return np.zeros(0, np.int64), np.zeros(1, np.int64)
    colours = np.empty(len(elements), np.int64)
    count = _kernels.colour(elements, colours)
    order = np.argsort(colours, kind="stable")
    return order, np.searchsorted(colours[order], np.arange(count + 1)).astype(np.int64)


def _moves(parts: list[Any], w: Floats) -> bool:
    """Return whether any vertex of a triangle with area is free: whether there is anything to solve."""
    return any(bool(w[np.delete(mesh.faces, mesh.issues.degenerate, 0) + first].any()) for _, mesh, first in parts)


def _membrane(parts: list[Any], *, coloured: bool) -> _kernels.Membrane:
    """Return the membrane elements of all cloths; triangles without area have no rest shape and are left out.

    XPBD sweeps need them ordered by colour; otherwise they are ordered by vertex, so that positions stay in the cache.
    """
    faces, rest = [np.zeros((0, 3), np.int32)], [np.zeros((0, 4))]
    compliance = [np.zeros((0, 3))]
    for body, mesh, first in parts:
        good = np.setdiff1d(np.arange(mesh.n_faces), mesh.issues.degenerate)
        faces.append((mesh.faces[good] + first).astype(np.int32))
        rest.append(rest_shapes(mesh, good, warp_directions(mesh, body.warp)))
        stuff = body.material
        stiffness = np.array([*stuff.stretch_by_direction, stuff.shear])
        compliance.append(1.0 / (mesh.face_areas[good][:, None] * stiffness))
    f = np.concatenate(faces)
    order, start = by_colour(f) if coloured else (np.argsort(f.min(axis=1), kind="stable"), np.arange(len(f) + 1))
    return _kernels.Membrane(f[order], np.concatenate(rest)[order], np.concatenate(compliance)[order], start)


def _hinges(parts: list[Any]) -> _kernels.Hinges:
    """Return the bending elements of all cloths: interior edges with the opposite corners."""
    vertices, weights = [np.zeros((0, 4), np.int32)], [np.zeros((0, 4))]
    rest, compliance = [np.zeros(0)], [np.zeros(0)]
    for body, mesh, first in parts:
        rigidity = body.material.bend_by_direction
        if min(rigidity) == 0.0:
            continue
        hinges = mesh.topology.hinges
        k, area = hinge_weights(mesh, hinges)
        good = np.flatnonzero(np.isfinite(k).all(1) & (area > 0.0))
        start, beside = mesh.topology.edge_faces
        face = beside[start[np.flatnonzero(mesh.topology.n_faces_at_edge == 2)]]
        hinges, face, k, area = hinges[good], face[good], k[good], area[good]
        bent = np.linalg.norm(np.einsum("ij,ijk->ik", k, mesh.vertices[hinges]), axis=1)
        scale = np.linalg.norm(mesh.vertices[hinges[:, 0]] - mesh.vertices[hinges[:, 1]], axis=1)
        vertices.append((hinges + first).astype(np.int32))
        weights.append(k)
        # a rest curvature below a millionth of the edge is rounding
        rest.append(np.where((bent < 1e-6 * scale) | body.flat, 0.0, bent))
        warp = warp_directions(mesh, body.warp)
        compliance.append(area / hinge_rigidities(mesh, Hinged(hinges, face, k, area), warp, rigidity))
    v = np.concatenate(vertices)
    order, start = by_colour(v)
    k, length, soft = (np.concatenate(part)[order] for part in (weights, rest, compliance))
    return _kernels.Hinges(v[order], k, length, soft, start)


def hinge_weights(mesh: Mesh, hinges: Ints) -> tuple[Floats, Floats]:
    """Return Laplacian weights (h,4) of each hinge a-b with opposite corners c, d, and the area (h,) of its triangles.

    The weights are sums of the cotangents of the angles at a and b (Bergou et al. 2006, quadratic bending model).
    """
    a, b, c, d = (mesh.vertices[hinges[:, i]] for i in range(4))

    def cotangent(at: Floats, p: Floats, q: Floats) -> Floats:
        u, v = p - at, q - at
        with np.errstate(divide="ignore", invalid="ignore"):
            return (u * v).sum(1) / np.linalg.norm(np.cross(u, v), axis=1)

    ca, cb = cotangent(a, b, c), cotangent(b, a, c)
    da, db = cotangent(a, b, d), cotangent(b, a, d)
    area = 0.5 * (np.linalg.norm(np.cross(b - a, c - a), axis=1) + np.linalg.norm(np.cross(b - a, d - a), axis=1))
    with np.errstate(invalid="ignore"):  # not finite at triangles without area
        return np.stack([cb + db, ca + da, -ca - cb, -da - db], 1), area

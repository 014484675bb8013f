"""Implicit integration of cloth: a Newton step by conjugate gradients, preconditioned by a factor computed once."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..contacts import Contacts
from ..kernels import jit
from ..kernels.dynamics import contact_constraints as _constraints
from ..kernels.dynamics import first_guess as _guess
from ..kernels.dynamics import implicit as _kernels
from ..kernels.dynamics import newton_step as _step
from ..kernels.dynamics.cloth import Hinges, Membrane
from ..kernels.dynamics.pieces import Pieces, recentre, untwist
from ..kernels.dynamics.springs import Springs, add_rest_forces
from ..kernels.dynamics.stiffness import Patches, Stiffness
from ..kernels.dynamics.strain_limit import Surface
from ..kernels.respond.projection import Substep
from ..kernels.team import BATCHES, COUNTERS
from .cholesky import Cholesky
from .contact_springs import ContactSprings
from .limit_springs import limit_stiffness
from .pieces import unconstrained_pieces, untouched
from .slivers import bounded_by_inertia
from .springs import NONE
from .stiffness import number_in_patch, patches_of, stiffness_pattern

Floats = NDArray[np.float64]
_WORTH_THREADS = 800  # vertices, of a solve
_WORTH_THREADS_ROWS = 20_000  # vertices, of one pass over positions
STILL = 1e-7  # of the size of a triangle: a vertex that slides less along a surface sticks to it
ITERATIONS = 4  # of conjugate gradients per solve


class System(NamedTuple):
    """The elements of a step of one length, the pattern of their matrix, and the factor of the preconditioner."""

    membrane: Membrane
    hinges: Hinges
    stiffness: Stiffness
    rows: _kernels.VertexRows
    factor: Cholesky
    pull: Floats  # (m,) stiffness of the springs of triangles beyond the strain limit, N/m


class ImplicitSolver:
    """Solves the implicit Euler equations of cloths approximately, starting from their inertial motion.

    The equilibrium of forces is a fixed point, however few the iterations: cloth that hangs at rest stays at rest, with
    the strain of its material at every resolution. The preconditioner is the sum of two inverses: that of the constant
    matrix of projective dynamics (Bouaziz et al. 2014), by which a force acts through the whole cloth in one iteration,
    and those of the diagonal blocks of the true matrix, because a sheet is far softer across than along itself.
    """

    def __init__(
        self, membrane: Membrane, hinges: Hinges, w: Floats, stitches: Springs = NONE, longest: Floats | None = None
    ) -> None:
        """longest (m,3): lengths of the edges ab, bc, ca of the triangles beyond which springs pull; None: without."""
        self.membrane, self.hinges, self.w = membrane, hinges, w
        self.iterations = ITERATIONS
        moves = np.zeros(len(w), np.bool_)  # vertices of soft bodies, and those without a triangle, are not solved here
        moves[membrane.faces] = w[membrane.faces] > 0.0
        self.mass = np.where(moves, 1.0 / np.where(moves, w, 1.0), 0.0)
        self._free = np.flatnonzero(self.mass)
        self.stitches, self.rest_lengths = stitches, np.zeros(len(stitches.stiffness))
        self.pieces = unconstrained_pieces(np.concatenate([membrane.faces, self.stitches.vertices]), w)
        self._free_of_held = np.setdiff1d(self._free, self.pieces.rows)  # of cloth that pins or grips hold
        self.bent = np.flatnonzero(hinges.rest > 0.0)
        self._bound, self._linear = _matrices(membrane, hinges, self.stitches, len(w))
        self.patches = patches_of(membrane.faces, len(w))
        self.stiffness = stiffness_pattern(membrane.faces, self._linear, self.patches)
        self._systems: dict[float, System] = {}
        n = len(w)
        self._predicted, self._relaxed = (np.zeros((n, 3)) for _ in range(2))
        self._step = _step.Step(
            x=self._predicted,
            predicted=self._predicted,
            rest_gradient=np.zeros((n, 3)),
            gradient=np.zeros((0, 0, 3)),
            parts=np.zeros((0, 0, 9), np.float32),
            patch_start=self.patches.start,
            patch_faces=self.patches.faces,
            longest=np.full(membrane.faces.shape, np.inf) if longest is None else longest,
            pull=np.zeros(len(membrane.faces)),
            blocks=np.zeros((n, 6), np.float32),
            r=np.zeros((n, 4), np.float32),
            z=np.zeros((n, 4), np.float32),
            p=np.zeros((n, 4), np.float32),
            q=np.zeros((n, 4), np.float32),
            scratch=np.zeros((0, 4), np.float32),
            sums=np.zeros((0, 2, _step.CHUNKS)),
            team=np.zeros((0, 0, COUNTERS), np.int64),
        )
        rows, place = np.zeros(n, np.int32), np.full(n, -1, np.int32)
        self._free_directions = _constraints.FreeDirections(rows, np.zeros((n, 6)), place, np.zeros((n, 3)))
        self._points = np.zeros((n, 3))  # where the vertices of `_free_directions` touch their surfaces
        self.still = STILL / float(np.median(np.abs(membrane.rest).max(1)))  # m
        self._constrained = 0  # number of vertices that contacts constrain
        self.contact_springs = ContactSprings(n)
        self._fall = np.zeros(3)  # displacement by gravity that the first guess leaves out, metres
        many = n >= _WORTH_THREADS_ROWS
        self._shift = _guess.shift_rows_parallel if many else _guess.shift_rows
        self._add_displacement = _guess.add_displacement_parallel if many else _guess.add_displacement_serial
        self._copy_to_both = _guess.copy_to_both_parallel if many else _guess.copy_to_both_serial

    def system(self, dt: float) -> System:
        """Return the system of steps of `dt`, in which inertia bounds the stiffness of tiny elements."""
        if dt not in self._systems:
            self._systems[dt] = self._system(dt)
        return self._systems[dt]

    def _system(self, dt: float) -> System:
        from scipy.sparse import diags_array

        inertia, free = self.mass / dt**2, self._free
        membrane, hinges = bounded_by_inertia(self.membrane, self.hinges, inertia)
        bound, linear, stiffness = self._bound, self._linear, self.stiffness
        if membrane is not self.membrane or hinges is not self.hinges:
            bound, linear = _matrices(membrane, hinges, self.stitches, len(self.w))
            stiffness = stiffness_pattern(membrane.faces, linear, self.patches)
        matrix = (bound + diags_array(inertia)).tocsr()[free][:, free]
        pull = limit_stiffness(membrane, self._step.longest, inertia)
        return System(membrane, hinges, stiffness, self._vertex_rows(linear, inertia), _factor(matrix, free), pull)

    def _vertex_rows(self, linear: Any, inertia: Floats) -> _kernels.VertexRows:
        corner = np.argsort(self.membrane.faces.ravel(), kind="stable")
        counts = np.bincount(self.membrane.faces.ravel(), minlength=len(self.w))
        local = number_in_patch(self.patches, self.membrane.faces.ravel()[corner], corner // 3, len(self.w))
        return _kernels.VertexRows(
            start=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
            corner=(3 * local + corner % 3).astype(np.int32),
            row_start=linear.indptr.astype(np.int64),
            row_place=linear.indices.astype(np.int32),
            bending=linear.data,
            mass=inertia,
        )

    def relax(self, x: Floats, x_start: Floats, gravity: Floats, dt: float) -> None:
        """Move x from the prediction, the motion without internal forces, to the end of a step of `dt`.

        The first guess of cloth that is held leaves out gravity: at rest, this guess is the solution, and the step
        keeps it. The momentum and angular momentum of other cloth are those of the prediction.
        """
        self._predicted[:] = x
        self._shift(self._free_of_held, -dt * dt * gravity, x)
        self.solve(x, self._predicted, dt)
        self._keep_momentum(self.pieces, x_start, x)

    def _keep_momentum(self, pieces: Pieces, x_start: Floats, x: Floats) -> None:
        """Restore the momentum and angular momentum of `pieces`, which the truncated iteration has changed."""
        if len(pieces.rows):
            recentre(pieces, self._predicted, x, self.mass)
            untwist(pieces, x_start, self._predicted, x, self.mass)

    def relax_in_contact(self, x: Floats, contacts: Contacts, pushed: Floats, substep: Substep, first: int) -> bool:
        """Improve x after contacts have moved its vertices, with those vertices free to slide only.

        contacts (c,) refer to the vertices of the whole scene, of which x begins at row `first`; pushed (c,) is 0 for
        those that moved nothing. Whatever has moved x since `end_relax`, friction and drag constraints too, counts as
        an external impulse. Return whether anything has; otherwise x is left as it is.
        """
        if not self._add_displacement(self._relaxed, x, self.mass, self._predicted):
            return False
        self._solve_with(contacts, pushed, x, substep, first)
        return True

    def begin(self, x: Floats) -> None:
        """Begin a substep that is solved once, with its contacts; x is the prediction."""
        self._copy_to_both(x, self._predicted, self._relaxed)

    def guess(self, x: Floats, fall: Floats) -> None:
        """Move x from the positions at which contacts were detected to the first guess, which leaves out the
        displacement `fall` (3,) by gravity. For cloth at rest, this guess is the solution."""
        for positions in (x, self._relaxed):
            self._shift(self._free, -fall, positions)
        self._fall = fall

    def relax_with(self, contacts: Contacts, pushed: Floats, x: Floats, substep: Substep, first: int) -> None:
        """Move x, the first guess, to the end of the substep; the arguments are those of `relax_in_contact`."""
        self._add_displacement(self._relaxed, x, self.mass, self._predicted)
        self._solve_with(contacts, pushed, x, substep, first)

    def _solve_with(self, contacts: Contacts, pushed: Floats, x: Floats, substep: Substep, first: int) -> None:
        """Solve with the vertices that contacts have stopped free to slide only. Cloth that nothing holds or touches
        starts from the prediction, and keeps its momentum."""
        self._constrained = _constraints.collect(contacts, pushed, substep, first, self.still, self._free_directions)
        flying = self.pieces
        if len(flying.rows):
            touched = self._free_directions.rows[: self._constrained], self.contact_springs.rows
            flying = untouched(flying, np.concatenate(touched))
            self._shift(flying.rows, self._fall, x)
        self.solve(x, self._predicted, substep.dt)
        self._keep_momentum(flying, substep.x_start[first : first + len(x)], x)
        self._points[: self._constrained] = x[self._free_directions.rows[: self._constrained]]
        self._constrained = 0

    @property
    def surface(self) -> Surface:
        """The surfaces that vertices touch, as of the last `relax_with` or `relax_in_contact`."""
        return Surface(self._free_directions.place, self._free_directions.normals, self._points)

    def end_relax(self, x: Floats) -> None:
        """Remember x, the positions before contacts."""
        self._relaxed[:] = x

    def solve(self, x: Floats, predicted: Floats, dt: float) -> None:
        """Improve x, the first guess, as the end of the step whose motion without internal forces is `predicted`."""
        membrane, hinges, stiffness, g, factor, pull = self.system(dt)
        if len(self.bent):
            _kernels.rest_curvature_gradients(hinges, x, self.bent, self._step.rest_gradient)
        if len(self.rest_lengths):
            if not len(self.bent):
                self._step.rest_gradient[:] = 0.0
            add_rest_forces(self.stitches, self.rest_lengths, x, self._step.rest_gradient)
        springs, iterations = self.contact_springs, self.iterations
        threads = min(jit.threads(), BATCHES) if len(self.w) >= _WORTH_THREADS else 1
        sizes = _step.Sizes(springs.count, self._constrained, iterations)
        if self._step.team.shape[:2] != (_step.loops(iterations), threads):
            self._step = self._step._replace(**_scratch(self.patches, iterations, threads))
        step = self._step._replace(x=x, predicted=predicted, scratch=factor.scratch, pull=pull)
        run = _step.newton_step if threads > 1 else _step.newton_step.serial
        run(membrane, g, stiffness, factor.factor, springs.arrays, self._free_directions, step, sizes)


def _scratch(patches: Patches, iterations: int, threads: int) -> dict[str, NDArray[Any]]:
    """Make the arrays of a step that depend on the number of iterations and threads."""
    most = int(np.diff(patches.start).max())
    return {
        "gradient": np.empty((threads, 3 * most, 3)),
        "parts": np.zeros((threads, 3 * most + 1, 9), np.float32),
        "sums": np.zeros((iterations, 2, _step.CHUNKS)),
        "team": np.zeros((_step.loops(iterations), threads, COUNTERS), np.int64),
    }


def _factor(matrix: Any, rows: NDArray[np.int64]) -> Cholesky:
    """Factorise a matrix that is positive definite up to rounding; a preconditioner may be slightly stiffer."""
    from scipy.sparse import diags_array

    most = float(matrix.diagonal().max())
    for more in (0.0, 1e-14, 1e-11, 1e-8):
        try:
            return Cholesky(
                matrix if not more else (matrix + diags_array(np.full(len(rows), more * most))).tocsr(), rows
            )
        except ValueError:
            continue
    return Cholesky(diags_array(matrix.diagonal()).tocsr(), rows)


def _matrices(membrane: Membrane, hinges: Hinges, stitches: Springs, n: int) -> tuple[Any, Any]:
    """Return a constant stiffness matrix that bounds those of membrane and bending from above, plus that of the
    stitches; and the matrix of the forces linear in x: bending, and stitches as if their rest length were zero."""
    from scipy.sparse import csr_array, diags_array

    f, r, soft = membrane.faces, membrane.rest, membrane.compliance
    e = np.arange(len(f))
    place = np.tile(e, 3), f.T.ravel()
    u, v = (
        csr_array((np.concatenate([-p - q, p, q]), place), shape=(len(f), n))
        for p, q in ((r[:, 0], r[:, 1]), (r[:, 2], r[:, 3]))
    )
    k_u, k_v = (diags_array(1.0 / soft[:, k] + 2.0 / soft[:, 2]) for k in (0, 1))
    h = np.repeat(np.arange(len(hinges.vertices)), 4)
    curvature = csr_array((hinges.weights.ravel(), (h, hinges.vertices.ravel())), shape=(len(hinges.vertices), n))
    bending = (curvature.T @ diags_array(1.0 / hinges.compliance) @ curvature).tocsr()
    bending.sort_indices()
    # with sum w_i = 0, |sum w_i x_i|^2 = -sum w_i w_j |x_i - x_j|^2 over pairs, at most sum |w_i w_j| |x_i - x_j|^2;
    # opposite corners have no edge: |c - d|^2 <= |c - a|^2 + |a - d|^2 + |c - b|^2 + |b - d|^2
    w = np.abs(hinges.weights) / np.sqrt(hinges.compliance)[:, None]
    across = w[:, 2] * w[:, 3]
    ends = [(0, 1, w[:, 0] * w[:, 1])]
    ends += [(p, q, w[:, p] * w[:, q] + across) for p in (0, 1) for q in (2, 3)]
    stiffness = u.T @ k_u @ u + v.T @ k_v @ v
    for p, q, strength in ends:
        i, j = hinges.vertices[:, p], hinges.vertices[:, q]
        off = csr_array((strength, (i, j)), shape=(n, n))
        off = off + off.T
        stiffness = stiffness + diags_array(off.sum(axis=1)) - off
    if len(stitches.stiffness):
        s = np.repeat(np.arange(len(stitches.stiffness)), 3)
        gaps = csr_array((stitches.weights.ravel(), (s, stitches.vertices.ravel())), shape=(len(stitches.stiffness), n))
        sewn = gaps.T @ diags_array(stitches.stiffness) @ gaps
        stiffness, bending = stiffness + sewn, (bending + sewn).tocsr()
        bending.sort_indices()
    stiffness.eliminate_zeros()
    return stiffness.tocsr(), bending

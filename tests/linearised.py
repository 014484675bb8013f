"""The linear system of a Newton step of cloth, by the kernels that `newton_step` shares among threads."""

import numpy as np

from pliant.dynamics.implicit import ImplicitSolver
from pliant.kernels.dynamics.implicit import VertexRows, vertex_residuals
from pliant.kernels.dynamics.limit_springs import add_limit_springs
from pliant.kernels.dynamics.stiffness import gather_rows, multiply_rows
from pliant.kernels.dynamics.triangles import triangle_terms


def linearise(
    solver: ImplicitSolver, g: VertexRows, x: np.ndarray, predicted: np.ndarray, pull: np.ndarray | None = None
) -> np.ndarray:
    """Assemble the matrix of `solver` at x, with the inverses of its diagonal blocks; return the residual (n,3).
    pull (m,): stiffness of the springs of triangles beyond the strain limit."""
    out, n = np.zeros_like(x), len(x)
    predicted = np.require(predicted, requirements="W")  # as a solver's own, so that nothing is compiled for tests only
    start, faces = solver.patches
    for b in range(len(start) - 1):
        first, last = n * b // (len(start) - 1), n * (b + 1) // (len(start) - 1)
        m = int(start[b + 1] - start[b])
        gradient, parts = np.zeros((3 * m, 3)), np.zeros((3 * m + 1, 9), np.float32)
        triangle_terms(solver.membrane, faces, start[b], start[b + 1], x, gradient, parts)
        step = solver._step._replace(x=x, pull=np.zeros(len(solver.membrane.faces)) if pull is None else pull)
        add_limit_springs(solver.membrane.faces, step, b, gradient, parts)
        vertex_residuals(g, first, last, x, predicted, solver._step.rest_gradient, gradient, out)
        gather_rows(solver.stiffness, first, last, g.mass, parts, solver._step.blocks)
    return out


def multiply(solver: ImplicitSolver, g: VertexRows, p: np.ndarray, out: np.ndarray) -> float:
    """Store the product of the matrix with p, both (n,4), in `out`; return p . out."""
    return float(multiply_rows(solver.stiffness, solver.contact_springs.arrays, 0, len(p), g.mass, p, out))

"""The linear system of a Newton step of cloth, by the kernels that `newton_step` shares among threads."""

import numpy as np

from pliant.dynamics.implicit import ImplicitSolver
from pliant.kernels.dynamics.implicit import VertexRows, vertex_residuals
from pliant.kernels.dynamics.stiffness import gather_rows, multiply_rows
from pliant.kernels.dynamics.triangles import triangle_terms


def linearise(solver: ImplicitSolver, g: VertexRows, x: np.ndarray, predicted: np.ndarray) -> np.ndarray:
    """Assemble the matrix of `solver` at x, with the inverses of its diagonal blocks; return the residual (n,3)."""
    a, out = solver._step, np.zeros_like(x)
    triangle_terms(solver.membrane, 0, len(solver.membrane.faces), x, a.gradient, a.parts)
    vertex_residuals(g, 0, len(x), x, predicted, a.rest_gradient, a.gradient, out)
    gather_rows(solver.stiffness, 0, len(x), g.mass, a.parts, a.blocks)
    return out


def multiply(solver: ImplicitSolver, g: VertexRows, p: np.ndarray, out: np.ndarray) -> float:
    """Store the product of the matrix with p, both (n,4), in `out`; return p . out."""
    return float(multiply_rows(solver.stiffness, 0, len(p), g.mass, p, out))

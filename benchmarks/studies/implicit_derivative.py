"""Whether the implicit solver of cloth can be differentiated: `python benchmarks/studies/implicit_derivative.py`.

The derivative of a run by the solver as it is, by differences of several steps, which should agree; and how many of its
solves it takes until a substep no longer changes, for cloth that hangs and for cloth that is pushed together.
"""

import time

import numpy as np

import pliant
from pliant.dynamics.cloth import ClothDynamics
from pliant.dynamics.implicit import ImplicitSolver
from pliant.kernels import jit

SIDE, FRAMES, MOST = 20, 24, 200
SHEET = pliant.shapes.cloth(0.3, 0.3, SIDE)


def scene(bend: float = 1e-4) -> pliant.Scene:
    corners = [0, SIDE - 1]
    return pliant.Scene([pliant.Body(SHEET, pins=corners, material=pliant.Cloth(bend=bend))], self_contact="off")


def loss(solver: str, bend: float) -> float:
    simulation = pliant.Simulation(scene(bend), solver=solver)
    *_, last = simulation.run(FRAMES)
    return float(last.x[-1] @ [1.0, 2.0, 3.0])


def differences() -> None:
    """Derivatives with respect to the logarithm of the bending stiffness, by central differences."""
    for solver in ("implicit", "xpbd"):
        found = []
        for step in (1e-2, 1e-3, 1e-4, 1e-5, 1e-6):
            found.append((loss(solver, 1e-4 * (1 + step)) - loss(solver, 1e-4 * (1 - step))) / (2 * step))
        print(f"{solver}, steps 1e-2 to 1e-6: " + ", ".join(f"{value:.6e}" for value in found))


def solves(squeeze: float) -> None:
    """Solves per substep until no vertex moves by more than 1e-13 m, over 10 substeps of 2.5 ms."""
    dynamics = ClothDynamics(scene(), "implicit")
    solver = ImplicitSolver(dynamics.membrane, dynamics.hinges, dynamics.w)
    rng, dt, gravity = np.random.default_rng(0), 0.0025, np.array([0.0, -9.81, 0.0])
    x = SHEET.vertices * [squeeze, 1.0, 1.0] + rng.normal(size=SHEET.vertices.shape) * 1e-4
    v, counts, free = np.zeros(x.shape), [], dynamics.w[:, None] > 0.0
    began = time.process_time()
    for _ in range(10):
        predicted = np.where(free, x + dt * (v + dt * gravity), x)
        y, count = predicted.copy(), 0
        while count < MOST:
            before = y.copy()
            solver.solve(y, predicted, dt)
            count += 1
            if abs(y - before).max() < 1e-13:
                break
        counts.append(count)
        v, x = (y - x) / dt, y
    spent = 100.0 * (time.process_time() - began)
    print(f"rest lengths times {squeeze:g}: {counts} solves, {spent:.1f} ms per substep; {MOST} is not converged")


def main() -> None:
    jit.set_threads(1)
    differences()
    for squeeze in (1.0, 0.97, 0.9):
        solves(squeeze)


if __name__ == "__main__":
    main()

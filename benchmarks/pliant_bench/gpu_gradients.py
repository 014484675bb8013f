"""The penetration loss and its derivatives of tensors on a graphics card: `python -m pliant_bench.gpu_gradients`.

Milliseconds of the loss and `backward` with respect to points and vertices of a mannequin, the least of several, beside
the same call with tensors of the host on all threads, and Warp's tape on the card, in single precision. *Off* is the
largest difference of a derivative from that of threads, over the largest derivative.
"""

import argparse
import importlib
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import pliant.torch
from pliant import shapes

from . import models

CLEARANCE = 0.005  # m
REPEATS = 5


def least(work: Callable[[], Any], torch: Any) -> tuple[float, Any]:
    """The least time of several calls, ms, and the last result; the first call compiles."""
    found, times = work(), []
    for _ in range(REPEATS):
        torch.cuda.synchronize()
        began = time.perf_counter()
        found = work()
        torch.cuda.synchronize()
        times.append(1e3 * (time.perf_counter() - began))
    return min(times), found


def case(mesh: Any, points: Any, moving: bool, torch: Any) -> str:
    """A row of the table."""
    runs = [0]

    def on(device: str) -> Callable[[], Any]:
        p = torch.tensor(points, device=device, requires_grad=True)
        start = torch.tensor(mesh.vertices, device=device)
        faces = torch.tensor(mesh.faces, device=device)

        def work() -> Any:
            runs[0] += moving
            x = (start * (1.0 + 1e-15 * runs[0])).requires_grad_()
            loss = pliant.torch.penetration(p, x, faces, clearance=CLEARANCE)
            return torch.autograd.grad(loss, (p, x))

        return work

    threads, expected = least(on("cpu"), torch)
    card, found = least(on("cuda"), torch)
    off = max(float((a.cpu() - b).abs().max() / b.abs().max()) for a, b in zip(found, expected))
    warp = "-"
    try:
        from .warp_kernels import Penalty

        penalty = Penalty(*models.arrays(mesh), points, CLEARANCE, "cuda")
        given = (lambda: penalty.derivatives(mesh.vertices)) if moving else penalty.derivatives
        warp = f"{least(given, torch)[0]:.2f}"
    except (ImportError, RuntimeError) as error:
        print(f"Warp: {error}")
    at = "moving" if moving else "at rest"
    return f"| {len(points):,} | {at} | {threads:.1f} | {card:.2f} | {warp} | {off:.0e} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    torch = importlib.import_module("torch")
    if not torch.cuda.is_available():
        raise SystemExit("PyTorch has no graphics card here; expected a build for CUDA and a driver")
    mesh, rng = shapes.mannequin(0.7 if quick else 1.0), np.random.default_rng(0)
    for count in (10_000,) if quick else (320_000, 10_000_000):
        face, weights = rng.integers(0, mesh.n_faces, count), rng.dirichlet([1.0, 1.0, 1.0], count)
        skin = np.einsum("ij,ijk->ik", weights, mesh.vertices[mesh.faces[face]])
        points = skin + rng.normal(size=(count, 3)) * 0.01
        for moving in (False, True):
            print(case(mesh, points, moving, torch), flush=True)


if __name__ == "__main__":
    main()

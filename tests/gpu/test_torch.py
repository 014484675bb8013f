"""Losses of PyTorch tensors on a card, and their derivatives, are those of the host."""

import pytest

from pliant import shapes


def cuda_tensors(mesh, points):
    """The same tensors on the host and on the card, or a skip."""
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("PyTorch has no graphics card here")
    host = [torch.tensor(a) for a in (points, mesh.vertices, mesh.faces)]
    return torch, host, [tensor.cuda() for tensor in host]


def losses(torch, given, **options):
    """The loss of given points, vertices and faces, and its derivatives."""
    import pliant.torch

    p, x, faces = given
    p, x = p.clone().requires_grad_(), x.clone().requires_grad_()
    loss = pliant.torch.penetration(p, x, faces, clearance=0.01, **options).sum()
    return [loss.detach(), *torch.autograd.grad(loss, (p, x))]


def test_losses_and_derivatives_are_those_of_threads(rng) -> None:
    mesh = shapes.mannequin(0.7)
    points = rng.uniform(mesh.bounds[0], mesh.bounds[1], (20_000, 3))
    torch, host, there = cuda_tensors(mesh, points)
    expected, found = losses(torch, host), losses(torch, there)
    assert all(tensor.is_cuda for tensor in found)
    assert torch.equal(found[1].cpu(), expected[1])  # those of points bitwise, sums in another order
    for one, other in zip(expected, found, strict=True):
        torch.testing.assert_close(other.cpu(), one, rtol=1e-12, atol=1e-15)
    assert all(torch.equal(a, b) for a, b in zip(found, losses(torch, there), strict=True))  # the same every time


def test_batches_of_bodies_and_float32(rng) -> None:
    mesh = shapes.ball(0.5, 3)
    points = rng.uniform(-0.6, 0.6, (4, 500, 3))
    torch, (p, x, faces), _ = cuda_tensors(mesh, points)
    scale = torch.tensor([0.9, 1.0, 1.1, 1.2], dtype=torch.float64)[:, None, None]
    for dtype, rtol in ((torch.float64, 1e-12), (torch.float32, 1e-5)):
        host = [p.to(dtype), (x * scale).to(dtype), faces]
        expected, found = losses(torch, host), losses(torch, [tensor.cuda() for tensor in host])
        for one, other in zip(expected, found, strict=True):
            assert other.dtype == dtype
            torch.testing.assert_close(other.cpu(), one, rtol=rtol, atol=1e-6 if dtype == torch.float32 else 1e-15)


def test_second_derivatives_and_transformations(rng) -> None:
    mesh = shapes.ball(0.5, 3)
    torch, (p, x, faces), (q, y, there) = cuda_tensors(mesh, rng.uniform(-0.6, 0.6, (30, 3)))
    import pliant.torch

    def curvature(at, body, of):
        return torch.func.hessian(lambda a: pliant.torch.penetration(a, body, of))(at)

    of = curvature(p, x, faces), curvature(q, y, there)
    torch.testing.assert_close(of[1].cpu(), of[0], rtol=1e-9, atol=1e-12)


def test_bodies_whose_sides_need_threads_are_answered_by_them(rng) -> None:
    sheet = shapes.cloth(1.0, 1.0, resolution=6)
    torch, host, there = cuda_tensors(sheet, rng.uniform(-0.5, 0.5, (50, 3)))
    for one, other in zip(losses(torch, host), losses(torch, there), strict=True):
        assert other.is_cuda
        torch.testing.assert_close(other.cpu(), one, rtol=1e-12, atol=1e-15)

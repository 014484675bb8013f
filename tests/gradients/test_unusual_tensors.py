"""Empty batches, and one clear error for tensors that no function can take."""

import numpy as np
import pytest

import pliant

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
import pliant.torch as pt  # noqa: E402

BALL = pliant.shapes.ball(0.5, 1)
VERTICES, FACES = torch.tensor(BALL.vertices), torch.tensor(BALL.faces)
POINTS = torch.full((5, 3), 0.1, dtype=torch.float64)
OF_POINTS = pt.signed_distance, pt.penetration, pt.inside, pt.winding_number


def zeros(*shape):
    return torch.zeros(*shape, dtype=torch.float64)


@pytest.mark.parametrize("function", OF_POINTS, ids=lambda f: f.__name__)
def test_batches_may_be_empty(function) -> None:
    whole = () if function is pt.penetration else (5,)
    assert function(zeros(0, 5, 3), VERTICES, FACES).shape == (0, *whole)
    assert function(POINTS, zeros(0, len(VERTICES), 3), FACES).shape == (0, *whole)
    mapped = torch.func.vmap(lambda p: function(p, VERTICES, FACES))(zeros(0, 5, 3))
    assert mapped.shape == (0, *whole)


def test_self_penetration_of_no_bodies() -> None:
    x = zeros(0, len(VERTICES), 3).requires_grad_()
    found = pt.self_penetration(x, FACES)
    assert found.shape == (0,)
    assert torch.autograd.grad(found.sum(), x)[0].shape == x.shape
    assert torch.func.vmap(lambda v: pt.self_penetration(v, FACES))(x.detach()).shape == (0,)


@pytest.mark.parametrize("function", OF_POINTS, ids=lambda f: f.__name__)
def test_errors_name_the_tensor(function) -> None:
    nan = float("nan")
    with pytest.raises(ValueError, match=r"points\[0, 0\] is not finite"):
        function(POINTS * nan, VERTICES, FACES)
    with pytest.raises(ValueError, match=r"vertices\[0, 0\] is not finite"):
        function(POINTS, VERTICES * nan, FACES)
    with pytest.raises(ValueError, match=r"vertices has shape \(0, 3\); expected at least one vertex"):
        function(POINTS, zeros(0, 3), FACES)
    with pytest.raises(ValueError, match=r"points has layout torch.sparse_coo; expected a dense tensor"):
        function(POINTS.to_sparse(), VERTICES, FACES)


@pytest.mark.parametrize("shape", [(3,), (0,), (2, 5)])
def test_a_clearance_has_to_broadcast(shape) -> None:
    with pytest.raises(ValueError, match=r"clearance has shape .* broadcasts to \(5,\)"):
        pt.penetration(POINTS, VERTICES, FACES, clearance=zeros(*shape))


def test_a_clearance_has_to_be_finite() -> None:
    with pytest.raises(ValueError, match="clearance has values that are not finite"):
        pt.penetration(POINTS, VERTICES, FACES, clearance=torch.tensor(float("nan")))


def test_centres_are_those_of_the_poses() -> None:
    batch = pliant.find_contact_batch(BALL, BALL, x_a=BALL.vertices + np.zeros((4, 1, 3)), within=0.01)
    assert batch.rigid_jacobians(np.zeros((4, 3))).shape[:1] == (4,)
    with pytest.raises(ValueError, match=r"centre_a has shape \(7, 3\); expected \(3,\) or \(4, 3\)"):
        batch.rigid_jacobians(np.zeros((7, 3)))

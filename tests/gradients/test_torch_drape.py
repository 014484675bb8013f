"""Drapes of PyTorch tensors: their derivatives are those of NumPy, in both precisions, beside other operations."""

import numpy as np
import pytest

import pliant
from gradients import drapes

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
import pliant.torch as pt  # noqa: E402

pytestmark = pytest.mark.compiled


def small(**options):
    return drapes.case(np.random.default_rng(1), "plane", frames=2, substeps=4, **options)


def test_derivatives_are_those_of_numpy_for_every_input() -> None:
    drape, frames, given, of_x, of_v = small()
    tensors = {name: torch.tensor(np.asarray(value), requires_grad=True) for name, value in given.items()}
    x, v = pt.drape(drape, frames, **tensors)
    ((x * torch.tensor(of_x)).sum() + (v * torch.tensor(of_v)).sum()).backward()
    tape = drape.run(frames, **given)
    found = tape.backward(of_x, of_v)
    assert np.array_equal(x.detach(), tape.x)
    assert np.array_equal(v.detach(), tape.v)
    for name, tensor in tensors.items():
        assert np.array_equal(tensor.grad, getattr(found, name)), name


def test_single_precision_is_rounded_once() -> None:
    drape, frames, given, of_x, of_v = small()
    single = {name: np.asarray(value, np.float32) for name, value in given.items()}
    tensors = {name: torch.tensor(value, requires_grad=True) for name, value in single.items()}
    x, v = pt.drape(drape, frames, **tensors)
    of = [torch.tensor(array, dtype=torch.float32) for array in (of_x, of_v)]
    torch.autograd.backward([x, v], of)
    tape = drape.run(frames, **{name: value.astype(float) for name, value in single.items()})
    found = tape.backward(*(array.numpy().astype(float) for array in of))
    assert np.array_equal(x.detach(), tape.x.astype(np.float32))
    for name, tensor in tensors.items():
        assert np.array_equal(tensor.grad, np.float32(getattr(found, name))), name


def test_a_number_that_is_no_tensor_is_a_constant() -> None:
    drape, frames, given, of_x, _ = small()
    bend = torch.tensor(given.pop("bend"), dtype=torch.float64, requires_grad=True)
    x, _ = pt.drape(drape, frames, bend=bend**2 / bend.detach(), **given)
    (slope,) = torch.autograd.grad((x * torch.tensor(of_x)).sum(), bend)
    found = drape.run(frames, bend=float(bend.detach()), **given).backward(of_x)
    assert abs(float(slope) - 2.0 * found.bend) < 1e-12 * abs(found.bend)


def test_second_derivatives_are_refused() -> None:
    drape, frames, given, *_ = small()
    v = torch.tensor(given["v"], requires_grad=True)
    x, _ = pt.drape(drape, frames, v=v)
    (slope,) = torch.autograd.grad((x**2).sum(), v, create_graph=True)
    with pytest.raises(RuntimeError, match="differentiate twice"):
        slope.sum().backward()


def test_wrong_tensors_are_named() -> None:
    drape, frames, *_ = small()
    with pytest.raises(ValueError, match=r"drape is .*; expected a pliant.DifferentiableDrape"):
        pt.drape(pliant.shapes.ball(1.0), frames)
    with pytest.raises(ValueError, match="v has dtype int64; expected real numbers"):
        pt.drape(drape, frames, v=torch.zeros((3, 3), dtype=torch.int64))
    with pytest.raises(ValueError, match=r"v has shape \(3, 3\); expected"):
        pt.drape(drape, frames, v=torch.zeros((3, 3)))
    with pytest.raises(TypeError, match="has no option 'bent'; did you mean 'bend'"):
        pt.drape(drape, frames, bent=torch.zeros(()))

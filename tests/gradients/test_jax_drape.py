"""Drapes of JAX arrays: their derivatives are those of NumPy, also under jit, in both precisions."""

import numpy as np
import pytest

import pliant
from gradients import drapes

jax = pytest.importorskip("jax", reason="JAX is not installed")
import jax.numpy as jnp  # noqa: E402

import pliant.jax as pj  # noqa: E402

pytestmark = pytest.mark.compiled


def small():
    return drapes.case(np.random.default_rng(1), "plane", frames=2, substeps=4)


def slopes(drape, frames, given, of_x, of_v):
    def loss(inputs):
        x, v = pj.drape(drape, frames, **inputs)
        return (x * of_x).sum() + (v * of_v).sum()

    return jax.jit(jax.grad(loss))({name: jnp.asarray(value) for name, value in given.items()})


def test_derivatives_are_those_of_numpy_for_every_input() -> None:
    drape, frames, given, of_x, of_v = small()
    with jax.enable_x64(True):
        found = slopes(drape, frames, given, of_x, of_v)
        x, _ = pj.drape(drape, frames, **given)
    tape = drape.run(frames, **given)
    truth = tape.backward(of_x, of_v)
    assert np.array_equal(x, tape.x)
    for name, slope in found.items():
        assert np.array_equal(slope, getattr(truth, name)), name


def test_single_precision_is_rounded_once() -> None:
    drape, frames, given, of_x, of_v = small()
    single = {name: np.asarray(value, np.float32) for name, value in given.items()}
    of = [np.asarray(array, np.float32) for array in (of_x, of_v)]
    found = slopes(drape, frames, single, *of)
    tape = drape.run(frames, **{name: value.astype(float) for name, value in single.items()})
    truth = tape.backward(*(array.astype(float) for array in of))
    for name, slope in found.items():
        assert slope.dtype == np.float32
        assert np.array_equal(slope, np.float32(getattr(truth, name))), name


def test_runs_are_mapped_one_after_the_other() -> None:
    drape, frames, *_ = small()
    bends = jnp.asarray([1e-5, 1e-4])
    mapped = jax.vmap(lambda bend: pj.drape(drape, frames, bend=bend)[0])(bends)
    each = [pj.drape(drape, frames, bend=bend)[0] for bend in bends]
    assert np.array_equal(mapped, np.stack(each))


def test_wrong_arrays_are_named() -> None:
    drape, frames, *_ = small()
    with pytest.raises(ValueError, match=r"drape is .*; expected a pliant.DifferentiableDrape"):
        pj.drape(pliant.shapes.ball(1.0), frames)
    with pytest.raises(ValueError, match="v has dtype int32; expected real numbers"):
        pj.drape(drape, frames, v=np.zeros((3, 3), np.int32))
    with pytest.raises(TypeError, match="has no option 'bent'; did you mean 'bend'"):
        pj.drape(drape, frames, bent=0.0)

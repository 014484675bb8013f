"""A differentiable drape as a function of JAX arrays: the run and its adjoint are callbacks."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..arguments import wrong
from .drape import DifferentiableDrape, DrapeTape
from .drape.values import NAMES, check_names


def frames_of(drape: DifferentiableDrape, frames: int, given: dict[str, Any]) -> tuple[jax.Array, jax.Array]:
    """Return positions and velocities (frames+1,n,3) of a run, in the precision of JAX."""
    check_names(given)
    if not isinstance(drape, DifferentiableDrape):
        raise wrong("drape", drape, "a pliant.DifferentiableDrape")
    names = tuple(name for name in NAMES if given.get(name) is not None)
    arrays = tuple(jnp.asarray(given[name]) for name in names)
    for name, array in zip(names, arrays, strict=True):
        if not jnp.issubdtype(array.dtype, jnp.floating):
            raise ValueError(f"{name} has dtype {array.dtype}; expected real numbers")
    shape = (frames + 1, *drape.defaults["x"].shape)
    dtype = jnp.result_type(float)

    def numpy_of(values: Any) -> dict[str, Any]:
        return {name: np.asarray(value, np.float64) for name, value in zip(names, values, strict=True)}

    latest: list[tuple[dict[str, Any], DrapeTape]] = []  # the last run, which is usually the one to differentiate

    def run(*values: Any) -> Any:
        inputs = numpy_of(values)
        tape = drape.run(frames, **inputs)
        latest[:] = [(inputs, tape)]
        return tape.x.astype(dtype), tape.v.astype(dtype)

    def back(of_x: Any, of_v: Any, *values: Any) -> Any:
        inputs = numpy_of(values)
        same = [tape for known, tape in latest if all(np.array_equal(known[name], inputs[name]) for name in names)]
        tape = same[0] if same else drape.run(frames, **inputs)
        found = tape.backward(np.asarray(of_x, np.float64), np.asarray(of_v, np.float64))
        return tuple(np.asarray(getattr(found, name), a.dtype) for name, a in zip(names, arrays, strict=True))

    both = (jax.ShapeDtypeStruct(shape, dtype),) * 2

    @jax.custom_vjp
    def drape_of(*values: Any) -> Any:
        return jax.pure_callback(run, both, *values, vmap_method="sequential")

    def forward(*values: Any) -> Any:
        return drape_of(*values), values

    def backward(values: Any, of: Any) -> Any:
        like = tuple(jax.ShapeDtypeStruct(value.shape, value.dtype) for value in values)
        return jax.pure_callback(back, like, *of, *values, vmap_method="sequential")

    drape_of.defvjp(forward, backward)
    x, v = drape_of(*arrays)
    return x, v

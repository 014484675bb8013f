"""Differentiable signed distances, penetration, contact gaps, inside tests, and drapes,
of JAX arrays (docs/gradients.md, docs/gradients-of-drapes.md).

Needs the extra: `pip install "pliant[jax]"`. The functions are those of `pliant.torch`, in the precision of the arrays:
float32, unless JAX is told to use float64 (`jax.config.update("jax_enable_x64", True)`).
"""

from typing import Any, Literal

from .contacts import Contacts
from .gradients import arguments as _arguments
from .gradients import formulas as _formulas
from .gradients.contact_batches import ContactBatch
from .gradients.drape import DifferentiableDrape

try:
    import jax
    import jax.numpy as jnp
except ImportError as error:
    raise ImportError('pliant.jax needs JAX, which is not installed: pip install "pliant[jax]"') from error

from .gradients import jax_drape as _drape
from .gradients import jax_operations as _operations

__all__ = ["drape", "gaps", "inside", "penetration", "self_penetration", "signed_distance", "winding_number"]


def signed_distance(points: Any, vertices: Any, faces: Any) -> jax.Array:
    """Signed distances (..., n) of points (..., n, 3) from bodies (..., v, 3) with the faces (m,3), metres.

    Negative inside, as `pliant.closest_point`. Differentiable with respect to points and vertices, twice and more
    often; leading axes are broadcast. Works under `jit`, `vmap`, `grad`, `jvp` and `hessian`.
    """
    return _operations.signed_distance(*_surface(points, vertices, faces))


def penetration(
    points: Any,
    vertices: Any,
    faces: Any,
    *,
    clearance: Any = 0.0,
    power: float = 2.0,
    reduction: Literal["sum", "mean", "none"] = "sum",
) -> jax.Array:
    """Penalty for points nearer to a body than `clearance`, metres: the sum (...,) over points of
    max(clearance - distance, 0)^power.

    Zero where all points keep the clearance. The distance is that of `signed_distance`, exact however deep a point is.
    `clearance`: a number or an array that is broadcast to (..., n). `reduction`: "sum" or "mean" over the n points of
    each body, "none" for the values (..., n).
    """
    distance = signed_distance(points, vertices, faces)
    _arguments.check_penalty(clearance, power, reduction, jax.Array, distance.shape)
    values = _formulas.powers(jnp, clearance - distance, power)
    if reduction == "none":
        return values
    return values.sum(-1) / (max(values.shape[-1], 1) if reduction == "mean" else 1)


def self_penetration(vertices: Any, faces: Any, *, power: float = 2.0) -> jax.Array:
    """Penalty for bodies (..., v, 3) that penetrate themselves: the sum (...,) of depth^power over what is too deep.

    Of a closed body, the depths of vertices inside of other parts of it, measured to the boundary of the union; and of
    any body, the depths of crossing triangles: the shortest way to bring them in front of each other. Zero if nothing
    crosses. Touching, and coplanar triangles that overlap, do not count.
    """
    _arguments.check_penalty(0.0, power, "sum", jax.Array)
    given = {"vertices": jnp.asarray(vertices), "faces": jnp.asarray(faces)}
    _arguments.check_surface(_operations.described, **given)
    inside = _formulas.powers(jnp, -_operations.signed_distance(given["vertices"], *given.values()), power)
    return inside.sum(-1) + _formulas.powers(jnp, _operations.crossing_depths(*given.values()), power).sum(-1)


def gaps(contacts: Contacts | ContactBatch, x: Any) -> jax.Array:
    """Signed gaps (..., n) of contact records at positions x (..., v, 3): normal · (sum of weights x - anchor), metres;
    or of a batch (`pliant.find_contact_batch`) at positions of each of its poses.

    Linear in x: weights and normals stay those of the records, so that the first derivative is that of the distance at
    the positions where the contacts were found.
    """
    x = jnp.asarray(x)
    rows, weights, normal, offset = _arguments.linear_gaps(contacts, _operations.described("x", x))
    at = _operations.corners_of_poses(x, rows)
    return ((weights[..., None] * at).sum(-2) * normal).sum(-1).astype(x.dtype) - offset.astype(x.dtype)


def winding_number(points: Any, vertices: Any, faces: Any) -> jax.Array:
    """Winding numbers (..., n) of bodies around points; without derivatives. Exact integers for closed surfaces."""
    return _operations.winding_number(*_surface(points, vertices, faces))


def inside(points: Any, vertices: Any, faces: Any) -> jax.Array:
    """(..., n) whether points are inside of bodies: whether the winding number exceeds 1/2."""
    return winding_number(points, vertices, faces) > 0.5


def drape(drape: DifferentiableDrape, frames: int, **inputs: Any) -> tuple[jax.Array, jax.Array]:
    """Positions and velocities (frames+1,n,3) of a run of cloth (docs/gradients-of-drapes.md), differentiable with
    respect to all inputs that are given.

    inputs: those of `DrapeValues`: x, v, rest, stretch, stretch_weft, shear, bend, density, damping, air, friction,
    pins, body. Computed in float64 and rounded once to the precision of JAX. Works under `jit`, `grad` and `vmap` (one
    run after the other), in reverse mode.
    """
    return _drape.frames_of(drape, frames, inputs)


def _surface(points: Any, vertices: Any, faces: Any) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Validated arrays."""
    given = {"points": jnp.asarray(points), "vertices": jnp.asarray(vertices), "faces": jnp.asarray(faces)}
    _arguments.check_surface(_operations.described, **given)
    return given["points"], given["vertices"], given["faces"]

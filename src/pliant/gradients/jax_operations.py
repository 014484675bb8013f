"""Queries as callbacks of JAX. This is the seam between JAX and the place where queries run, which is the CPU."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..kernels.gradients.crossings import Crossings
from ..kernels.gradients.stencils import CREASE, Stencils
from . import bodies, formulas
from .arguments import Described
from .crossings import find_crossings

WIDTHS = ((), (3,), (), (3,), (3,), (3,), ())  # of the fields of `Stencils`
WHOLE = {"kind": jnp.uint8, "rows": jnp.int32, "planes": jnp.int32}


def described(name: str, value: Any) -> Described:
    if not hasattr(value, "shape") or not hasattr(value, "dtype"):
        value = np.asarray(value)
    return Described(tuple(value.shape), str(value.dtype), "JAX")


@jax.jit  # compiled as a whole: JAX would compile every operation by itself
def signed_distance(points: jax.Array, vertices: jax.Array, faces: jax.Array) -> jax.Array:
    """Signed distances (..., n) of arrays of valid shapes."""
    lead = jnp.broadcast_shapes(points.shape[:-2], vertices.shape[:-2])
    p, x = (_in_one_axis(array, lead) for array in (points, vertices))
    s = _stencils(p, x, faces)
    d = formulas.distances(jnp, p, _corners(x, s.rows), s)
    triangles = _corners(x, faces[jnp.maximum(s.planes, 0)])
    creases = formulas.crease_distances(jnp, p, triangles, s.planes >= 0)
    return jnp.where(s.kind == CREASE, creases, d).reshape(*lead, points.shape[-2])


def winding_number(points: jax.Array, vertices: jax.Array, faces: jax.Array) -> jax.Array:
    lead = jnp.broadcast_shapes(points.shape[:-2], vertices.shape[:-2])

    def find(p: Any, x: Any, f: Any) -> Any:
        return bodies.winding_numbers(_array(p), _array(x), _faces(f)).astype(p.dtype)

    shape = jax.ShapeDtypeStruct((*lead, points.shape[-2]), points.dtype)
    given = map(jax.lax.stop_gradient, (points, vertices))
    return jax.pure_callback(find, shape, *given, faces, vmap_method="expand_dims")


@jax.jit
def crossing_depths(vertices: jax.Array, faces: jax.Array) -> jax.Array:
    """Depths (..., m) of crossing triangles of bodies (..., v, 3) with m faces; 0 for the rest."""
    x = vertices.reshape(-1, *vertices.shape[-2:])
    shape, most = (x.shape[0], faces.shape[0]), faces.shape[0]

    def find(x: Any, f: Any) -> Any:
        kind, rows, sign = find_crossings(_array(x), _faces(f), most)
        return kind, rows.astype(np.int32), sign.astype(x.dtype)

    shapes = tuple(
        jax.ShapeDtypeStruct((*shape, *width), kind)
        for width, kind in (((), jnp.uint8), ((4,), jnp.int32), ((), x.dtype))
    )
    s = Crossings(*jax.pure_callback(find, shapes, jax.lax.stop_gradient(x), faces, vmap_method="expand_dims"))
    return formulas.crossing_depths(jnp, _corners(x, s.rows), s).reshape(*vertices.shape[:-2], most)


def _stencils(p: jax.Array, x: jax.Array, faces: jax.Array) -> Stencils:
    """The stencils of points (p,n,3) on bodies (q,v,3), where p and q are equal or one of them is 1."""
    kinds = [WHOLE.get(name, p.dtype) for name in Stencils._fields]

    def find(p: Any, x: Any, f: Any) -> Any:
        limits = bodies.SINGLE if p.dtype == np.float32 else bodies.DOUBLE
        found = bodies.find_stencils(_array(p), _array(x), _faces(f), limits)
        return tuple(array.astype(kind) for array, kind in zip(found, kinds, strict=True))

    n = (max(p.shape[0], x.shape[0]), p.shape[1])
    shapes = tuple(jax.ShapeDtypeStruct((*n, *width), kind) for width, kind in zip(WIDTHS, kinds, strict=True))
    given = map(jax.lax.stop_gradient, (p, x))
    return Stencils(*jax.pure_callback(find, shapes, *given, faces, vmap_method="expand_dims"))


def _in_one_axis(array: jax.Array, lead: tuple[int, ...]) -> jax.Array:
    """An array (..., n, 3) with all leading axes in one, whose length is 1 if it is the same along all of `lead`."""
    if np.prod(array.shape[:-2]) == 1:
        return array.reshape(1, *array.shape[-2:])
    return jnp.broadcast_to(array, (*lead, *array.shape[-2:])).reshape(-1, *array.shape[-2:])


def corners_of_poses(x: jax.Array, rows: Any) -> jax.Array:
    """Vertices (..., k, 4, 3) of x (..., v, 3) by rows (k,4), the same in all poses, or (..., k, 4)."""
    if rows.ndim == 2:
        return x[..., rows, :]
    return _corners(x.reshape(-1, *x.shape[-2:]), rows.reshape(-1, *rows.shape[-2:])).reshape(*rows.shape, 3)


def _corners(x: jax.Array, rows: jax.Array) -> jax.Array:
    """Vertices (p,...,3) of bodies x (q,v,3) by rows (p,...) of each, where q is p or 1."""
    if x.shape[0] > 1:
        rows = rows + (jnp.arange(x.shape[0]) * x.shape[1]).reshape(-1, *[1] * (rows.ndim - 1))
    return x.reshape(-1, 3)[rows]


def _array(value: Any) -> Any:
    return np.asarray(value, np.float64)


def _faces(value: Any) -> Any:
    """The faces (m,3) of a callback, without the axes that `vmap` puts in front."""
    faces = np.asarray(value)
    if faces.size != np.prod(faces.shape[-2:]):
        raise ValueError("faces are mapped by vmap; expected the same faces for all bodies: in_axes=None")
    return faces.reshape(faces.shape[-2:])

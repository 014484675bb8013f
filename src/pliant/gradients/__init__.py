"""Signed distances, penetration and gaps as differentiable functions; what `pliant.torch` and `pliant.jax` share."""

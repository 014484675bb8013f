"""Loops of `pliant.gradients`."""

"""Checks, repairs and comparisons of meshes, garments on bodies and animations."""

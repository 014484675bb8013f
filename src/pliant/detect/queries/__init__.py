"""Exact queries: closest points, intersections, overlap, winding numbers, penetration depth."""

"""Axis-aligned boxes (AABB) as two tuples, the lowest and the highest corner. Closed: boxes that touch overlap."""

from ..jit import kernel


@kernel
def of_segment(a, b):
    return (
        (min(a[0], b[0]), min(a[1], b[1]), min(a[2], b[2])),
        (max(a[0], b[0]), max(a[1], b[1]), max(a[2], b[2])),
    )


@kernel
def of_triangle(a, b, c):
    return (
        (min(a[0], b[0], c[0]), min(a[1], b[1], c[1]), min(a[2], b[2], c[2])),
        (max(a[0], b[0], c[0]), max(a[1], b[1], c[1]), max(a[2], b[2], c[2])),
    )


@kernel
def merge(low_a, high_a, low_b, high_b):
    """Return the smallest box around two boxes."""
    return (
        (min(low_a[0], low_b[0]), min(low_a[1], low_b[1]), min(low_a[2], low_b[2])),
        (max(high_a[0], high_b[0]), max(high_a[1], high_b[1]), max(high_a[2], high_b[2])),
    )


@kernel
def inflate(low, high, r):
    """Return the box expanded by r on every side."""
    return (low[0] - r, low[1] - r, low[2] - r), (high[0] + r, high[1] + r, high[2] + r)


@kernel
def overlap(low_a, high_a, low_b, high_b):
    return (
        low_a[0] <= high_b[0]
        and low_b[0] <= high_a[0]
        and low_a[1] <= high_b[1]
        and low_b[1] <= high_a[1]
        and low_a[2] <= high_b[2]
        and low_b[2] <= high_a[2]
    )


@kernel
def contains(low, high, p):
    return low[0] <= p[0] <= high[0] and low[1] <= p[1] <= high[1] and low[2] <= p[2] <= high[2]


@kernel
def distance2(low, high, p):
    """Squared distance of p from the box, 0 inside."""
    x = max(low[0] - p[0], 0.0, p[0] - high[0])
    y = max(low[1] - p[1], 0.0, p[1] - high[1])
    z = max(low[2] - p[2], 0.0, p[2] - high[2])
    return x * x + y * y + z * z

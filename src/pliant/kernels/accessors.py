"""Accessors of contact records in kernels."""

from .jit import kernel
from .kinds import VERTEX_FACE


@kernel
def first_side(kind):
    """Number of vertices of the first of two features: one vertex, or the two ends of an edge. They come first."""
    return 1 if kind == VERTEX_FACE else 2


@kernel
def vertices_of(contact):
    v = contact["vertices"]
    return v[0], v[1], v[2], v[3]


@kernel
def normal_of(contact):
    return (contact["normal"][0], contact["normal"][1], contact["normal"][2])


@kernel
def anchor_of(contact):
    return (contact["anchor"][0], contact["anchor"][1], contact["anchor"][2])


@kernel
def anchor_velocity_of(contact):
    return (contact["anchor_velocity"][0], contact["anchor_velocity"][1], contact["anchor_velocity"][2])

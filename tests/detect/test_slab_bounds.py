"""Slabs without the compiler, which does not look at the bounds of arrays."""

import pytest

from pliant import shapes
from pliant.detect.fields.slabs import bake_slab, layout
from pliant.kernels.jit import COMPILED


@pytest.mark.skipif(COMPILED, reason="only Python itself looks at the bounds of arrays")
def test_no_slab_looks_beyond_its_arrays():
    mesh = shapes.torus(0.3, 0.1, 16, 8)
    place = layout(mesh, 40, slabs=3)
    assert sum(len(bake_slab(mesh, place, k).values) for k in range(place.slabs)) > 100

"""The strain of cloth that a run reports, against sheets that are stretched by a known amount."""

import dataclasses

import numpy as np
import pytest

import pliant
from pliant import shapes
from pliant.simulation.measure.strain import edge_strains, largest_strain

SHEET = shapes.cloth(0.4, 0.3, (5, 4), plane="xy")


def scene_of(**options) -> pliant.Scene:
    return pliant.Scene([pliant.Body(SHEET, **options)])


def test_a_sheet_that_is_stretched_as_a_whole_has_this_strain():
    frames = np.stack([SHEET.vertices, 1.03 * SHEET.vertices, 0.9 * SHEET.vertices])
    assert largest_strain(scene_of(), {0: frames}, 0.01) == pytest.approx((0.03, 0.03))


def test_a_single_long_edge_is_in_the_largest_strain_only():
    grid = shapes.cloth(1.0, 1.0, (21, 21), plane="xy")
    x = grid.vertices.copy()
    corner = int(np.argmax(x[:, 0] + x[:, 1]))
    x[corner] += 0.02 * np.array([1.0, 1.0, 0.0])
    share, most = largest_strain(pliant.Scene([pliant.Body(grid)]), {0: x[None]}, 0.01)
    assert share == pytest.approx(0.0, abs=1e-12)
    assert most > 0.3


def test_a_rest_scale_changes_the_lengths_that_count():
    body = pliant.Body(SHEET, rest_scale=1.1)
    assert edge_strains(body, 1.1 * SHEET.vertices, 0.0, 0.5) == pytest.approx(0.0, abs=1e-12)
    shrunk = dataclasses.replace(body, rest_scale=0.8)
    assert edge_strains(shrunk, SHEET.vertices, 0.0, 0.5) == pytest.approx(0.0, abs=1e-12)
    assert edge_strains(shrunk, SHEET.vertices, 0.5, 0.5) == pytest.approx(0.25)


def test_edges_between_held_vertices_do_not_count():
    top = np.flatnonzero(SHEET.vertices[:, 1] > 0.149)
    x = SHEET.vertices.copy()
    x[top, 0] *= 1.5  # pulled apart by what holds them
    everything = largest_strain(scene_of(), {0: x[None]}, 0.01)
    free = largest_strain(scene_of(pins=top), {0: x[None]}, 0.01)
    assert everything is not None
    assert free is not None
    assert everything.most == pytest.approx(0.5)
    assert free.most < 0.5
    assert largest_strain(scene_of(pins=np.arange(SHEET.n_vertices)), {0: x[None]}, 0.01) is None

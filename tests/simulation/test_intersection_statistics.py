"""Crossing pairs are counted apart where they cross near a self-intersection of the body."""

import numpy as np

from pliant.mesh import Mesh
from pliant.motion.deforming import Recorded
from pliant.scene import Body, Scene
from pliant.shapes import box, cloth
from pliant.simulation.measure.intersection_statistics import IntersectionStatistics

EPS = 0.004


def test_a_pair_is_pinched_where_it_crosses_not_where_a_corner_of_the_face_is():
    """Triangles of 5 cm form the upper side of a box; another box is sunk into its left edge."""
    lower, upper = box((0.2, 0.2, 0.2), 4), box((0.05, 0.1, 0.3), 1)
    x = np.concatenate([lower.vertices, upper.vertices + np.array([-0.1, 0.14, 0.0])])
    both = Mesh(x, np.concatenate([lower.faces, upper.faces + lower.n_vertices]))
    motion = Recorded(np.array([0.0, 1.0]), np.repeat(both.vertices[None], 2, 0))
    for at, pinched in ((-0.01, False), (-0.08, True)):
        sheet = cloth(0.02, 0.02, 11, centre=(at, 0.105, 0.0))
        dipped = sheet.vertices.copy()
        dipped[60, 1] -= 0.01
        scene = Scene([Body(sheet.moved(dipped)), Body(both, obstacle=True, motion=motion)], eps=EPS)
        count = IntersectionStatistics(scene, scene.start().x)
        free, held = count.crossing_pairs()
        assert (held if pinched else free) >= 6
        assert (free if pinched else held) == 0

"""Every cloth on a body at full size: 300 frames outside of it, and the same bits on one and on two threads."""

import hashlib

import pytest

from pliant.kernels import jit
from pliant.scenes import SCENES
from pliant.simulation import Simulation
from pliant.simulation.measure.referee import Referee
from scenes.test_scenes import DRAPED

pytestmark = [pytest.mark.long, pytest.mark.compiled]


@pytest.mark.parametrize("name", DRAPED)
def test_300_frames_stay_outside_and_do_not_depend_on_threads(name):
    before, seen = jit.threads(), []
    try:
        for threads in (1, 2):
            jit.set_threads(threads)
            scene = SCENES[name](resolution=60)  # large enough for the parallel sweep
            referee, total = Referee(scene), hashlib.sha256()
            for frame in Simulation(scene).run(300):
                total.update(frame.x.tobytes() + frame.contacts.tobytes())
                assert referee.least_distance(frame.x, frame.pose) >= -1e-6 * scene.bodies[1].mesh.size
            seen.append(total.hexdigest())
    finally:
        jit.set_threads(before)
    assert seen[0] == seen[1]

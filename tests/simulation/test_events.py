"""Substeps that end at events: what meets, meets on time; what does not, moves as with fixed steps."""

import numpy as np
import pytest

from pliant.motion.rigid import Motion
from pliant.scene import Body, Cloth, Scene
from pliant.scenes import SCENES
from pliant.shapes import box, cloth
from pliant.simulation import Simulation
from pliant.simulation.kinematics import MOST_PARTS, MOST_SUBSTEPS

EPS, THICK = 1e-3, 2e-4  # of the plate
FIRM = Cloth(air=0.0, damping=0.0)


def thrown(stepping: str = "events", speed: float = 40.0, height: float = 0.33, **options) -> Simulation:
    """A sheet that flies at a thin plate: with the default substeps 10 cm in each of them."""
    sheet = Body(cloth(0.1, 0.1, 5, centre=(0, height, 0)), material=FIRM, velocity=(3.0, -speed, 0.0))
    plate = Body(box((1.0, THICK, 1.0), 1), obstacle=True)
    kept = {"restitution": 0.5, "friction": 0.0, "self_contact": "off", "gravity": (0, 0, 0)} | options
    return Simulation(Scene([sheet, plate], eps=EPS, **kept), method="continuous", stepping=stepping)


@pytest.mark.parametrize("speed", [5.0, 40.0, 300.0])
def test_a_sheet_bounces_off_a_thin_plate_when_it_arrives_and_not_at_the_end_of_a_substep(speed):
    arrival = 0.0082  # s, within the fourth substep
    height = 0.5 * THICK + EPS + speed * arrival
    found = {}
    for stepping in ("fixed", "events"):
        sim = thrown(stepping, speed, height)
        frame = sim.step()
        x = sim.state.x[sim.scene.rows(0)]
        assert (x[:, 1] > 0.5 * THICK).all(), "it stays on its side"
        assert sim.state.v[sim.scene.rows(0), 1].mean() == pytest.approx(0.5 * speed, rel=1e-6)
        exact = 0.5 * THICK + EPS + 0.5 * speed * (0.01 - arrival)
        found[stepping] = abs(x[:, 1].mean() - exact)
        assert (frame.events > 0) == (stepping == "events")
    part = 0.0025 / MOST_PARTS  # s: by so much an event may be early
    assert found["events"] <= 1.5 * speed * part + EPS
    assert found["events"] < 0.2 * found["fixed"]


def test_only_the_substep_in_which_something_meets_is_divided_and_the_counts_tell_it():
    sim = thrown(height=0.33)  # 13 cm above the plate after the second substep, 3 cm after the third
    first, second = sim.step(), sim.step()
    assert 4 < first.substeps <= 3 + MOST_PARTS
    assert 0 < first.events < MOST_PARTS
    assert (second.substeps, second.events) == (4, 0)
    assert sim.events == first.events
    assert sim.state.time == pytest.approx(0.02, rel=1e-12)


@pytest.mark.compiled
@pytest.mark.parametrize("moving", [False, True])
def test_where_nothing_meets_the_run_is_bitwise_that_of_fixed_steps(moving):
    ends = []
    for stepping in ("fixed", "events"):
        motion = None
        if moving:
            poses = np.stack([np.eye(3, 4), np.eye(3, 4)])
            poses[1, 0, 3] = 0.2
            motion = Motion(np.array([0.0, 0.1]), poses)
        bodies = [
            Body(cloth(0.2, 0.2, 8, centre=(0, 0.4, 0))),
            Body(box((0.3, 0.1, 0.3), 1), obstacle=True, motion=motion),
        ]
        sim = Simulation(Scene(bodies, eps=0.005), method="continuous", stepping=stepping)
        frames = list(sim.run(8))
        assert sum(frame.events for frame in frames) == 0
        ends.append((sim.state.x.tobytes(), sim.state.v.tobytes(), sim.state.time))
    assert ends[0] == ends[1]


@pytest.mark.compiled
def test_the_work_of_a_frame_is_bounded_however_much_meets():
    scene = SCENES["cloth-on-box-corner"](resolution=10)
    for substeps in (1, 8, 64, 200):
        sim = Simulation(scene, substeps=substeps, method="continuous", stepping="events")
        for frame in sim.run(3 if substeps > 10 else 30):
            assert substeps <= frame.substeps <= max(substeps, min(MOST_PARTS * substeps, MOST_SUBSTEPS))
            assert np.isfinite(frame.x).all()


@pytest.mark.compiled
@pytest.mark.parametrize(("lasting", "meets"), [(0.05, False), (0.005, True)])
def test_a_fast_obstacle_divides_the_frame_first_and_events_what_is_still_too_fast(lasting, meets):
    """At 6 m/s, substeps are divided until the plate moves less than eps in each, and nothing meets; at 60 m/s, the
    bound on the parts leaves 4 mm."""
    poses = np.stack([np.eye(3, 4), np.eye(3, 4)])
    poses[1, 1, 3] = 0.3
    plate = Body(box((1.0, THICK, 1.0), 1), obstacle=True, motion=Motion(np.array([0.0, lasting]), poses))
    sheet = Body(cloth(0.1, 0.1, 5, centre=(0, 0.1, 0)), material=FIRM)
    sim = Simulation(Scene([sheet, plate], eps=EPS, self_contact="off"), method="continuous", stepping="events")
    frames = list(sim.run(5))
    assert max(frame.substeps for frame in frames) <= MOST_SUBSTEPS
    assert max(frame.substeps for frame in frames) >= 32
    assert (sum(frame.events for frame in frames) > 0) == meets
    assert (sim.state.x[sim.scene.rows(0), 1] > 0.3 + 0.5 * THICK).all()


def test_a_checkpoint_continues_with_events(tmp_path):
    sim = thrown(speed=5.0, height=0.13)
    for _ in sim.run(2):
        pass
    sim.save(tmp_path / "run.npz")
    again = Simulation.load(tmp_path / "run.npz", sim.scene)
    assert again.stepping == "events"
    for _ in range(2):
        one, two = sim.step(), again.step()
        assert one.x.tobytes() == two.x.tobytes()
        assert (one.substeps, one.events) == (two.substeps, two.events)
    assert sim.events > 0


def test_other_methods_and_other_words_are_one_clear_error():
    scene = thrown().scene
    with pytest.raises(ValueError, match="stepping='events' needs times of impact; use method='continuous' in a scene"):
        Simulation(scene, method="bvh", stepping="events")
    with pytest.raises(ValueError, match="stepping"):
        Simulation(scene, method="continuous", stepping="adaptive")

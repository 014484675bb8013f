"""Every ready scene, judged by the exact surface: nothing is ever inside, cloth folds and comes to rest."""

import functools
import hashlib
import subprocess
import sys

import numpy as np
import pytest

from pliant.detect.base import Side
from pliant.detect.detectors.distance_field import DistanceFieldDetector
from pliant.errors import MeshFileError
from pliant.kernels import jit
from pliant.scene import Body, Scene
from pliant.scenes import SCENES
from pliant.scenes.drape import above, drape_scene
from pliant.shapes import ball, box, cloth
from pliant.simulation import Simulation
from pliant.simulation.drape import drape
from pliant.simulation.measure.referee import Referee
from pliant.simulation.record import record
from pliant.simulation.result import Result
from pliant.state import State

pytestmark = pytest.mark.compiled
RESOLUTION, FOLDING, FRAMES = 16, 22, 120  # cloth of 22 particles a side has folds, of 16 all contacts
ELSEWHERE = (
    "ribbon",
    "twist",
    "stack",
    "pinch",
    "curtain",
    "cylinders",
    "walking-skirt",
    "cloth-on-shoulder",
    "walking-trousers",
    "two-figures",
    "creatures",
    "intestine",
    "liver",
    "surgical-tool",
    "two-organs",
    "gut-with-mesentery",
)
DRAPED = [name for name in SCENES if name not in ELSEWHERE]  # the others have tests of their own
MOVING = {"rod": 250, "spinning-ball": 200, "waving-mannequin": 220}  # frames that hold all of the motion


def energy(sim: Simulation) -> float:
    """Without the elastic energy of strands: projecting their points out of a body stretches them for a substep, which
    stiff strands undo without gaining speed."""
    parts = sim.dynamics.energy(sim.state)
    return sum(value for name, value in parts.items() if name != "elastic" or not sim.scene.strands)


@functools.cache
def draped(name: str, self_contact: str, irregular: bool) -> tuple[Result, list[float]]:
    """A run of a ready scene, and its energy at the start and after each frame."""
    sim = Simulation(SCENES[name](resolution=RESOLUTION, self_contact=self_contact, irregular=irregular))
    energies = [energy(sim)]
    result = record(sim, MOVING.get(name, FRAMES), progress=lambda _: energies.append(energy(sim)))
    return result, energies


@pytest.mark.parametrize("name", DRAPED)
@pytest.mark.parametrize(("self_contact", "irregular"), [("off", False), ("safe", True)])
def test_no_vertex_and_no_edge_midpoint_is_ever_inside_the_body(name, self_contact, irregular):
    """Where cloth may pass through itself, contacts alone keep it out of the body."""
    result, _ = draped(name, self_contact, irregular)
    size = result.scene.bodies[1].mesh.size
    assert result.least_distance.min() >= -1e-6 * size
    assert result.n_contacts.max() > 5


def test_the_tablecloth_folds_and_comes_to_rest():
    scene = SCENES["tablecloth-on-ball"](resolution=FOLDING)
    result = record(Simulation(scene), 400, measure=False)
    x = result.x[0]
    speed = np.linalg.norm(x[-1] - x[-2], axis=1) / result.dt
    assert np.sqrt((speed**2).mean()) < 0.02
    # hanging folds: going round the hem, height and radius swing several times
    mesh = scene.bodies[0].mesh
    hem = np.flatnonzero(mesh.topology.boundary_vertices)
    p = x[-1][hem]
    order = np.argsort(np.arctan2(p[:, 2], p[:, 0]))
    radius = np.hypot(p[:, 0], p[:, 2])[order]
    swings = np.abs(np.diff(np.sign(radius - radius.mean()))).sum() / 2
    assert swings >= 6
    assert radius.max() > 1.5 * radius.min()
    assert p[:, 1].mean() < mesh.vertices[hem, 1].mean() - 0.2


def trapped(midpoints: bool) -> float:
    """How deep the middle of an edge of cloth gets into the wall of a bowl."""
    scene = SCENES["cloth-in-a-bowl"](resolution=12, self_contact="off")
    soft, rigid = scene.bodies[0].mesh, scene.bodies[1].mesh
    sides = Side(soft, 0, 0), Side(rigid, soft.n_vertices, 1)
    sim = Simulation(scene, detectors=[DistanceFieldDetector(*sides, within=scene.eps, midpoints=midpoints)])
    return float(record(sim, 100).least_distance.min())


def test_edge_midpoints_keep_coarse_cloth_out_of_concavities_and_vertices_alone_do_not():
    assert trapped(midpoints=True) >= 0.0
    assert trapped(midpoints=False) < -1e-4


@pytest.mark.parametrize("name", [name for name in DRAPED if name not in MOVING])
def test_energy_never_rises_above_its_start_in_a_damped_scene(name):
    """Kinetic, elastic and gravity from the lowest point reached; no wind."""
    result, energies = draped(name, "safe", True)
    floor = 9.81 * result.x[0][1:, :, 1].min() * result.scene.masses.sum()
    assert max(energies) - floor <= 1.01 * (energies[0] - floor)


def digest(sim: Simulation, frames: int) -> str:
    total = hashlib.sha256()
    for frame in sim.run(frames):
        total.update(frame.x.tobytes() + frame.contacts.tobytes() + sim.state.v.tobytes())
    return total.hexdigest()


def scene_of(resolution: int = 14) -> Scene:
    return SCENES["tablecloth-on-ball"](resolution=resolution)


def test_one_and_two_threads_give_the_same_bits():
    before, found = jit.threads(), []
    try:
        for count in (1, 2):
            jit.set_threads(count)
            # large enough for the parallel loops, and long enough for contacts
            found.append(digest(Simulation(scene_of(56)), 40))
    finally:
        jit.set_threads(before)
    assert found[0] == found[1]


def test_two_processes_give_the_same_bits():
    code = "import test_scenes as t; print(t.digest(t.Simulation(t.scene_of()), 80))"
    here = str(__import__("pathlib").Path(__file__).parent)
    run = [sys.executable, "-c", f"import sys; sys.path[:0] = [{here!r}]; {code}"]
    said = subprocess.run(run, capture_output=True, text=True, check=True, timeout=300).stdout
    assert said == digest(Simulation(scene_of()), 80) + "\n"


def test_a_run_stopped_saved_and_resumed_gives_the_same_bits(tmp_path):
    straight = Simulation(scene_of())
    digest(straight, 40)
    straight.state.save(tmp_path / "state.npz")
    whole = digest(straight, 40)
    assert digest(Simulation(scene_of(), state=State.load(tmp_path / "state.npz")), 40) == whole


def test_a_sheet_on_the_floor_in_the_plane_of_the_soles_is_moved_above():
    body = box((0.2, 0.4, 0.2), 2, centre=(0.0, 0.2, 0.0))
    sheet = cloth(0.5, 0.5, 6)  # at y = 0, where the box begins
    assert drape_scene(sheet, body).bodies[0].mesh.bounds[0, 1] > 0.4
    assert drape_scene(sheet, body, place="as-is").bodies[0].mesh.bounds[0, 1] == 0.0


def test_cloth_that_starts_inside_is_moved_above_and_only_then():
    body = ball(0.2, 2)
    inside, outside = cloth(0.5, 0.5, 8), above(cloth(0.5, 0.5, 8), body)
    assert drape_scene(inside, body).bodies[0].mesh.vertices[:, 1].min() > 0.2
    assert (drape_scene(outside, body).bodies[0].mesh.vertices == outside.vertices).all()
    assert (drape_scene(inside, body, place="as-is").bodies[0].mesh.vertices == inside.vertices).all()


def test_a_body_turned_inside_out_is_refused_by_name():
    body = box(0.3, 2)
    flipped = type(body)(body.vertices, body.faces[:, ::-1], name="crate")
    with pytest.raises(ValueError, match=r"crate.*inside out"):
        drape_scene(cloth(), flipped)


def test_a_result_measures_itself_and_shows_itself_in_a_notebook():
    result = drape(cloth(0.4, 0.4, 10), ball(0.1, 2), frames=12, substeps=5)
    html = result._repr_html_()
    assert html.startswith("<iframe srcdoc=")
    assert "12 (0.12 s)" in html
    assert (result.summary["frames"], result.summary["particles"]) == (12, 100)
    assert result.least_distance.shape == (13,)
    assert np.isfinite(result.least_distance).all()


def test_cloth_split_at_a_seam_stays_in_one_piece_and_is_written_back_to_its_own_vertices():
    sheet = cloth(0.4, 0.4, 9)
    soup = type(sheet)(sheet.vertices[sheet.faces].reshape(-1, 3), np.arange(3 * sheet.n_faces).reshape(-1, 3))
    result = drape(soup, ball(0.1, 2), frames=15, substeps=5, measure=False)
    clip = result.clips[0]
    assert clip.frames.shape == (16, soup.n_vertices, 3)
    corners = clip.frames[-1]
    same = soup.weld_index
    for v in range(sheet.n_vertices):
        rows = corners[same == v]
        assert (rows == rows[0]).all()


def test_the_referee_sees_what_is_inside():
    scene = drape_scene(cloth(0.4, 0.4, 9), ball(0.1, 2), place="as-is")
    assert Referee(scene).least_distance(scene.start().x) == pytest.approx(-0.1, abs=0.01)


def flown(*path: tuple[float, float, float]) -> list[float]:
    """What the referee says of a small cloth that follows `path` around an open sheet at y = 0."""
    scene = drape_scene(cloth(0.02, 0.02, 2), cloth(0.4, 0.4, 5), place="as-is")
    referee, x = Referee(scene), scene.start().x
    return [referee.least_distance(x + (scene.masses > 0.0)[:, None] * np.array(at)) for at in path]


def test_behind_an_open_body_counts_only_what_went_through_it():
    above, beside, under, behind = (0.0, 0.1, 0.0), (0.5, 0.1, 0.0), (0.5, -0.1, 0.0), (0.0, -0.1, 0.0)
    assert flown(above, behind)[-1] == pytest.approx(-0.1)
    round_it = flown(above, beside, under, behind, under, beside, above)
    assert round_it == pytest.approx([0.1, 0.3068, np.inf, np.inf, np.inf, 0.3068, 0.1], abs=1e-3)
    assert flown(behind)[-1] == pytest.approx(-0.1)


def test_the_middle_of_an_edge_is_found_though_both_ends_are_beyond_the_band():
    body, sheet = ball(0.02, 2), cloth(1.0, 1.0, 2, centre=(0.5, 0.021, 0.0))
    scene = drape_scene(sheet, body, place="as-is", eps=0.002)
    (hit,) = Simulation(scene).detectors[0].find(scene.start())
    assert hit["distance"] == pytest.approx(0.001, abs=0.0005)


def test_a_vertex_that_no_face_uses_is_not_cloth():
    sheet, body = above(cloth(0.4, 0.4, 5), ball(0.1, 2)), ball(0.1, 2)
    stray = type(sheet)(np.vstack([sheet.vertices, [[0.0, 0.0, 0.0]]]), sheet.faces)
    result = drape(stray, body, frames=3, substeps=2)
    assert result.least_distance.min() > 0.0
    assert (result.x[0][:, -1] == 0.0).all()


def test_a_state_of_another_scene_is_refused():
    with pytest.raises(ValueError, match=r"state has 3 vertices; the scene has"):
        Simulation(scene_of(), state=State.at(np.zeros((3, 3))))


def test_a_scene_without_obstacles_falls_and_a_scene_without_cloth_stands():
    falls = record(Simulation(Scene([Body(cloth(0.2, 0.2, 4))]), substeps=2), 3)
    assert falls.x[0][-1, :, 1].max() < 0.0
    assert np.isinf(falls.least_distance).all()
    stands = Simulation(Scene([Body(ball(0.1, 1), obstacle=True)]), substeps=2)
    before = stands.state.x.copy()
    assert (stands.step().x == before).all()


def test_two_bodies_are_both_kept_out_of():
    left, right = ball(0.1, 2, centre=(-0.15, 0.0, 0.0)), ball(0.1, 2, centre=(0.15, 0.0, 0.0))
    sheet = cloth(0.6, 0.6, 14, centre=(0.0, 0.12, 0.0))
    bodies = [Body(sheet), Body(left, obstacle=True), Body(right, obstacle=True)]
    result = record(Simulation(Scene(bodies), substeps=8), 40)
    assert result.least_distance.min() > 0.0
    assert result.n_contacts[-1] > 4


def test_a_fixed_body_with_a_velocity_is_refused_rather_than_left_standing():
    with pytest.raises(ValueError, match=r"'ball' is an obstacle; its velocity must be 0"):
        Body(ball(0.1, 1), obstacle=True, velocity=(1.0, 0.0, 0.0))


def test_a_distance_larger_than_the_body_is_refused():
    with pytest.raises(ValueError, match=r"eps = 1 m is more than the size of body 'ball'"):
        drape_scene(cloth(), ball(0.1, 1), eps=1.0)


def test_a_run_that_flies_apart_is_said_so():
    sim = Simulation(scene_of(6), substeps=1)
    sim.state.v[:] = np.nan
    with pytest.raises(ValueError, match=r"flew apart in frame 1"):
        record(sim, 3)


def test_a_damaged_state_file_is_one_clear_error(tmp_path):
    path = tmp_path / "state.npz"
    scene_of(4).start().save(path)
    whole = path.read_bytes()
    for damaged in (whole[: len(whole) // 2], b"", b"not a zip", whole[:100] + bytes(50) + whole[150:]):
        path.write_bytes(damaged)
        with pytest.raises(MeshFileError, match=r"state\.npz"):
            State.load(path)


def test_the_order_of_the_bodies_in_a_scene_does_not_matter():
    sheet, body = scene_of(14).bodies
    far = Body(box(0.1, 1, centre=(5.0, 0.0, 0.0)), obstacle=True)
    ends = []
    for bodies in ([sheet, body, far], [far, body, sheet], [far, sheet, body]):
        sim = Simulation(Scene(bodies), substeps=8)
        for _ in sim.run(40):
            pass
        ends.append(sim.state.x[sim.scene.rows(bodies.index(sheet))])
    assert (ends[0] == ends[1]).all()
    assert (ends[0] == ends[2]).all()

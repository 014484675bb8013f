"""A start that is not clean is told with counts and with the command that mends it; advice has its cause."""

import dataclasses
import json
import pathlib
import shlex

import numpy as np
import pytest

import pliant
from pliant import Mesh, Motion, cli, shapes
from pliant.cli.run_warnings import Sources, run_warnings
from pliant.simulation import Simulation
from pliant.simulation.measure.causes import deepest_of
from pliant.simulation.measure.referee import Referee
from pliant.simulation.record import record

pytestmark = pytest.mark.compiled
BALL = dataclasses.replace(shapes.ball(0.3, 3), name="body")


def sheet(name: str, height: float, tilt: float = 0.0) -> Mesh:
    cloth = shapes.cloth(0.8, 0.8, 9)
    x = cloth.vertices * (1.0, 0.0, 1.0) + np.array([0.003, height, 0.001])
    x[:, 1] += tilt * x[:, 0]
    return dataclasses.replace(cloth.moved(x), name=name)


def run(garments: list[Mesh], mode: str = "off"):
    soft = [pliant.Body(garment, layer=k) for k, garment in enumerate(garments)]
    scene = pliant.Scene([*soft, pliant.Body(BALL, obstacle=True)], eps=0.005, self_contact=mode)
    return record(Simulation(scene, substeps=1, method="tree"), 1)


def test_a_start_is_counted_by_pairs_of_things_and_fix_is_offered_inner_to_outer():
    inner, outer = sheet("inner", 0.29), sheet("outer", 0.33, 0.2)
    result = run([inner, outer])
    met = {each.bodies: each.pairs for each in result.initial_intersections}
    assert met == {
        (0, 1): len(pliant.intersections(inner, outer)),
        (0, 2): len(pliant.intersections(inner, BALL)),
        **({(1, 2): n} if (n := len(pliant.intersections(outer, BALL))) else {}),
    }
    assert result.summary["initial_intersecting_pairs"] == sum(met.values()) > 0
    assert {"bodies": ["inner", "outer"], "pairs": met[0, 1]} in result.summary["initial_intersections"]
    assert f"{met[0, 1]} pairs of triangles of inner with outer" in result.facts["intersections at the start"]
    files = Sources((pathlib.Path("a b.obj"), pathlib.Path("outer.ply")), pathlib.Path("body.obj"))
    line = run_warnings(result, files)[0]
    assert line.startswith("the start has intersections: ")
    first, second = line.partition("first: ")[2].split(" && ")
    assert shlex.split(first) == ["pliant", "fix", "a b.obj", "--body", "body.obj", "-o", "a b-fixed.obj"]
    assert shlex.split(second)[2:] == shlex.split("outer.ply --body body.obj --over 'a b-fixed.obj' -o outer-fixed.obj")
    assert "safe" not in line


def test_safe_mode_says_that_its_promise_does_not_cover_those_pairs():
    line = run_warnings(run([sheet("one", 0.5), sheet("two", 0.5, 0.2)], "safe"))[0]
    assert "--self-contact safe does not cover these pairs" in line
    assert "pliant.fix" in line


def test_a_clean_start_says_nothing():
    result = run([sheet("one", 0.4), sheet("two", 0.5)])
    assert result.initial_intersections == ()
    assert result.summary["initial_intersecting_pairs"] == 0
    assert "intersections at the start" not in result.facts
    assert not any("start" in line for line in run_warnings(result))


def test_the_command_that_is_offered_mends_the_start(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    pliant.save("body.obj", BALL)
    pliant.save("low.obj", sheet("low", 0.28))
    words = ["drape", "low.obj", "body.obj", "--place", "as-is", "--frames", "1", "-o", "run.npz", "--json"]
    words.append("--no-fix-start")
    assert cli.run(words) == 1
    out, talk = capsys.readouterr()
    assert json.loads(out)["initial_intersecting_pairs"] > 0
    (command,) = (line for line in talk.splitlines() if "pliant fix" in line)
    assert cli.run(shlex.split(command.partition("first: ")[2])[1:]) == 0
    capsys.readouterr()
    assert cli.run(["low-fixed.obj" if word == "low.obj" else word for word in words]) == 0
    assert json.loads(capsys.readouterr().out)["initial_intersecting_pairs"] == 0


def lying(body: Mesh, moved: np.ndarray, x: np.ndarray):
    """A result in which cloth goes to x, and a recorded body from where it is to `moved`, in one frame."""
    played = pliant.Recorded([0.0, 0.01], np.stack([body.vertices, moved]))
    cloth = sheet("cloth", 1.0)
    scene = pliant.Scene([pliant.Body(cloth), pliant.Body(body, obstacle=True, motion=played)], eps=0.005)
    result = record(Simulation(scene, substeps=4, method="tree"), 1)
    away = -pliant.closest_point(body.moved(moved), x)[0].min()
    shapes_at = {1: np.stack([body.welded.vertices, body.welded.moved(moved).vertices]).astype(np.float32)}
    return dataclasses.replace(
        result, x={0: np.stack([cloth.vertices, x])}, least_distance=np.array([0.5, -away]), deforming_x=shapes_at
    )


def test_a_pinched_place_is_called_that_and_no_option_is_praised():
    two = Mesh(
        np.concatenate([BALL.vertices, BALL.vertices + np.array([0.4, 0.013, 0.007])]),
        np.concatenate([BALL.faces, BALL.faces + BALL.n_vertices]),
        name="arm in hip",
    )
    x = sheet("cloth", 1.0).vertices
    x = x.copy()
    x[40] = [0.2, 0.0, 0.0]  # in both balls
    result = lying(two, two.vertices, x)
    worst = deepest_of(result)
    assert worst.pinched
    assert worst.pairs == len(pliant.intersections(two)) > 0
    said = " ".join(run_warnings(result))
    assert "the body intersects itself there" in said
    assert "substeps" not in said
    assert "--eps" not in said


def test_the_deepest_point_is_one_that_the_referee_measures():
    """Two balls overlap; one vertex is pinched beside their intersection, another is inside of one of them alone."""
    shift = np.array([0.4, 0.013, 0.007])
    two = Mesh(
        np.concatenate([BALL.vertices, BALL.vertices + shift]),
        np.concatenate([BALL.faces, BALL.faces + BALL.n_vertices]),
    )
    corners = two.vertices[two.faces[pliant.intersections(two)[0, 0]]]
    x = sheet("cloth", 1.0).vertices.copy()
    x[40], x[0] = 0.98 * corners.mean(0), [-0.297, 0.0, 0.0]
    result = lying(two, two.vertices, x)
    referee = Referee(result.scene)
    state = result.scene.start()
    state.x[result.scene.rows(0)] = x
    least = referee.least_distance(state.x, state.pose)
    assert referee.pinched > 0
    assert referee.pinched_depth > -least > 0.0
    result = dataclasses.replace(result, least_distance=np.array([0.5, least]))
    assert deepest_of(result).depth == pytest.approx(-least, rel=1e-4)


def test_more_substeps_are_for_what_is_fast_and_a_larger_eps_for_what_is_shallow():
    x = sheet("cloth", 1.0).vertices.copy()
    x[40] = [0.0, 0.27, 0.0]
    fast = lying(BALL, BALL.vertices + np.array([0.0, 0.1, 0.0]), x + np.array([0.0, 0.1, 0.0]))
    assert "try more --substeps" in " ".join(run_warnings(fast))
    often = dataclasses.replace(fast, frame_substeps=np.array([0, 4 * 32]))  # as many as fast bodies get at most
    assert deepest_of(often).step == deepest_of(dataclasses.replace(fast, frame_substeps=np.array([0, 4]))).step / 32
    x = sheet("cloth", 0.299).vertices
    slow = lying(BALL, BALL.vertices, x)
    slow = dataclasses.replace(slow, x={0: np.stack([x, x])})
    said = " ".join(run_warnings(slow))
    assert "substeps" not in said
    assert "try a larger --eps" in said


def test_a_result_has_the_substeps_of_each_frame_and_the_contacts_with_obstacles():
    """A ball arrives at cloth in the second frame, too fast for the substeps that were given; layers touch before."""
    layers = [pliant.Body(sheet("one", 0.0)), pliant.Body(sheet("two", 0.0015))]

    down = np.tile(np.eye(3, 4), (2, 1, 1))
    down[1, 1, 3] = -0.1
    ball = pliant.Body(shapes.ball(0.05, 1, centre=(0.0, 0.13, 0.0)), obstacle=True, motion=Motion([0.0, 0.02], down))
    scene = pliant.Scene([*layers, ball], eps=0.004, thickness=0.002, gravity=(0.0, 0.0, 0.0))
    frames = []
    result = record(Simulation(scene, substeps=2, method="tree"), 2, progress=frames.append, measure=False)
    assert result.frame_substeps.tolist() == [0, *(frame.substeps for frame in frames)]
    assert result.substeps == 2 == frames[0].substeps < frames[1].substeps
    assert result.n_contacts[1] > 0
    assert result.n_obstacle_contacts[1] == 0 < result.n_obstacle_contacts[2] <= result.n_contacts[2]


def test_no_place_is_advised_to_what_refuses_it():
    result = lying(BALL, BALL.vertices, sheet("cloth", -1.0).vertices)
    below = {0: np.stack([sheet("cloth", -1.0).vertices] * 2)}
    result = dataclasses.replace(result, x=below, least_distance=np.array([0.5, 0.5]))
    result = dataclasses.replace(result, n_contacts=np.array([0, 7]), n_obstacle_contacts=np.zeros(2, np.int64))
    said = " ".join(run_warnings(result))
    assert "never touched" in said
    assert "--place above" not in said

"""Options of a method on the command line: listed, read, and refused before anything is made."""

import json
import pathlib

import pytest

from pliant import cli
from pliant.detect.methods import METHODS
from pliant.detect.options import options_of, parse_method


def test_methods_lists_every_option_with_its_values_and_default(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "250")
    assert cli.run(["methods", "--json"]) == 0
    rows = {row["name"]: row["options"] for row in json.loads(capsys.readouterr().out)}
    assert {name: [option["name"] for option in options] for name, options in rows.items()} == {
        name: list(options_of(name)) for name in METHODS
    }
    volume = next(option for option in rows["bvh"] if option["name"] == "volume")
    assert volume == {
        "name": "volume",
        "values": "one of box, 14-dop, 18-dop, 26-dop, sphere, oriented",
        "default": "box",
    }
    assert cli.run(["methods"]) == 0
    told = capsys.readouterr().out
    assert "bottom-up" not in told
    assert "pliant methods NAME lists the options of a method" in told
    assert cli.run(["methods", "bvh"]) == 0
    told = capsys.readouterr().out
    assert "velocity_cones" not in told
    assert "bottom-up, top-down, hybrid, lazy, rebuild" in " ".join(told.split())


def test_methods_of_one_method_with_options_tells_its_class_with_them_and_an_example_of_its_own(capsys):
    assert cli.run(["methods", "distance-field:field=planar"]) == 0
    told = " ".join(capsys.readouterr().out.split())  # lines are as wide as the terminal
    for words in (
        "on skinned bodies: distance-field C",
        "as given: distance-field:field=planar C",
        "name of a method: distance-field:",
    ):
        assert words in told
    assert cli.run(["methods", "bvh:volume=OBB", "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert (row["chosen"], row["chosen_guarantee"]) == ("bvh:volume=oriented", "A")
    for name in METHODS:
        assert cli.run(["methods", name]) == 0
        last = " ".join(capsys.readouterr().out.split()).split("name of a method: ")
        assert len(last) == 1 or parse_method(last[1].split()[0]).options


@pytest.mark.parametrize(
    ("word", "name"), [("sdf", "distance-field"), ("SDF", "distance-field"), ("ccd", "continuous")]
)
def test_a_word_of_the_field_suggests_the_method(word, name, capsys):
    assert cli.run(["methods", word]) == 2
    assert f"unknown method '{word}'; did you mean '{name}'?" in capsys.readouterr().err


@pytest.mark.parametrize(
    "command",
    [
        ["drape", "--scene", "ribbon", "--method"],
        ["drape", "--scene", "ribbon", "--self-method"],
        ["play", "ribbon", "--method"],
        ["compare", "ribbon", "--methods"],
        ["methods"],
    ],
)
@pytest.mark.parametrize(
    ("text", "told"),
    [("bvh:volume=cube", "unknown volume 'cube'"), ("bvh:sides=3", "no option 'sides'"), ("hvb:arity=2", "'hvb'")],
)
def test_a_wrong_option_is_one_line_before_anything_is_made(command, text, told, capsys):
    assert cli.run([*command, text]) == 2
    said = capsys.readouterr().err
    assert told in said
    assert "making" not in said
    assert len(said.strip().splitlines()) == 1


@pytest.mark.compiled
def test_a_file_and_the_command_line_give_options_and_the_table_names_them(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, capsys
):
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "run.toml"
    file.write_text('scene = "tablecloth-on-ball"\nmethod = "bvh:volume=18-dop,leaf=4"\nframes = 1\nresolution = 6\n')
    assert cli.run(["drape", "--config", "run.toml", "--json", "-o", "a.npz"]) == 0
    method = json.loads(capsys.readouterr().out)["method"]
    assert method == {"name": "bvh", "why": "requested", "options": {"volume": "18-dop", "leaf": 4}}


@pytest.mark.parametrize("command", [["drape", "--scene", "tablecloth-on-ball"], ["play", "tablecloth-on-ball"]])
@pytest.mark.parametrize("method", [[], ["--method", "bvh"], ["--method", "auto"]])
def test_steps_by_events_without_times_of_impact_are_one_line_before_anything_is_made(command, method, capsys):
    assert cli.run([*command, *method, "--stepping", "events"]) == 2
    said = capsys.readouterr().err
    assert "--stepping events needs times of impact" in said
    assert "add --method continuous" in said
    assert len(said.strip().splitlines()) == 1


@pytest.mark.compiled
def test_steps_by_events_in_a_scene_without_obstacles_name_the_other_option(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    alone = ["drape", "--scene", "twist", "--resolution", "6", "--frames", "1", "--stepping", "events"]
    assert cli.run([*alone, "--method", "continuous"]) == 2
    assert "choose continuous for self-contact" in capsys.readouterr().err
    assert cli.run([*alone, "--self-method", "continuous"]) == 0


@pytest.mark.compiled
def test_the_table_counts_the_events_at_which_substeps_were_divided(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    run = ["drape", "--scene", "tablecloth-on-ball", "--resolution", "6", "--frames", "10", "--method", "continuous"]
    run += ["--dt", "0.05", "--substeps", "2", "--self-contact", "off", "-o", "a.npz"]
    counts = {}
    for stepping in ("fixed", "events"):
        assert cli.run([*run, "--stepping", stepping, "--json"]) == 0
        counts[stepping] = json.loads(capsys.readouterr().out)["events"]
    assert counts["fixed"] is None
    assert counts["events"] > 0
    assert cli.run([*run, "--stepping", "events"]) == 0
    assert f"{counts['events']} times of impact divided substeps" in " ".join(capsys.readouterr().out.split())

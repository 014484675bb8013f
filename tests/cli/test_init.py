"""`pliant init`: a scene file that runs, and in which every option of drape is explained and set as it should be."""

import re
import tomllib

import pytest

import pliant
from pliant import cli
from pliant.cli import init


def run(*tokens):
    return cli.run(["drape", "--config", "scene.toml", "--out", "out.npz", *tokens])


@pytest.mark.compiled
def test_the_file_runs_as_it_is(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert cli.run(["init"]) == 0
    assert "wrote scene.toml; run it: pliant drape --config scene.toml" in capsys.readouterr().err
    assert run("--frames", "2", "--resolution", "8") == 0
    assert {path.name for path in tmp_path.iterdir()} == {"scene.toml", "out.npz", "scene.html"}


def test_files_that_are_given_are_in_effect(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    pliant.save("skirt.obj", pliant.shapes.cloth(0.3, 0.3, 4, centre=(0.0, 0.25, 0.0)))
    pliant.save("body.obj", pliant.shapes.ball(0.2, 2))
    assert cli.run(["init", "worn.toml", "--cloth", "skirt.obj", "--body", "body.obj"]) == 0
    effect = {"cloth": "skirt.obj", "body": "body.obj", "out": "worn.glb", "replay": "worn.html"}
    assert tomllib.loads((tmp_path / "worn.toml").read_text("utf-8")) == effect
    assert cli.run(["init", "worn.toml"]) == 2
    assert "worn.toml exists already; name another file" in capsys.readouterr().err
    assert cli.run(["init", "a.toml", "--cloth", "skirt.obj"]) == 2
    assert "--cloth skirt.obj needs the body" in capsys.readouterr().err


def test_every_option_is_explained_once_and_its_value_is_one_that_it_takes(tmp_path):
    text = init.text("scene.toml", {})
    options = re.findall(r"^# ([a-z-]+) = (.*)$", text, re.M)
    names = {a.names[0][2:].removeprefix("material.") for a in cli.arguments_of("drape") if a.show and a.names}
    # the name of a material alone is an option of the command line, in a file it is in the table
    assert sorted(name for name, _ in options) == sorted({*names, "name"} - {"config", "json", "material"})
    material = text.index("# [material]")
    for name, value in options:
        table = "[material]\n" if text.index(f"\n# {name} = {value}\n") > material else ""
        (tmp_path / "one.toml").write_text(f"{table}{name} = {value}\n", "utf-8")
        tokens = ["drape", "--config", str(tmp_path / "one.toml")]
        app = cli._app(tokens)
        app.config = cli_toml(tmp_path / "one.toml")
        _, bound, _ = app.parse_args(tokens, exit_on_error=False, print_error=False)
        taken = {**bound.arguments, **{k: v for part in bound.arguments.values() for k, v in vars_of(part).items()}}
        assert taken.get(name.replace("-", "_")) not in (None, ()), name
    assert max(map(len, text.splitlines())) <= init.WIDTH


def vars_of(value):
    return vars(value) if hasattr(value, "__dataclass_fields__") else {}


def cli_toml(path):
    import cyclopts

    return cyclopts.config.Toml(path, must_exist=True, use_commands_as_keys=False)

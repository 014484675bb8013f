"""Every option of every command with values that are none: exit code 2, and one line that says so."""

import types
import typing

import pytest

import pliant
from characters import post, sleeve
from pliant import cli

LENGTH = "a length such as 2mm or 0.002 (units: m, cm, mm, in, ft)"
NO_OPTION = "neither pliant nor a command of it has the option"
GOOD = {
    "drape": ["skirt.obj", "--body", "body.obj", "--frames", "1"],
    "play": ["cylinders", "--port", "99999"],  # so that nothing is served where a value passes
    "check": ["skirt.obj", "--body", "body.obj"],
    "compare": ["skirt.obj", "body.obj"],
    "sweep": ["sweep.toml", "--plan"],
    "bind": ["sleeve.obj", "post.glb", "--out", "out.glb", "--check-frames", "0"],
    "fix": ["skirt.obj", "--body", "body.obj", "--out", "out.obj"],
    "field": ["body.obj"],
    "tets": ["body.obj"],
    "bench": ["no-such-benchmark"],
    "methods": [],
    "materials": [],
    "init": ["body.obj"],  # a file that is there
    "samples": ["body.obj"],  # a file, not a folder, so that nothing is written where a value passes
    "doctor": [],
}


def kinds(hint: object) -> list[object]:
    """The plain types that an annotation allows."""
    origin = typing.get_origin(hint)
    if origin is typing.Annotated:
        return kinds(typing.get_args(hint)[0])
    if origin in (typing.Union, types.UnionType):
        return [kind for part in typing.get_args(hint) for kind in kinds(part)]
    return [hint]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pliant.save("skirt.obj", pliant.shapes.cloth(0.3, 0.3, 3, centre=(0.0, 0.205, 0.0)))
    pliant.save("body.obj", pliant.shapes.box(0.4, 1))
    pliant.save("sleeve.obj", sleeve(rings=3, around=8))
    pliant.save_character("post.glb", post(rings=4, around=8))
    (tmp_path / "sweep.toml").write_text('run = "check"\ngarments = ["skirt.obj"]\nbodies = ["body.obj"]\n')
    return tmp_path


@pytest.mark.parametrize("command", cli.COMMANDS)
def test_an_option_with_a_value_that_is_none_is_told_in_one_line(folder, capsys, command):
    assert set(GOOD) == set(cli.COMMANDS)
    for argument in cli._app([command])[command].assemble_argument_collection():
        option = next((name for name in argument.names if name.startswith("--")), None)
        if option is None or not argument.parse:
            continue
        allowed = kinds(argument.hint)
        wrong = ["abc", "nan", "-inf"] if {int, float} & set(allowed) and str not in allowed else []
        wrong += ["maybe"] if allowed == [bool] else []
        for value in wrong:
            code = cli.run([command, *GOOD[command], f"{option}={value}"])
            said = capsys.readouterr().err.strip().splitlines()
            assert code == 2, (option, value, said)
            assert sum("error:" in line for line in said) == 1, (option, value, said)


@pytest.mark.parametrize("command", cli.COMMANDS)
def test_an_option_that_there_is_not_is_told_in_one_line(folder, capsys, command):
    assert cli.run([command, *GOOD[command], "--no-such-option", "1"]) == 2
    said = capsys.readouterr().err.strip()
    assert "--no-such-option" in said
    assert "\n" not in said


def test_a_misspelt_option_is_answered_with_the_right_one(folder, capsys):
    assert cli.run(["check", *GOOD["check"], "--max-insde", "1"]) == 2
    assert "--max-inside" in capsys.readouterr().err


def test_a_file_too_many_is_named_with_the_command(capsys):
    assert cli.run(["field", "shirt.obj", "body.obj"]) == 2
    said = "pliant field takes no further file or word: body.obj; other files are options, see pliant field --help"
    assert capsys.readouterr().err == f"error: {said}\n"


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("fix a.obj", "pliant fix needs --out; see pliant fix --help"),
        ("tets", "pliant tets needs a file, --surface; see pliant tets --help"),
        ("fix a.obj -o", "-o needs the name of a file"),
        ("tets a.obj --size -1mm", "--size needs a value; one that begins with a minus is written --size=-1"),
        ("drape --wind 1 2 --frames 2", "--wind takes 3 values, and 2 follow"),
        ("drape --gravity 1 2 x", "--gravity is 'x'; expected a number"),
        ("drape --frames abc", "--frames is 'abc'; expected a whole number"),
        ("drape --frames 2.5", "--frames is '2.5'; expected a whole number"),
        ("check a.obj --every=1.5", "--every is '1.5'; expected a whole number"),
        ("drape --config frames.toml", "--frames is '2.5'; expected a whole number"),
        ("drape --config truth.toml", "--frames is 'True'; expected a whole number"),
        ("drape --config part.toml", "--material.density is 'heavy'; expected a number"),
        ("drape --config table.toml", "table.toml: options stand at the top of the file, without a table [drape]"),
        ("drape --json=3", "--json is '3'; it is a switch, which takes no value"),
        ("drape --body=", "--body needs the name of a file"),
        ("drape --frames 0", "--frames = 0 must be at least 1"),
        ("drape --material.density -1", "--material.density = -1 must be greater than 0"),
        ("tets body.obj --size 1nm", f"--size is '1nm'; expected {LENGTH}"),
        ("field body.obj --resolution 1000000", "--resolution = 1000000 must be in 2..100000"),
        ("drape --fps 30", "--fps is for a BODY that is a sequence of meshes; give both as files"),
        ("-v", f"{NO_OPTION} -v; pliant --version prints the version; see pliant --help"),
        ("--jsn=1", f"{NO_OPTION} --jsn=1; see pliant --help"),
        ("--json", "--json stands before the command; write pliant COMMAND --json, see pliant --help"),
    ],
)
def test_wrong_usage_is_answered_in_the_words_that_were_typed(folder, capsys, typed, said):
    (folder / "frames.toml").write_text("frames = 2.5\n")
    (folder / "truth.toml").write_text("frames = true\n")
    (folder / "part.toml").write_text("[material]\ndensity = 'heavy'\n")
    (folder / "table.toml").write_text("[drape]\nframes = 2\n")
    assert cli.run(typed.split()) == 2
    assert capsys.readouterr().err.splitlines()[-1] == f"error: {said}"


def test_an_unknown_command_is_answered_with_all_that_there_are(capsys):
    assert cli.run(["drap"]) == 2
    assert capsys.readouterr().err == (
        f"error: unknown command 'drap'; did you mean 'drape'? one of: {', '.join(cli.COMMANDS)}\n"
    )

"""From a TOML file to runs: how many, in which order, under which names, and what is refused."""

import json

import pytest

from pliant import cli
from pliant.sweep.parameters import EARLIER
from pliant.sweep.plan import Run, plan_of, read_plan


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "skirt.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")
    (tmp_path / "body.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def drape(folder, **table):
    return plan_of({"run": "drape", "bodies": ["ball"], **table}, "x", folder)


def test_runs_are_every_combination_the_last_list_fastest(folder):
    plan = drape(folder, bodies=["ball", "body.obj"], product={"friction": [0.1, 0.2], "frames": [5, 6]})
    found = [tuple(run.named[k] for k in ("body", "friction", "frames")) for run in plan.runs]
    assert found == [(b, f, n) for b in ("ball", "body.obj") for f in (0.1, 0.2) for n in (5, 6)]
    assert plan.varied == ["body", "friction", "frames"]


def test_zipped_lists_go_together_files_too(folder):
    table = {"garments": ["skirt.obj", "skirt"], "bodies": ["body.obj", "mannequin"], "eps": ["2mm", 0.004]}
    plan = plan_of({"run": "drape", "zip": table}, "x", folder)
    found = [(run.named["garment"], run.named["body"], run.named["eps"]) for run in plan.runs]
    assert found == [("skirt.obj", "body.obj", 0.002), ("skirt", "mannequin", 0.004)]


def test_samples_are_the_same_for_the_same_seed_and_not_moved_by_another_parameter(folder):
    spread = {"count": 50, "seed": 4, "friction": [0, 1], "frames": [3, 5]}
    runs = drape(folder, random=spread).runs
    more = drape(folder, random=spread | {"material.bend": {"low": 1e-5, "high": 1e-2, "log": True}}).runs
    for name in ("friction", "frames"):
        assert [r.parameters[name] for r in runs] == [r.parameters[name] for r in more]
    assert {r.parameters["frames"] for r in runs} == {3, 4, 5}
    assert len({r.parameters["friction"] for r in runs}) == 50
    assert all(0.0 <= r.parameters["friction"] <= 1.0 for r in runs)
    assert sum(r.parameters["material.bend"] < 10**-3.5 for r in more) == pytest.approx(25, abs=12)


def test_vectors_are_values_and_lists_of_them_lists(folder):
    plan = drape(folder, fixed={"gravity": [0, -1, 0]}, product={"wind": [[0, 0, 1], [0, 0, 2]]})
    assert [run.parameters for run in plan.runs] == [{"gravity": [0, -1, 0], "wind": [0, 0, w]} for w in (1, 2)]


def test_what_holds_a_garment_is_text_or_a_list_of_texts(folder):
    held = {"pin": "top 3cm", "attach": ["shoulders", "waist"], "stitch": [["left 1mm", "right 1mm"]]}
    plan = drape(folder, fixed=held | {"rest-scale": [0.9, 1.0]}, product={"closing": [0.2, 0.4]})
    wanted = {"pin": ["top 3cm"], "attach": ["shoulders", "waist"], "stitch": [["left 1mm", "right 1mm"]]}
    assert [run.parameters for run in plan.runs] == [
        wanted | {"rest-scale": [0.9, 1.0], "closing": closing} for closing in (0.2, 0.4)
    ]
    for wrong in ({"pin": [3]}, {"stitch": ["left 1mm"]}, {"rest-scale": 0.0}, {"stitches": "here.txt"}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            drape(folder, fixed=wrong)


def test_ids_follow_what_is_computed_and_nothing_else(folder):
    def ids(**table):
        return [run.id for run in drape(folder, bodies=["body.obj"], **table).runs]

    first = ids(product={"friction": [0.1, 0.2]})
    assert len(set(first)) == 2
    assert ids(product={"friction": [0.2, 0.1]}) == first[::-1]
    assert ids(fixed={"friction": 0.1}) == first[:1]
    (folder / "body.obj").touch()
    assert ids(fixed={"friction": 0.1}) == first[:1]


def test_another_content_is_another_id_and_a_run_refuses_it(folder):
    run = drape(folder, bodies=["body.obj"]).runs[0]
    run.inputs["body"].check()
    (folder / "body.obj").write_text("v 0 0 0\nv 2 0 0\nv 0 1 0\nf 1 2 3\n")
    with pytest.raises(ValueError, match=r"body\.obj has changed since the sweep was started"):
        run.inputs["body"].check()


@pytest.mark.parametrize(("old", "new"), EARLIER.items())
def test_an_earlier_name_of_a_parameter_is_accepted_and_names_the_present_one(folder, old, new):
    kind = {"run": "bake"} if new == "slabs" else {"run": "check", "garments": ["skirt"]}
    with pytest.warns(DeprecationWarning, match=rf"\[product\] {old} is now {new}"):
        plan = plan_of(kind | {"bodies": ["ball"], "product": {old: [1, 2]}}, "x", folder)
    assert plan == plan_of(kind | {"bodies": ["ball"], "product": {new: [1, 2]}}, "x", folder)
    assert [run.parameters for run in plan.runs] == [{new: 1}, {new: 2}]


def test_a_run_survives_the_way_to_another_process(folder):
    run = drape(folder, bodies=["body.obj"], fixed={"wind": [0, 0, 1]}).runs[0]
    assert Run.of(json.loads(json.dumps(run.plain()))) == run


BAD = [
    ("run = ", "is not TOML"),
    ("bodies = ['ball']", "run is missing"),
    ("run = 'drap'", "did you mean 'drape'?"),
    ("run = 'drape'\nbodys = ['ball']", "did you mean 'bodies'?"),
    ("run = 'drape'", "bodies are missing"),
    ("run = 'drape'\nbodies = []", "bodies is an empty list"),
    ("run = 'drape'\nbodies = 'ball'", "expected a list"),
    ("run = 'drape'\nbodies = ['bal']", "no such file: bal; did you mean 'ball'?"),
    ("run = 'drape'\nbodies = ['no.obj']", "bodies[0]: no such file: no.obj"),
    ("run = 'drape'\nscenes = ['ribon']", "did you mean 'ribbon'?"),
    ("run = 'drape'\nscenes = ['ribbon']\nbodies = ['ball']", "either scenes or these"),
    ("run = 'check'\nbodies = ['ball']", "garments are missing"),
    ("run = 'bake'\ngarments = ['skirt']", "a bake reads only bodies"),
    ("run = 'drape'\nbodies = ['ball']\nfiles = ['gbl']", "did you mean 'glb'?"),
    ("run = 'drape'\nbodies = ['ball']\nthumbnails = 1", "expected true or false"),
    ("run = 'drape'\nbodies = ['ball']\n[fixed]\nfrction = 1", "did you mean 'friction'?"),
    ("run = 'drape'\nbodies = ['ball']\n[fixed]\nfriction = [1]", "or the list in [product]"),
    ("run = 'drape'\nbodies = ['ball']\n[fixed]\ndt = 2", "[fixed]: dt = 2 s is too long for one frame"),
    ("run = 'drape'\nbodies = ['ball']\n[fixed]\nfriction = -1", "[fixed]: friction = -1 must be at least 0"),
    ("run = 'drape'\nbodies = ['ball']\n[fixed]\nframes = true", "expected a number"),
    ("run = 'drape'\nbodies = ['ball']\n[fixed]\nwind = [1, 2]", "wind has shape (2,)"),
    ("run = 'drape'\nbodies = ['ball']\n[fixed]\nmethod = 'bhv'", "unknown method 'bhv'"),
    ("run = 'drape'\nbodies = ['ball']\n[product]\nframes = []", "[product] frames is an empty list"),
    ("run = 'drape'\nbodies = ['ball']\n[fixed]\nframes = 1\n[product]\nframes = [2]", "in [fixed] and in [product]"),
    ("run = 'drape'\nbodies = ['ball']\n[zip]\nframes = [2]\neps = [1, 2]", "frames has 1, eps has 2"),
    ("run = 'drape'\nbodies = ['ball']\n[random]\nfriction = [0, 1]", "[random] count"),
    ("run = 'drape'\nbodies = ['ball']\n[random]\ncount = 2\nfriction = [1, 0]", "expected low < high"),
    (
        "run = 'drape'\nbodies = ['ball']\n[random]\ncount = 2\nfriction = {choices = [1], low = 0}",
        "has choices and low; expected choices alone",
    ),
    (
        "run = 'drape'\nbodies = ['ball']\n[random]\ncount = 2\nframes = {low = 1, high = 9, log = true}",
        "frames is a whole number, drawn uniformly",
    ),
    (
        "run = 'drape'\nbodies = ['ball']\n[random]\ncount = 2\nfriction = {low = 1, high = 9, log = 1}",
        "log = 1; expected true or false",
    ),
    ("run = 'drape'\nbodies = ['ball']\n[random]\ncount = 10000000\nfriction = [0, 1]", "count"),
    ("run = 'drape'\nbodies = ['ball']\nfixed = 3", "expected a table: [fixed]"),
    ("run = 'check'\ngarments = ['skirt']\n[fixed]\nmax-body-pairs = 0", "max-body-pairs needs a body"),
    ("run = 'bake'\nbodies = ['ball']\n[fixed]\ntiles = 2\nslabs = 2", "[fixed] slabs is given twice"),
    ("run = 'bake'\nbodies = ['ball']\n[fixed]\ntiles = 2\n[product]\nslabs = [2]", "slabs is given in [fixed] and in"),
    ("run = 'check'\ngarments = ['skirt']\n[fixed]\nmax-depth = '-1mm'", "max-depth = -0.001 must be at least 0"),
]


@pytest.mark.parametrize(("text", "said"), BAD, ids=[said for _, said in BAD])
def test_a_bad_file_is_one_line_and_exit_code_2(folder, capsys, text, said):
    (folder / "s.toml").write_text(text)
    assert cli.run(["sweep", "s.toml"]) == 2
    out, talk = capsys.readouterr()
    assert out == ""
    assert talk.startswith("error: s.toml")
    assert said in talk
    assert talk.count("\n") == 1
    assert not (folder / "s").exists()


USE = [
    (["no.toml"], "no.toml: No such file"),
    (["s.toml", "--workers", "0"], "--workers = 0"),
    (["s.toml", "--workers", "2", "--scheduler", "tcp://x:1"], "--workers is for this machine"),
    (["s.toml", "--time-limit", "0"], "--time-limit = 0"),
    (["s.toml", "--memory", "much"], "--memory much"),
    (["s.toml", "--attempts", "0"], "--attempts = 0"),
    (["s.toml", "--out", "skirt.obj"], "skirt.obj is a file"),
    (["s.toml", "--out", "skirt.obj/under"], "cannot write"),
]


@pytest.mark.parametrize(("words", "said"), USE, ids=[" ".join(words) for words, _ in USE])
def test_bad_use_is_one_line_and_exit_code_2(folder, capsys, words, said):
    (folder / "s.toml").write_text("run = 'drape'\nbodies = ['body.obj']")
    assert cli.run(["sweep", *words]) == 2
    talk = capsys.readouterr().err.splitlines()[-1]
    assert talk.startswith("error: ")
    assert said in talk


def test_the_plan_is_shown_and_nothing_done(folder, capsys):
    (folder / "s.toml").write_text("run = 'drape'\nbodies = ['body.obj']\n[product]\nfriction = [0.25, 0.5]")
    assert cli.run(["sweep", "s.toml", "--plan", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [(row["state"], row["friction"]) for row in told["runs"]] == [("to do", 0.25), ("to do", 0.5)]
    assert [row["id"] for row in told["runs"]] == [run.id for run in read_plan("s.toml").runs]
    assert not (folder / "s").exists()

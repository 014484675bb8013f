"""Materials by name: what they are, how they reach a scene, and who refuses them."""

import dataclasses
import json

import pytest

import pliant
from pliant import cli, shapes
from pliant.materials.fabrics import MATERIALS, SOURCES
from pliant.scenes import SCENES, drape_scene
from pliant.view.sliders import with_parameter

SHEET = shapes.cloth(0.2, 0.2, 4)
BALL = pliant.Body(shapes.ball(0.1, 1, centre=(0.0, -0.3, 0.0)), obstacle=True)


def test_every_material_has_a_source_or_says_that_its_figures_are_chosen():
    fields = {field.name.removesuffix("_weft") for field in dataclasses.fields(pliant.Cloth)}
    fields -= {"damping", "air", "strain_limit"}  # alike in all
    for name, fabric in MATERIALS.items():
        assert set(fabric.sources) <= set(SOURCES), name
        assert set(fabric.chosen) <= fields, name
        assert fabric.sources or set(fabric.chosen) == fields, name
        assert all(getattr(fabric.cloth, field) is not None for field in ("thickness", "friction", "self_friction"))
    assert set(SOURCES) == {key for fabric in MATERIALS.values() for key in fabric.sources}


def test_a_material_is_accepted_by_name_wherever_a_cloth_is():
    assert pliant.Body(SHEET, material="silk").material == MATERIALS["silk"].cloth
    assert drape_scene(SHEET, BALL.mesh, place="above", material="denim").bodies[0].material == MATERIALS["denim"].cloth
    assert pliant.Cloth.named("silk", bend=1e-4) == dataclasses.replace(MATERIALS["silk"].cloth, bend=1e-4)


def test_an_unknown_name_is_refused_with_the_nearest_one():
    for call in (lambda: pliant.Cloth.named("slik"), lambda: pliant.Body(SHEET, material="slik")):
        with pytest.raises(ValueError, match="unknown material 'slik'; did you mean 'silk'"):
            call()


def test_friction_and_thickness_are_those_given_else_of_the_materials_else_the_defaults():
    plain, silk, wool = pliant.Body(SHEET), pliant.Body(SHEET, material="silk"), pliant.Body(SHEET, material="wool")

    def of(*cloths, **given):
        scene = pliant.Scene([*cloths, BALL], **given)
        return scene.friction, scene.self_friction, scene.thickness

    assert of(plain) == (0.3, 0.3, 0.005)
    assert of(plain, friction=0.7, eps=0.004) == (0.7, 0.7, 0.004)
    assert of(silk) == (0.25, 0.30, 0.15e-3)
    assert of(silk, friction=0.7, thickness=0.002) == (0.7, 0.30, 0.002)
    assert of(silk, self_friction=0.1) == (0.25, 0.1, 0.15e-3)
    assert of(silk, wool, plain) == (pytest.approx(0.35), pytest.approx(0.40), 0.5e-3)


def test_a_built_in_scene_keeps_its_own_friction_and_thickness_unless_a_material_is_named():
    assert SCENES["curtain"](resolution=4).thickness == 0.001
    assert SCENES["curtain"](resolution=4, material="denim").thickness == 0.9e-3
    assert SCENES["curtain"](resolution=4, material="denim", thickness=0.002).thickness == 0.002


def test_friction_among_cloth_is_that_of_cloth_on_cloth():
    silk = pliant.Body(SHEET, material="silk")
    scene = pliant.Scene([silk, BALL], self_contact="safe")
    assert scene.between_deformables.friction == 0.30
    sim = pliant.Simulation(scene, method="bvh")
    assert (sim.response.friction, sim.self_contact._cloth_response.friction) == (0.25, 0.30)


@pytest.mark.parametrize("scene", ["cylinders", "intestine", "liver", "creatures", "two-figures"])
def test_scenes_without_cloth_refuse_a_material_of_cloth(scene):
    for stuff in ("silk", pliant.Cloth()):
        with pytest.raises(ValueError, match=f"scene '{scene}' has (soft bodies|no deformable)"):
            SCENES[scene](material=stuff)


def test_sliders_change_warp_and_weft_in_proportion():
    scene = with_parameter(pliant.Scene([pliant.Body(SHEET, material="denim")]), "stretch", 2028.0)
    assert scene.bodies[0].material.stretch_by_direction == pytest.approx((2028.0, 410.0))


def test_a_material_too_stiff_for_xpbd_says_so_and_the_implicit_solver_carries_it(caplog):
    scene = pliant.Scene([pliant.Body(shapes.cloth(0.2, 0.2, 9), material="cotton", pins=[0, 8])])
    for solver, said in (("implicit", False), ("xpbd", True)):
        caplog.clear()
        pliant.Simulation(scene, substeps=4, solver=solver).step()
        assert ("xpbd carries about" in caplog.text) is said


def test_the_command_lists_every_material(capsys):
    assert cli.run(["materials"]) == 0
    table = capsys.readouterr().out
    assert all(name in table for name in MATERIALS)
    assert cli.run(["materials", "--json"]) == 0
    listed = {entry["name"]: entry for entry in json.loads(capsys.readouterr().out)}
    assert list(listed) == list(MATERIALS)
    assert listed["denim"]["stretch_weft_n_per_m"] == 205.0


def test_the_command_line_knows_names_beside_parameters_in_options_and_files(tmp_path, monkeypatch):
    seen = []
    monkeypatch.setitem(SCENES, "rod", lambda **options: seen.append(options.get("material")) or 1 / 0)
    config = tmp_path / "options.toml"
    config.write_text('[material]\nname = "silk"\nbend = 1e-5\n')
    calls = ["--material", "silk", "--material.bend", "1e-5"], ["--config", str(config)]
    for words in calls:
        cli.run(["drape", "--scene", "rod", *words])
    assert seen == [pliant.Cloth.named("silk", bend=1e-5)] * 2
    assert cli.run(["drape", "--scene", "rod", "--material", "silk", "--config", str(config)]) == 3  # the same name
    assert cli.run(["drape", "--scene", "rod", "--material", "wool", "--config", str(config)]) == 2

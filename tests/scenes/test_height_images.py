"""A height image as the obstacle itself, from Python and from the command line."""

import json

import numpy as np
import pytest
from PIL import Image

import pliant
from pliant.cli import run
from pliant.detect.choose import choose_method_for_scene
from pliant.detect.detectors.height_grid import HeightGridDetector
from pliant.mesh.height_image import HeightImage

pytestmark = pytest.mark.compiled


def hill(rows: int = 41, columns: int = 61) -> np.ndarray:
    """The brightness of a hill that is off the centre, to the right and to the far side."""
    z, x = np.mgrid[-1.0 : 1.0 : rows * 1j, -1.0 : 1.0 : columns * 1j]
    return np.asarray(0.1 + 0.8 * np.exp(-((x - 0.3) ** 2 + (z + 0.2) ** 2) / 0.2))


@pytest.fixture
def relief(tmp_path):
    """A PNG of 16 bits."""
    path = tmp_path / "relief.png"
    Image.fromarray(np.rint(hill() * 65535).astype(np.uint16)).save(path)
    return path


def test_the_plate_is_closed_and_its_top_is_the_image():
    image = HeightImage.of(hill(), size=0.6, scale=0.1, centre=(1.0, 2.0, 3.0))
    mesh = image.mesh
    assert mesh.issues.closed
    assert not mesh.issues.inward
    low, high = mesh.bounds
    np.testing.assert_allclose(high - low, [0.6, 0.1 * np.ptp(hill()) + 0.03, 0.4], atol=1e-12)
    top = mesh.vertices[np.argmax(mesh.vertices[:, 1])]
    row, column = np.unravel_index(np.argmax(hill()), hill().shape)
    np.testing.assert_allclose(top, [0.7 + 0.01 * column, 2.0 + 0.1 * hill().max(), 2.8 + 0.01 * row], atol=1e-12)


@pytest.mark.parametrize("count", [31, 121])
def test_an_image_is_interpolated_to_the_resolution_asked_for(count):
    image = HeightImage.of(hill(), size=0.6, scale=1.0, resolution=count)
    fine = HeightImage.of(hill(), size=0.6, scale=1.0)
    assert image.heights.shape == (round(2 * (count - 1) / 3) + 1, count)
    step = (count - 1) / 60
    np.testing.assert_allclose(image.heights[:: max(1, int(step)), :: max(1, int(step))].max(), hill().max(), atol=0.01)
    np.testing.assert_allclose(image.spacing * (count - 1), fine.spacing * 60)


def test_cloth_lies_on_an_image_without_a_mesh_of_ones_own():
    cloth = pliant.shapes.cloth(0.4, 0.3, 12)
    body = pliant.Body.height_image(hill(), size=0.6, scale=0.1)
    sheet = pliant.Body(cloth.moved(cloth.vertices + np.array([0.0, 0.13, 0.0])))
    scene = pliant.Scene([sheet, body], eps=0.006, self_contact="off")
    assert choose_method_for_scene(scene).name == "height-grid"
    run = pliant.Simulation(scene, method="auto")
    (detector,) = run.detectors
    assert isinstance(detector, HeightGridDetector)
    np.testing.assert_array_equal(detector.grids.grids[0].heights, 0.1 * hill())  # the image, not a rendering of it
    for _ in range(60):
        run.step()
    x = run.state.x[: cloth.n_vertices]
    distance = pliant.closest_point(body.mesh, x)[0]
    assert distance.min() > 0.0
    assert (distance < 0.02).mean() > 0.8


def test_the_command_drapes_a_cloth_on_an_image(relief, tmp_path, capsys):
    out, sheet = tmp_path / "run.npz", tmp_path / "sheet.png"
    given = ["drape", "--heights", str(relief), "--heights-size", "60cm", "--heights-scale", "10cm"]
    given += ["--resolution", "12", "--frames", "40", "-o", str(out), "--sheet", str(sheet), "--json"]
    assert run(given) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["method"]["name"] == "height-grid"
    assert sheet.stat().st_size > 1000


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (["--heights-size", "1"], "--heights-size is for a height image; give one with --heights"),
        (["--heights", "RELIEF", "--scene", "ribbon"], "has its own cloth and body; give either it or --heights"),
        (["--heights", "RELIEF", "--body", "RELIEF"], "is the obstacle itself; give either it or the body"),
        (["--heights", "RELIEF", "--heights-size", "0"], "--heights-size = 0 must be greater than 0"),
        (["--heights", "missing.png"], "no such file"),
    ],
)
def test_what_does_not_fit_together_is_said_in_one_line(given, words, relief, capsys):
    assert run(["drape", *(str(relief) if each == "RELIEF" else each for each in given)]) == 2
    assert words in capsys.readouterr().err


def test_a_height_image_is_an_obstacle_and_does_not_deform():
    image = HeightImage.of(hill(), size=0.6, scale=0.1)
    with pytest.raises(ValueError, match="is a height image; it can only be an obstacle"):
        pliant.Body(image.mesh, heights=image)
    with pytest.raises(ValueError, match="expected at least 2 x 2"):
        pliant.Body.height_image(np.zeros((1, 4)), size=1.0, scale=1.0)


def test_a_scene_in_which_nothing_is_detected_is_an_error():
    sheet = pliant.Body(pliant.shapes.cloth(0.3, 0.3, 4))
    grid = pliant.HeightGrid.of_picture(hill(), spacing=0.01)
    with pytest.raises(ValueError, match=r"no obstacle, so that no detector is made and option 'grids'.*height_image"):
        pliant.Simulation(pliant.Scene([sheet]), method="height-grid", options={"grids": grid})
    body = pliant.Body.height_image(hill(), size=0.6, scale=0.1)
    with pytest.raises(ValueError, match=r"^detectors is empty, but scene 'scene' has obstacles"):
        pliant.Simulation(pliant.Scene([sheet, body]), detectors=[])

"""Pictures show what is there: the cloth in its colour, its shadow, and the whole run in view."""

import numpy as np
import pytest
from PIL import Image

from pliant import Mesh, shapes
from pliant.kernels import jit
from pliant.motion.clip import Clip
from pliant.report.camera import Camera, lowest_seen
from pliant.report.pack import pack
from pliant.report.picture import render
from pliant.report.sheet import contact_sheet, spread
from report.scenes import RED, STONE, ball, drape, grid, rolling

# without the compiler even a postage stamp takes seconds
SMALL = {"width": 48, "height": 36, "samples": 2} if jit.COMPILED else {"width": 24, "height": 18, "samples": 1}
CLIPS = drape(5, 13, sides=8)


def redness(pixels: np.ndarray) -> np.ndarray:
    p = pixels.astype(float)
    return p[..., 0] - p[..., 1:].max(-1)


@pytest.fixture(scope="module")
def last() -> np.ndarray:
    return render(CLIPS, -1, **SMALL)


def test_the_cloth_is_red_and_in_the_middle(last):
    h, w, _ = last.shape
    assert np.median(redness(last[h // 2 : 3 * h // 4, 2 * w // 5 : 3 * w // 5])) > 60


def test_the_corners_of_the_picture_show_only_background(last):
    assert max(abs(redness(last[r, c])) for r in (0, -1) for c in (0, -1)) < 30


def test_the_same_picture_twice_is_the_same_bytes(last):
    before = jit.threads()
    try:
        for count in (1, 2):
            jit.set_threads(count)
            assert (render(CLIPS, -1, **SMALL) == last).all()
    finally:
        jit.set_threads(before)


def test_a_cloth_over_a_floor_darkens_it():
    mesh = grid(5, 1.0)
    low = Clip(mesh, mesh.vertices[None] + (0, 0.4, 0), RED)
    speck = Clip(ball(0.01, 4), ball(0.01, 4).vertices[None], STONE)
    camera = Camera((0.0, 2.0, 4.0), (0.0, 0.2, 0.0))
    empty, shaded = render([speck], 0, 40, 30, camera, samples=1), render([low, speck], 0, 40, 30, camera, samples=1)
    floor = np.abs(redness(shaded)) < 25
    darker = empty.astype(float).mean(2) - shaded.mean(2)
    assert darker[floor].max() > 25


def test_the_back_of_a_cloth_differs_from_its_front():
    mesh = grid(3, 1.0)
    up = Clip(mesh, mesh.vertices[None] @ [[1, 0, 0], [0, 0, -1], [0, 1, 0]], RED)
    front = render([up], 0, 9, 9, Camera((0, 0, 5), (0, 0, 0)), samples=1)[4, 4]
    back = render([up], 0, 9, 9, Camera((0, 0, -5), (0, 0, 0)), samples=1)[4, 4]
    assert not (front == back).all()


def test_the_camera_sees_every_vertex_of_every_frame_and_no_farther_than_needed():
    for aspect in (0.5, 1.0, 2.0):
        camera = Camera.framing(CLIPS, aspect, fill=1.0)
        points = np.concatenate([clip.frames.reshape(-1, 3) for clip in CLIPS])
        screen, _ = camera.project(points, round(100 * aspect), 100)
        part = screen[:, :2] / (100 * aspect, 100)
        assert part.min() > -1e-6
        assert part.max() < 1 + 1e-6
        assert np.ptp(part, axis=0).max() > 0.999


def test_cloth_that_falls_for_ever_does_not_make_a_speck_of_the_body():
    ball, cloth = shapes.ball(0.2, 2), shapes.cloth(0.5, 0.5, 5, centre=(0.0, 0.3, 0.0))
    falls = np.stack([cloth.vertices - (0.0, 0.02 * t**2, 0.0) for t in range(60)])
    clips = [Clip(cloth, falls), Clip(ball, ball.vertices[None])]
    screen, _ = Camera.framing(clips, 1.0).project(ball.vertices, 100, 100)
    assert np.ptp(screen[:, 1]) > 15.0
    assert pack(clips[0], lowest=lowest_seen(clips))["box"][0][1] == lowest_seen(clips) > -1.5


def test_what_lies_behind_the_camera_is_not_drawn():
    mesh = grid(3, 1.0)
    wall = Clip(mesh, mesh.vertices[None] @ [[1, 0, 0], [0, 0, -1], [0, 1, 0]] + (0, 0, 2), RED)
    pixels = render([wall], 0, 16, 12, Camera((0, 0, 0), (0, 0, -1)), samples=1)
    assert redness(pixels).max() < 25


def test_a_camera_that_looks_nowhere_is_refused():
    with pytest.raises(ValueError, match="eye and target are the same point"):
        Camera((1, 2, 3), (1, 2, 3))


def test_a_contact_sheet_has_its_tiles_and_its_size(tmp_path):
    path = tmp_path / "run.png"
    contact_sheet(CLIPS, 10, path, columns=2, frames=3, title="Cloth on a ball", tile=(40, 30), samples=1)
    sheet = np.asarray(Image.open(path))
    assert sheet.shape[1] == 4 + 2 * 44
    # two rows of tiles: the cloth shows in the first and in the second
    half = len(sheet) // 2
    assert min((redness(part) > 60).sum() for part in (sheet[:half], sheet[half:])) > 20


def test_pictures_follow_a_run_that_travels_far(tmp_path):
    shape = shapes.ball(0.5, 2)
    reds = []
    for travel in (0.0, 30.0):
        steps = np.linspace(0.0, travel, 3)[:, None, None] * [1.0, 0.0, 0.5]
        swell = np.array([1.0, 1.05, 1.0])[:, None, None]
        contact_sheet([Clip(shape, swell * shape.vertices + steps, RED)], 10, tmp_path / "run.png", tile=(40, 30))
        sheet = np.asarray(Image.open(tmp_path / "run.png"))
        tiles = [sheet[:, k : k + 44] for k in (0, 44, 88)]
        reds.append([int((redness(tile) > 60).sum()) for tile in tiles])
    near, far = reds
    assert min(near) > 100
    assert min(far) > 0.8 * min(near)


@pytest.mark.parametrize(
    ("count", "wanted", "expected"), [(150, 4, [0, 50, 99, 149]), (3, 6, [0, 1, 2]), (1, 6, [0]), (9, 1, [8])]
)
def test_frames_are_spread_with_the_first_and_the_last(count, wanted, expected):
    assert spread(count, wanted) == expected


def test_a_frame_that_is_not_there_is_refused_by_name():
    with pytest.raises(ValueError, match="frame = 5 but there are 5 frames"):
        render(CLIPS, 5, **SMALL)


def test_what_moves_as_a_whole_is_seen_where_it_is_in_each_frame():
    clip = rolling(5)
    camera = Camera.framing([clip], 4 / 3, azimuth=0.0, elevation=0.1)
    first, last = (render([clip], t, camera=camera, **SMALL).astype(float) for t in (0, 4))
    alone = [render([Clip(clip.mesh, clip.at(t)[None], STONE)], 0, camera=camera, **SMALL) for t in (0, 4)]
    assert np.abs(first - last).max() > 20
    half = first.shape[1] // 2
    assert np.abs(last - first)[:, half:].mean() > 1
    assert np.abs(first - alone[0]).mean() < 2
    assert np.abs(last - alone[1]).mean() < 2


def test_a_body_that_is_inside_out_is_lit_as_if_turned():
    body = ball(0.5)
    clips = [Clip(mesh, mesh.vertices[None], STONE) for mesh in (body, Mesh(body.vertices, body.faces[:, ::-1]))]
    seen, turned = (render([clip], 0, **SMALL) for clip in clips)
    assert np.array_equal(seen, turned)
    assert pack(clips[0])["faces"] == pack(clips[1])["faces"]

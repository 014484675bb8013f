"""What goes into a page comes out of it again, every frame within half a step of 16 bits."""

import base64
import json
import re
import zlib

import numpy as np
import pytest

from pliant.motion.clip import Clip
from pliant.report.pack import pack
from pliant.report.replay import iframe_html, replay_html, write_replay
from report.scenes import ball, drape, rolling


def unpack(text: str, dtype: str) -> np.ndarray:
    """The slow twin of static/decode.js: byte planes back to numbers."""
    planes = np.frombuffer(zlib.decompress(base64.b64decode(text)), np.uint8)
    return np.ascontiguousarray(planes.reshape(np.dtype(dtype).itemsize, -1).T).view(dtype).ravel()


def positions(packed: dict) -> np.ndarray:
    steps = unpack(packed["frames"], "<u2").reshape(packed["frameCount"], 3, packed["vertices"])
    steps = (steps >> 1) ^ np.where(steps & 1, 65535, 0).astype(np.uint16)
    whole = np.cumsum(steps, axis=2, dtype=np.uint16)
    whole[1:] = np.cumsum(whole[1:], axis=0, dtype=np.uint16)
    whole = np.cumsum(whole, axis=0, dtype=np.uint16).transpose(0, 2, 1).astype(np.int64)
    base = np.array(packed["base"])[:, None]
    return packed["low"] + (base + (whole - base) % 65536) * np.array(packed["step"])


def test_every_frame_comes_back_within_half_a_step():
    for clip in drape():
        packed = pack(clip)
        assert (np.abs(positions(packed) - clip.frames) <= np.array(packed["step"]) * 0.5 + 1e-12).all()


def test_faces_and_seams_come_back_exactly():
    clip = drape()[1]
    packed = pack(clip)
    faces = np.cumsum(unpack(packed["faces"], "<u4").reshape(-1, 3), axis=0, dtype=np.uint32)
    weld = np.cumsum(unpack(packed["weld"], "<u4"), dtype=np.uint32)
    assert (faces == clip.mesh.faces).all()
    assert (weld == clip.mesh.weld_index).all()


def test_random_motion_of_any_size_survives_the_packing(rng):
    mesh = ball(1.0, 4)
    for scale in (1e-9, 1.0, 1e9):
        clip = Clip(mesh, rng.normal(size=(5, mesh.n_vertices, 3)) * scale)
        packed = pack(clip)
        assert np.abs(positions(packed) - clip.frames).max() <= 0.51 * max(packed["step"])


def test_what_moves_as_a_whole_is_one_frame_and_its_poses():
    clip = rolling()
    packed = pack(clip)
    assert packed["frameCount"] == 1
    poses = unpack(packed["poses"], "<f4").reshape(-1, 3, 4)
    for t in (0, 7, 20):
        x = positions(packed)[0] @ poses[t, :, :3].T + poses[t, :, 3]
        assert np.abs(x - clip.at(t)).max() <= 1.01 * max(packed["step"])
    every = np.concatenate([clip.at(t) for t in range(21)])
    assert np.abs(packed["box"] - np.stack([every.min(0), every.max(0)])).max() < 1e-6
    assert len(replay_html([clip], 25)) < len(replay_html([clip.unrolled()], 25)) - 5_000


def test_a_flat_clip_keeps_its_plane_exactly():
    mesh = ball(1.0, 4)
    frames = mesh.vertices[None] * (1, 0, 1) + (0, 0.1, 0)
    assert (positions(pack(Clip(mesh, frames)))[..., 1] == 0.1).all()


def test_a_long_run_of_a_cloth_and_a_large_body_fits_into_two_and_a_half_megabytes(rng):
    cloth, _ = drape(150, 36)
    noise = rng.normal(scale=2e-4, size=cloth.frames.shape).astype(np.float32)  # a real run is not smooth
    body = ball(0.5, 88)
    clips = [Clip(cloth.mesh, cloth.frames + noise), Clip(body, body.vertices[None])]
    assert body.n_vertices > 15_000
    assert len(replay_html(clips, 50)) < 2.5e6


def test_text_of_the_run_cannot_leave_its_place_in_the_page():
    evil = "</script><script>alert(1)</script>{{run}}"
    page = replay_html(drape(3, 5), 25, title=evil, facts={evil: evil})
    assert "alert(1)</script>" not in page
    run = json.loads(re.search(r'<script id="run"[^>]*>(.*?)</script>', page, re.S)[1])
    assert run["facts"] == [[evil, evil]]


def test_the_page_asks_for_nothing_from_outside():
    page = replay_html(drape(3, 5), 25)
    assert not re.search(r"""(src|href)\s*=\s*["'](?!data:)|https?://|@import|fetch\(|XMLHttpRequest""", page)


def test_a_page_for_a_notebook_is_one_escaped_attribute():
    frame = iframe_html('<p title="a">&amp;</p>', height=300)
    assert 'srcdoc="&lt;p title=&quot;a&quot;&gt;&amp;amp;&lt;/p&gt;"' in frame
    assert "height:300px" in frame


def test_a_written_page_replaces_the_old_one_whole(tmp_path):
    path = tmp_path / "run.html"
    path.write_text("old")
    write_replay(path, drape(3, 5), 25, title="ä → b")
    assert path.read_text("utf-8") == replay_html(drape(3, 5), 25, title="ä → b")
    assert list(tmp_path.iterdir()) == [path]


def nan_clip() -> Clip:
    clip = drape(3, 5)[0]
    clip.frames[1, 2, 0] = np.nan
    return clip


@pytest.mark.parametrize(
    ("clips", "fps", "message"),
    [
        ([], 25, "clips is empty"),
        ([nan_clip()], 25, r"clips\[0\].frames\[1, 2, 0\] is not finite \(nan\)"),
        (drape(3, 5) + drape(4, 5), 25, r"clips have \[3, 4\] frames"),
        ([*drape(3, 5), rolling(4)], 25, r"clips have \[3, 4\] frames"),
        (drape(3, 5), 0, "fps = 0 must be greater than 0"),
        (drape(3, 5), float("nan"), "fps = nan is not finite"),
    ],
)
def test_bad_runs_are_refused_by_name(clips, fps, message):
    with pytest.raises(ValueError, match=message):
        replay_html(clips, fps)


def test_a_cloth_that_travels_far_is_as_exact_as_one_that_stays():
    clip = drape()[0]
    away = np.linspace(0.0, 1.0, len(clip))[:, None, None] * (50.0, 0.0, -7.0)
    packed = pack(Clip(clip.mesh, clip.frames + away))
    assert max(packed["step"]) < 1.01 * max(pack(clip)["step"])
    assert (np.abs(positions(packed) - (clip.frames + away)) <= np.array(packed["step"]) * 0.5 + 1e-9).all()


def test_a_vertex_at_rest_is_at_rest_while_others_move(rng):
    clip = drape()[0]
    x = clip.frames.astype(np.float64)
    x[:, :40] = rng.uniform(-0.5, 0.5, (40, 3)) + 1e-7 * rng.normal(size=(len(x), 40, 3))  # far less than a step
    moved = np.ptp(positions(pack(Clip(clip.mesh, x)))[1:, :40], axis=0)
    assert (moved > 0).mean() < 0.02

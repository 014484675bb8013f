"""Characters from glTF against a slow twin, against pygfx, and against frames somebody else's skinning has stored."""

import pathlib

import numpy as np
import pytest

from characters import NaiveCharacter, human, made_character, naive_shape, small_character
from conftest import DATA, SEED, cases
from pliant import Character, Clip, load, load_character, save_animation, save_character

FILES = sorted(path.name for path in (DATA / "rigged").glob("*.gl*")) or ["none"]
pytestmark = pytest.mark.compiled


def moments(character: Character, clip: str) -> np.ndarray:
    """Before, in and after a clip, never at a key by chance."""
    return np.array([-0.1, 0.137, 0.5, 0.7713, 1.2]) * character.clips[clip].duration


@pytest.mark.skipif(not DATA.is_dir(), reason="no ../shared/data beside the checkout")
@pytest.mark.parametrize("name", FILES)
def test_the_default_pose_is_the_mesh_as_it_is_loaded(name: str) -> None:
    character, mesh = load_character(DATA / "rigged" / name), load(DATA / "rigged" / name)
    assert (character.mesh.faces == mesh.faces).all()
    assert np.abs(character.shape(None, 0.0) - mesh.vertices).max() <= 1e-14 * mesh.size


@pytest.mark.skipif(not DATA.is_dir(), reason="no ../shared/data beside the checkout")
@pytest.mark.parametrize("name", FILES)
def test_a_real_character_moves_as_its_slow_twin(name: str) -> None:
    path = DATA / "rigged" / name
    character, twin = load_character(path), NaiveCharacter(path)
    for k in range(0, len(character.clips), max(1, len(character.clips) // 3)):
        clip = list(character.clips)[k]
        for t in moments(character, clip)[1:4]:
            x = character.shape(clip, t)
            assert np.abs(x - naive_shape(character, twin, k, t)).max() <= 1e-12 * character.mesh.size
            assert np.ptp(x, 0).max() > 0.1 * character.mesh.size / 3**0.5


@pytest.mark.parametrize("seed", range(max(2, cases(60) // 10)))
def test_a_made_up_character_moves_as_its_slow_twin(tmp_path: pathlib.Path, seed: int) -> None:
    rng = np.random.default_rng([SEED, seed])
    path = made_character(rng).save(tmp_path / "made.gltf")
    character, twin = load_character(path), NaiveCharacter(path)
    assert list(character.clips) == ["move", "move (2)", "move (3)"]
    for k, clip in enumerate(character.clips):
        for t in (*rng.uniform(0.0, 2.2, 3), float(character.clips[clip].tracks[0].times[-1])):
            x = naive_shape(character, twin, k, t)
            assert np.abs(character.shape(clip, t) - x).max() <= 1e-11 * np.abs(x).max()


def test_the_human_written_as_a_skinned_file_stands_where_its_stored_frames_are(
    data: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    save_character(tmp_path / "human.glb", human(data / "human"))
    character, frames = load_character(tmp_path / "human.glb"), np.load(data / "human" / "body.npz")["V_frames"]
    assert len(character.names) == 163
    worst = max(float(np.abs(character.shape("walk", k / 48) - frames[k]).max()) for k in range(len(frames)))
    print(f"the human differs from its stored frames by {worst:.2g} m")
    assert worst < 1e-6


def test_a_character_written_and_read_again_moves_as_before(tmp_path: pathlib.Path) -> None:
    before = load_character(made_character(np.random.default_rng(SEED), morphs=(0, 0, 2)).save(tmp_path / "made.gltf"))
    save_character(tmp_path / "again.glb", before)
    after = load_character(tmp_path / "again.glb")
    assert list(after.clips) == list(before.clips)
    for clip in (None, *before.clips):
        x = before.shape(clip, 0.7)
        assert np.abs(after.shape(clip, 0.7) - x).max() <= 1e-5 * np.abs(x).max()


@pytest.mark.parametrize("name", ["CesiumMan.glb", "RobotExpressive.glb", "MorphStressTest.glb"])
def test_frames_of_a_character_go_back_into_its_own_file(data: pathlib.Path, tmp_path: pathlib.Path, name: str) -> None:
    character = load_character(data / "rigged" / name)
    clip = next(iter(character.clips))
    frames = np.stack([character.shape(clip, t) for t in moments(character, clip)])
    save_animation(tmp_path / "played.glb", [Clip(character.mesh, frames)], 30.0)
    played = load_character(tmp_path / "played.glb")
    for k in range(len(frames)):
        assert np.abs(played.shape("pliant", k / 30) - frames[k]).max() < 1e-6 * character.mesh.size


def test_the_bind_shape_stands_where_the_joint_above_all_that_hold_it_does(tmp_path: pathlib.Path) -> None:
    """A hand in centimetres on an arm that the default pose has bent, and a ring that hangs on its finger."""
    made = small_character()
    made.json["nodes"] = [
        {"name": "root", "children": [1, 4], "scale": [0.01, 0.01, 0.01], "rotation": [0.6, 0, 0, 0.8]},
        {"name": "arm", "children": [2], "translation": [0, 90, 0], "rotation": [0, 0, 0.8, 0.6]},
        {"name": "finger", "children": [3], "translation": [0, 10, 0]},
        {"name": "ring", "mesh": 1, "translation": [0, 1, 0]},
        {"name": "hand", "mesh": 0, "skin": 0},
    ]
    inverse = np.tile(np.eye(4, dtype="<f4"), (3, 1, 1))
    inverse[:, 3, 1] = [0, -90, -100]  # the arm was straight when it was bound
    matrices = made.accessor(inverse[[0, 2, 1]], "MAT4")
    made.json["skins"] = [{"joints": [0, 2, 1], "inverseBindMatrices": matrices}]
    primitive = made.json["meshes"][0]["primitives"][0]
    primitive["attributes"]["JOINTS_0"] = made.accessor(np.tile(np.array([1, 2, 0, 0], "u1"), (4, 1)), "VEC4")
    made.json["meshes"].append({"primitives": [{"attributes": {"POSITION": 0}, "mode": 5}]})
    made.json["animations"] = []
    character = load_character(made.save(tmp_path / "hand.gltf"))
    assert np.abs(character.mesh.vertices - character.shape(None, 0.0)).max() < 1e-12
    assert character.mesh.size < 1.5
    above = {name: character.parents[k] for k, name in enumerate(character.names)}
    assert {name: character.names[k] for name, k in above.items() if k >= 0} == {
        "arm": "root",
        "finger": "arm",
        "ring": "finger",
    }


def test_units_and_the_axis_that_is_up_scale_and_turn_every_pose(tmp_path: pathlib.Path) -> None:
    path = made_character(np.random.default_rng(SEED)).save(tmp_path / "made.gltf")
    plain, turned = load_character(path), load_character(path, units="cm", up="z")
    x = 0.01 * plain.shape("move", 0.7)[:, [0, 2, 1]] * [1, 1, -1]
    assert np.abs(turned.shape("move", 0.7) - x).max() <= 1e-14 * np.abs(x).max()


def test_a_pose_has_the_same_bits_alone_and_among_others(tmp_path: pathlib.Path) -> None:
    character = load_character(made_character(np.random.default_rng(SEED)).save(tmp_path / "made.gltf"))
    times = np.linspace(-0.1, 2.1, 23)
    together = character.skin_matrices_at("move (2)", times)
    assert all((character.skin_matrices_at("move (2)", [t])[0] == row).all() for t, row in zip(times, together))


@pytest.mark.skipif(not DATA.is_dir(), reason="no ../shared/data beside the checkout")
@pytest.mark.parametrize("name", FILES)
def test_a_real_character_moves_as_pygfx_moves_it(name: str) -> None:
    """pygfx goes straight where a turn is small and keeps single precision: equal to a ten-thousandth of the size."""
    pytest.importorskip("pygfx", reason="needs `pip install pygfx gltflib imageio`")
    from pygfx.utils.load_gltf import _GLTF

    character = load_character(DATA / "rigged" / name)
    theirs = _GLTF()
    scene = theirs.load(str(DATA / "rigged" / name), True, False)
    worst = 0.0
    for clip, their_clip in zip(character.clips, scene.animations or []):
        for t in moments(character, clip):
            for track in their_clip.tracks:
                put(track, t)
            x = np.concatenate(
                [pygfx_positions(theirs._load_node(b.node), b.primitives[0]) for b in character.mesh.source.blocks]
            )
            worst = max(worst, float(np.abs(character.shape(clip, t) - x).max()) / character.mesh.size)
        # back to where the nodes stand: the next clip may leave some alone
        for k, node in enumerate(theirs._gltf.model.nodes):
            restore(theirs._load_node(k), node, theirs._gltf.model)
    print(f"{name}: differs from pygfx by {worst:.2g} of its size")
    assert worst < 1e-4


def put(track, t) -> None:
    value = track.interpolation(t)
    if track.path == "weights":
        for mesh in meshes(track.target):
            mesh.morph_target_influences = value
    else:
        setattr(track.target.local, {"translation": "position"}.get(track.path, track.path), value)


def restore(target, node, model) -> None:
    if node.matrix is None:
        target.local.position = node.translation or [0, 0, 0]
        target.local.rotation = node.rotation or [0, 0, 0, 1]
        target.local.scale = node.scale or [1, 1, 1]
    if node.mesh is not None:
        for mesh in meshes(target):
            if getattr(mesh.geometry, "morph_positions", None):
                count = len(model.meshes[node.mesh].primitives[0].targets)
                mesh.morph_target_influences = node.weights or model.meshes[node.mesh].weights or [0.0] * count


def meshes(target):
    import pygfx

    return [target] if isinstance(target, pygfx.Mesh) else [c for c in target.children if isinstance(c, pygfx.Mesh)]


def pygfx_positions(target, primitive: int) -> np.ndarray:
    """What pygfx's vertex shader computes, from its own matrices."""
    mesh = meshes(target)[primitive]
    x = mesh.geometry.positions.data.astype(np.float64)
    morphs = getattr(mesh.geometry, "morph_positions", None)
    if morphs:
        for w, target_x in zip(mesh.morph_target_influences, morphs):
            x = x + w * np.asarray(getattr(target_x, "data", target_x))
    h = np.column_stack([x, np.ones(len(x))])
    if not hasattr(mesh, "skeleton"):
        return (h @ mesh.world.matrix.T)[:, :3]
    bones, inverse = mesh.skeleton.bones, mesh.skeleton.bone_inverses
    matrices = np.array([bone.world.matrix @ m for bone, m in zip(bones, inverse)])
    joints, weights = mesh.geometry.skin_indices.data, mesh.geometry.skin_weights.data.astype(np.float64)
    blend = np.einsum("nk,nkij->nij", weights / weights.sum(1)[:, None], matrices[joints])
    return np.einsum("nij,nj->ni", blend, h)[:, :3]

"""meshopt's bitstreams and filters, Draco, and glTF files compressed with them, against independent encoders."""

import json
import pathlib
import subprocess

import numpy as np
import pytest

import meshopt_streams
import packed_files
from characters import small_character
from conftest import SEED, cases
from khronos import faults, needs_packages, needs_validator, packages
from pliant import MeshFileError, load, load_character, save, save_character, shapes
from pliant.io import draco
from pliant.io.meshopt import Packed, decode


def smooth_bytes(rng, count, stride):
    """Bytes with long runs, small steps and jumps, so that every width occurs."""
    steps = rng.choice([0, 0, 0, 1, 3, 9, 200], (count, stride)) * (rng.random((1, stride)) < 0.8)
    return (np.cumsum(steps, 0) % 256).astype(np.uint8)


@pytest.mark.parametrize("newer", [False, True])
def test_every_way_to_write_attributes_is_read(newer):
    rng = np.random.default_rng(SEED)
    for _ in range(cases(60)):
        stride = 4 * int(rng.choice([1, 2, 3, 4, 5, 16, 63, 64]))
        values = smooth_bytes(rng, int(rng.integers(1, 600)), stride)
        stream = meshopt_streams.attributes(values, rng, newer)
        packed = Packed("ATTRIBUTES", "NONE", len(values), stride)
        assert decode(stream, packed) == values.tobytes()
        for cut in rng.integers(0, len(stream), 3):
            with pytest.raises(ValueError, match="compressed data"):
                decode(stream[: int(cut)], packed)


def test_every_way_to_write_triangles_and_indices_is_read():
    rng = np.random.default_rng(SEED)
    mesh = shapes.cloth(1.0, 1.0, 9)
    for k in range(cases(60)):
        faces = mesh.faces.copy()
        if k % 3 == 0:
            faces = faces[rng.permutation(len(faces))]
        if k % 5 == 0:
            faces = rng.permutation(mesh.n_vertices)[faces]
        stream, held = meshopt_streams.triangles(faces, rng)
        got = np.frombuffer(decode(stream, Packed("TRIANGLES", "NONE", 3 * len(faces), 4)), "<u4").reshape(-1, 3)
        np.testing.assert_array_equal(got, held)
        line = faces.ravel()
        got = np.frombuffer(decode(meshopt_streams.indices(line, rng), Packed("INDICES", "NONE", len(line), 2)), "<u2")
        np.testing.assert_array_equal(got, line)


def test_an_index_too_large_for_its_array_is_refused():
    stream = meshopt_streams.indices([1, 70_000], np.random.default_rng(SEED))
    assert np.frombuffer(decode(stream, Packed("INDICES", "NONE", 2, 4)), "<u4").tolist() == [1, 70_000]
    with pytest.raises(ValueError, match="index 70000"):
        decode(stream, Packed("INDICES", "NONE", 2, 2))


def filtered(values, kind, stride):
    rng = np.random.default_rng(SEED)
    raw = np.ascontiguousarray(values).view(np.uint8).reshape(len(values), stride)
    return decode(meshopt_streams.attributes(raw, rng, True), Packed("ATTRIBUTES", kind, len(values), stride))


@pytest.mark.parametrize(("dtype", "stride"), [("<i1", 4), ("<i2", 8)])
def test_octahedral_normals_are_those_that_were_folded(dtype, stride):
    rng = np.random.default_rng(SEED)
    n = rng.normal(size=(200, 3))
    n /= np.linalg.norm(n, axis=1, keepdims=True)
    flat = n / np.abs(n).sum(1, keepdims=True)
    x, y = flat[:, 0], flat[:, 1]
    below = n[:, 2] < 0
    fold = np.where(below, (1 - np.abs(y)) * np.sign(x), x), np.where(below, (1 - np.abs(x)) * np.sign(y), y)
    most = np.iinfo(dtype).max
    stored = np.round(np.column_stack([*fold, np.ones(200), rng.uniform(-1, 1, 200)]) * most).astype(dtype)
    got = np.frombuffer(filtered(stored, "OCTAHEDRAL", stride), dtype).reshape(-1, 4)
    assert np.abs(got[:, :3] / most - n).max() < 4.0 / most
    np.testing.assert_array_equal(got[:, 3], stored[:, 3])


def test_quaternions_are_those_whose_largest_component_was_dropped():
    rng = np.random.default_rng(SEED)
    q = rng.normal(size=(200, 4))
    q /= np.linalg.norm(q, axis=1, keepdims=True)
    stored = np.zeros((200, 4), "<i2")
    for row, values in zip(stored, q):
        k = int(np.argmax(np.abs(values)))
        values *= np.sign(values[k])
        row[:3] = [round(values[(k + j) % 4] * np.sqrt(2.0) * 2047) for j in (1, 2, 3)]
        row[3] = 2047 & ~3 | k
    got = np.frombuffer(filtered(stored, "QUATERNION", 8), "<i2").reshape(-1, 4) / 32767
    assert np.abs(got - q).max() < 2e-3


def test_exponents_and_colours():
    words = np.array([[(-3 << 24) | (5 & 0xFFFFFF), (2 << 24) | (-7 & 0xFFFFFF), 12]], np.int64).astype("<i4")
    assert np.frombuffer(filtered(words, "EXPONENTIAL", 12), "<f4").tolist() == [0.625, -28.0, 12.0]
    largest = np.array([[(127 << 24) | 0x7FFFFF]], "<i4")
    assert np.isinf(np.frombuffer(filtered(largest, "EXPONENTIAL", 4), "<f4")), "without a warning of NumPy"
    for dtype, stride in (("<u1", 4), ("<u2", 8)):
        most = np.iinfo(dtype).max
        rgba = np.random.default_rng(SEED).integers(0, most + 1, (300, 4)).astype(np.int64)
        r, g, b = (rgba[:, :3] >> 1).T  # one bit fewer keeps the chroma in range
        co = (r - b) // 2
        cg = (g - b - co) // 2
        y = b + co + cg
        alpha = (most >> 1) + 1 | rgba[:, 3] >> 2
        stored = np.column_stack([y, co, cg, alpha]).astype(dtype)
        got = np.frombuffer(filtered(stored, "COLOR", stride), dtype).reshape(-1, 4).astype(np.int64)
        assert np.abs(got[:, :3] - np.column_stack([r, g, b])).max() <= 1
        low = alpha & (most >> 1)
        np.testing.assert_array_equal(got[:, 3], 2 * low + low % 2)


@pytest.mark.parametrize("name", [*packed_files.made()])
def test_a_compressed_file_loads_and_what_is_written_needs_no_extension(tmp_path, name):
    content, expected, tolerance = packed_files.made()[name]
    (tmp_path / f"{name}.glb").write_bytes(content)
    mesh = load(tmp_path / f"{name}.glb")
    assert np.abs(mesh.vertices[mesh.faces] - expected.vertices[expected.faces]).max() <= tolerance
    assert np.abs(mesh.uv - expected.uv).max() <= tolerance
    for out, written in (("same", mesh), ("moved", mesh.moved(mesh.vertices * 1.5))):
        save(tmp_path / f"{out}.glb", written)
        document = packed_files.json_of((tmp_path / f"{out}.glb").read_bytes())
        assert "compression" not in json.dumps(document)
        back = load(tmp_path / f"{out}.glb")
        assert np.abs(back.vertices - written.vertices).max() <= 1e-6
        np.testing.assert_array_equal(back.faces, mesh.faces)
        np.testing.assert_array_equal(back.uv, mesh.uv)


@needs_validator
def test_the_validator_finds_no_fault_in_what_is_written_from_compressed_files(tmp_path):
    for name, (content, _, _) in packed_files.made().items():
        (tmp_path / "in.glb").write_bytes(content)
        mesh = load(tmp_path / "in.glb")
        save(tmp_path / f"{name}.out.glb", mesh)
        save(tmp_path / f"{name}.moved.out.glb", mesh.moved(mesh.vertices + 1.0))
    assert faults(tmp_path.glob("*.out.glb")) == []


def test_without_its_library_a_draco_file_is_refused_unless_it_also_has_the_plain_data(tmp_path, monkeypatch):
    monkeypatch.setattr("pliant.io.gltf_packed.installed", lambda: False)
    content, expected, _ = packed_files.made()["draco"]
    path = tmp_path / "cloth.glb"
    path.write_bytes(content)
    with pytest.raises(
        MeshFileError, match=r"compressed with Draco; reading it needs DracoPy: pip install 'pliant\[gltf\]'"
    ):
        load(path)
    path.write_bytes(packed_files.draco_with_fallback())
    np.testing.assert_allclose(load(path).vertices, expected.vertices, atol=1e-6)


@pytest.mark.parametrize("name", ["meshopt", "draco"])
@pytest.mark.parametrize("said", [{}, 5, None])
def test_an_extension_that_says_nothing_is_an_error_and_no_mesh_of_zeros(tmp_path, name, said):
    content, _, _ = packed_files.made()[name]
    document = packed_files.json_of(content)
    primitive, view = document["meshes"][0]["primitives"][0], document["bufferViews"][0]
    for entry in (primitive, view):
        if "extensions" in entry:
            entry["extensions"] = dict.fromkeys(entry["extensions"], said)
    (tmp_path / "cloth.glb").write_bytes(packed_files.glb(document, packed_files.binary_of(content)))
    with pytest.raises(MeshFileError, match="compression"):
        load(tmp_path / "cloth.glb")


def test_the_command_that_decodes_draco_is_as_short_for_thousands_of_meshes(tmp_path, monkeypatch):
    words = []
    monkeypatch.setattr(
        "pliant.io.draco.answer", lambda file, command, library, inputs: words.extend(command) or ({}, {})
    )
    assert draco.decode(None, [b"mesh"] * 30_000, 10**9) == [{}] * 30_000
    assert max(map(len, words)) < 1000


@pytest.mark.parametrize("name", ["meshopt", "meshopt-fallback", "draco"])
def test_damaged_data_are_refused_in_the_words_of_the_file(tmp_path, name):
    content, _, _ = packed_files.made()[name]
    document, binary = packed_files.json_of(content), bytearray(packed_files.binary_of(content))
    path = tmp_path / "cloth.glb"
    view = packed_files.packed_views(document)[0]
    start = view.get("byteOffset", 0)
    for change in (b"\xff" * view["byteLength"], b"\0" * view["byteLength"]):
        broken = binary.copy()
        broken[start : start + view["byteLength"]] = change
        path.write_bytes(packed_files.glb(document, bytes(broken)))
        with pytest.raises(MeshFileError, match=r"compress|Draco"):
            load(path)
    view["byteLength"] = 10**9
    path.write_bytes(packed_files.glb(document, bytes(binary)))
    with pytest.raises(MeshFileError, match="ends at byte"):
        load(path)


def test_counts_that_the_compressed_bytes_cannot_hold_are_refused_before_they_are_allocated(tmp_path):
    content, _, _ = packed_files.made()["meshopt"]
    document, binary = packed_files.json_of(content), packed_files.binary_of(content)
    packed_files.packed_views(document)[0]["count"] = 3 * 10**9
    (tmp_path / "cloth.glb").write_bytes(packed_files.glb(document, binary))
    with pytest.raises(MeshFileError, match=r"more than .* bytes can hold"):
        load(tmp_path / "cloth.glb")


PACK = pathlib.Path(__file__).with_name("pack.mjs")
ENCODERS = ("meshoptimizer", "gltfpack", "draco3dgltf", "@gltf-transform/core", "@gltf-transform/extensions")
WAYS = (
    "meshopt-quantize",
    "meshopt-filter",
    "draco",
    "draco-sequential",
    "-c",
    "-cc",
    "-c -ce khr",
    "-cz -ce khr -vpf",
)


def packed_by_others(source, way, target):
    """Compress a file with the encoders of others; returns the same, decompressed by their decoders where they can."""
    node, folder = packages(*ENCODERS)
    plain = target.with_name(f"{target.stem}-plain.glb")
    if way.startswith("-"):
        command = [node, str(folder / "gltfpack" / "cli.js"), "-i", str(source), "-o", str(target), "-kn", *way.split()]
    else:
        command = [node, str(PACK), str(folder), way, str(source), str(target)]
    subprocess.run(command, check=True, capture_output=True, timeout=120)
    readable = target
    if "khr" in way:  # the decoders below do not know it: gltfpack writes the same content in the older format
        readable = target.with_name("ext.glb")
        subprocess.run(
            [*command[:5], str(readable), "-kn", *way.replace("khr", "ext").split()], check=True, timeout=120
        )
    subprocess.run([node, str(PACK), str(folder), "plain", str(readable), str(plain)], check=True, timeout=120)
    return plain


@needs_packages(*ENCODERS)
@pytest.mark.parametrize("way", WAYS)
def test_what_the_encoders_of_others_write_is_read_as_their_decoders_read_it(tmp_path, way):
    source = tmp_path / "source.glb"
    if "draco" in way:  # their encoder leaves morph targets as they are
        save(source, packed_files.cloth())
    else:
        source = small_character().save(source.with_suffix(".gltf"))
    packed = tmp_path / "packed.glb"
    plain = packed_by_others(source, way, packed)
    assert "compression" in json.dumps(packed_files.json_of(packed.read_bytes()))
    ours, theirs, given = load_character(packed), load_character(plain), load_character(source)
    np.testing.assert_array_equal(ours.mesh.faces, theirs.mesh.faces)
    assert list(ours.clips) == list(given.clips)
    for clip in (None, *ours.clips):
        for time in (0.0, 0.4):
            shape = ours.shape(clip, time)
            np.testing.assert_array_equal(shape, theirs.shape(clip, time))
    for side in (np.min, np.max):
        np.testing.assert_allclose(side(ours.shape(None, 0.0), 0), side(given.shape(None, 0.0), 0), atol=0.01)
    save_character(tmp_path / "again.out.glb", ours)
    np.testing.assert_allclose(
        load_character(tmp_path / "again.out.glb").shape(None, 0.0), ours.shape(None, 0.0), atol=1e-6
    )
    save(tmp_path / "mesh.out.glb", load(packed))
    mesh = load(packed)
    save(tmp_path / "moved.out.glb", mesh.moved(mesh.vertices + 0.25))
    for out in tmp_path.glob("*.out.glb"):
        assert "compression" not in json.dumps(packed_files.json_of(out.read_bytes()))
    # the small character itself has joints without weights, of which the validator warns
    assert [found for found in faults(tmp_path.glob("*.out.glb")) if found[1]] == []

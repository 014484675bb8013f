"""The cache of baked fields: the same bits as a live bake, and whatever is wrong with an entry is a miss (RF4, RF5)."""

import contextlib
import dataclasses
import json
import os
import pathlib
import pickle
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest

import pliant
from conftest import cases
from detect.made import octahedron, sheet
from pliant import DistanceField, Mesh
from pliant.detect.fields import cache
from pliant.errors import TooBigError
from time_limit import started

SMALL = {"resolution": 4, "band": 1.5}  # a file of a few kilobytes


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    """A cache of its own, in which everything is worth keeping."""
    monkeypatch.setenv("PLIANT_CACHE", str(tmp_path))
    monkeypatch.delenv("PLIANT_CACHE_LIMIT", raising=False)
    monkeypatch.setattr(cache, "WORTH", 0.0)
    return tmp_path / "fields"


@pytest.fixture
def bakes(monkeypatch):
    """Counts what is really baked."""
    done = []
    live = DistanceField.bake

    def counted(*args, **options):
        done.append(args)
        return live(*args, **options)

    counted.__signature__ = cache.inspect.signature(live)
    monkeypatch.setattr(DistanceField, "bake", counted)
    return done


def state(field):
    """Everything in a field but its mesh, as bytes and plain values."""
    values = {f.name: getattr(field, f.name) for f in dataclasses.fields(field) if f.name not in ("mesh", "grid")}
    values |= field.grid._asdict() | {"kind": type(field.grid)}
    return {name: (v.dtype.str, v.shape, v.tobytes()) if isinstance(v, np.ndarray) else v for name, v in values.items()}


def entry(home):
    (path,) = home.iterdir()
    return path


@pytest.mark.parametrize("storage", ["sparse", "dense"])
@pytest.mark.parametrize("mesh", [octahedron(1), sheet(3)], ids=["closed", "open"])
def test_a_field_from_the_cache_is_the_live_one_bit_for_bit(mesh, storage, bakes, rng):
    first, second = cache.baked(mesh, 8, storage=storage), cache.baked(mesh, 8, storage=storage)
    live = DistanceField.bake(mesh, 8, storage=storage)
    points = rng.normal(size=(40, 3)) * 0.5
    assert len(bakes) == 2  # the first, and the live one
    assert state(second) == state(first)
    assert {k: v for k, v in state(second).items() if k != "seconds"} == {
        k: v for k, v in state(live).items() if k != "seconds"
    }
    assert second.mesh is mesh
    for one, two in zip(second.sample(points), live.sample(points)):
        np.testing.assert_array_equal(one, two)


def test_reading_says_how_long_it_took_and_baking_says_none():
    assert cache.fetch_or_bake(octahedron(), **SMALL)[1] is None
    assert cache.fetch_or_bake(octahedron(), **SMALL)[1] > 0.0


def test_parameters_given_and_parameters_by_default_are_the_same_key():
    mesh = octahedron()
    assert cache.key_of(mesh) == cache.key_of(mesh, 128, band=3.0, sign="pseudonormal", spacing=None)


def test_anything_that_changes_the_field_changes_the_key(monkeypatch):
    mesh = octahedron()
    x = mesh.vertices.copy()
    x[0, 0] = np.nextafter(x[0, 0], 2)
    keys = [
        cache.key_of(mesh),
        cache.key_of(mesh.moved(x)),
        cache.key_of(Mesh(mesh.vertices, mesh.faces[::-1])),
        cache.key_of(Mesh(mesh.vertices, mesh.faces[:-1])),
        cache.key_of(mesh, 129),
        cache.key_of(mesh, spacing=0.1),
        cache.key_of(mesh, band=3.5),
        cache.key_of(mesh, sign="face"),
        cache.key_of(mesh, storage="dense"),
        cache.key_of(mesh, margin=0.1),
    ]
    monkeypatch.setattr(cache, "_code", lambda: "a kernel was edited")
    keys.append(cache.key_of(mesh))
    monkeypatch.setattr(cache, "MAGIC", b"pliant field 2\n")
    keys.append(cache.key_of(mesh))
    assert len(set(keys)) == len(keys)


def test_the_key_does_not_know_names_or_memory_limits():
    mesh = octahedron()
    renamed = dataclasses.replace(mesh, name="another")
    assert cache.key_of(mesh) == cache.key_of(renamed)
    cache.baked(mesh, **SMALL)
    found, seconds = cache.fetch_or_bake(renamed, **SMALL, max_bytes=1e9, progress=print)
    assert seconds is not None
    assert found.mesh.name == "another"


def test_an_entry_cut_at_any_length_is_a_miss(home):
    mesh = octahedron()
    whole = state(cache.baked(mesh, 2, band=1.0))
    path, key = entry(home), cache.key_of(mesh, 2, band=1.0)
    content = path.read_bytes()
    assert len(content) < 12_000
    for length in range(len(content)):
        path.write_bytes(content[:length])
        assert cache.read(path, key, mesh) is None
        assert not path.exists()
    path.write_bytes(content)
    assert state(cache.read(path, key, mesh)) == whole


def test_an_entry_with_any_flipped_bit_is_a_miss(home, rng):
    mesh = octahedron()
    cache.baked(mesh, **SMALL)
    path, key = entry(home), cache.key_of(mesh, **SMALL)
    content = np.frombuffer(path.read_bytes(), np.uint8)
    for at in (*range(300), *rng.integers(0, len(content), cases(300))):
        mutant = content.copy()
        mutant[at] ^= np.uint8(1 << int(rng.integers(8)))
        path.write_bytes(mutant.tobytes())
        assert cache.read(path, key, mesh) is None


def resealed(content, change):
    """An entry whose head was changed and whose hash fits again, as only a program could do it."""
    start = len(cache.MAGIC)
    stop = content.index(b"\n", start)
    head = json.loads(content[start:stop])
    body = cache.MAGIC + json.dumps(change(head)).encode() + content[stop : -cache._DIGEST]
    return body + cache.hashlib.sha256(body).digest()


CHANGES = {
    "another key": lambda head: head | {"key": "0" * 64},
    "objects": lambda head: head | {"arrays": [["values", "|O", [3]], *head["arrays"]]},
    "no arrays": lambda head: head | {"arrays": []},
    "too large": lambda head: head | {"arrays": [[n, d, [1 << 40]] for n, d, s in head["arrays"]]},
    "negative": lambda head: head | {"arrays": [[n, d, [-1]] for n, d, s in head["arrays"]]},
    "nonsense": lambda head: head | {"arrays": [["values", "no dtype", [1]]]},
    "an unknown name": lambda head: head | {"plain": head["plain"] | {"colour": "red"}},
    "no plain values": lambda head: {k: v for k, v in head.items() if k != "plain"},
    "another grid": lambda head: head | {"plain": head["plain"] | {"grid": "Dense"}},
    "an unknown grid": lambda head: head | {"plain": head["plain"] | {"grid": "DistanceField"}},
    "a list": lambda head: [head],
    "nothing": lambda head: None,
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_an_entry_that_says_something_else_is_made_again(home, bakes, change):
    mesh = octahedron()
    live = cache.baked(mesh, **SMALL)
    path = entry(home)
    path.write_bytes(resealed(path.read_bytes(), change))
    again = cache.baked(mesh, **SMALL)
    assert len(bakes) == 2
    assert state(again) | {"seconds": 0} == state(live) | {"seconds": 0}
    assert cache.fetch_or_bake(mesh, **SMALL)[1] is not None


class Bomb:
    def __reduce__(self):
        return os.mkdir, ("exploded",)


@pytest.mark.parametrize("how", ["pickle", "npz"])
def test_a_pickle_in_the_place_of_an_entry_is_a_miss_and_does_not_run(home, bakes, how, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    mesh = octahedron()
    cache.baked(mesh, **SMALL)
    path = entry(home)
    if how == "pickle":
        path.write_bytes(pickle.dumps(Bomb()))
    else:
        with path.open("wb") as stream:
            np.savez(stream, values=np.array([Bomb()], object))
    cache.baked(mesh, **SMALL)
    assert len(bakes) == 2
    assert not (tmp_path / "exploded").exists()


def test_the_entry_of_another_mesh_under_this_name_is_a_miss(home):
    one, two = octahedron(), octahedron(1)
    cache.baked(one, **SMALL)
    key = cache.key_of(two, **SMALL)
    path = cache.path_of(key)
    content = entry(home).read_bytes()
    path.write_bytes(resealed(content, lambda head: head | {"key": key}))
    assert cache.read(path, key, two) is None


def test_a_folder_that_cannot_be_written_is_no_error(tmp_path, monkeypatch, bakes):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("PLIANT_CACHE", str(tmp_path / "file"))
    for _ in range(2):
        cache.baked(octahedron(), **SMALL)
    assert len(bakes) == 2
    assert cache.usage() == (0, 0)


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() == 0, reason="needs a folder that refuses this user")
def test_a_read_only_folder_still_answers(home, bakes):
    cache.baked(octahedron(), **SMALL)
    home.chmod(0o555)
    try:
        cache.baked(octahedron(), **SMALL)
        cache.baked(octahedron(1), **SMALL)
    finally:
        home.chmod(0o755)
    assert len(bakes) == 2
    assert cache.usage()[0] == 1


def test_a_writer_that_the_disk_refuses_is_no_error(monkeypatch, bakes):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(cache, "atomic_write", full)
    cache.baked(octahedron(), **SMALL)
    assert len(bakes) == 1
    assert cache.usage() == (0, 0)


def test_a_cheap_bake_is_not_kept(monkeypatch):
    monkeypatch.setattr(cache, "WORTH", 1e9)
    cache.baked(octahedron(), **SMALL)
    assert cache.usage() == (0, 0)


def test_without_the_cache_nothing_is_read_or_written(bakes):
    for _ in range(2):
        cache.baked(octahedron(), **SMALL, cache=False)
    assert len(bakes) == 2
    assert cache.usage() == (0, 0)


def test_a_field_on_the_grid_of_another_is_not_kept():
    first = DistanceField.bake(octahedron(), **SMALL)
    cache.baked(octahedron(), like=first)
    assert cache.usage() == (0, 0)


def test_the_arrays_of_a_kept_field_are_read_only_like_those_of_a_live_one():
    # otherwise kernels would be compiled a second time, for arrays that can be written
    for field in (cache.baked(sheet(3), 8), cache.baked(sheet(3), 8)):
        assert not any(a.flags.writeable for a in field.grid if isinstance(a, np.ndarray))


def test_a_detector_takes_its_field_from_the_cache_unless_told_not_to(bakes):
    body, cloth = octahedron(), sheet(3, height=1.05)
    for options in ({}, {}, {"cache": False}):
        pliant.detector("distance-field", cloth, body, within=0.1, **options)
    assert len(bakes) == 2


def test_the_entries_used_longest_ago_go_first(home, monkeypatch):
    meshes = [octahedron().moved(octahedron().vertices * (k + 1)) for k in range(4)]
    for k, mesh in enumerate(meshes[:3]):
        cache.baked(mesh, **SMALL)
        os.utime(cache.path_of(cache.key_of(mesh, **SMALL)), (1000 + k, 1000 + k))
    cache.baked(meshes[0], **SMALL)  # used again, so the second is now the oldest
    size = cache.usage()[1] // 3
    monkeypatch.setenv("PLIANT_CACHE_LIMIT", str(3 * size + size // 2))
    cache.baked(meshes[3], **SMALL)
    kept = [cache.path_of(cache.key_of(mesh, **SMALL)).exists() for mesh in meshes]
    assert kept == [True, False, True, True]


def test_a_field_larger_than_the_limit_is_not_kept_and_displaces_nothing(monkeypatch):
    cache.baked(octahedron(), **SMALL)
    monkeypatch.setenv("PLIANT_CACHE_LIMIT", str(cache.usage()[1] + 10))
    cache.baked(octahedron(), 12)
    assert cache.usage()[0] == 1


@pytest.mark.parametrize(("text", "size"), [("", 2 << 30), ("500M", 500 << 20), ("1.5 g", None), ("1.5GiB", 3 << 29)])
def test_the_limit_is_read_from_the_environment(monkeypatch, text, size):
    monkeypatch.setenv("PLIANT_CACHE_LIMIT", text)
    if size is None:
        with pytest.raises(ValueError, match=r"PLIANT_CACHE_LIMIT = '1.5 g'; expected bytes as in 500M or 4G"):
            cache.limit()
    else:
        assert cache.limit() == size


def test_a_limit_of_zero_turns_the_cache_off(monkeypatch):
    monkeypatch.setenv("PLIANT_CACHE_LIMIT", "0")
    cache.baked(octahedron(), **SMALL)
    assert cache.usage() == (0, 0)


def test_what_a_killed_writer_left_is_swept_and_what_a_living_one_has_is_not(home):
    cache.baked(octahedron(), **SMALL)
    old, new = home / ".a.field.1-x.pliant-tmp", home / ".b.field.1-x.pliant-tmp"
    for path, age in ((old, 7200), (new, 10)):
        path.write_bytes(b"half")
        os.utime(path, (time.time() - age,) * 2)
    cache.baked(octahedron(1), **SMALL)
    assert (old.exists(), new.exists()) == (False, True)


def test_a_memory_limit_holds_for_the_cache_too():
    cache.baked(octahedron(), 12)
    with pytest.raises(TooBigError):
        cache.baked(octahedron(), 12, max_bytes=1000)


def test_bad_parameters_are_the_same_errors_as_without_the_cache():
    for options, error in (({"band": "wide"}, ValueError), ({"resolution": -1}, ValueError), ({"bend": 3}, TypeError)):
        with pytest.raises(error):
            cache.baked(octahedron(), **options)


EIGHT = textwrap.dedent("""
    import hashlib, os, sys
    import pliant
    from pliant.detect.fields import cache
    cache.WORTH = 0.0
    mesh = pliant.Mesh([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])
    cache.baked(mesh, 6)
    children = []
    while len(children) + 1 < int(sys.argv[1]):  # processes that all begin here, after the slow start
        child = os.fork()
        if not child:
            children.clear()
            break
        children.append(child)
    else:
        print("ready", flush=True)
    sys.stdin.readline()
    said = set()
    for k in range(40):
        key = cache.key_of(mesh, 6)
        path = cache.path_of(key)
        field = cache.read(path, key, mesh) or pliant.DistanceField.bake(mesh, 6)
        said.add(hashlib.sha256(field.values.tobytes()).hexdigest())
        cache.write(path, key, field)
    os.write(1, (" ".join(said) + "\\n").encode())  # in one write, or another process may write between
    sys.exit(any([os.waitpid(child, 0)[1] for child in children]))
""")


@pytest.mark.compiled
def test_eight_processes_that_share_the_folder_all_get_the_right_field(home):
    # without the compiler, which would have to compile into a new folder eight times
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    environment = os.environ | {"PLIANT_COMPILE": "0"}
    forked = 8 if sys.platform == "linux" else 1  # elsewhere a fork is missing or not safe, and each starts slowly
    command = [sys.executable, "-c", EIGHT, str(forked)]
    with contextlib.ExitStack() as stack:
        running = [stack.enter_context(started(command, env=environment, **pipes)) for _ in range(8 // forked)]
        for child in running:
            assert child.stdout.readline() == "ready\n"
        for child in running:  # all at once
            child.stdin.close()
        said = [line for child in running for line in child.stdout.read().splitlines()]
        assert [child.wait(120) for child in running] == [0] * len(running)
    assert len(said) == 8
    assert len(set(said)) == 1
    assert len(said[0].split()) == 1
    assert [path.suffix for path in home.iterdir()] == [".field"]


def test_pliant_cache_moves_it(tmp_path):
    assert cache.folder() == pathlib.Path(tmp_path) / "fields"

"""Twenty thousand mutants of small files, in a process with little memory to spare; and once-broken inputs, kept."""

import gzip
import importlib.util
import json
import pathlib
import subprocess
import sys
from typing import Any

import pytest

from conftest import SEED, cases

sys.path[:0] = [str(pathlib.Path(__file__).parent)]
from readers import READERS  # noqa: E402

FUZZ = pathlib.Path(__file__).with_name("fuzz.py")
_spec = importlib.util.spec_from_file_location("mesh_fuzz", FUZZ)
assert _spec is not None
assert _spec.loader is not None
fuzz = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(fuzz)
CORPUS = sorted(path for path in pathlib.Path(__file__).parents[1].joinpath("corpus").glob("*.*") if path.is_file())
KEPT = sorted(pathlib.Path(__file__).parents[1].joinpath("corpus").glob("*/*.*"))  # in a folder named after the reader


def test_mutants_load_or_are_refused_quickly_and_in_little_memory() -> None:
    count = max(cases(8_000), 1000)  # fewer say nothing
    run = subprocess.run(
        [sys.executable, str(FUZZ), "--cases", str(count), "--seed", str(SEED)],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert run.stdout, run.stderr[-3000:]
    said = json.loads(run.stdout)
    assert said["complaints"] == []
    assert said["bad"] == 0
    # mutants of which all or none are meshes would test nothing
    assert said["mesh"] > count // 20
    assert said["error"] > count // 4


def greedy(folder: pathlib.Path) -> list[pathlib.Path]:
    """Files of at most 64 KiB that ask for as much time and memory as their format allows."""
    zeros = {"componentType": 5126, "count": 60_000, "type": "VEC3"}
    few = {"componentType": 5126, "count": 90, "type": "VEC3"}
    bytes_4 = {"componentType": 5121, "count": 90, "type": "VEC4"}
    attributes = {"POSITION": 0, "JOINTS_0": 1, "WEIGHTS_0": 2}

    def scene(count: int, node: dict[str, Any], mesh: dict[str, Any], accessors: list[Any], **more: Any) -> bytes:
        top = {"asset": {"version": "2.0"}, "scenes": [{"nodes": list(range(count))}], "nodes": [node] * count}
        return json.dumps(top | {"meshes": [mesh], "accessors": accessors} | more, separators=(",", ":")).encode()

    targets = [{"POSITION": 0}] * 1000
    weights = [1] * 1000
    skin = {"joints": [k % 1000 for k in range(6000)]}
    msh = b"$MeshFormat\n4.1 0 8\n$EndMeshFormat\n$Nodes\n1 1 1 1\n3 1 0 1\n1\n0 0 0\n$EndNodes\n$Elements\n"
    old = msh.replace(b"4.1", b"2.2").replace(b"1 1 1 1\n3 1 0 1\n1\n", b"1\n1 ")
    vtu = b'<VTKFile type="UnstructuredGrid"><UnstructuredGrid><Piece NumberOfPoints="0" NumberOfCells="0">'
    end = b"</Piece></UnstructuredGrid></VTKFile>"
    found = {
        "blocks.msh": msh + b"7000 0 1 1\n" + b"3 1 4 0\n" * 7000 + b"$EndElements\n",
        "tags.msh": old + b"6000\n" + b"1 15 0 1\n" * 6000 + b"$EndElements\n",
        "keywords.mesh": b"MeshVersionFormatted 2\n" + b"a " * 30_000,
        "sections.mesh": b"MeshVersionFormatted 2\n" + b"Vertices\n1\n0 0 0 0\n" * 3000,
        "points.node": b"16000 3 0 0\n" + b"0 " * 30_000,
        "metadata.vtk": b"# vtk DataFile Version 5.1\n\nASCII\nDATASET UNSTRUCTURED_GRID\n" + b"METADATA\n\n" * 6000,
        "deep.vtu": vtu + b"<a>" * 20_000,
        "pieces.vtu": vtu + b'</Piece><Piece NumberOfPoints="0" NumberOfCells="0">' * 1000 + end,
        "attributes.vtu": vtu + b"<a " + b"".join(b'a%d="" ' % k for k in range(5000)) + b"/>" + end,
        "vertices.obj.gz": gzip.compress(b"v 0 0 0\n" * 500_000 + b"f 1 2 3\n"),
        "bomb.obj.gz": gzip.compress(b"v 0 0 0\n" * 5_000_000),
        "numbers.ply.gz": gzip.compress(fuzz.PLY.replace(b"vertex 4", b"vertex 500000") + b"0 0 0 0\n" * 500_000),
        "corners.obj": b"v 0 0 0\nv 1 0 0\nv 0 1 0\nf" + b" 1 2 3" * 10_000,
        "continued.obj": b"v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3 " + b"\\\n" * 30_000,
        "elements.ply": b"ply\nformat ascii 1.0\n" + b"element a 9\nproperty int b\n" * 2000 + b"end_header\n",
        "polygon.ply": fuzz.PLY.replace(b"face 2", b"face 1").split(b"4 0 1")[0] + b"30000 " + b"1 " * 30_000,
        "lists.ply": fuzz.PLY.replace(b"face 2", b"face 30000").split(b"4 0 1")[0] + b"3 0 1 2\n" + b"0 " * 30_000,
        "instances.gltf": scene(3000, {"mesh": 0}, {"primitives": [{"attributes": {"POSITION": 0}}]}, [zeros]),
        "faces.gltf": scene(9, {"mesh": 0}, {"primitives": [{"attributes": {"POSITION": 0}}] * 900}, [zeros]),
        "morphs.gltf": scene(
            2500,
            {"mesh": 0},
            {"primitives": [{"attributes": {"POSITION": 0}, "targets": targets}], "weights": weights},
            [few],
        ),
        "skins.gltf": scene(
            1000,
            {"mesh": 0, "skin": 0},
            {"primitives": [{"attributes": attributes}]},
            [few, bytes_4, bytes_4],
            skins=[skin],
        ),
    }
    for name, content in found.items():
        assert len(content) <= 64 << 10, (name, len(content))
        (folder / name).write_bytes(content)
    return [folder / name for name in found]


def test_a_greedy_small_file_gets_neither_time_nor_memory(tmp_path: pathlib.Path) -> None:
    paths = greedy(tmp_path)
    run = subprocess.run(
        [sys.executable, str(FUZZ), "--files", *map(str, paths)], capture_output=True, text=True, timeout=300
    )
    assert run.stdout, run.stderr[-3000:]
    said = json.loads(run.stdout)
    print(run.stderr)
    assert said["complaints"] == []
    assert said["mesh"] + said["error"] == len(paths)


@pytest.mark.parametrize("path", KEPT, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_what_once_broke_another_reader_no_longer_does(tmp_path: pathlib.Path, path: pathlib.Path) -> None:
    copy = tmp_path / path.name  # a reader may leave files beside it
    copy.write_bytes(path.read_bytes())
    READERS[path.parent.name].read(copy)


@pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.name)
def test_an_input_that_once_broke_something_no_longer_does(tmp_path: pathlib.Path, path: pathlib.Path) -> None:
    kind, why = fuzz.try_one(tmp_path / path.name, path.read_bytes(), save=True)
    assert kind != "bad", why

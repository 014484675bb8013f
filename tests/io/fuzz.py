"""Mutants of small mesh files: whatever they hold, `load` gives a mesh or a MeshFileError, soon and in little memory.

    python tests/io/fuzz.py --cases 20000 --seed 2003 [--only .obj] [--keep FOLDER]

Prints a JSON summary; exit code 1 and the offending inputs in FOLDER when something else came out. Mutants that are led
by coverage, of these and of all other readers, are in fuzz_coverage.py, those of Draco meshes in fuzz_draco.py.
"""

import argparse
import contextlib
import faulthandler
import gzip
import hashlib
import json
import os
import pathlib
import sys
import tempfile
import time
import warnings

import numpy as np

sys.path[:0] = [str(pathlib.Path(__file__).parents[1])]
import packed_files  # noqa: E402
import tet_files  # noqa: E402
import yardstick  # noqa: E402
from pliant import io  # noqa: E402
from pliant.errors import MeshFileError  # noqa: E402
from pliant.mesh import Mesh  # noqa: E402
from pliant.motion.clip import Clip  # noqa: E402

SECONDS, EXTRA_BYTES = 2.0, 512 << 20
NUMBERS = [b"0", b"-1", b"1e999", b"nan", b"4294967295", b"9999999999999999999999", b"1e12", b"2e12", b"-0", b"1_0"]

PARTNERS = {".node": (".ele", tet_files.ele(1)), ".ele": (".node", tet_files.node(1))}

OBJ = b"""# hand-made
mtllib none.mtl
o two f 1 2 3
v 0 0 0 1 0 0
v 1 0 0 \\
 0 1 0
v 1 1 0
v 0 1 0
vt 0 0\r
vt 1 0\r
vt 1 1
vn 0 0 1
usemtl red
f 1/1/1 2/2/1 3/3/1 4/1/1
f -4//1 -3//1 -2//1
l 1 2
"""
PLY = b"""ply
format ascii 1.0
comment hand-made
element vertex 4
property float x
property float y
property float z
property uchar red
element face 2
property list uchar int vertex_indices
end_header
0 0 0 255
1 0 0 255
1 1 0 0
0 1 0 0
4 0 1 2 3
3 0 2 3
"""
STL = b"""solid one
 facet normal 0 0 1
  outer loop
   vertex 0 0 0
   vertex 1 0 0
   vertex 0 1 0
  endloop
 endfacet
endsolid one
"""
OFF = b"""COFF
# hand-made
4 2 0
0 0 0 255 0 0
1 0 0 255 0 0
1 1 0 255 0 0
0 1 0 255 0 0
4 0 1 2 3
3 0 2 3 1.0 0.5 0.25
"""


def strip_gltf() -> bytes:
    """A .gltf with a strip, a fan, a sparse accessor, normalised integers, a node tree, a skin and a morph target."""
    x = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0]], "<f4")
    pieces = [
        x.tobytes(),
        np.array([0, 1, 2, 3], "u1").tobytes(),
        np.array([2], "<u2").tobytes() + b"\0\0",
        np.array([[0, 1, 1]], "<f4").tobytes(),
        np.zeros((4, 4), "u1").tobytes(),
        np.tile(np.array([[255, 0, 0, 0]], "u1"), (4, 1)).tobytes(),
        np.eye(4, dtype="<f4").tobytes(),
    ]
    import base64

    starts = np.cumsum([0, *map(len, pieces)]).tolist()
    views = [{"buffer": 0, "byteOffset": a, "byteLength": len(p)} for a, p in zip(starts, pieces)]
    sparse = {"count": 1, "indices": {"bufferView": 2, "componentType": 5123}, "values": {"bufferView": 3}}
    document = {
        "asset": {"version": "2.0"},
        "scene": 0,
        "scenes": [{"nodes": [0, 2]}],
        "nodes": [
            {"children": [1], "rotation": [0, 0, 0.6, 0.8], "scale": [1, 2, -1]},
            {"mesh": 0, "skin": 0, "translation": [1, 0, 0]},
            {"mesh": 1, "matrix": [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 5, 0, 0, 1]},
        ],
        "meshes": [
            {"primitives": [{"attributes": {"POSITION": 0, "JOINTS_0": 2, "WEIGHTS_0": 3}, "indices": 1, "mode": 5}]},
            {
                "primitives": [{"attributes": {"POSITION": 0}, "mode": 6, "targets": [{"POSITION": 4}], "material": 0}],
                "weights": [0.5],
            },
        ],
        "materials": [{"name": "red", "pbrMetallicRoughness": {"baseColorFactor": [1, 0, 0, 1]}}],
        "skins": [{"joints": [0], "inverseBindMatrices": 5}],
        "accessors": [
            {"bufferView": 0, "componentType": 5126, "count": 4, "type": "VEC3", "sparse": sparse},
            {"bufferView": 1, "componentType": 5121, "count": 4, "type": "SCALAR"},
            {"bufferView": 4, "componentType": 5121, "count": 4, "type": "VEC4"},
            {"bufferView": 5, "componentType": 5121, "count": 4, "type": "VEC4", "normalized": True},
            {"componentType": 5126, "count": 4, "type": "VEC3"},
            {"bufferView": 6, "componentType": 5126, "count": 1, "type": "MAT4"},
        ],
        "bufferViews": views,
        "buffers": [
            {
                "byteLength": starts[-1],
                "uri": "data:application/octet-stream;base64," + base64.b64encode(b"".join(pieces)).decode(),
            }
        ],
    }
    return json.dumps(document).encode()


def big_endian_ply(x: np.ndarray, faces: np.ndarray) -> bytes:
    """Triangles, and a quad at the end so that the rows differ in length."""
    head = (
        f"ply\nformat binary_big_endian 1.0\nelement vertex {len(x)}\nproperty float x\nproperty float y\n"
        f"property double z\nelement face {len(faces) + 1}\nproperty list uchar ushort vertex_index\nend_header\n"
    )
    rows = np.zeros(len(x), np.dtype([("x", ">f4"), ("y", ">f4"), ("z", ">f8")]))
    rows["x"], rows["y"], rows["z"] = x.T
    body = b"".join(b"\x03" + row.astype(">u2").tobytes() for row in faces)
    return head.encode() + rows.tobytes() + body + b"\x04" + np.arange(4, dtype=">u2").tobytes()


def seeds(folder: pathlib.Path) -> list[tuple[str, bytes]]:
    """(extension, content) of small valid files: every writer's output, and text by hand."""
    x = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], np.float64)
    faces = np.array([[0, 2, 1], [0, 1, 3], [1, 2, 3], [0, 3, 2]])
    uv = np.linspace(0, 1, 24).reshape(4, 3, 2)
    paint = ({"name": "red", "color": [1.0, 0.0, 0.0]}, {"name": "blue"})
    plain = Mesh(x, faces)
    rich = Mesh(x, faces, uv=uv, material=np.array([0, 0, 1, 1]), materials=paint)
    found = [(".obj", OBJ), (".ply", PLY), (".stl", STL), (".off", OFF), (".gltf", strip_gltf())]
    for mesh in (plain, rich):
        for kind in (".obj", ".ply", ".stl", ".off", ".glb", ".npz"):
            if io.FORMATS[kind].read:
                io.save(folder / f"seed{kind}", mesh)
                found.append((kind, (folder / f"seed{kind}").read_bytes()))
    io.save_animation(folder / "seed.glb", [Clip(plain, np.stack([x, x + 1.0]))], 30.0)
    found.append((".glb", (folder / "seed.glb").read_bytes()))
    found += tet_files.everything().values()
    found += [(".glb", content) for name, (content, _, _) in packed_files.made().items() if name != "draco"]
    assert all(len(content) <= 4096 for _, content in found), [(kind, len(content)) for kind, content in found]
    return [
        *found,
        (".ply", big_endian_ply(x, faces)),
        (".ply.gz", gzip.compress(PLY)),
        (".obj.gz", gzip.compress(OBJ)),
    ]


def mutate(rng: np.random.Generator, data: bytes, most: int = 4096) -> bytes:
    """One to three random edits, mostly one; no more than `most` bytes."""
    for _ in range(int(rng.choice([1, 1, 1, 2, 3]))):
        out = bytearray(data)
        at = int(rng.integers(0, len(out) + 1))
        size = int(rng.integers(1, 40))
        kind = int(rng.choice([0, 0, 0, 1, 2, 3, 4, 5, 6, 6, 6, 7, 8]))
        if kind == 0 and out:
            out[min(at, len(out) - 1)] ^= 1 << int(rng.integers(0, 8))
        elif kind == 1:
            del out[at:]
        elif kind == 2:
            out[at:at] = rng.bytes(size)
        elif kind == 3:
            out[at:at] = out[at : at + size]
        elif kind == 4:
            del out[at : at + size]
        elif kind == 5:
            lines = data.split(b"\n")
            del lines[int(rng.integers(0, len(lines)))]
            out = bytearray(b"\n".join(lines))
        elif kind == 6:
            out = bytearray(_swap_number(rng, data))
        elif kind == 7:
            word = int(rng.choice([0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x7FC00000]))
            out[at : at + 4] = word.to_bytes(4, "little")
        else:
            other = int(rng.integers(0, len(out) + 1))
            out[at:at] = out[other : other + 4 * size]
        data = bytes(out[:most])
    return data


def _swap_number(rng: np.random.Generator, data: bytes) -> bytes:
    """One run of digits replaced by a number from the list, or by another run of the file."""
    runs = [k for k in range(len(data)) if data[k : k + 1].isdigit() and not data[k - 1 : k].isdigit()]
    if not runs:
        return data
    start = int(rng.choice(runs))
    stop = start
    while data[stop : stop + 1].isdigit():
        stop += 1
    if rng.integers(0, 2):
        other = int(rng.choice(runs))
        return data[:start] + data[other : other + int(rng.integers(1, 4))] + data[stop:]
    return data[:start] + NUMBERS[int(rng.integers(0, len(NUMBERS)))] + data[stop:]


def try_one(path: pathlib.Path, data: bytes | None = None, *, save: bool = False) -> tuple[str, str]:
    """("mesh" | "error" | "bad", what happened); without data what lies at the path already is read."""
    if data is not None:
        path.write_bytes(data)
    if path.suffix in PARTNERS:  # a TetGen mesh is two files
        ending, content = PARTNERS[path.suffix]
        path.with_suffix(ending).write_bytes(content)
    start = time.process_time()  # of this process: a busy machine is not the reader's fault
    try:
        mesh = io.load(path)
        ok = mesh.n_faces > 0 and np.isfinite(mesh.vertices).all() and mesh.faces.max() < mesh.n_vertices
        said = ("mesh", "") if ok and mesh.faces.min() >= 0 else ("bad", "an invalid mesh came out")
        if save:
            for kind in (".glb", ".obj"):
                io.save(path.with_name(f"back{kind}"), mesh.moved(mesh.vertices * 0.5))
                io.load(path.with_name(f"back{kind}"))
    except MeshFileError as error:
        said = ("error", error.why)
        if "too large to read" in error.why:  # the memory guard struck inside a reader
            said = ("bad", "out of memory")
        if pathlib.Path(error.path).stem != path.stem:
            said = ("bad", f"what was saved does not load: {error}")
    except BaseException as error:
        said = ("bad", f"{type(error).__name__}: {error}")
    spent = time.process_time() - start
    return said if soon(spent) else ("bad", f"took {spent:.1f} s")


def soon(spent: float) -> bool:
    """Whether seconds of processor time that were just spent are no more than a file may take."""
    return spent <= SECONDS or spent <= SECONDS * yardstick.slowness()


def guard_memory() -> None:
    """No more than 512 MiB above what the process has now, where the platform can say so."""
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        pages = int(pathlib.Path("/proc/self/statm").read_text().split()[0])
        limit = pages * resource.getpagesize() + EXTRA_BYTES
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=2003)
    parser.add_argument("--only", default="", help="one extension")
    parser.add_argument("--keep", type=pathlib.Path, default=None, help="folder for inputs that broke something")
    parser.add_argument("--files", type=pathlib.Path, nargs="*", help="only these, as they are")
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)
    count = {"mesh": 0, "error": 0, "bad": 0}
    complaints: list[str] = []
    warnings.simplefilter("error")
    memory = "/dev/shm" if os.path.isdir("/dev/shm") else None  # writes wait for the disk otherwise
    with tempfile.TemporaryDirectory(dir=memory) as name:
        folder = pathlib.Path(name)
        inputs = [s for s in seeds(folder) if options.only in ("", s[0])]
        for kind, data in inputs:
            said = try_one(folder / f"seed{kind}", data)
            assert said[0] == "mesh", (kind, said)
        if options.files:
            guard_memory()
            for path in options.files:
                result, why = try_one(path, path.read_bytes())
                count[result] += 1
                complaints += [f"{path.name}: {why}"] * (result == "bad")
                print(path.name, result, why, f"{time.process_time():.2f} s so far", file=sys.stderr)
            print(json.dumps(count | {"complaints": complaints}))
            return 1 if count["bad"] else 0
        guard_memory()
        for k in range(options.cases):
            kind, data = inputs[k % len(inputs)]
            mutant = mutate(rng, data)
            faulthandler.dump_traceback_later(30, exit=True)
            result, why = try_one(folder / f"mutant{kind}", mutant, save=k % 8 == 0)
            count[result] += 1
            if result == "bad":
                digest = hashlib.sha256(mutant).hexdigest()[:12]
                complaints.append(f"case {k} {digest}{kind}: {why}")
                if options.keep is not None:
                    options.keep.mkdir(parents=True, exist_ok=True)
                    (options.keep / f"{digest}{kind}").write_bytes(mutant)
        faulthandler.cancel_dump_traceback_later()
    print(json.dumps(count | {"seed": options.seed, "complaints": complaints[:20]}))
    return 1 if count["bad"] else 0


if __name__ == "__main__":
    sys.exit(main())

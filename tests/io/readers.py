"""Every public reader as the fuzzer meets it: small valid files, and what may come out of a damaged one.

A reader is given the path of a file and returns nothing; what it raises beyond its own `says` is a fault, and so is
anything invalid that it lets through (an AssertionError).
"""

import contextlib
import dataclasses
import gzip
import io as streams
import pathlib
import struct
import sys
import zipfile
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np

sys.path[:0] = [str(pathlib.Path(__file__).parent), str(pathlib.Path(__file__).parents[1])]

Seeds = Callable[[pathlib.Path], list[bytes]]


@dataclasses.dataclass(frozen=True)
class Reader:
    """`inside`: (unpack, pack) of what checksums would otherwise keep the mutants out of."""

    ending: str
    read: Callable[[pathlib.Path], None]
    seeds: Seeds
    inside: tuple[Callable[[bytes], list[bytes]], Callable[[bytes, int, bytes], bytes]] | None = None


def _mesh(path: pathlib.Path) -> None:
    from fuzz import try_one

    said, why = try_one(path)
    assert said != "bad", why


def _mesh_seeds(ending: str) -> Seeds:
    def found(folder: pathlib.Path) -> list[bytes]:
        import fuzz

        return [data for kind, data in fuzz.seeds(folder) if kind == ending]

    return found


def _packed_seeds(ending: str) -> Seeds:
    def found(folder: pathlib.Path) -> list[bytes]:
        import fuzz

        return [gzip.compress(data, mtime=0) for kind, data in fuzz.seeds(folder) if kind == ending]

    return found


def _character(path: pathlib.Path) -> None:
    from fuzz_characters import try_one

    said, why = try_one(path)
    assert said != "bad", why


def _character_seeds(ending: str) -> Seeds:
    def found(folder: pathlib.Path) -> list[bytes]:
        import fuzz_characters

        return [data for kind, data in fuzz_characters.seeds(folder) if kind == ending]

    return found


@contextlib.contextmanager
def _refusing() -> Any:
    """A MeshFileError is an answer, unless the memory guard struck inside the reader."""
    from pliant.errors import MeshFileError

    try:
        yield
    except MeshFileError as error:
        if "too large to read" in error.why:
            raise AssertionError("out of memory") from None


def _clip(path: pathlib.Path) -> None:
    from pliant import load_clip

    with _refusing():
        try:
            clip, fps = load_clip(path, max_bytes=1 << 20)  # more are frames upon frames
        except ValueError as error:
            if "moves bones beyond" in str(error):  # of a character: said when it is played
                return
            raise
        assert np.isfinite(clip.frames).all()
        assert np.isfinite(clip.mesh.vertices).all()
        assert fps > 0.0


def _clip_seeds(ending: str) -> Seeds:
    def found(folder: pathlib.Path) -> list[bytes]:
        from pliant import Clip, Mesh, save_animation

        mesh = Mesh(np.eye(4, 3), np.array([[0, 2, 1], [0, 1, 3], [1, 2, 3], [0, 3, 2]]))
        save_animation(folder / f"seed{ending}", [Clip(mesh, np.stack([mesh.vertices, mesh.vertices + 1.0]))], 30.0)
        return [(folder / f"seed{ending}").read_bytes(), *_character_seeds(ending)(folder)]

    return found


def _points(path: pathlib.Path) -> None:
    from pliant import load_clip

    mesh = path.with_name("mesh.off")
    if not mesh.exists():
        mesh.write_text("OFF\n4 2 0\n0 0 0\n1 0 0\n0 1 0\n0 0 1\n3 0 1 2\n3 0 2 3\n")
    with _refusing():
        clip, _ = load_clip(mesh, points=path)
        assert clip.frames.shape[1:] == (4, 3)
        assert np.isfinite(clip.frames).all()


def _points_seeds(folder: pathlib.Path) -> list[bytes]:
    head = struct.pack("<12siiffi", b"POINTCACHE2\0", 1, 4, 0.0, 1.0, 2)
    return [head + np.linspace(0, 1, 24).astype("<f4").tobytes()]


def _mdd_seeds(folder: pathlib.Path) -> list[bytes]:
    return [struct.pack(">iiff", 2, 4, 0.0, 0.1) + np.linspace(0, 1, 24).astype(">f4").tobytes()]


def _heights(path: pathlib.Path) -> None:
    from pliant import load_heights

    with _refusing():
        values = load_heights(path)
        assert values.min() >= 0.0
        assert values.max() <= 1.0


def _heights_seeds(folder: pathlib.Path) -> list[bytes]:
    from PIL import Image

    found = []
    for kind in (np.uint16, np.uint8):
        stream = streams.BytesIO()
        Image.fromarray((np.arange(35).reshape(5, 7) * 7).astype(kind)).save(stream, "PNG")
        found.append(stream.getvalue())
    return found


def _field(path: pathlib.Path) -> None:
    from pliant import DistanceField

    with _refusing():
        field = DistanceField.load(path, max_bytes=64 << 20)
        low, high = field.mesh.bounds
        d, n = field.sample(np.stack([low, 0.5 * (low + high), high, high + 1.0]))
        assert not np.isinf(d).any()
        assert (np.isnan(n) | (np.abs(n) <= 1.0 + 1e-6)).all()


def _field_seeds(folder: pathlib.Path) -> list[bytes]:
    from pliant import DistanceField, shapes

    found = []
    for storage in ("dense", "sparse"):
        DistanceField.bake(shapes.ball(1.0, 0), resolution=2, band=1.0, storage=storage).save(folder / "seed.npz")
        found.append((folder / "seed.npz").read_bytes())
    return found


def _scene() -> Any:
    from pliant import Body, Cloth, Scene, shapes

    floor = shapes.box((1.0, 0.1, 1.0), 1, centre=(0.0, -0.05, 0.0))
    cloth = shapes.cloth(0.2, 0.2, 2, centre=(0.0, 0.004, 0.0))
    return Scene([Body(cloth, material=Cloth()), Body(floor, obstacle=True)])


def _checkpoint(path: pathlib.Path) -> None:
    from pliant import Simulation
    from pliant.simulation.checkpoint import Checkpoint

    with _refusing():
        found = Checkpoint.load(path)
        assert np.isfinite(found.state.x).all()
        sim = Simulation.load(path, _scene())
        if sim.substeps <= 4 and sim.dt < 1.0 and max(np.abs(sim.state.x).max(), np.abs(sim.state.v).max()) < 100.0:
            sim.step()


def _checkpoint_seeds(folder: pathlib.Path) -> list[bytes]:
    from pliant import Simulation

    found = []
    for response in ("projection", "surface-tag"):
        sim = Simulation(_scene(), substeps=2, method="brute-force", response=response)
        for _ in sim.run(2):
            pass
        sim.save(folder / "seed.npz")
        found.append(_stored((folder / "seed.npz").read_bytes()))
    return found


def _state(path: pathlib.Path) -> None:
    from pliant.state import State

    with _refusing():
        assert np.isfinite(State.load(path).x).all()


def _state_seeds(folder: pathlib.Path) -> list[bytes]:
    from pliant.state import State

    State.at(np.eye(3), np.eye(3), 0.5, np.zeros((1, 3, 4))).save(folder / "seed.npz")
    return [_stored((folder / "seed.npz").read_bytes())]


def _plan(path: pathlib.Path) -> None:
    from pliant.sweep.plan import read_plan

    try:
        plan = read_plan(path)
    except (ValueError, OSError) as error:
        assert str(error), "an error that says nothing"  # noqa: PT017
    else:
        assert plan.runs
        assert len({run.id for run in plan.runs}) <= len(plan.runs)
        assert plan.varied is not None


def _plan_seeds(folder: pathlib.Path) -> list[bytes]:
    return [
        b'run = "drape"\nbodies = ["ball", "bust"]\n\n[fixed]\nframes = 150\nresolution = 32\n\n'
        b'[product]\nfriction = [0.1, 0.6]\n"material.bend" = [5e-5, 1e-3]\n',
        b'run = "drape"\nfiles = ["glb", "sheet"]\nthumbnails = false\n\n[zip]\ngarments = ["skirt", "trousers"]\n'
        b'bodies = ["ball", "box"]\n\n[random]\ncount = 3\nseed = 7\n'
        b'"material.bend" = {low = 1e-5, high = 1e-3, log = true}\n"material.density" = [0.1, 0.4]\n',
        b'run = "check"\ngarments = ["skirt"]\nbodies = ["mannequin"]\nfiles = ["report"]\n\n'
        b'[fixed]\nunits = "cm"\nevery = 2\n',
        b'run = "bake"\nbodies = ["torus"]\n\n[fixed]\nresolution = 40\ntiles = 4\n',
        b'run = "drape"\nscenes = ["ribbon", "curtain"]\n\n[product]\nthickness = [0.001, 0.002]\n'
        b"wind = [[0, 0, 1], [1.5, 0, 0]]\n",
    ]


def _message(path: pathlib.Path) -> None:
    from pliant.view.commands import Refused, ValidCommands, parse

    known = ValidCommands(
        choices={"scene": ("wave", "calm"), "method": ("tree", "distance-field")},
        ranges={"friction": (0.0, 1.0), "wind_x": (-20.0, 20.0)},
        overlays={"contacts": 0, "boxes": 8},
        box=((-0.5, -0.5, -0.5), (0.5, 0.5, 0.5)),
    )
    with contextlib.suppress(Refused):
        parse(path.read_bytes().decode("utf-8", "replace"), known)


def _message_seeds(folder: pathlib.Path) -> list[bytes]:
    return [
        b'{"do": "pause"}',
        b'{"choose": "method", "to": "tree"}',
        b'{"set": "friction", "to": 0.5}',
        b'{"show": "contacts", "on": true, "level": 0}',
        b'{"grab": [0, 1, 2.5], "along": [0, 0, -1], "pin": false}',
        b'{"pull": [0.1, 0.2, 0.3]}',
    ]


def _stored(data: bytes) -> bytes:
    """The same archive, small ones with nothing packed, so that a mutant of a byte is a mutant of an array."""
    return _zip_with(data, -1, b"")


def _zip_members(data: bytes) -> list[bytes]:
    with zipfile.ZipFile(streams.BytesIO(data)) as archive:
        if sum(member.file_size for member in archive.infolist()) > 1 << 16:
            return []
        return [archive.read(name) for name in archive.namelist()]


def _zip_with(data: bytes, which: int, content: bytes) -> bytes:
    out = streams.BytesIO()
    how = zipfile.ZIP_DEFLATED if sum(map(len, _zip_members(data))) > 3000 else zipfile.ZIP_STORED
    with zipfile.ZipFile(streams.BytesIO(data)) as archive, zipfile.ZipFile(out, "w", how) as made:
        for k, name in enumerate(archive.namelist()):
            made.writestr(zipfile.ZipInfo(name), content if k == which else archive.read(name), how)
    return out.getvalue()


def _png_chunks(data: bytes) -> list[bytes]:
    """Type and content of each chunk, what is packed unpacked."""
    at, found = 8, []
    while at + 12 <= len(data):
        size = int.from_bytes(data[at : at + 4], "big")
        found.append(data[at + 4 : at + 8 + size])
        at += 12 + size
    return [b"IDAT" + zlib.decompress(c[4:]) if c[:4] == b"IDAT" else c for c in found]


def _png_with(data: bytes, which: int, content: bytes) -> bytes:
    out = data[:8]
    for k, chunk in enumerate(_png_chunks(data)):
        body = content if k == which else chunk
        body = b"IDAT" + zlib.compress(body[4:]) if body[:4] == b"IDAT" else body
        out += struct.pack(">I", max(len(body) - 4, 0)) + body + struct.pack(">I", zlib.crc32(body))
    return out


def _glb_chunks(data: bytes) -> list[bytes]:
    at, found = 12, []
    while at + 8 <= len(data):
        size = int.from_bytes(data[at : at + 4], "little")
        found.append(data[at + 8 : at + 8 + size])
        at += 8 + size
    return found


def _glb_with(data: bytes, which: int, content: bytes) -> bytes:
    chunks, kinds = _glb_chunks(data), (b"JSON", b"BIN\0")
    chunks[which] = content + b" " * (-len(content) % 4)
    body = b"".join(struct.pack("<I", len(c)) + kind + c for c, kind in zip(chunks, kinds))
    return b"glTF" + struct.pack("<II", 2, 12 + len(body)) + body


_ZIP = (_zip_members, _zip_with)
_GLB = (_glb_chunks, _glb_with)
_TEXT = (lambda data: [data], lambda _data, _which, content: content)
_PNG = (_png_chunks, _png_with)
_GZ = (lambda data: [gzip.decompress(data)], lambda _data, _which, content: gzip.compress(content, mtime=0))

_OTHERS = (".vtu", ".vtk", ".mesh", ".stl", ".off", ".node", ".ele")
# the most dangerous first
READERS: dict[str, Reader] = {
    "mesh.glb": Reader(".glb", _mesh, _mesh_seeds(".glb"), _GLB),
    **{f"mesh{ending}": Reader(ending, _mesh, _mesh_seeds(ending)) for ending in (".ply", ".msh", ".obj")},
    "mesh.npz": Reader(".npz", _mesh, _mesh_seeds(".npz"), _ZIP),
    "character.gltf": Reader(".gltf", _character, _character_seeds(".gltf"), _TEXT),
    "character.glb": Reader(".glb", _character, _character_seeds(".glb"), _GLB),
    "checkpoint": Reader(".npz", _checkpoint, _checkpoint_seeds, _ZIP),
    "field": Reader(".npz", _field, _field_seeds, _ZIP),
    "clip.npz": Reader(".npz", _clip, _clip_seeds(".npz"), _ZIP),
    "clip.glb": Reader(".glb", _clip, _clip_seeds(".glb"), _GLB),
    "points.pc2": Reader(".pc2", _points, _points_seeds),
    "points.mdd": Reader(".mdd", _points, _mdd_seeds),
    "sweep.toml": Reader(".toml", _plan, _plan_seeds),
    "heights.png": Reader(".png", _heights, _heights_seeds, _PNG),
    "message.json": Reader(".json", _message, _message_seeds),
    "mesh.gltf": Reader(".gltf", _mesh, _mesh_seeds(".gltf"), _TEXT),
    **{f"mesh{ending}": Reader(ending, _mesh, _mesh_seeds(ending)) for ending in _OTHERS},
    "mesh.obj.gz": Reader(".obj.gz", _mesh, _packed_seeds(".obj"), _GZ),
    "mesh.ply.gz": Reader(".ply.gz", _mesh, _packed_seeds(".ply"), _GZ),
    "state": Reader(".npz", _state, _state_seeds, _ZIP),
}

"""Reading mesh files for commands: the options they share, and warnings about implausible input."""

import dataclasses
import pathlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from ..errors import MeshFileError
from . import output

if TYPE_CHECKING:
    from ..mesh import Mesh
    from ..motion.character import Character
    from ..motion.clip import Clip


@dataclasses.dataclass(frozen=True)
class FileOptions:
    """How files are read."""

    units: str = "m"
    "Units of the files: m, cm, mm, in, ft, or metres per unit."
    up: Literal["x", "y", "z"] = "y"
    "The axis that points up in the files."


@dataclasses.dataclass(frozen=True)
class PairOptions(FileOptions):
    """How the files of a garment and of its body are read."""

    body_units: str | None = None
    "Units of the file of the body, where they are others. Default: those of --units."
    body_up: Literal["x", "y", "z"] | None = None
    "The axis that points up in the file of the body, where it is another. Default: that of --up."

    @property
    def garment(self) -> FileOptions:
        """How the files of garments are read."""
        return FileOptions(self.units, self.up)

    @property
    def body(self) -> FileOptions:
        """How the file of the body is read."""
        return FileOptions(self.body_units or self.units, self.body_up or self.up)

    def check(self, body: pathlib.Path | None) -> None:
        """Raise ValueError for options of the body where there is no file of one."""
        for option in ("body_units", "body_up"):
            if body is None and getattr(self, option) is not None:
                raise ValueError(f"--{option.replace('_', '-')} needs a body from a file")


@dataclasses.dataclass(frozen=True)
class FrameOptions:
    """Where the frames come from."""

    part: str | None = None
    "Name of the part of a .glb, .gltf, .obj or USD file that is the garment. Default: the whole file."
    body_part: str | None = None
    "Name of the part that is the body, in --body or in the garment's file."
    points: pathlib.Path | None = None
    "A point cache, .pc2 or .mdd, that animates the garment."
    body_points: pathlib.Path | None = None
    "A point cache, .pc2 or .mdd, that animates the body."
    clip: str | None = None
    """Clip of an animated garment, and of the body if it has one of this name; of the body alone if the garment has no
    clips. Default: that of --body-clip, or the first that garment and body both have, or the first."""
    body_clip: str | None = None
    "Clip of an animated body. Default: that of the garment if the body has it, otherwise its first."
    rest: bool = False
    "Read animated files in their rest pose, and sequences of meshes in their first frame, as a single frame."
    fps: float | None = None
    "Frames per second. Default: as stored in the file, or the rate of its keyframes; otherwise 30."


PLAIN, PAIR, FRAMES = FileOptions(), PairOptions(), FrameOptions()
_NAMED = 6  # most part names listed in a note


def check_sources(*paths: pathlib.Path | None) -> None:
    """Raise MeshFileError for a missing file before anything is imported; patterns of sequences are resolved later."""
    for path in paths:
        if path is not None and not path.exists() and not any(c in path.name for c in "*?"):
            raise MeshFileError(path, "", "no such file")


def read_mesh(path: pathlib.Path, options: FileOptions) -> "Mesh":
    """Load a mesh; warn about an implausible size and about defects that change results."""
    from ..io import load

    mesh = load(path, units=options.units, up=options.up)
    warn_of_mesh(path, mesh)
    return mesh


def read_body(path: pathlib.Path, options: FileOptions) -> "Mesh | Character":
    """Load a character from a file with a clip, and otherwise a mesh, without warnings."""
    from ..io import load_mesh_or_character

    return load_mesh_or_character(path, units=options.units, up=options.up)


def warn_of_mesh(path: pathlib.Path, mesh: "Mesh") -> None:
    """Warn about an implausible size and about defects that change results."""
    from ..io import size_warning

    if warning := size_warning(mesh):
        output.warn(f"{path}: {warning}")
    if defects := mesh.issues.words(defects_only=True):
        output.warn(f"{path}: {defects}")


def outward(mesh: "Mesh") -> "Mesh":
    """The mesh with outward faces: shells that are inside out are reversed, with a note."""
    return facing_outward(mesh, mesh)


def outward_character(character: "Character") -> "Character":
    """The character with outward faces: shells that are inside out in its rest pose are reversed, with a note."""
    from ..scenes.dressing import rest_skin

    mesh = facing_outward(character.mesh, rest_skin(character))
    return character if mesh is character.mesh else dataclasses.replace(character, mesh=mesh)


def facing_outward(mesh: "Mesh", posed: "Mesh") -> "Mesh":
    """The mesh with those faces reversed that are inside out where it is `posed`, and without those that it has more
    than once; with a note on each."""
    from ..detect.queries.duplicate_faces import unneeded, without
    from ..detect.queries.shell_orientation import inside_out, with_reversed

    left_out = unneeded(posed)
    if left_out.any():
        output.say(
            f"note: {left_out.sum():,} of the {mesh.n_faces:,} faces of {mesh.name} have the same corners as others; "
            "they are left out"
        )
        mesh, posed = without(mesh, left_out), without(posed, left_out)
    wrong = inside_out(posed)
    if wrong.all() and len(wrong):
        output.say(f"note: {mesh.name} is inside out; it is used with its faces flipped")
    elif wrong.any():
        first = ", the first in material " + repr(name) if (name := _material_of(mesh, int(wrong.argmax()))) else ""
        count = f"{wrong.sum():,} of the {mesh.n_faces:,} faces of {mesh.name}"
        output.say(f"note: {count} point inward{first}; they are used flipped")
    return with_reversed(mesh, wrong)


def _material_of(mesh: "Mesh", face: int) -> str:
    """The name of the material of a face; empty where it has none."""
    return "" if mesh.material is None else str(mesh.materials[int(mesh.material[face])].get("name") or "")


def metres(option: str, given: str | None) -> float | None:
    """Parse a length in metres: 5mm, 0.2in, or a plain number of metres."""
    from .. import validate

    return None if given is None else validate.length(option, given)


def check_length(option: str, given: str, value: float, body: "Clip") -> None:
    """Raise ValueError for a number without a unit that exceeds a quarter of the body: probably not metres."""
    if value > 0.25 * body.mesh.size and given.replace(".", "", 1).isdigit():
        size = f"the size of the body is {body.mesh.size:.3g} m"
        raise ValueError(f"{option} {given} is {value:g} m, and {size}; write {given}mm, or {given}m for metres")


def check_distinct(file: pathlib.Path, worn: "Clip", body: pathlib.Path, under: "Clip") -> None:
    """Raise ValueError where garment and body come from one file and share faces or nodes."""
    from ..io.gltf import GltfSource
    from ..io.obj import ObjSource

    a, b = worn.mesh.source, under.mesh.source
    if file.resolve() != body.resolve():
        return
    if isinstance(a, GltfSource) and isinstance(b, GltfSource):
        nodes = ({(block.node, block.mesh) for block in source.blocks} for source in (a, b))
        both = bool(set.intersection(*nodes))
    elif isinstance(a, ObjSource) and isinstance(b, ObjSource):
        both = bool(a.face_lines & b.face_lines)
    else:
        return
    if both and (a.partly or b.partly):
        raise ValueError(f"the garment is part of the body, both of {file}; name others with --part and --body-part")


def _contains(worn: "Mesh", under: "Mesh") -> bool:
    """Whether a garment has, besides others, all vertices of a body, as a file in which it is bound to that body."""
    import numpy as np

    unit = 1e-6 * under.size
    if worn.n_vertices <= under.n_vertices or not unit > 0.0:
        return False
    cells = (np.ascontiguousarray(np.rint(mesh.vertices / unit) + 0.0).view("V24").ravel() for mesh in (worn, under))
    mine, its = map(np.unique, cells)
    return len(mine) > len(its) and bool(np.isin(its, mine).mean() > 0.99)


def extended(one: "Clip", other: "Clip") -> "Clip":
    """The clip `one`, with its last frame repeated until it is as long as `other`."""
    import numpy as np

    missing = len(other) - len(one)
    if one.still or missing <= 0:
        return one
    return dataclasses.replace(one, frames=np.concatenate([one.frames, one.frames[-1:].repeat(missing, 0)]), skin=None)


def read_clip(
    path: pathlib.Path,
    points: pathlib.Path | None,
    clip: str | None,
    fps: float | None,
    options: FileOptions,
    part: str | None = None,
    option: str = "--part",
    rest: bool = False,
) -> "tuple[Clip, float]":
    """Load a static or animated mesh and its frames per second; warn about an implausible size.

    rest: load an animated file in its rest pose, and a sequence of meshes in its first frame, as a single frame.
    """
    from ..io import load, size_warning
    from ..io.animation import load_clip
    from ..io.named import parts_of
    from ..motion.clip import Clip

    if part is None and path.is_file() and len(names := parts_of(path)) > 1:
        listed = ", ".join(names[:_NAMED]) + (f" and {len(names) - _NAMED} more" if len(names) > _NAMED else "")
        how = f"; {option} NAME takes one of them" if option else ""
        output.say(f"note: {path} contains {listed}, taken together{how}")
    if rest and points is None and path.suffix.lower() in (".glb", ".gltf"):
        mesh = load(path, part=part, units=options.units, up=options.up)
        found, rate = Clip(mesh, mesh.vertices[None]), fps or 30.0
    else:
        found, rate = load_clip(path, points=points, clip=clip, fps=fps, part=part, units=options.units, up=options.up)
        if rest:
            mesh = found.mesh.moved(found.at(0).astype(float))
            found = Clip(mesh, mesh.vertices[None])
    if warning := size_warning(found.mesh):
        output.warn(f"{path}: {warning}")
    if found.mesh.n_faces > 1 and len(found.mesh.welded.issues.boundary) == 3 * found.mesh.n_faces:
        output.warn(f"{path}: no triangle shares an edge with another; merge vertices by distance first")
    return found, rate


def body_of(file: pathlib.Path, body: pathlib.Path | None, frames: FrameOptions) -> pathlib.Path | None:
    """The file of the body: the garment's own file where only --body-part is given."""
    if body is None and frames.body_part is not None:
        if frames.part is None:
            raise ValueError("--body-part names a part of the garment's file; name the garment with --part")
        body = file
    if body is None and (frames.body_points is not None or frames.body_clip is not None):
        raise ValueError("--body-points and --body-clip need a body; name one with --body")
    same = body is not None and body.resolve() == file.resolve() and frames.part == frames.body_part
    if same and frames.part is not None:
        raise ValueError(f"garment and body are the same part, {frames.part!r} of {file}")
    return body


def read_pair(
    file: pathlib.Path,
    body: pathlib.Path | None,
    frames: FrameOptions,
    files: PairOptions,
    lengths: Sequence[tuple[str, str | None, float | None]],
) -> "tuple[Clip, Clip | None, float]":
    """Read garment and body; return both with their frames per second. Implausible combinations raise or warn.

    lengths: (option, text as typed, value in metres) of options that are compared with the size of the body.
    """
    from ..io.animation import pair_clips
    from .unit_mismatch import warn_of_pair

    files.check(body)
    clip, body_clip, notice = frames.clip, frames.body_clip, ""
    if frames.rest and (clip is not None or body_clip is not None):
        raise ValueError("--rest reads the rest pose without a clip; leave out --clip and --body-clip")
    if body is not None and not frames.rest and frames.points is None and frames.body_points is None:
        clip, body_clip, notice = pair_clips(file, body, clip, body_clip)
    if notice:
        output.warn(notice)
    worn, fps = read_clip(file, frames.points, clip, frames.fps, files, frames.part, rest=frames.rest)
    under = None
    if body is not None:
        wanted = frames.fps or (None if worn.still else fps)
        under, rate = read_clip(
            body, frames.body_points, body_clip, wanted, files.body, frames.body_part, "--body-part", rest=frames.rest
        )
        fps = rate if worn.still else fps
        if body.resolve() == file.resolve() and clip == body_clip:
            worn, under = extended(worn, under), extended(under, worn)
        for option, given, value in lengths:
            if given is not None and value is not None:
                check_length(option, given, value, under)
        check_distinct(file, worn, body, under)
        if frames.part is None and _contains(worn.mesh, under.mesh):
            output.warn(f"{file} has all vertices of the body at the same places; name the garment in it with --part")
    if under is not None:
        warn_of_pair(worn.mesh, under.mesh, files)
    return worn, under, fps

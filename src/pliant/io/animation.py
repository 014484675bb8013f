"""Reading animations: a mesh and its vertex positions per frame, from a single file or a sequence of files."""

import itertools
import logging
import os
import pathlib
import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arguments import check_arguments
from ..errors import MeshFileError, one_of
from ..mesh import Mesh
from ..motion.clip import Clip
from ..motion.deforming import joined
from ..validate import LARGEST, choice, number, size_text
from . import check_part, extension, is_animated, load, load_character
from .blender import ENDINGS as BLENDER
from .blender import read_file
from .formats import FORMATS
from .gltf_shape import OWN_CLIP
from .named import clips_of
from .point_caches import ENDINGS, read_points
from .reading import Input, check_frames, default_limit, read_input
from .usd_read import ENDINGS as STAGES
from .usd_read import read_stage

log = logging.getLogger("pliant.io")
FPS = 30.0  # frames per second if the file gives none
_FASTEST = 240.0  # largest frame rate derived from keyframes
_MANY, _SPARSE = 20_000, 20  # frames of a clip, and frames per keyframe; beyond both a keyframe time is likely an error


@check_arguments
def load_clip(
    path: str | os.PathLike[str],
    *,
    part: str | None = None,
    points: str | os.PathLike[str] | None = None,
    clip: str | None = None,
    fps: float | None = None,
    units: str | float = "m",
    up: str = "y",
    max_bytes: int | None = None,
) -> tuple[Clip, float]:
    """Read an animated mesh; return it with its frames per second.

    path: a mesh file (one frame); a GLB or glTF whose bones or morph targets are animated (`clip` names one of its
    clips, by default the first; `fps` is the sampling rate, by default that of its keyframes); an npz as
    `save_animation` writes it, or a mesh in npz form with `frames` (T,n,3); a USD stage (extra [usd]); a folder of
    numbered mesh files, or a pattern such as `frames/skirt_*.obj`. `points`: a point cache, PC2 or MDD, with the
    positions of the mesh. `part`, `units`, `up` and `max_bytes` are those of `load`.
    """
    choice("axis", up, ("x", "y", "z"))
    if not isinstance(units, str):
        number("units", units, above=0.0, high=LARGEST)
    target = pathlib.Path(path)
    options: dict[str, Any] = {"part": part, "units": units, "up": up, "max_bytes": max_bytes}
    rate = FPS if fps is None else number("fps", fps, above=0.0, high=1e6)
    if clip is not None and (points is not None or target.is_dir() or any(c in target.name for c in "*?")):
        raise MeshFileError(target, "", f"clip {clip!r} was requested; only .glb, .gltf and .npz files have clips")
    if points is not None:
        mesh = load(target, **options)
        samples = read_points(pathlib.Path(points), mesh, max_bytes)
        stated = samples.fps if fps is None and samples.fps else rate
        return Clip(mesh, _turned(samples.positions, units, up)), stated
    if target.is_dir() or any(c in target.name for c in "*?"):
        return _sequence(target, options), rate
    kind = extension(target)
    check_part(target, part)
    if kind in ENDINGS:
        raise MeshFileError(
            target, "", "a point cache has no faces; give its mesh, and this one by --points or --body-points"
        )
    if kind in (".glb", ".gltf") and (clip is not None or is_animated(target, max_bytes)):
        return _played(target, clip, fps, options)
    if clip is None and kind in (*STAGES, *BLENDER):
        return _converted(target, fps, options)
    if clip is not None and kind != ".npz":
        raise MeshFileError(
            target, "", f"has no clips, and clip {clip!r} was requested; only .glb, .gltf and .npz have them"
        )
    if kind == ".npz":
        found = _npz(target, clip, max_bytes)
        if found is not None:
            mesh, frames, stored_rate = found
            placed = _turned(frames, units, up)
            return Clip(mesh.moved(placed[0]), placed), stored_rate if fps is None and stored_rate else rate
    mesh = load(target, **options)
    return Clip(mesh, mesh.vertices[None]), rate


def has_frames(path: str | os.PathLike[str], max_bytes: int | None = None) -> bool:
    """Whether a file is an npz of frames, as `save_animation` writes it, one frame included."""
    import io
    import zipfile

    from .npz import BROKEN

    target = pathlib.Path(path)
    if extension(target) != ".npz":
        return False
    file = read_input(target, default_limit() if max_bytes is None else max_bytes)
    try:
        with zipfile.ZipFile(io.BytesIO(file.data)) as archive:
            return bool({"frames.npy", "frames_0.npy"} & set(archive.namelist()))
    except BROKEN as error:
        raise file.fail("zip", f"not an animation in npz form ({error})") from None


def pair_clips(
    garment: str | os.PathLike[str], body: str | os.PathLike[str], clip: str | None, body_clip: str | None
) -> tuple[str | None, str | None, str]:
    """Choose the clips of garment and body: the same clip if at most one is named and both have it. A clip that is
    named for a garment without clips is played by the body.

    Returns both names and a warning, empty unless the clips differ without both being named.
    """
    ours, theirs = clips_of(garment), clips_of(body)
    if theirs and not ours and body_clip is None and extension(pathlib.Path(garment)) != ".npz":
        return None, clip, ""
    if not ours or not theirs or (clip is not None and body_clip is not None):
        return clip, body_clip, ""
    wanted = clip or body_clip or next((name for name in ours if name in theirs), None)
    one = clip or (wanted if wanted in ours else ours[0])
    two = body_clip or (wanted if wanted in theirs else theirs[0])
    if list(ours) == [OWN_CLIP] and clip is None:  # `fix` and `drape` have written it
        return one, two, ""
    notice = f"the garment plays clip {one!r} and the body {two!r}; --clip and --body-clip choose others"
    return one, two, notice if one != two and one in ours and two in theirs else ""


def _turned(frames: NDArray[Any], units: str | float, up: str) -> NDArray[np.float64]:
    from . import TURNS, metres_per_unit

    x = np.asarray(frames, np.float64)
    turn = np.array(TURNS[up])
    return x[..., np.abs(turn).argmax(1)] * turn.sum(1) * metres_per_unit(units) + 0.0


def _played(target: pathlib.Path, clip: str | None, fps: float | None, options: dict[str, Any]) -> tuple[Clip, float]:
    character = load_character(target, **options)
    names = tuple(character.clips)
    if clip is None:
        clip = names[0]
    elif clip not in names:
        raise MeshFileError(target, "", f"has no clip {clip!r}; {one_of(clip, names)}")
    animation = character.clips[clip]
    rate = _rate(animation) if fps is None else fps
    count = int(np.floor(animation.duration * rate + 1e-6)) + 1
    keys = max((len(track.times) for track in animation.tracks), default=0)
    if fps is None and count > max(_MANY, _SPARSE * keys):
        lasts = f"clip {clip!r} lasts {animation.duration:g} s with {keys} keyframes, {count} frames at {rate:g} fps"
        raise MeshFileError(target, "", f"{lasts}; choose the frame rate with fps")
    need = 24.0 * count * character.mesh.n_vertices
    if need > (options["max_bytes"] or default_limit()):
        raise MeshFileError(target, "", f"{count} frames need {size_text(need)}; choose a lower fps")
    frames = joined(character.mesh, np.stack([character.shape(clip, t / rate) for t in range(count)]))
    if count > 1 and len(names) > 1 and (frames == frames[0]).all():
        what = f"part {options['part']!r} of {target}" if options["part"] else str(target)
        log.warning("clip %r does not move %s; it is static", clip, what)
    return Clip(character.mesh.moved(frames[0]), frames), rate


def _converted(target: pathlib.Path, fps: float | None, options: dict[str, Any]) -> tuple[Clip, float]:
    from . import _read_mesh, metres_per_unit

    file = read_input(target, options["max_bytes"] or default_limit(), options["part"])
    read = read_stage if extension(target) in STAGES else read_file
    found = read(file, single=False, fps=fps)
    mesh = _read_mesh(file, lambda _: found.parts, metres_per_unit(options["units"]), options["up"])
    return Clip(mesh, _turned(found.frames, options["units"], options["up"])), found.facts["fps"]


def _rate(animation: Any) -> float:
    """Return the highest keyframe rate of all tracks, in 1/s, rounded to an integer if it is near one."""
    steps = [np.diff(track.times) for track in animation.tracks if len(track.times) > 2]
    gaps = [float(np.median(step[step > 0.0])) for step in steps if (step > 0.0).any()]
    if not gaps:
        return FPS
    rate = min(1.0 / min(gaps), _FASTEST)
    return float(round(rate)) if abs(rate - round(rate)) < 0.02 * rate and round(rate) else rate


def _sequence(target: pathlib.Path, options: dict[str, Any]) -> Clip:
    """Read mesh files of one topology, ordered by the last number in their names."""
    folder, pattern = (target, "*") if target.is_dir() else (target.parent, target.name)
    known = {ending for ending, kind in FORMATS.items() if kind.read}
    files = sorted((f for f in folder.glob(pattern) if f.is_file() and extension(f) in known), key=_number)
    if not files:
        raise MeshFileError(target, "", "no mesh files there; expected a numbered sequence, such as skirt_0001.obj")
    endings = {extension(f) for f in files}
    if len(endings) > 1:
        raise MeshFileError(target, "", f"files of several kinds ({', '.join(sorted(endings))}); give a pattern")
    mesh = load(files[0], **options)
    frames = np.empty((len(files), mesh.n_vertices, 3))
    for k, file in enumerate(files):
        other = mesh if not k else load(file, **options)
        if other.vertices.shape != mesh.vertices.shape or not np.array_equal(other.faces, mesh.faces):
            had, has = (f"{m.n_vertices} vertices and {m.n_faces} faces" for m in (mesh, other))
            raise MeshFileError(file, "", f"{has}, topology differs from {files[0].name} ({had}); not one animation")
        frames[k] = other.vertices
    return Clip(mesh, frames)


def _number(path: pathlib.Path) -> tuple[str, int, str]:
    """Return a sort key: the name up to its last number, then that number, so that 10 comes after 9."""
    found = list(re.finditer(r"\d+", path.name))
    if not found:
        return path.name, -1, path.name
    last = found[-1]
    return path.name[: last.start()], int(last[0]), path.name


def _npz(path: pathlib.Path, clip: str | None, max_bytes: int | None) -> tuple[Mesh, NDArray[Any], float | None] | None:
    """Return mesh, frames and rate of the named clip (None: the first), or None if the file holds a static mesh."""
    import io
    import zipfile

    from .npz import BROKEN, array_of
    from .reading import check_indices

    file = read_input(path, default_limit() if max_bytes is None else max_bytes)
    try:
        with zipfile.ZipFile(io.BytesIO(file.data)) as archive:
            there = _npz_clips(file, archive)
            if clip is not None and clip not in there:
                raise file.fail("", f"has no clip {clip!r}; {one_of(clip, there)}")
            if not there:
                return None
            if clip is None and len(there) > 1:
                log.warning("%s holds clips %s; the first is used, choose another by its name", path, ", ".join(there))
            key = there[clip or next(iter(there))]
            frames = array_of(file, archive, key, "f", (None, None, 3))
            faces = array_of(file, archive, key.replace("frames", "faces"), "iu", (None, 3))
            stored = next(
                (rate for name in _RATES if (rate := array_of(file, archive, name, "iuf", ())) is not None), None
            )
    except BROKEN as error:
        raise file.fail("zip", f"not an animation in npz form ({error})") from None
    if frames is None or faces is None or not frames.size:
        raise file.fail("zip", f"no arrays {key!r} (T,n,3) and {key.replace('frames', 'faces')!r} (m,3)")
    check_frames(file, frames, "frame")
    check_indices(file, faces.ravel(), frames.shape[1], lambda k: f"faces[{k // 3}]")
    fps = None if stored is None or not 0.0 < float(stored) <= 1e6 else float(stored)
    return Mesh(frames[0], faces, name=clip or file.name), frames, fps


_RATES = ("fps", "mocap_framerate", "mocap_frame_rate")  # as pliant, and as files of motion capture name it


def _npz_clips(file: Input, archive: Any) -> dict[str, str]:
    """Return the name of each clip and of its frames array. A clip with no name, or a duplicate one, is named by its
    index, or by the next number that is not already a name."""
    arrays = set(archive.namelist())
    if "frames.npy" in arrays:
        return {"0": "frames"}
    count = next(k for k in itertools.count() if f"frames_{k}.npy" not in arrays)
    stored = [_npz_name(file, archive, k) for k in range(count)]
    out: dict[str, str] = {}
    taken = set(stored)
    for k, name in enumerate(stored):
        if not name or name in out:
            name = next(str(n) for n in itertools.count(k) if str(n) not in taken)
            taken.add(name)
        out[name] = f"frames_{k}"
    return out


def _npz_name(file: Input, archive: Any, k: int) -> str:
    """Return the stored name of clip `k`; empty if it has none or it is not text."""
    from .npz import array_of

    try:
        name = array_of(file, archive, f"name_{k}", "U", ())
    except MeshFileError:
        return ""
    return "" if name is None else str(name)

"""Bodies whose vertices are recorded frame by frame, in place of a character: `pliant drape skirt.obj body.npz`."""

import dataclasses
import pathlib
from typing import TYPE_CHECKING, Any

from . import output
from .proxies import simulated
from .reading import PairOptions, facing_outward, read_clip, read_mesh

if TYPE_CHECKING:
    from ..motion.clip import Clip
    from ..scene import Scene
    from ..scenes.holding import Holding
    from ..simulation.carrying import Proxies
    from .start_poses import StartPoses
    from .wear_options import WearOptions


def is_recorded(body: pathlib.Path, points: pathlib.Path | None) -> bool:
    """Whether a body is a sequence of meshes: an npz with frames, a folder, a pattern, or a mesh with a point cache."""
    from ..io.animation import has_frames

    return points is not None or body.is_dir() or any(c in body.name for c in "*?") or has_frames(body)


def build_recorded(
    cloth: pathlib.Path,
    body: pathlib.Path,
    files: PairOptions,
    wear: "WearOptions",
    holding: "Holding",
    options: dict[str, Any],
    proxies: "Proxies | None",
    starts: "StartPoses | None",
) -> "Scene":
    """The scene of garments, with frames of their own or without, on a recorded body."""
    from ..scenes.dressing import default_eps_on_skin
    from ..scenes.recorded_body import recorded_scene

    clips = body.suffix.lower() == ".npz"  # which may hold several, by name
    for option in ("ease", "teleports", "root_motion", *(() if clips else ("clip",))):
        if getattr(wear, option) != type(wear).__dataclass_fields__[option].default:
            raise ValueError(f"--{option.replace('_', '-')} is for a character; {body} is a sequence of meshes")
    under, fps = read_clip(body, wear.body_points, wear.clip, wear.fps, files.body, option="")
    under = _outward(under)
    rest = None if wear.body_rest is None else read_mesh(wear.body_rest, files.body)
    if rest is not None and rest.n_vertices != under.mesh.n_vertices:
        counts = f"{rest.n_vertices:,} vertices, and {body} {under.mesh.n_vertices:,}"
        raise ValueError(f"--body-rest {wear.body_rest} has {counts}; expected the same vertices in the same order")
    skin = under.mesh.moved(under.at(0).astype(float) if rest is None else rest.vertices)
    worn = [read_clip(path, None, None, wear.fps, files, option="")[0] for path in (cloth, *wear.layer)]
    worn = [dataclasses.replace(clip, mesh=clip.mesh.moved(clip.at(0).astype(float))) for clip in worn]
    if proxies is not None and proxies.vertices is not None:
        meshes = [simulated(clip.mesh, skin, proxies) for clip in worn]
        worn = [type(clip)(mesh, mesh.vertices[None]) for clip, mesh in zip(worn, meshes)]
        if starts is not None:
            starts.note(meshes[0], skin)
    elif starts is not None:
        eps = options.get("eps")
        eps = default_eps_on_skin(skin, [clip.mesh for clip in worn]) if eps is None else eps
        worn = [_moved(clip, mesh) for clip, mesh in zip(worn, starts.fixed([c.mesh for c in worn], skin, eps))]
    held = {field.name: getattr(holding, field.name) for field in dataclasses.fields(holding)}
    name = f"{' and '.join(clip.mesh.name for clip in worn)} on {skin.name}"
    with output.progress(f"making {name}"):
        built = recorded_scene(
            worn, under, fps, lead_in=wear.lead_in, rest=rest, hold=wear.hold, name=name, **held, **options
        )
    if rest is not None and (motion := built.bodies[-1].motion) is not None:
        lead_in = float(motion.times[-len(under)])  # type: ignore[union-attr]
        output.say(
            f"note: the body moves from rest to its first frame in {lead_in:.4g} s, {lead_in * fps:.4g} of its frames; "
            f"--dt {1.0 / fps:.6g} gives one frame for each of its own"
        )
    return built


def _outward(body: "Clip") -> "Clip":
    """The body with outward faces: shells that are inside out in its first frame are reversed, with a note."""
    mesh = facing_outward(body.mesh, body.mesh.moved(body.at(0).astype(float)))
    return body if mesh is body.mesh else dataclasses.replace(body, mesh=dataclasses.replace(mesh, source=None))


def _moved(clip: "Clip", mesh: Any) -> "Clip":
    """The clip with its first frame, which was fixed, as `mesh` has it, and the others moved by the same amounts."""
    return dataclasses.replace(clip, mesh=mesh, frames=clip.frames + (mesh.vertices - clip.frames[0]))

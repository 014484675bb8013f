"""`pliant bind`: skinning weights of a garment from the body it was modelled on."""

import dataclasses
import pathlib
import shlex
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from . import output
from .first_run import compile_first
from .output_paths import check_outputs
from .reading import PAIR, PairOptions, check_length, check_sources, metres

if TYPE_CHECKING:
    from ..audit.check_bound import ClipFindings
    from ..binding.bound import Bound
    from ..mesh import Mesh
    from ..motion.character import Character

_SHOWN = 12  # most clips in the table of penetrations; the worst are chosen
_FEW = 0.1  # share of matched vertices below which a note recommends other limits
_BETTER = 0.5  # ratio of median distances below which another pose is recommended
_SAMPLE = 2000  # most vertices for that comparison


@dataclasses.dataclass(frozen=True)
class PoseOptions:
    """The pose in which the garment was modelled."""

    pose: Literal["bind", "rest"] = "bind"
    "Pose in which the garment was modelled: the bind shape of the skin, or the default pose of the nodes (rest)."
    pose_clip: str | None = None
    "A clip of the character that has the pose. Default: none."
    pose_time: float = 0.0
    "Time of the pose in that clip, in seconds."


@dataclasses.dataclass(frozen=True)
class MatchOptions:
    """Which vertices take the weights of the nearest point of the body, and what follows."""

    max_distance: str | None = None
    "Largest distance of a match from the body: 3cm, or metres. Default: 5 % of the smaller size of garment and body."
    max_angle: float = 30.0
    "Largest angle between the normals of garment and body at a match, in degrees."
    influences: Literal[1, 2, 3, 4, 8] = 4
    "Bones per vertex; 8 are written as two sets of joints and weights, which not all viewers read."
    smooth: int = 0
    "Steps of averaging weights near the seams between matched and inpainted vertices."


POSE, MATCH = PoseOptions(), MatchOptions()


def bind(
    garment: pathlib.Path,
    character: pathlib.Path,
    *,
    out: Annotated[pathlib.Path, Parameter(name=["--out", "-o", "--output"])],
    alone: bool = False,
    part: str | None = None,
    body_part: str | None = None,
    pose: Annotated[PoseOptions, Parameter(name="*")] = POSE,
    match: Annotated[MatchOptions, Parameter(name="*")] = MATCH,
    clip: str | None = None,
    check_frames: int = 24,
    files: Annotated[PairOptions, Parameter(name="*")] = PAIR,
    json: bool = False,
) -> int:
    """Bind GARMENT to the skeleton of CHARACTER, with weights from its body, and check it over the clips.

    Vertices that lie close and parallel to the body take its weights; the others continue them smoothly. The exit code
    is 0 even if the moving garment enters the body: `pliant fix` removes that.

    Parameters
    ----------
    garment
        The mesh of the garment, placed on the body.
    character
        A GLB or glTF with a skin.
    out
        The GLB to write: the character with the garment as another skinned mesh.
    alone
        Write the garment on the skeleton, without the meshes of the character.
    part
        Name of the part of a .glb, .gltf or .obj GARMENT. Default: the whole file.
    body_part
        Name of the part of CHARACTER that is the body. Default: all of its meshes.
    clip
        Check this clip only. Default: all clips.
    check_frames
        Frames to check, distributed over the clips; 0 for none.
    json
        Print JSON instead of tables.
    """
    check_sources(garment, character)
    from .. import validate
    from ..binding.bind import bind as transfer
    from ..io import load, load_character

    if garment.resolve() == character.resolve():
        raise ValueError(f"garment and character are the same file, {garment}; export the garment to a file of its own")
    if pose.pose_clip is not None and pose.pose != "bind":
        raise ValueError("--pose and --pose-clip both give the pose of the garment; leave one of them out")
    if pose.pose_clip is None and pose.pose_time != 0.0:
        raise ValueError("--pose-time is a time of a clip; name the clip with --pose-clip")
    check_outputs([("--out", out, (".glb",))], [garment, character])
    validate.whole("--check-frames", check_frames, low=0, high=100_000)
    worn = load(garment, part=part, units=files.units, up=files.up)
    figure = load_character(character, part=body_part, units=files.body.units, up=files.body.up)
    if clip is not None:
        validate.choice("--clip", clip, tuple(figure.clips))
    reach = metres("--max-distance", match.max_distance)
    _warn(garment, worn, character, figure, files)
    if reach is not None and match.max_distance is not None:
        from ..motion.clip import Clip

        check_length("--max-distance", match.max_distance, reach, Clip(figure.mesh, figure.mesh.vertices[None]))
    compile_first("bind")
    output.say_if_compiling("queries.closest_point.find_nearest")
    with output.fraction_bar(f"binding {garment.name}") as done:
        bound = transfer(
            worn,
            figure,
            pose=pose.pose,
            clip=pose.pose_clip,
            time=pose.pose_time,
            max_distance=reach,
            max_angle=match.max_angle,
            influences=match.influences,
            smooth=match.smooth,
            progress=done,
        )
    name = bound.save(out, alone=alone)
    clips = list(figure.clips) if clip is None else [clip]
    found, notes = _checked(bound, clips, check_frames)
    if json:
        output.print_json(bound.to_json() | {"clips": [row._asdict() for row in found], "written": [str(out)]})
    else:
        output.table(("", garment.name), [*bound.facts.items(), ("written", str(out))])
        _show(found, clips)
    for text in (*notes, *_few_matches(bound), *_better_pose(worn, figure, pose)):
        output.say(text)
    if any(row.inside or row.crossings or row.self_pairs for row in found):
        part_of = [] if alone else ["--part", name]
        body = ["--body", str(character), *([] if body_part is None else ["--body-part", body_part])]
        worst = max(found, key=lambda row: (row.depth, row.crossings, row.self_pairs)).clip
        which = [] if worst is None else ["--clip", worst]
        if files == PAIR:
            words = ["pliant", "fix", str(out), *part_of, *body, *which, "-o", "fixed.glb"]
            output.say(f"note: the moving garment intersects the body or itself; to repair a clip: {shlex.join(words)}")
        else:
            output.say("note: the moving garment intersects the body or itself; pliant fix repairs it, clip by clip")
    if figure.morphs:
        output.say("note: the morph targets of the body are not transferred to the garment")
    if files != PAIR:
        output.say("note: written in metres, y up; read it without --units and --up")
    return 0


def _warn(
    garment: pathlib.Path, worn: "Mesh", character: pathlib.Path, figure: "Character", files: PairOptions
) -> None:
    from ..io import size_warning
    from .unit_mismatch import warn_of_pair

    for path, mesh in ((garment, worn), (character, figure.mesh)):
        if warning := size_warning(mesh):
            output.warn(f"{path}: {warning}")
    warn_of_pair(worn, figure.mesh, files)


def _checked(bound: "Bound", clips: list[str], count: int) -> "tuple[list[ClipFindings], list[str]]":
    """The findings of each clip, and the notes of the check about the body."""
    from ..audit.check_bound import check_bound
    from ..audit.findings import NoteKind

    if not count:
        return [], []
    output.say_if_compiling("queries.intersections.find_intersections")
    with output.fraction_bar("checking it over the clips") as done:
        found, notes = check_bound(bound, clips, count, done)
    return found, [note.line for note in notes if note.kind is not NoteKind.NO_OVERLAP]


def _show(found: "list[ClipFindings]", clips: list[str]) -> None:
    from ..audit.findings import size_words

    if not found:
        return
    worst = sorted(found, key=lambda row: (-row.depth, -row.crossings, -row.self_pairs))[:_SHOWN]
    rows = [
        (
            "rest pose" if row.clip is None else row.clip,
            row.frames,
            row.inside,
            size_words(row.depth),
            f"{row.time:.2f} s" if row.depth > 0.0 else "",
            row.crossings,
            row.self_pairs,
        )
        for row in worst
    ]
    names = ("clip", "frames", "inside", "deepest", "at", "crossings", "self")
    total = sum(row.frames for row in found)
    some = f"the worst {len(rows)} of " if len(rows) < len(found) else ""
    title = f"intersections in {total} frames, {some}{len(found)} clip{'s' * (len(found) != 1)}"
    if len(found) < len(clips):
        title += f" of {len(clips)}; --check-frames takes more"
    output.table(names, rows, title=title, right=" ".join(names[1:]))


def _few_matches(bound: "Bound") -> list[str]:
    share = bound.to_json()["matched"] / len(bound.kind)
    if share >= _FEW:
        return []
    return [
        f"note: only {share:.1%} of the vertices match the body, and all others follow from them; a larger "
        "--max-distance or --max-angle matches more, if the pose is right"
    ]


def _better_pose(worn: "Mesh", figure: "Character", pose: PoseOptions) -> list[str]:
    """A note if the garment lies much closer to the body in the other of the two poses without a clip."""
    import numpy as np

    from ..detect.queries.closest_point import ClosestPoints

    if pose.pose_clip is not None:
        return []
    shapes = {"bind": figure.mesh.vertices, "rest": figure.shape(None, 0.0)}
    if np.abs(shapes["bind"] - shapes["rest"]).max() < 1e-3 * figure.mesh.size:
        return []
    points = worn.vertices[:: -(-worn.n_vertices // _SAMPLE)]
    median = {
        name: float(np.median(np.abs(ClosestPoints(figure.mesh.moved(x)).query_by_nearest_face(points)[0])))
        for name, x in shapes.items()
    }
    other = "rest" if pose.pose == "bind" else "bind"
    if not median[other] < _BETTER * median[pose.pose]:
        return []
    mm = {name: f"{1e3 * value:.3g} mm" for name, value in median.items()}
    return [
        f"note: the garment is {mm[pose.pose]} from the body in its {pose.pose} pose and {mm[other]} in its {other} "
        f"pose (medians); was it modelled there? use --pose {other}"
    ]

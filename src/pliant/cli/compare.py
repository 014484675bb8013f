"""`pliant compare`: all detection methods on the same states, compared with the exact contacts; usable in CI."""

import dataclasses
import pathlib
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from . import output
from .output_paths import check_outputs
from .reading import PLAIN, FileOptions, check_sources, read_clip

if TYPE_CHECKING:
    from ..audit.comparison import Comparison

HTML = (".html", ".htm")


@dataclasses.dataclass(frozen=True)
class StateOptions:
    """The states to compare on."""

    frames: int = 8
    "Number of states."
    every: int | None = None
    "Steps or frames between two states. Default: 15 in a scene; an animation is sampled evenly."
    resolution: int | None = None
    "Particles along the side of the cloth of a scene. Default: the scene's own."
    self_contact: Literal["off", "push", "safe"] | None = None
    "Self-contact of a scene, as in pliant drape; off lets deformable bodies overlap, so that there are deep contacts."


STATES = StateOptions()


def compare(
    scene_or_a: Annotated[str | None, Parameter(name="--scene")] = None,
    b: Annotated[pathlib.Path | None, Parameter(name="--b")] = None,
    *,
    states: Annotated[StateOptions, Parameter(name="*")] = STATES,
    within: str | None = None,
    methods: str | None = None,
    seed: int = 0,
    report: Annotated[pathlib.Path | None, Parameter(name=["--report", "--out", "-o"])] = None,
    files: Annotated[FileOptions, Parameter(name="*")] = PLAIN,
    json: bool = False,
) -> int:
    """Compare all detection methods on SCENE, on mesh A against mesh B, or on mesh A with itself.

    Each method is measured on the kind of contact it declares to find, against exact distances: found, missed, extra,
    errors of depth and normal, CPU time, memory. The exit code is 1 when a class A method missed a contact or reported
    a false one, or when a method exceeded its stated error bound.

    Parameters
    ----------
    scene_or_a
        A built-in scene (listed by pliant drape --help), which is simulated; or a mesh file or animation in a format
        that pliant check reads. Default: tablecloth-on-bust.
    b
        Another mesh file or animation: static, or with as many frames as A.
    within
        Distance below which two primitives are in contact: 2mm, 0.5cm, or metres. Default: twice the
        distance that the scene keeps, its contact offset (eps) at obstacles and its thickness among deformable bodies;
        for files twice their default contact offset.
    methods
        Comma-separated names of the methods, each with options if it has any: bvh,bvh:volume=sphere,arity=8. Default:
        all.
    seed
        Random seed of the stochastic methods.
    report
        Write a self-contained HTML page: sortable tables, and pictures of where methods differ.
    json
        Print JSON instead of tables.
    """
    check_sources(b)
    from .. import validate
    from ..audit.compare import compare as audit
    from ..detect.options import parse_method, split_methods

    reach = None if within is None else validate.length("--within", within)
    if reach is not None:
        validate.number("--within", reach, above=0.0)
    names = None if methods is None else [parse_method(name).text for name in split_methods(methods)]
    validate.whole("--frames", states.frames, low=1, high=100_000)
    if states.every is not None:
        validate.whole("--every", states.every, low=1)
    validate.whole("--seed", seed, low=0)
    inputs = [pathlib.Path(scene_or_a) if scene_or_a else None, b]
    check_outputs([("--report", report, HTML)], inputs)
    one, other = _inputs(scene_or_a, b, states, files)
    output.say_if_compiling("detectors.stochastic.traversal.advance")
    with output.fraction_bar(f"comparing on {scene_or_a or 'tablecloth-on-bust'}") as done:
        found = audit(
            one,
            other,
            within=reach,
            frames=states.frames,
            every=states.every,
            methods=names,
            seed=seed,
            progress=done,
        )
    if report is not None:
        with output.progress(f"writing {report.name}"):
            found.to_html(report)
        output.say(f"wrote {report}")
    if json:
        output.print_json(found.to_json() | {"files": [] if report is None else [str(report)]})
    else:
        _show(found)
    from ..audit.comparison import ROLES

    for text in found.broken:
        output.warn(text)
    for role in found.roles:
        if role.rows and not any(row.expected for row in role.rows):
            none = f"there are none within {1e3 * role.within:.3g} mm, so that only costs are compared"
            output.warn(f"contacts {ROLES[role.role]}: {none}; try a larger --within, or states in contact")
    return int(bool(found.broken))


def _inputs(what: str | None, b: pathlib.Path | None, states: StateOptions, files: FileOptions) -> tuple[Any, Any]:
    """The scene and None, or the clips of one or two files."""
    from .. import validate
    from ..scenes import SCENES

    name = "tablecloth-on-bust" if what is None else what
    if name in SCENES:
        if b is not None:
            raise ValueError(f"scene {name} has its own bodies; give either a scene or two files")
        for option in ("units", "up"):
            if getattr(files, option) != getattr(PLAIN, option):
                raise ValueError(f"--{option} is for files; scenes are in metres, y up")
        options: dict[str, Any] = {"self_contact": states.self_contact}
        if states.resolution is not None:
            options["resolution"] = validate.whole("resolution", states.resolution, low=2, high=2000)
        options = {key: value for key, value in options.items() if value is not None}
        with output.progress(f"making {name}"):
            return SCENES[name](eps=None, **options), None
    path = pathlib.Path(name)
    if not path.suffix and not path.exists() and not any(c in name for c in "*?"):
        validate.choice("scene", name, tuple(SCENES))
    for option in ("resolution", "self_contact"):
        if getattr(states, option) is not None:
            raise ValueError(f"--{option.replace('_', '-')} is for a scene; it does not apply to files")
    clips = [None if each is None else read_clip(each, None, None, None, files, option="")[0] for each in (path, b)]
    return clips[0], clips[1]


def _show(found: "Comparison") -> None:
    from ..audit.comparison import CLASSES, WORDS

    screen = output.console()
    for role in found.roles:
        table = role.table
        output.table(table.headings, table.texts(), title=table.title, right=" ".join(table.right), keys=2)
        if role.unfit:
            rows = [(unfit.name, unfit.why, unfit.needs) for unfit in role.unfit]
            output.table(("method", "does not apply", "needs"), rows)
        for row in role.rows:
            if row.note:
                screen.print(f"{row.method}: {row.note}", markup=False)
    for role_name, pick in found.picks:
        screen.print(f"auto picks {pick.name} ({role_name}): {pick.why}", markup=False)
    for text in (*(f"{word}: {meaning}" for word, meaning in WORDS), CLASSES, f"verdict: {found.verdict}"):
        screen.print(text, markup=False)

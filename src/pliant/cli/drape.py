"""`pliant drape`: a cloth falls over a body; the run becomes a file, a replay and a picture."""

import dataclasses
import pathlib
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from . import output
from .complaints import Sources, complaints
from .reading import PLAIN, FileOptions, check_sources, metres
from .staging import WearOptions, stage
from .writing import check_targets

HTML, PNG = (".html", ".htm"), (".png",)


@dataclasses.dataclass(frozen=True)
class ClothOptions:
    """What the cloth is made of."""

    density: float = 0.20
    "kg/m2"
    stretch: float = 500.0
    "stiffness against stretching, N/m"
    shear: float = 100.0
    "stiffness against shearing, N/m"
    bend: float | None = None
    "stiffness against bending, N m; 0.0002 without it, and what suits size and weight of the tablecloth over --body"
    damping: float | None = None
    "internal friction, m2/s; 0.01 without it, and what suits its size for the tablecloth over --body"
    air: float = 1.2
    "density of the air it falls through, kg/m3; 0 is vacuum"


@dataclasses.dataclass(frozen=True)
class BetweenOptions:
    """How cloth is kept from cloth, where it is not the guard alone."""

    self_method: str | None = None
    """detector for what is soft with itself and each other: tree, sphere-surface, continuous, spatial-hash,
    stochastic-tree, active-pairs, brute-force, image-space (closed bodies); the guard looks itself without it"""
    self_response: str | None = None
    "what keeps cloth from cloth: projection, penalty, geometric, penalty+geometric, separate"
    levels: int | None = None
    "how often the sphere-surface method halves its spheres; what suits the thickness without it"


_COTTON, _WORN, _GUARDED = ClothOptions(), WearOptions(), BetweenOptions()


def drape(
    cloth: pathlib.Path | None = None,
    body: pathlib.Path | None = None,
    *,
    out: Annotated[pathlib.Path | None, Parameter(name=["--out", "-o"])] = None,
    replay: pathlib.Path | None = None,
    sheet: pathlib.Path | None = None,
    scene: str | None = None,
    config: pathlib.Path | None = None,
    frames: int | None = None,
    resolution: int | None = None,
    dt: float = 0.01,
    substeps: int | None = None,
    eps: str | None = None,
    friction: float | None = None,
    friction_model: Literal["coulomb", "simple"] = "coulomb",
    elasticity: float = 0.0,
    self_contact: Literal["off", "push", "safe"] | None = None,
    thickness: str | None = None,
    between: Annotated[BetweenOptions, Parameter(name="*")] = _GUARDED,
    wind: tuple[float, float, float] = (0.0, 0.0, 0.0),
    gravity: tuple[float, float, float] = (0.0, -9.81, 0.0),
    place: Literal["auto", "as-is", "above"] = "auto",
    method: str | None = None,
    wear: Annotated[WearOptions, Parameter(name="*")] = _WORN,
    material: ClothOptions = _COTTON,
    files: Annotated[FileOptions, Parameter(name="*")] = PLAIN,
    measure: Annotated[bool, Parameter(negative="--no-measure")] = True,
    cache: Annotated[bool, Parameter(negative="--no-cache")] = True,
    json: bool = False,
) -> int:
    """Drape CLOTH over BODY. With --body alone: a tablecloth over it, a floor under it. Without files: a tablecloth
    over a bust. A BODY that is a .glb or .gltf file with a clip is a character: it wears CLOTH and plays the clip.

    Every frame is measured by the exact referee, not by the method that was used; the exit code is 1 when any cloth
    vertex or edge midpoint was inside the body, when triangles of cloth and body crossed, when triangles met in safe
    mode, or when cloth crosses cloth at the end that push mode was to keep apart. All options may stand in a TOML file
    instead, given with --config.

    Parameters
    ----------
    cloth
        Mesh file of the cloth; a tablecloth as large as the body needs without it.
    body
        Mesh file of the body it falls on.
    out
        The animation: .glb, .usda, .npz; .pc2, a file for each that bends; .obj, a sequence; .usdc with the extra
        [usd]. drape.glb where no output is named at all.
    replay
        An HTML page that plays the run in any browser, without a network.
    sheet
        A PNG with a few frames of the run.
    scene
        A ready scene instead of files: tablecloth-on-bust, tablecloth-on-ball, cloth-on-box-corner, cloth-in-a-bowl,
        cloth-on-face (made for --method height-grid);
        with bodies that move: rod, spinning-ball, waving-mannequin; with a mannequin that walks: walking-skirt,
        cloth-on-shoulder, walking-trousers; with cloth that meets itself: ribbon, twist, stack, pinch, curtain;
        with soft bodies: cylinders, intestine, liver, creatures; with two mannequins that walk through each other, the
        volume that they share measured: two-figures.
    config
        A TOML file with any of these options, by the same names; what is typed here wins.
    frames
        How many steps of DT to run; 250 without it, and of a character the whole clip.
    resolution
        Particles along the side of the cloth; 36 without it, or what the scene has.
    dt
        Seconds a frame.
    substeps
        Small steps a frame: 16 without it, 3 for a character; more of them stretch less and cost more.
    eps
        Kept between cloth and body, 5mm or metres; without it 5 mm at human size, and what suits other sizes.
    friction
        Coefficient of friction; 0.3 without it, or what the scene has.
    friction_model
        coulomb sticks below the slope; simple only brakes.
    elasticity
        0 absorbs impacts, 1 returns them.
    self_contact
        off: cloth passes through itself; push: it is kept apart, some may pass; safe: what starts without intersections
        never gets one. Without it, what the scene has: safe where cloth meets itself and for
        soft bodies (ribbon, twist, stack, pinch, curtain, cylinders, intestine, liver, creatures), off for the others.
    thickness
        Kept between layers of cloth, 2mm or metres; EPS without it, or what the scene has.
    wind
        Metres per second, x y z.
    gravity
        Metres per second squared, x y z.
    place
        above: centre the cloth over the body; as-is: leave it; auto: move it only where it starts inside or away.
    method
        How contacts are found; see pliant methods. auto, as without it: distance-field for bodies that keep their
        shape, bone-boxes for a character with many bones, tree for others that bend; the table says which and why.
    measure
        Have the exact referee look at every frame.
    cache
        Take the body's distance field from the cache where it was baked before, and keep it where baking took long.
    json
        Print the summary as JSON.
    """
    check_sources(cloth, body, *wear.layer)
    from .. import validate
    from ..detect.choose import AUTO, Chosen, method_for
    from ..detect.methods import method_name
    from ..io import FORMATS, check_libraries
    from ..report.result import record
    from ..simulation import Simulation

    if frames is not None:
        frames = validate.whole("frames", frames, low=1)
    if substeps is not None:
        substeps = validate.whole("substeps", substeps, low=1, high=1000)
    if out is None and replay is None and sheet is None:
        out = pathlib.Path("drape.glb")
    moving = [ending for ending, use in FORMATS.items() if use[2]]
    check_targets([("--out", out, moving), ("--replay", replay, HTML), ("--sheet", sheet, PNG)], [cloth, body])
    if out is not None:
        check_libraries(out)
    options: dict[str, Any] = {
        "eps": metres("--eps", eps),
        "friction_model": friction_model,
        "elasticity": elasticity,
        "wind": wind,
        "gravity": gravity,
        "material": {name: value for name, value in dataclasses.asdict(material).items() if value is not None},
    }
    # what is not typed is for the scene to choose
    chosen_here = {
        "self_contact": self_contact,
        "thickness": metres("--thickness", thickness),
        "resolution": resolution,
    }
    chosen_here["friction"] = friction
    options |= {name: value for name, value in chosen_here.items() if value is not None}
    kept_apart = _kept_apart(between)
    output.say_if_compiling("xpbd.relax_serial")
    made, pace = stage(cloth, body, scene, place, files, wear, options)
    frames, substeps = frames or pace.frames, substeps or pace.substeps
    picked = method_for(made) if method in (None, AUTO) else Chosen(method_name(str(method)), "asked for")
    fielded = picked.name == "distance-field"
    with output.shares("baking the field" if fielded else "preparing") as baked:
        chosen = {"progress": baked, "cache": cache} if fielded else None
        sim = Simulation(made, dt, substeps=substeps, method=picked.name, options=chosen, **kept_apart)
    with output.progress(f"draping {made.name}", frames) as advance:
        # who names a mode of self-contact, off included, is told what it let through
        counted = True if self_contact is not None else None
        result = record(sim, frames, measure=measure, crossings=counted, progress=lambda _: advance())
    written = []
    for path, write in ((out, result.save), (replay, result.to_html), (sheet, result.to_png)):
        if path is not None:
            with output.progress(f"writing {path}"):
                several = write(path)
            written += [str(file) for file in several or [path]]
    if json:
        output.print_json(result.summary | {"eps_m": made.eps, "method": picked._asdict(), "files": written})
    else:
        told = [("method", f"{picked.name} ({picked.why})"), *(("written", name) for name in _told(written))]
        output.table(("", made.name), [*result.facts.items(), *told])
    worn = () if scene is not None or body is None else (cloth, *wear.layer)
    for line in complaints(result, Sources(worn, body, files)):
        output.warn(line)
    return int(result.penetrates or result.cut or result.broken or result.tangled)


def _kept_apart(between: BetweenOptions) -> dict[str, Any]:
    """What `Simulation` is told about cloth on cloth."""
    from ..detect.methods import method_name

    own = None if between.self_method is None else method_name(between.self_method)
    if between.levels is None:
        return {"self_method": own, "self_response": between.self_response}
    if own != "sphere-surface":
        raise ValueError("--levels is for --self-method sphere-surface")
    return {"self_method": own, "self_response": between.self_response, "self_options": {"levels": between.levels}}


def _told(written: list[str]) -> list[str]:
    """What was written, for people: of a long sequence the first and the last."""
    return written if len(written) <= 6 else [written[0], f"... {len(written) - 2} more", written[-1]]

"""`pliant drape`: simulate cloth falling over a body; write the run as a file, a replay and a picture."""

import dataclasses
import pathlib
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from . import output
from .first_run import compile_first
from .height_options import NO_HEIGHTS, HeightOptions
from .output_paths import check_animation_files, check_outputs
from .proxies import proxies_of
from .reading import PAIR, PairOptions, check_sources, metres
from .run_warnings import Sources, carrying_warnings, run_warnings
from .scene_building import (
    NOT_GIVEN,
    UNHELD,
    ClothOptions,
    HoldOptions,
    build_scene,
    check_stepping,
    given_material,
)
from .start_poses import StartPoses
from .wear_options import WearOptions

if TYPE_CHECKING:
    from ..simulation.result import Result

HTML, PNG, PC2 = (".html", ".htm"), (".png",), (".pc2",)


@dataclasses.dataclass(frozen=True)
class SelfContactOptions:
    """A method and response of your own between deformable bodies; they replace the guard's detection and response, and
    in safe mode the guard still limits the motion."""

    self_method: str | None = None
    """Detection method between deformable bodies and within each: bvh, sphere-surface, continuous, spatial-hash,
    stochastic-bvh, active-pairs, brute-force, image-space (closed bodies); with options as for --method. Default: the
    guard's own detection, or bvh if --self-response is given."""
    self_response: str | None = None
    """Response between deformable bodies and within each: projection, penalty, geometric, penalty+geometric, separate,
    volume (closed bodies). Default: the guard's own response, or penalty+geometric if --self-method is given."""
    levels: int | None = None
    "Subdivision levels of the sphere-surface method. Default: chosen by the thickness."


_WORN, _GUARDED = WearOptions(), SelfContactOptions()


def drape(
    cloth: pathlib.Path | None = None,
    body: pathlib.Path | None = None,
    *,
    out: Annotated[pathlib.Path | None, Parameter(name=["--out", "-o", "--output"])] = None,
    replay: pathlib.Path | None = None,
    sheet: pathlib.Path | None = None,
    live: pathlib.Path | None = None,
    subdivide: int | None = None,
    proxy: str | None = None,
    scene: str | None = None,
    config: pathlib.Path | None = None,
    frames: int | None = None,
    resolution: int | None = None,
    dt: float = 0.01,
    substeps: int | None = None,
    solver: Literal["implicit", "xpbd"] = "implicit",
    eps: str | None = None,
    friction: float | None = None,
    self_friction: float | None = None,
    friction_model: Literal["coulomb", "simple"] = "coulomb",
    restitution: Annotated[float, Parameter(name=["--restitution", "--elasticity"])] = 0.0,
    self_contact: Literal["off", "push", "safe"] | None = None,
    thickness: str | None = None,
    between: Annotated[SelfContactOptions, Parameter(name="*")] = _GUARDED,
    wind: tuple[float, float, float] = (0.0, 0.0, 0.0),
    gravity: tuple[float, float, float] = (0.0, -9.81, 0.0),
    place: Literal["auto", "as-is", "above"] = "auto",
    method: str | None = None,
    response: str = "projection",
    stepping: Literal["fixed", "events"] = "fixed",
    device: Literal["auto", "cpu", "cuda"] = "cpu",
    wear: Annotated[WearOptions, Parameter(name="*")] = _WORN,
    held: Annotated[HoldOptions, Parameter(name="*")] = UNHELD,
    relief: Annotated[HeightOptions, Parameter(name="*")] = NO_HEIGHTS,
    fabric: Annotated[str | None, Parameter(name="--material")] = None,
    material: Annotated[ClothOptions, Parameter(name="--material")] = NOT_GIVEN,
    files: Annotated[PairOptions, Parameter(name="*")] = PAIR,
    fix_start: Annotated[bool, Parameter(negative="--no-fix-start")] = True,
    measure: Annotated[bool, Parameter(negative="--no-measure")] = True,
    cache: Annotated[bool, Parameter(negative="--no-cache")] = True,
    json: bool = False,
) -> int:
    """Drape CLOTH over BODY. With --body alone: a tablecloth over it, with a floor below. With --heights in place of
    BODY: over a height image. Without files: a tablecloth over a bust. A BODY that is a .glb or .gltf file with a clip
    is a character: it wears CLOTH and plays the clip. A BODY that is a sequence of meshes (an .npz with frames, a
    folder or a pattern of files, a mesh with --body-points) moves through them and wears CLOTH.

    Every frame is measured exactly, independently of the detection method. The exit code is 1 when a cloth vertex or
    edge midpoint was inside the body, when triangles of cloth and body crossed, when in safe mode any triangles
    intersected or pairs were given up, when cloth intersects cloth at the end in push mode, or, with --proxy, when
    carrying added intersections to the garment or the run of the proxy failed. Places where a deforming body intersects
    itself are counted separately (pinched) and do not fail. All options can be given in a TOML file with --config.

    Parameters
    ----------
    cloth
        Mesh file of the cloth. Default: a tablecloth that fits the body.
    body
        Mesh file of the body it falls on, or of a character that wears it.
    out
        The animation: .glb, .usda, .npz; .pc2 or .mdd, one file per deforming mesh; .vat.exr or .vat.png, vertex
        animation textures; .obj, a sequence of files; .usdc or .usd with the extra [usd]; .abc or .fbx with Blender.
        Default: drape.glb if no output is named.
    replay
        Write a self-contained HTML page that plays the run in a browser.
    sheet
        Write a PNG with a few frames of the run.
    live
        Write each frame of the cloth to this .pc2 file as soon as it is done, and to one file per cloth if there are
        several; a reader finds whole frames at any time.
    subdivide
        Subdivision steps of the cloth that is displayed, 0 to 3: in replay and sheet and, if this option is given, in
        the animation. Default: 2, fewer for fine cloth; the animation has the simulated mesh.
    proxy
        Simulate a proxy of about this number of vertices, 5k or 5000, in place of a denser garment, and carry the
        garment along: thin shells modelled with thickness, buttons and dense meshes. All outputs and measurements are
        those of the garment. Default: the garment itself is simulated.
    scene
        A built-in scene instead of files: tablecloth-on-bust, tablecloth-on-ball, cloth-on-box-corner, cloth-in-a-bowl,
        cloth-on-face (for --method height-grid);
        with kinematic bodies: rod, spinning-ball, waving-mannequin; with a walking mannequin: walking-skirt,
        cloth-on-shoulder, walking-trousers; with cloth self-contact: ribbon, twist, stack, pinch, curtain;
        with soft bodies: cylinders, intestine, liver, creatures, surgical-tool, two-organs, gut-with-mesentery;
        with strands: hair-on-bust; with two mannequins that walk through each other, measuring the volume of their
        overlap: two-figures.
    config
        A TOML file with any of these options under the same names; the command line takes precedence.
    frames
        Number of frames of DT seconds. Default: 250; for a character as many as its lead-in and clip last, or three
        times the clip where the scene repeats it; where nothing is simulated, as many as the recorded motion lasts.
    resolution
        Particles along the side of the cloth. Default: 36, or the scene's own.
    dt
        Seconds per frame, at most 1.
    substeps
        Substeps per frame; frames in which a body moves farther than EPS in one are divided further. Default: one
        per 2.5 ms of DT with the implicit solver, one per 0.625 ms with xpbd and with soft bodies.
    solver
        How cloth is integrated. implicit: all constraints and contacts together, which stretches little and much the
        same at every resolution; xpbd: one sweep over all constraints per substep, as in the papers, which stretches
        more the finer the cloth is.
    eps
        Contact offset between cloth and body, 5mm or metres. Default: the scene's own; on a static body 5 mm, but
        at least a tenth and at most half of the cloth's median edge, at most 1 % of the body's size, and at least 1/320
        of its longest side; on a character 0.25 % of its size, about 5 mm for a person, and at most half of the
        median edge.
    friction
        Coefficient of friction between cloth and body. Default: that of the named material, else the scene's own, else
        0.3.
    self_friction
        Coefficient of friction between layers of cloth. Default: that of the named material, else FRICTION.
    friction_model
        coulomb: limited by the normal force, can stick; simple: damps sliding, cannot stick.
    restitution
        Coefficient of restitution: 0 absorbs impacts, 1 returns them.
    self_contact
        off: cloth passes through itself; push: layers are kept apart, without a guarantee; safe: a start without
        intersections stays free of them. Default: safe.
    thickness
        Distance kept between layers of cloth, 2mm or metres. Default: that of the named material, else the scene's own,
        else EPS, but at most a quarter of the median edge.
    wind
        Metres per second, x y z.
    gravity
        Metres per second squared, x y z.
    place
        For a mesh file of a cloth: above centres it over the body; as-is leaves it; auto centres it over the body only
        if it starts beside, below or far from it, or, if it is a flat sheet, inside it. On a character the garment
        stays where its file has it, and above is an error. A garment that starts inside stays, and is fixed first
        (--no-fix-start: it stays, with a warning).
    method
        Detection method, with its options if any are given: bvh, or bvh:volume=sphere,arity=8; see pliant methods, and
        pliant methods bvh for its options. Default: auto, which takes distance-field for rigid bodies (bvh where
        the field would be coarser than eps), bone-boxes for a character with many bones and bvh for other deforming
        bodies; the table says which and why. (The library's default is distance-field for every scene.)
    response
        Response at contacts with bodies: projection, printed-projection (the equations of Fuhrmann et al. 2003 as
        printed), surface-tag, penalty, geometric, penalty+geometric, separate, volume (closed soft bodies).
    stepping
        events: substeps end at the first time of impact, with --method or --self-method continuous.
    device
        Where it is computed: cpu, cuda (a graphics card, with the same results; what does not run there is an error) or
        auto (the card where there is one and everything runs there).
    fabric
        Material of the cloth by name, see pliant materials: cotton, denim, silk, wool, jersey, leather, felt. Its
        parameters can be changed one by one with the options below. Default: a firm cotton, or the scene's own; worn
        by a character, it stretches by at most 1.7 % instead of 5 %.
    fix_start
        Fix garments from files before the run, as pliant fix does, where they start inside the body, or intersect
        themselves or an inner garment; a line says what was done. Not with --proxy: a proxy is made outside of the
        body.
    measure
        Measure every frame exactly: penetration, intersections, strain.
    cache
        Read the body's distance field from the cache if it was baked before, and store it if baking took long.
    json
        Print the summary as JSON.
    """
    check_sources(cloth, body, wear.body_points, wear.body_rest, relief.heights, *wear.layer)
    from .. import validate
    from ..detect.choose import AUTO, resolve_method_for_scene
    from ..detect.options import parse_method
    from ..errors import CardLostError
    from ..io import check_libraries
    from ..io.formats import WRITTEN_ANIMATIONS
    from ..respond import RESPONSES
    from ..scenes import SCENE_METHODS
    from ..scenes.defaults import check_frame_length
    from ..simulation import Simulation
    from ..simulation.live import LiveCaches
    from ..simulation.preroll import preroll, preroll_frames
    from ..simulation.step import SHORTEST

    if frames is not None:
        frames = validate.whole("frames", frames, low=1)
    check_frame_length(validate.number("dt", dt, low=SHORTEST))
    if substeps is not None:
        substeps = validate.whole("substeps", substeps, low=1, high=1000)
    if subdivide is not None:
        subdivide = validate.whole("subdivide", subdivide, low=0, high=3)
    if out is None and replay is None and sheet is None and live is None:
        out = pathlib.Path("drape.glb")
    inputs = [cloth, body, wear.body_points, wear.body_rest, relief.heights, *wear.layer, config, *held.files]
    outputs = [("--out", out, WRITTEN_ANIMATIONS), ("--replay", replay, HTML), ("--sheet", sheet, PNG)]
    check_outputs([*outputs, ("--live", live, PC2)], inputs)
    if out is not None:
        check_libraries(out)
    options: dict[str, Any] = {
        "eps": metres("--eps", eps),
        "friction_model": friction_model,
        "restitution": restitution,
        "wind": wind,
        "gravity": gravity,
        "material": given_material(fabric, material),
    }
    # options that are not given keep the scene's values
    chosen_here = {
        "self_contact": self_contact,
        "thickness": metres("--thickness", thickness),
        "resolution": resolution,
    }
    chosen_here |= {"friction": friction, "self_friction": self_friction}
    options |= {name: value for name, value in chosen_here.items() if value is not None}
    self_contact_options = _self_contact_options(between)
    if method is not None and method != AUTO:
        method = parse_method(method).text  # before anything is made
    response = validate.choice("response", response, tuple(RESPONSES))
    check_stepping(stepping, None, method, between.self_method)
    compile_first("drape")
    proxies = proxies_of(proxy, held, given=cloth is not None)
    starts = StartPoses(fix_start)
    built, defaults = build_scene(cloth, body, scene, place, files, wear, options, held, dt, proxies, starts, relief)
    built = proxies.with_offsets(built, [name for name in ("eps", "thickness") if options.get(name) is not None])
    frames, substeps = frames or defaults.frames, substeps or defaults.substeps
    if out is not None:
        check_animation_files("--out", out, built, frames, inputs)
    chosen = resolve_method_for_scene(built, method or SCENE_METHODS.get(scene or ""))
    check_stepping(stepping, built, chosen.text, between.self_method)
    fielded = chosen.name == "distance-field"
    with output.fraction_bar("baking the field" if fielded else "preparing") as progress:
        bake_options = {"progress": progress, "cache": cache} if fielded else {}
        bake_options = {name: value for name, value in bake_options.items() if name not in chosen.options}
        sim = Simulation(
            built,
            dt,
            substeps=substeps,
            solver=solver,
            method=chosen,
            options=bake_options,
            response=response,
            stepping=stepping,
            device=device,
            **self_contact_options,
        )
    if defaults.preroll:
        output.say(
            "note: the first pose of the clip is not the rest pose, in which the garments lie: "
            f"{defaults.preroll:.3g} s between the two are simulated before the first frame"
        )
        with output.progress("moving to the first pose", preroll_frames(defaults.preroll)) as advance:
            preroll(sim, defaults.preroll, lambda _: advance())
    with output.progress(f"draping {built.name}", frames) as advance, LiveCaches(live) as watch:
        # intersections of cloth are counted whenever --self-contact is given, even off, unless --no-measure
        counted = True if self_contact is not None else None
        try:
            result = proxies.record(
                sim, frames, measure=measure, count_intersections=counted, progress=lambda _: advance(), watch=watch
            )
        except CardLostError as error:
            checkpoint = (out or pathlib.Path("drape")).with_suffix(".checkpoint.npz")
            sim.save(checkpoint)
            raise CardLostError(f"{error}; written to {checkpoint}, from which Simulation.load continues") from error
    written = [] if watch is None else [str(path) for path in watch.paths]
    for path, write in ((out, result.save), (replay, result.to_html), (sheet, result.to_png)):
        if path is not None:
            with output.progress(f"writing {path}"):
                several = write(path) if subdivide is None else write(path, subdivide=subdivide)
            written += [str(file) for file in several or [path]]
    if json:
        more = {"eps_m": built.eps, "method": chosen._asdict(), "files": written}
        output.print_json(result.summary | starts.to_json() | more)
    else:
        rows = [("method", f"{chosen.text} ({chosen.why})"), *(("written", name) for name in _shortened(written))]
        output.table(("", built.name), [*result.facts.items(), *rows])
    worn = () if scene is not None or body is None else (cloth, *wear.layer)
    sources = Sources(worn, wear.body_rest or body, files)
    lines = run_warnings(result, sources, solver)
    if result.carried is not None:
        lines = run_warnings(result.carried.run, sources, solver) + carrying_warnings(result)
    for line in lines:
        output.warn(line)
    return int(_failed(result) or (result.carried is not None and _failed(result.carried.run)))


def _failed(result: "Result") -> bool:
    """Whether a run has to end with exit code 1."""
    own = result.safe_mode_failed or result.self_intersects_at_end or result.gained_intersections > 0
    return result.penetrates or result.crosses_bodies or own


def _self_contact_options(between: SelfContactOptions) -> dict[str, Any]:
    """The arguments of `Simulation` for contact between layers of cloth."""
    from ..detect.options import parse_method

    chosen = None if between.self_method is None else parse_method(between.self_method)
    own = None if chosen is None else chosen.text
    if between.levels is None:
        return {"self_method": own, "self_response": between.self_response}
    if chosen is None or chosen.name != "sphere-surface":
        raise ValueError("--levels is for --self-method sphere-surface")
    return {"self_method": own, "self_response": between.self_response, "self_options": {"levels": between.levels}}


def _shortened(written: list[str]) -> list[str]:
    """The written files for the table; a long sequence is shortened to its first and last file."""
    return written if len(written) <= 6 else [written[0], f"... {len(written) - 2} more", written[-1]]

"""Drape runs of a sweep: the same scenes, substeps, method and referee as `pliant drape`."""

import logging
import pathlib
from collections.abc import Callable
from typing import Any

import numpy as np

from ..audit.start_pose import CLEARANCE, fix_start
from ..detect.choose import AUTO
from ..io import is_animated, load_character
from ..mesh import Mesh
from ..motion.character import Character
from ..scene import Cloth, Scene
from ..scenes import SCENES, drape_scene, tablecloth_material, tablecloth_scene
from ..scenes.defaults import RunLength, default_run_length
from ..scenes.drape import default_eps, place_cloth
from ..scenes.dressing import (
    LONGEST_PREROLL,
    default_eps_on_skin,
    dress_scene,
    is_upright,
    preroll_of_clip,
    rest_skin,
)
from ..scenes.holding import Holding, hold_cloths
from ..simulation import Simulation
from ..simulation.carrying import Proxies, refuse_rows
from ..simulation.preroll import preroll
from ..simulation.result import Result
from .inputs import TABLECLOTH
from .plan import Run
from .work import Written, write_thumbnail

log = logging.getLogger("pliant.sweep")
_SCENE = (
    "eps",
    "friction",
    "self-friction",
    "friction-model",
    "restitution",
    "self-contact",
    "thickness",
    "wind",
    "gravity",
)
_WORN = ("clip", "lead-in", "teleports", "root-motion", "ease", "hold")
_FIGURES = (
    "frames",
    "particles",
    "body_triangles",
    "penetration_m",
    "least_distance_m",
    "pinched_most",
    "pinched_depth_m",
    "contacts_most",
    "intersecting_pairs_cloth_most",
    "intersecting_pairs_cloth_total",
    "intersecting_pairs_bodies_most",
    "intersecting_pairs_bodies_total",
    "intersecting_pairs_bodies_at_end",
    "crossing_pairs_bodies_most",
    "frames_with_crossing_pairs",
    "initial_intersecting_pairs",
    "failed_substeps",
    "unresolved_most",
    "fastest_at_end_m_per_s",
)


def drape_run(run: Run, folder: pathlib.Path) -> Written:
    """Run the drape; return its figures, the written files and its frame times."""
    given = run.parameters
    proxies = Proxies(given.get("proxy"))
    scene, defaults = _build_scene(run, proxies)
    scene = proxies.with_offsets(scene, tuple(given))
    sim = Simulation(
        scene,
        given.get("dt", 0.01),
        substeps=given.get("substeps", defaults.substeps),
        solver=given.get("solver", "implicit"),
        method=given.get("method", AUTO),
        response=given.get("response", "projection"),
        stepping=given.get("stepping", "fixed"),
        self_method=given.get("self-method"),
        self_response=given.get("self-response"),
        device=run.device,  # type: ignore[arg-type]
    )
    if defaults.preroll:
        preroll(sim, defaults.preroll)
    measure = given.get("measure", True)
    result = proxies.record(sim, given.get("frames", defaults.frames), measure=measure, count_intersections=measure)
    summary = result.summary
    if result.initial_intersections:
        text = "the initial state has intersections: %s; pliant fix removes those of garments"
        log.warning(text, result.initial_intersections_text)
    figures = {name: summary[name] for name in _FIGURES}
    figures |= {"contacts_at_end": int(result.n_contacts[-1])} | _stretch(result)
    files, shown = [], {name: given[name] for name in ("subdivide",) if name in given}
    for ending in run.files:
        name = {"sheet": "sheet.png", "replay": "replay.html"}.get(ending, f"drape.{ending}")
        write: Callable[..., object] = result.save
        if ending in ("sheet", "replay"):
            write = result.to_png if ending == "sheet" else result.to_html
        write(folder / name, **shown)
        files.append(name)
    if run.thumbnail:
        files.append(write_thumbnail(folder, result.displayed_clips(**shown), -1))
    return Written(figures, files, {"ms_per_frame": summary["ms_per_frame"], "compute_s": summary["compute_s"]})


def _build_scene(run: Run, proxies: Proxies) -> tuple[Scene, RunLength]:
    """Return the scene with its cloth held, and its default frames and substeps."""
    given = run.parameters
    scale = given.get("rest-scale", 1.0)
    holding = Holding(
        pins=given.get("pin", ()),
        attach=given.get("attach", ()),
        stitch=[(one, two) for one, two in given.get("stitch", ())],
        stitches=given.get("stitches", ()),
        closing=given.get("closing"),
        rest_scale=tuple(scale) if isinstance(scale, list) else scale,
    )
    if holding.holds and "garment" in run.inputs and run.inputs["garment"].name != TABLECLOTH:
        given = {"hold": "none"} | given  # explicit pins, attachments or stitches replace the automatic ones
    if proxies.vertices is not None:
        refuse_rows(holding.pins, holding.attach, holding.stitches)
    scene, length = _unheld_scene(run, given, proxies)
    return hold_cloths(scene, holding), length


def _unheld_scene(run: Run, given: dict[str, Any], proxies: Proxies) -> tuple[Scene, RunLength]:
    """Return the scene, and its default frames and substeps."""
    dt = given.get("dt", 0.01)
    options: dict[str, Any] = {name.replace("-", "_"): given[name] for name in _SCENE if name in given}
    stuff = {name.partition(".")[2]: value for name, value in given.items() if name.startswith("material.")}
    fabric = given.get("material")
    if stuff or fabric:
        options["material"] = Cloth.named(fabric, **stuff) if fabric else Cloth(**stuff)
    if "scene" in run.inputs:
        _refuse(given, (*_WORN, "place", "proxy"), f"scene {run.inputs['scene'].name!r} defines its own")
        if "resolution" in given:
            options["resolution"] = given["resolution"]
        scene = SCENES[run.inputs["scene"].name](**options)
        return scene, default_run_length(scene, dt)
    garment, body = run.inputs["garment"], run.inputs["body"]
    if body.file is not None and garment.name != TABLECLOTH and is_animated(body.file):
        _refuse(given, ("place",), f"{body.name} is a character; its garments are not placed")
        _ignore_resolution(given, garment.name)
        character = load_character(body.file, units=given.get("units", "m"), up=given.get("up", "y"))
        worn = {name.replace("-", "_"): given[name] for name in _WORN if name in given}
        skin = rest_skin(character)
        seconds = _preroll(character, worn, options)
        worn |= {"lead_in": seconds} if seconds else {}
        worn_mesh = garment.load(given)
        put = _started(worn_mesh, skin, options.get("eps") or default_eps_on_skin(skin, [worn_mesh]), given)
        scene = dress_scene([proxies.replace(put, skin)], character, **worn, **options)
        return scene, default_run_length(scene, dt, seconds)
    if garment.name == TABLECLOTH:
        _refuse(given, _WORN, "a tablecloth is not worn")
    else:
        _refuse(given, _WORN[:-1], f"{body.name} is not a .glb or .gltf file with a clip")
    under = body.load(given)
    if garment.name == TABLECLOTH:
        _refuse(given, ("proxy",), "a tablecloth takes its number of vertices from resolution")
        chosen = {name: given[name] for name in ("resolution", "place") if name in given}
        if not fabric:  # the parameters of a named material do not depend on the size
            options["material"] = tablecloth_material(under, **stuff)
        scene = tablecloth_scene(under, **chosen, **options)
    else:
        _ignore_resolution(given, garment.name)
        how = {name: given[name] for name in ("place", "hold") if name in given}
        worn_mesh = garment.load(given)
        if "proxy" not in given:
            put = place_cloth(worn_mesh, under, how.get("place", "auto"))
            how |= {} if put is worn_mesh else {"hold": "none"}  # only a garment that is worn where its file has it
            worn_mesh = _started(put, under, options.get("eps") or default_eps(under, put), given)
            how["place"] = "as-is"
        scene = drape_scene(proxies.replace(worn_mesh, under), under, **how, **options)
    return scene, default_run_length(scene, dt)


def _started(garment: Mesh, body: Mesh, eps: float, given: dict[str, Any]) -> Mesh:
    """The garment, fixed where it starts inside the body or intersects itself, as `pliant drape` does."""
    if not given.get("fix-start", True) or "proxy" in given or not garment.n_faces or len(garment.lines):
        return garment
    found = fix_start(garment, body, CLEARANCE * eps)
    if found is None:
        return garment
    log.warning("the start of %r was fixed: %s", garment.name, found.text)
    return found.garment


def _preroll(character: Character, worn: dict[str, Any], options: dict[str, Any]) -> float:
    """Return the seconds that `pliant drape` simulates before the first frame with these options."""
    if worn.get("lead_in") != 0.0 or worn.get("clip", next(iter(character.clips), None)) not in character.clips:
        return 0.0
    how = {"teleports": worn.get("teleports", "carry"), "root_motion": worn.get("root_motion", "keep")}
    distance, seconds = preroll_of_clip(character, worn.get("clip"), turn=is_upright(options), **how)
    if seconds > LONGEST_PREROLL:
        log.warning("the first pose of the clip is %.3g m from the rest pose: the body jumps there", distance)
        return 0.0
    return seconds


def _refuse(given: dict[str, Any], names: tuple[str, ...], why: str) -> None:
    """Raise for parameters without effect, which would give several rows of the table the same result."""
    for name in names:
        if name in given:
            raise ValueError(f"{name} does not apply: {why}")


def _ignore_resolution(given: dict[str, Any], name: str) -> None:
    """Warn that resolution applies only to the tablecloths of the same sweep."""
    if "resolution" in given:
        log.warning("resolution is ignored: %s has its own", name)


def _stretch(result: Result) -> dict[str, float]:
    """Return the relative elongation of cloth edges in the last frame: the largest, and the mean of its magnitude."""
    every = result.edge_strain() if result.x else np.zeros(1)
    return {"stretch_most": float(every.max(initial=0.0)), "stretch_mean": float(np.abs(every).mean())}

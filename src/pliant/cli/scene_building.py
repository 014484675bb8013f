"""Build the scene of `pliant drape` and `pliant play` from the command line: files, built-in scene or character."""

import dataclasses
import pathlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from . import output
from .height_options import NO_HEIGHTS, HeightOptions
from .proxies import simulated
from .reading import PairOptions, outward, outward_character, read_body, read_mesh, warn_of_mesh
from .recorded_bodies import build_recorded, is_recorded
from .unit_mismatch import warn_of_pair
from .wear_options import WearOptions, refuse_wear_options, say_held

if TYPE_CHECKING:
    from ..mesh import Mesh
    from ..motion.character import Character
    from ..scene import Cloth, Scene, Strands
    from ..scenes.defaults import RunLength
    from ..scenes.holding import Holding
    from ..simulation.carrying import Proxies
    from .start_poses import StartPoses


@dataclasses.dataclass(frozen=True)
class HoldOptions:
    """What holds the cloth. SELECTION names vertices: ids:1,2,5-9, group:Collar, attribute:_PIN>0.5, colour:red,
    box:x0,y0,z0,x1,y1,z1, sphere:x,y,z,r, "boundary top", "top 3cm"; joined by + (or) and & (and), see docs/holding.md.
    """

    pin: tuple[str, ...] = ()
    "SELECTION of vertices that do not move; repeat for more. Default: none."
    attach: tuple[str, ...] = ()
    """SELECTION[=TARGET] of vertices that follow the nearest skin, or the bone or body TARGET; or one of shoulders,
    neck, waist, wrists, ankles: the boundary nearest to these bones; repeat for more. Default: none."""
    stitch: tuple[tuple[str, str], ...] = ()
    "Two SELECTIONs whose boundaries are sewn together by arc length; repeat for each seam. Default: none."
    stitches: str | None = None
    "File of stitches, two vertices counted from 0 in each line; or lines: the line elements of the cloth's file."
    closing: float = 0.5
    "Seconds from the start in which stitches close and the rest scale is reached."
    rest_scale: str = "1"
    "Factor of the rest lengths of the cloth, or of those along warp and weft: 0.95 or 0.9,1."

    @property
    def files(self) -> list[pathlib.Path]:
        """The files that `holding` reads."""
        from ..scenes.holding import LINES

        return [] if self.stitches in (None, LINES) else [pathlib.Path(str(self.stitches))]

    def holding(self) -> "Holding":
        """The pins, attachments, stitches and scale of a scene."""
        from .. import validate
        from ..io.pairs import read_pairs
        from ..scenes.holding import LINES, Holding

        pairs: Any = LINES if self.stitches == LINES else ()
        for path in self.files:
            pairs = read_pairs(path)
        try:
            scales = [float(part) for part in self.rest_scale.split(",")]
        except ValueError:
            scales = []
        if len(scales) not in (1, 2):
            raise ValueError(f"--rest-scale is {self.rest_scale!r}; expected a number, or two: warp,weft")
        for scale in scales:
            validate.number("--rest-scale", scale, low=0.1, high=10.0)
        return Holding(
            pins=self.pin,
            attach=self.attach,
            stitch=self.stitch,
            stitches=pairs,
            closing=validate.number("--closing", self.closing, low=0.0),
            rest_scale=scales[0] if len(scales) == 1 else (scales[0], scales[1]),
        )


UNHELD = HoldOptions()


@dataclasses.dataclass(frozen=True)
class ClothOptions:
    """Material of the cloth, or of strands, whose units have no metre of width: kg/m, N, N m2."""

    density: float | None = None
    "Mass per area, kg/m2. Default: 0.2, or the scene's own."
    stretch: float | None = None
    "Stretch stiffness along the warp, N/m. Default: 500, or the scene's own."
    stretch_weft: float | None = None
    "Stretch stiffness along the weft, N/m. Default: as along the warp."
    shear: float | None = None
    "Shear stiffness, N/m. Default: 100, or the scene's own."
    bend: float | None = None
    "Bending stiffness along the warp, N m. Default: 0.0002; scaled to size and weight for the tablecloth over --body."
    bend_weft: float | None = None
    "Bending stiffness along the weft, N m. Default: as along the warp."
    damping: float | None = None
    "Internal friction, m2/s. Default: 0.01; scaled to its size for the tablecloth over --body."
    air: float | None = None
    "Density of the surrounding air, kg/m3; 0 is vacuum. Default: 1.2."
    radius: float | None = None
    "Radius of strands, m. Default: 0.0012."
    name: str | None = None
    "In a file of --config: the material by name, with the parameters beside it that differ. Default: none."


NOT_GIVEN = ClothOptions()


def given_material(name: str | None, options: ClothOptions) -> dict[str, Any]:
    """Return the name and the parameters of the material that were given."""
    if name is not None and options.name is not None and name != options.name:
        raise ValueError(f"--material {name} and material.name = {options.name!r} differ; give one of them")
    given = dataclasses.asdict(options) | {"name": name or options.name}
    return {key: value for key, value in given.items() if value is not None}


def chosen_material(given: dict[str, Any], *, strands: bool = False) -> "Cloth | Strands":
    """Return the material of these parameters, by name where one is given."""
    from ..scene import Cloth, Strands

    own = Strands if strands else Cloth
    for name in given:
        if name not in (*(field.name for field in dataclasses.fields(own)), *(() if strands else ("name",))):
            option = "--material" if name == "name" else f"--material.{name.replace('_', '-')}"
            raise ValueError(f"{option} is for {'cloth' if strands else 'strands'}, not for {own.__name__.lower()}")
    if strands:
        return Strands(**given)
    rest = {key: value for key, value in given.items() if key != "name"}
    return Cloth.named(given["name"], **rest) if "name" in given else Cloth(**rest)


def build_scene(
    cloth: pathlib.Path | None,
    body: pathlib.Path | None,
    scene: str | None,
    place: str,
    files: PairOptions,
    wear: WearOptions,
    options: dict[str, Any],
    held: HoldOptions = UNHELD,
    dt: float = 0.01,
    proxies: "Proxies | None" = None,
    starts: "StartPoses | None" = None,
    heights: HeightOptions = NO_HEIGHTS,
) -> "tuple[Scene, RunLength]":
    """Build the scene, with its cloth held; return it with its default numbers of frames of `dt` s and of substeps.

    options["material"]: only the parameters that were given. proxies: simulated in place of the garments.
    starts: fixes the start poses of garments from files, unless they have proxies, which are made outside of the body;
    notes open and inverted shells of the body in any case.
    """
    from .. import validate
    from ..mesh import Mesh
    from ..scenes import SCENES, STRAND_SCENES, drape_scene, tablecloth_material, tablecloth_scene
    from ..scenes.defaults import RunLength, default_run_length
    from ..scenes.drape import check_eps, default_eps, place_cloth
    from ..scenes.dressing import WORN
    from ..scenes.holding import hold_cloths

    holding, wished = held.holding(), wear
    if holding.holds and wear.hold == "auto" and cloth is not None:
        # explicit pins, attachments or stitches replace the automatic ones
        wear = dataclasses.replace(wear, hold="none")
    if scene is not None and (cloth or body):
        raise ValueError(f"--scene {scene} has its own cloth and body; give either a scene or files")
    heights.check(body, scene)
    files.check(body)
    if cloth is not None and body is None and heights.heights is None:
        raise ValueError(
            f"a body is missing: pliant drape {cloth} BODY; or pliant drape --body {cloth} for a tablecloth over it, "
            f"or pliant drape {cloth} --heights IMAGE"
        )
    given = options.get("material", {})
    options = {name: value for name, value in options.items() if name != "material"}
    _check_scene_options(options)
    recorded = cloth is not None and body is not None and is_recorded(body, wear.body_points)
    soft = None if cloth is None or body is None or recorded else read_mesh(cloth, files)
    strands = scene in STRAND_SCENES if soft is None else bool(len(soft.lines))
    if given:
        options["material"] = chosen_material(given, strands=strands)
    if "resolution" in options:
        options["resolution"] = validate.whole("resolution", options["resolution"], low=2, high=2000)
        if cloth is not None:
            raise ValueError("--resolution is for generated cloth; it does not apply to a mesh file")
    if heights.heights is not None:
        refuse_wear_options(dataclasses.replace(wear, hold="auto"), f"{heights.heights} is a height image")
        built = _on_heights(cloth, heights, place, files, options)
        return hold_cloths(built, holding, _note), RunLength()
    if body is None:
        refuse_wear_options(wear, "give both as files")
        refuse_place(place, "a built-in scene has its own positions")
        name = "tablecloth-on-bust" if scene is None else validate.choice("scene", scene, tuple(SCENES))
        with output.progress(f"making {name}"):
            built = SCENES[name](**options)
        return hold_cloths(built, holding, _note), default_run_length(built, dt)
    if cloth is None:
        refuse_wear_options(wear, "a tablecloth is not worn")
        refuse_place(place, "a tablecloth starts above the body")
        rigid, count = outward(read_mesh(body, files.body)), options.pop("resolution", 36)
        if body.suffix.lower() in (".glb", ".gltf") and not isinstance(read_body(body, files.body), Mesh):
            _note(f"{body.name} has clips; under a tablecloth it stays in its rest pose, with a garment it plays them")
        if "name" not in given:  # the parameters of a named material do not depend on the size
            options["material"] = tablecloth_material(rigid, **given)
        built = tablecloth_scene(rigid, resolution=count, name=f"tablecloth on {rigid.name}", **options)
        return hold_cloths(built, holding, _note), RunLength()
    if recorded:
        if place == "above":
            raise ValueError(f"--place above is for bodies without frames; {body} is a sequence of meshes")
        if given and "name" not in given:
            options["material"] = dataclasses.replace(options["material"], strain_limit=WORN.strain_limit)
        built = build_recorded(cloth, body, files, wished, holding, options, proxies, starts)
        say_held(built, automatic=wear.hold == "auto")
        return with_layer_materials(built, wear.layer_material, len(wear.layer)), default_run_length(built, dt)
    for option in ("body_points", "body_rest", "fps"):
        if getattr(wear, option) is not None:
            raise ValueError(
                f"--{option.replace('_', '-')} is for a body that is a sequence of meshes; {body} is none"
                + ("; choose the frames per second of the result with --dt" if option == "fps" else "")
            )
    found = read_body(body, files.body)
    if not isinstance(found, Mesh):
        if place == "above":
            raise ValueError(f"--place above is for bodies without a clip; {body} is a character")
        assert soft is not None
        if wear.ease != WearOptions.ease and held.rest_scale != HoldOptions.rest_scale:
            raise ValueError("--ease and --rest-scale both change the rest lengths of the garment; give one of them")
        if given and "name" not in given and not strands:
            options["material"] = dataclasses.replace(options["material"], strain_limit=WORN.strain_limit)
        built, preroll = _dress(soft, body, outward_character(found), files, wear, options, proxies, starts)
        say_held(built, automatic=wear.hold == "auto")
        built = with_layer_materials(built, wear.layer_material, len(wear.layer))
        return hold_cloths(built, holding, _note), default_run_length(built, dt, preroll)
    refuse_wear_options(dataclasses.replace(wear, hold="auto"), f"{body} is not a .glb or .gltf file with a clip")
    warn_of_mesh(body, found)
    rigid = outward(found)
    assert soft is not None
    warn_of_pair(soft, rigid, files, placed=place != "as-is")
    if options.get("eps") is not None:
        check_eps(validate.number("eps", options["eps"], above=0.0), rigid)
    soft = simulated(soft, rigid, proxies)
    name, hold = f"{soft.name} on {rigid.name}", wear.hold
    if starts is not None and soft.n_faces and rigid.n_faces and not len(soft.lines):
        put = place_cloth(soft, rigid, place)
        if _has_proxies(proxies) or not starts.wanted:
            starts.note(put, rigid)
        else:
            hold = hold if put is soft else "none"  # only a garment that is worn where its file has it is held
            eps = options.get("eps")
            (soft,) = starts.fixed([put], rigid, default_eps(rigid, put) if eps is None else eps)
            place = "as-is"
    built = drape_scene(soft, rigid, place=place, hold=hold, name=name, **options)
    if pinned := len(built.bodies[0].pins):
        what = "vertices at the roots of strands" if len(soft.lines) else "boundary vertices close to the body"
        output.say(f"note: {pinned} {what} are pinned; --hold none releases them")
    return hold_cloths(built, holding, _note), RunLength()


def _check_scene_options(options: dict[str, Any]) -> None:
    """Raise ValueError for an option that no scene can have, before files are read and the start is fixed."""
    from .. import shapes
    from ..scene import Body, Scene

    given = {name: value for name, value in options.items() if name != "resolution" and value is not None}
    Scene([Body(shapes.cloth(1.0, 1.0, 2), obstacle=True)], **given)


def _on_heights(
    cloth: pathlib.Path | None, heights: HeightOptions, place: str, files: PairOptions, options: dict[str, Any]
) -> "Scene":
    """The scene of a cloth, from a file or as large as the image, on a height image."""
    from .. import shapes
    from ..scenes import drape_scene
    from ..scenes.drape import above

    image = heights.image()
    if cloth is None:
        refuse_place(place, "a generated cloth starts above the image")
        side, count = image.spacing * (max(image.heights.shape) - 1), options.pop("resolution", 36)
        soft = above(shapes.cloth(side, side, count), image.mesh)
    else:
        soft = read_mesh(cloth, files)
    built = drape_scene(soft, image.mesh, place=place, hold="none", name=f"{soft.name} on {image.name}", **options)
    bodies = [dataclasses.replace(body, heights=image) if body.obstacle else body for body in built.bodies]
    return dataclasses.replace(built, bodies=bodies)


def _has_proxies(proxies: "Proxies | None") -> bool:
    return proxies is not None and proxies.vertices is not None


def with_layer_materials(scene: "Scene", names: Sequence[str], layers: int) -> "Scene":
    """The scene with the materials of its garments over the first, by name."""
    from ..scene import Cloth
    from ..scenes.dressing import WORN

    if len(names) > layers:
        raise ValueError(f"--layer-material is given {len(names)} times and --layer {layers} times; expected as many")
    bodies = list(scene.bodies)
    for k, name in enumerate(names, 1):
        bodies[k] = dataclasses.replace(bodies[k], material=WORN if name == "default" else Cloth.named(name))
    return dataclasses.replace(scene, bodies=bodies)


def _note(text: str) -> None:
    output.say(f"note: {text}")


def check_stepping(stepping: str, scene: "Scene | None", method: str | None, self_method: str | None = None) -> None:
    """Refuse --stepping that the methods cannot give in the scene, or in any (None)."""
    from ..detect.choose import AUTO
    from ..simulation.events import stepping_reasons

    if why := stepping_reasons(scene, None if method == AUTO else method, self_method)[stepping]:
        remedy = "add --method continuous" if scene is None else "use --stepping fixed"
        raise ValueError(f"--stepping {stepping} {why}; {remedy}")


def refuse_place(place: str, why: str) -> None:
    """Raise ValueError for a placement other than the default where it would have no effect."""
    if place != "auto":
        raise ValueError(f"--place {place} is for the mesh file of a cloth on a body; {why}")


def _dress(
    cloth: "Mesh",
    body: pathlib.Path,
    character: "Character",
    files: PairOptions,
    wear: WearOptions,
    options: dict[str, Any],
    proxies: "Proxies | None",
    starts: "StartPoses | None",
) -> "tuple[Scene, float]":
    """Return the scene of garments on a character, and the seconds of its lead-in that are a pre-roll."""
    from .. import validate
    from ..io import size_warning
    from ..scenes.dressing import default_eps_on_skin, dress_scene, rest_skin

    lead_in = None if wear.lead_in is None else validate.number("--lead-in", wear.lead_in, low=0.0)
    preroll = _preroll(character, wear, options) if lead_in == 0.0 else 0.0
    if warning := size_warning(character.mesh):
        output.warn(f"{body}: {warning}")
    skin = rest_skin(character)
    worn = [cloth, *(read_mesh(path, files) for path in wear.layer)]
    for garment in worn:
        warn_of_pair(garment, skin, files)
    garments = [simulated(garment, skin, proxies) for garment in worn]
    if starts is not None and all(garment.n_faces and not len(garment.lines) for garment in garments):
        if _has_proxies(proxies):
            starts.note(garments[0], skin)
        else:
            eps = options.get("eps")
            garments = starts.fixed(garments, skin, default_eps_on_skin(skin, garments) if eps is None else eps)
    name = f"{' and '.join(garment.name for garment in garments)} on {character.mesh.name}"
    with output.progress(f"making {name}"):
        built = dress_scene(
            garments,
            character,
            clip=wear.clip,
            lead_in=preroll or lead_in,
            teleports=wear.teleports,
            root_motion=wear.root_motion,
            hold=wear.hold,
            ease=validate.share("--ease", wear.ease),
            name=name,
            **options,
        )
    return built, preroll


def _preroll(character: "Character", wear: WearOptions, options: dict[str, Any]) -> float:
    """Return for how many seconds a character moves from the rest pose to the first pose of a clip that starts at once;
    warn where that would take too long."""
    from ..scenes.dressing import LONGEST_PREROLL, is_upright, preroll_of_clip

    if wear.clip is not None and wear.clip not in character.clips:
        return 0.0  # `dress_scene` says what is wrong
    how: dict[str, Any] = {"teleports": wear.teleports, "root_motion": wear.root_motion, "turn": is_upright(options)}
    distance, seconds = preroll_of_clip(character, wear.clip, **how)
    if seconds <= LONGEST_PREROLL:
        return seconds
    output.warn(
        f"the first pose of the clip is up to {distance:.3g} m from the rest pose, in which the garments lie, and "
        f"would take {seconds:.3g} s to reach: the body jumps there, and the cloth may be left behind or inside; "
        + ("leave out --teleports keep" if wear.teleports == "keep" else "leave out --lead-in 0")
    )
    return 0.0

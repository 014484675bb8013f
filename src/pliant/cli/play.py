"""`pliant play`: an interactive simulation in the browser, with cloth that can be dragged."""

import dataclasses
import os
import pathlib
import sys
import threading
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from ..files import check_writable
from . import output
from .first_run import compile_first
from .height_options import NO_HEIGHTS, HeightOptions
from .reading import PAIR, PairOptions, metres
from .scene_building import (
    NOT_GIVEN,
    UNHELD,
    ClothOptions,
    HoldOptions,
    build_scene,
    check_stepping,
    chosen_material,
    given_material,
    refuse_place,
)
from .start_poses import StartPoses
from .wear_options import WearOptions

if TYPE_CHECKING:
    from ..view.session_interface import SessionInterface

PORT = 8420
_DEFAULT_WEAR = WearOptions()


def play(
    scene: str | None = None,
    body: pathlib.Path | None = None,
    *,
    method: str | None = None,
    stepping: Literal["fixed", "events"] = "fixed",
    solver: Literal["implicit", "xpbd"] = "implicit",
    device: Literal["auto", "cpu", "cuda"] = "cpu",
    port: int = PORT,
    host: str = "127.0.0.1",
    token: bool = False,
    open: Annotated[bool | None, Parameter(negative="--no-open")] = None,
    fps: float = 60.0,
    folder: pathlib.Path = pathlib.Path(),
    config: pathlib.Path | None = None,
    resolution: int | None = None,
    eps: str | None = None,
    friction: float | None = None,
    self_contact: Literal["off", "push", "safe"] | None = None,
    thickness: str | None = None,
    place: Literal["auto", "as-is", "above"] = "auto",
    subdivide: int | None = None,
    wear: Annotated[WearOptions, Parameter(name="*")] = _DEFAULT_WEAR,
    held: Annotated[HoldOptions, Parameter(name="*")] = UNHELD,
    relief: Annotated[HeightOptions, Parameter(name="*")] = NO_HEIGHTS,
    fabric: Annotated[str | None, Parameter(name="--material")] = None,
    material: Annotated[ClothOptions, Parameter(name="--material")] = NOT_GIVEN,
    files: Annotated[PairOptions, Parameter(name="*")] = PAIR,
    fix_start: Annotated[bool, Parameter(negative="--no-fix-start")] = True,
) -> int:
    """Run SCENE in the browser: drag the cloth, change method and parameters while it runs. With a mesh file and BODY
    instead of a scene: that cloth on that body, as in `pliant drape`; with --body alone, a tablecloth over it;
    with --heights, a cloth on a height image.

    By default the page can be reached from this machine only. Another --host serves it on the network; access then
    needs the token in the printed address. Nothing is encrypted. Ctrl-C stops the server.

    Parameters
    ----------
    scene
        A built-in scene (listed by pliant drape --help), or the mesh file of a cloth. Default: tablecloth-on-bust.
    body
        Mesh file of the body the cloth falls on, or a character that wears it.
    method
        Initial detection method, with options as in bvh:volume=sphere, see pliant methods. Default: auto, chosen for
        the scene.
    stepping
        events: substeps end at the first time of impact, with --method continuous.
    solver
        How cloth is integrated: implicit, or xpbd, as in pliant drape.
    device
        Where it is computed: cpu, cuda (a graphics card, with the same results; what does not run there is an error) or
        auto (the card where there is one and everything runs there).
    port
        TCP port of the server; 0 takes any free port.
    host
        The address to listen on; 0.0.0.0 means all network interfaces, for everyone who has the token.
    token
        Require a token on this machine too: other users of it cannot connect, scripts with the token can.
    open
        Open the page in the browser. Default: if the output is a terminal and there is a display.
    fps
        Maximum number of frames per second that are sent to the page.
    folder
        Folder for recordings.
    config
        A TOML file with any of these options under the same names; the command line takes precedence.
    resolution
        Particles along the side of the cloth. Default: 36, or the scene's own.
    eps
        Contact offset between cloth and body: 5mm, or metres. Default: as in pliant drape.
    friction
        Coefficient of friction between cloth and body. Default: as in pliant drape.
    self_contact
        off: cloth passes through itself; push: layers are kept apart, without a guarantee; safe: a start without
        intersections stays free of them. Default: safe.
    thickness
        Distance kept between layers of cloth: 2mm, or metres. Default: as in pliant drape.
    place
        above: centre the cloth over the body; as-is: leave it; auto: centre it over the body only if it starts beside,
        below or far from it, or, if it is a flat sheet, inside it. On a character the garment stays where its file has
        it, and above is an error. A garment that starts inside stays, and is fixed first (--no-fix-start: it stays,
        with a warning).
    fabric
        Material of the cloth by name, see pliant materials: cotton, denim, silk, wool, jersey, leather, felt. Its
        parameters can be changed one by one with the options below. Default: a firm cotton, or the scene's own; worn
        by a character, it stretches by at most 1.7 % instead of 5 %.
    subdivide
        Subdivision steps of the displayed cloth, 0 to 3. Default: 2, fewer for fine cloth.
    fix_start
        Fix garments from files before the run, as pliant fix does, where they start inside the body, or intersect
        themselves or an inner garment; a line says what was done.
    """
    from .. import validate
    from ..view.access import AccessRules
    from ..view.listening_socket import listen_at
    from ..view.server import Limits, run

    port = validate.whole("--port", port, low=0, high=65535)
    check_stepping(stepping, None, method)
    limits = Limits(fps=validate.number("--fps", fps, low=1.0, high=1000.0))
    _check_folder(folder)
    if resolution is not None:
        resolution = validate.whole("resolution", resolution, low=2, high=2000)
    if subdivide is not None:
        subdivide = validate.whole("subdivide", subdivide, low=0, high=3)
    typed = {"resolution": resolution, "eps": metres("--eps", eps), "friction": friction}
    typed["thickness"] = metres("--thickness", thickness)
    every: dict[str, Any] = typed | {"self_contact": self_contact}
    options = {name: value for name, value in every.items() if value is not None}
    if given := given_material(fabric, material):
        chosen_material(given)  # reports what is wrong before the server starts
        options["material"] = given
    with listen_at(host, port) as listening:  # before anything that takes long
        rules = AccessRules.at(listening, host, token)
        starts = StartPoses(fix_start)
        session = make_session(
            scene,
            body,
            method,
            folder,
            place,
            files,
            wear,
            options,
            held,
            subdivide,
            starts,
            relief,
            (stepping, solver, device),
        )
        compile_first("drape")  # which simulates the same

        def ready() -> None:
            print(rules.url, flush=True)
            if rules.token is not None and not token:
                output.warn("everyone who has this address can connect; nothing is encrypted")
            output.say("Ctrl-C stops the server")
            if _has_screen() if open is None else open:
                threading.Thread(target=_open, args=(rules.url,), daemon=True).start()

        run(session, listening, rules, limits, ready)
    if (failed := session.failed) and not session.has_started:
        raise ValueError(failed)
    return 0


def make_session(
    scene: str | None,
    body: pathlib.Path | None,
    method: str | None,
    folder: pathlib.Path,
    place: str,
    files: PairOptions,
    wear: WearOptions,
    options: dict[str, Any],
    held: HoldOptions = UNHELD,
    subdivide: int | None = None,
    starts: StartPoses | None = None,
    relief: HeightOptions = NO_HEIGHTS,
    how: tuple[str, str, Any] = ("fixed", "implicit", "cpu"),
) -> "SessionInterface":
    """Create the session for the given options; a built-in scene is created later, in the session's own thread, unless
    options hold its cloth. starts: fixes the start poses of garments from files. how: stepping, solver and device."""
    from ..detect.choose import AUTO
    from ..detect.options import parse_method
    from ..scenes import SCENES
    from ..view.interactive_run import StartOptions
    from ..view.session import Session

    if method is not None:
        method = None if method == AUTO else parse_method(method).text
    stepping, solver, device = how
    start = StartOptions(method=method, subdivide=subdivide, stepping=stepping, solver=solver, device=device)
    if relief != NO_HEIGHTS:
        relief.check(body, scene if scene in SCENES else None)
        cloth = None if scene is None else pathlib.Path(scene)
        own, _ = build_scene(cloth, None, None, place, files, wear, options, held, starts=starts, heights=relief)
        return Session(dataclasses.replace(start, own=own), folder)
    if body is None and (scene is None or scene in SCENES) and held != UNHELD:
        # a built-in scene with something held is made here, because the session makes scenes by their names
        own, _ = build_scene(None, None, scene, place, files, wear, options, held)
        return Session(dataclasses.replace(start, own=own), folder)
    if body is None and (scene is None or scene in SCENES):
        if wear != _DEFAULT_WEAR:
            names = "--clip, --lead-in, --teleports, --root-motion, --hold, --ease and --layer"
            raise ValueError(f"{names} are for a garment on a character (--hold: on any body); give both as files")
        refuse_place(place, "a built-in scene has its own positions")
        if "material" in options:
            options["material"] = chosen_material(options["material"])
        start = dataclasses.replace(start, scene=scene or start.scene, options=options)
        return Session(start, folder)
    if body is None:
        raise ValueError(_unknown_scene(str(scene)))
    if scene in SCENES:
        raise ValueError(f"{scene} brings its own body; give either its name or files")
    cloth = None if scene is None else pathlib.Path(scene)
    own, _ = build_scene(cloth, body, None, place, files, wear, options, held, starts=starts)
    # the scene already contains the options
    return Session(dataclasses.replace(start, own=own), folder)


def _unknown_scene(scene: str) -> str:
    """The error message for a file without a body, or for an unknown scene."""
    from .. import validate
    from ..scenes import SCENES

    if os.path.exists(scene) or pathlib.Path(scene).suffix:
        return f"a body is missing: pliant play {scene} BODY; or pliant play --body {scene} for a tablecloth over it"
    try:
        return validate.choice("scene", scene, tuple(SCENES))
    except ValueError as error:
        return str(error)


def _check_folder(folder: pathlib.Path) -> None:
    """Verify before the simulation starts that recordings can be written to the folder."""
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"--folder {folder} is a file; give a folder for recordings")
    try:
        check_writable(folder.absolute())  # a missing folder is created with the first recording
    except OSError as error:
        if folder == pathlib.Path():  # the default folder: playing works without recordings
            output.warn(f"this folder cannot be written ({error.strerror}); name another for recordings with --folder")
        else:
            raise ValueError(
                f"--folder {folder} cannot be written ({error.strerror}); give another for recordings"
            ) from None


def _has_screen() -> bool:
    """True for an interactive terminal with a graphical display, where a browser opens a window of its own."""
    if not sys.stdout.isatty():
        return False
    return sys.platform in ("win32", "darwin") or any(os.environ.get(n) for n in ("DISPLAY", "WAYLAND_DISPLAY"))


def _open(url: str) -> None:
    import webbrowser

    if not webbrowser.open(url):
        output.say("no browser was found; open the address yourself")

"""`pliant play`: a scene that runs while you watch, in a page of your own browser; pull at it."""

import os
import pathlib
import sys
import tempfile
import threading
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from . import output
from .reading import PLAIN, FileOptions, metres
from .staging import WearOptions, stage

if TYPE_CHECKING:
    from ..view.face import Face

PORT = 8420
_WORN = WearOptions()


def play(
    scene: str | None = None,
    body: pathlib.Path | None = None,
    *,
    method: str | None = None,
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
    wear: Annotated[WearOptions, Parameter(name="*")] = _WORN,
    files: Annotated[FileOptions, Parameter(name="*")] = PLAIN,
) -> int:
    """Play SCENE in a page: drag the cloth, change the method and the numbers while it runs. With a mesh file and BODY
    instead of a name: that cloth on that body, as `pliant drape` does; with --body alone a tablecloth over it.

    The page is for this machine alone. Another --host makes it one for the network, and then nobody gets in without the
    token that stands in the printed address; nothing is encrypted. Ctrl-C ends it.

    Parameters
    ----------
    scene
        A ready scene, tablecloth-on-bust without it (see pliant drape --help for all of them); or the mesh file of a
        cloth.
    body
        Mesh file of the body the cloth falls on, or a character that wears it.
    method
        How contacts are found at first; see pliant methods. auto, as without it: what suits the scene.
    port
        Where the page is; 0 takes any that is free.
    host
        The address to listen on; 0.0.0.0 is all of this machine's, and for everyone who has the token.
    token
        Ask for a token even on this machine alone: others who work on it cannot connect then, and scripts can.
    open
        Open the page in the browser; without either, where the output is a terminal and there is a screen.
    fps
        Frames a second that the page is sent at most.
    folder
        Where recordings are written.
    config
        A TOML file with any of these options, by the same names; what is typed here wins.
    resolution
        Particles along the side of the cloth.
    eps
        Kept between cloth and body: 5mm, or metres.
    friction
        Coefficient of friction.
    self_contact
        off: cloth passes through itself; push: it is kept apart; safe: it never gets through. What suits the scene
        without it.
    thickness
        Kept between layers of cloth: 2mm, or metres.
    place
        above: centre the cloth over the body; as-is: leave it; auto: move it only where it starts inside or away.
    """
    from .. import validate
    from ..view.gate import Gate, listen_at
    from ..view.server import Limits, run

    port = validate.whole("--port", port, low=0, high=65535)
    limits = Limits(fps=validate.number("--fps", fps, low=1.0, high=1000.0))
    _check(folder)
    if resolution is not None:
        resolution = validate.whole("resolution", resolution, low=2, high=2000)
    typed = {"resolution": resolution, "eps": metres("--eps", eps), "friction": friction}
    typed["thickness"] = metres("--thickness", thickness)
    options = {name: value for name, value in (typed | {"self_contact": self_contact}).items() if value is not None}
    with listen_at(host, port) as listening:  # before anything that takes long
        gate = Gate.at(listening, host, token)
        session = make_session(scene, body, method, folder, place, files, wear, options)

        def ready() -> None:
            print(gate.url, flush=True)
            if gate.token is not None and not token:
                output.warn("everyone who has this address can play; nothing is encrypted")
            output.say("Ctrl-C ends it")
            if _has_screen() if open is None else open:
                threading.Thread(target=_open, args=(gate.url,), daemon=True).start()

        run(session, listening, gate, limits, ready)
    if (failed := getattr(session, "failed", "")) and not session.newest.world:
        raise ValueError(failed)
    return 0


def make_session(
    scene: str | None,
    body: pathlib.Path | None,
    method: str | None,
    folder: pathlib.Path,
    place: str,
    files: FileOptions,
    wear: WearOptions,
    options: dict[str, Any],
) -> "Face":
    """The session for what was typed; a scene by name is made later, by its own thread."""
    from ..detect.choose import AUTO
    from ..detect.methods import method_name
    from ..scenes import SCENES
    from ..view.session import Session
    from ..view.stage import Choice

    if method is not None:
        method = None if method == AUTO else method_name(method)
    if body is None and (scene is None or scene in SCENES):
        if wear != _WORN:
            raise ValueError("--clip, --lead-in, --hold and --layer are for a garment on a body; give both as files")
        return Session(Choice(scene or "tablecloth-on-bust", method, options), folder)
    if body is None:
        raise ValueError(_unknown(str(scene)))
    if scene in SCENES:
        raise ValueError(f"{scene} brings its own body; give either its name or files")
    own, _ = stage(None if scene is None else pathlib.Path(scene), body, None, place, files, wear, options)
    return Session(Choice(method=method, own=own), folder)  # which has the options already


def _unknown(scene: str) -> str:
    """A file without a body, or a name that is none."""
    from .. import validate
    from ..scenes import SCENES

    if os.path.exists(scene) or pathlib.Path(scene).suffix:
        return f"a body is missing: pliant play {scene} BODY; or pliant play --body {scene} for a tablecloth over it"
    try:
        return validate.choice("scene", scene, tuple(SCENES))
    except ValueError as error:
        return str(error)


def _check(folder: pathlib.Path) -> None:
    """Recordings will be written there; better to know now than after one was made."""
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"--folder {folder} is a file; give a folder for recordings")
    there = folder.absolute()
    while not there.exists() and there != there.parent:  # it will be made when there is something to write
        there = there.parent
    try:
        tempfile.TemporaryFile(dir=there).close()
    except OSError as error:
        if folder == pathlib.Path():  # nobody chose it, and one can play without
            output.warn(f"this folder cannot be written ({error.strerror}); for recordings name another by --folder")
        else:
            raise ValueError(
                f"--folder {folder} cannot be written ({error.strerror}); give another for recordings"
            ) from None


def _has_screen() -> bool:
    """Somebody sits before a terminal, and a browser would not open inside it."""
    if not sys.stdout.isatty():
        return False
    return sys.platform in ("win32", "darwin") or any(os.environ.get(n) for n in ("DISPLAY", "WAYLAND_DISPLAY"))


def _open(url: str) -> None:
    import webbrowser

    if not webbrowser.open(url):
        output.say("no browser was found; open the address yourself")

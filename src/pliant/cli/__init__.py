"""The command line `pliant`: one module per command, imported only when the command is called.

Exit codes: 0 success, 1 the command found a problem, 2 invalid usage or input, 3 a bug in pliant, 130 Ctrl-C (0 once
`play` serves). Results go to stdout (only JSON with `--json`), all other output to stderr. `PLIANT_DEBUG=1` shows
tracebacks and logs.
"""

import importlib.util
import io
import os
import re
import sys
import traceback
from collections.abc import Sequence
from typing import Any

from .. import __version__

# command -> (import path of its function, its line in `pliant --help`)
COMMANDS = {
    "drape": ("pliant.cli.drape:drape", "Drape a cloth over a body: an animation, a replay, a picture."),
    "play": ("pliant.cli.play:play", "Run a scene in the browser: drag the cloth, change method and parameters."),
    "check": ("pliant.cli.check:check", "Find intersections and defects of a mesh, a worn garment or an animation."),
    "compare": (
        "pliant.cli.compare:compare",
        "Compare all detection methods on a scene or meshes with the exact contacts.",
    ),
    "sweep": ("pliant.cli.sweep:sweep", "Run many drapes, checks or bakes over garments, bodies and parameters."),
    "bind": ("pliant.cli.bind:bind", "Bind a garment to a character: skinning weights from the body."),
    "fix": ("pliant.cli.fix:fix", "Remove a garment's intersections with a body and with itself."),
    "field": ("pliant.cli.field:field", "Bake a distance field of a mesh and measure its error."),
    "tets": ("pliant.cli.tets:tets", "Fill a closed surface with tetrahedra."),
    "bench": ("pliant.cli.bench:bench", "Measure speed and accuracy against published tables and other libraries."),
    "methods": ("pliant.cli.methods:methods", "List the detection methods: what they find, need and guarantee."),
    "materials": ("pliant.cli.materials:materials", "List the materials of cloth by name, with sources; draw them."),
    "init": ("pliant.cli.init:init", "Write a commented TOML file of a scene, with every option of drape."),
    "samples": ("pliant.cli.samples:samples", "Write meshes to try the commands with: a body, a character, garments."),
    "doctor": ("pliant.cli.doctor:doctor", "Check the installation: versions, threads, caches, missing packages."),
}


def main(tokens: Sequence[str] | None = None) -> None:
    """Run the command line and exit with its exit code."""
    from . import interruption

    tokens = sys.argv[1:] if tokens is None else tokens
    if tokens[:1] != ["play"]:  # its server handles the signal itself
        interruption.install()
    interruption.end_with_input()
    if isinstance(sys.stdout, io.TextIOWrapper):  # names that the encoding of the terminal lacks must not end a command
        sys.stdout.reconfigure(errors="backslashreplace")
    code = run(tokens)
    if tokens[:1] and tokens[0] == "play":
        # a thread that is compiling cannot be interrupted, and sys.exit would wait for it (8 s observed after Ctrl-C)
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    sys.exit(code)


def run(tokens: Sequence[str]) -> int:
    """Run one command and return its exit code."""
    try:
        import cyclopts

        from ..errors import CardLostError, MeshFileError
    except KeyboardInterrupt:
        _say("interrupted")
        return 130
    debug = os.environ.get("PLIANT_DEBUG", "") not in ("", "0")
    try:
        _attach_log_handler(debug)
        code = _called(tokens)
        sys.stdout.flush()
    except KeyboardInterrupt:
        _say("interrupted")
        return 130
    except BrokenPipeError:
        # the reader (head, less) has closed the pipe; discard what Python flushes at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except cyclopts.CycloptsError as error:
        from .usage import usage_error

        _say(usage_error(error), error=True)
        return 2
    except (ValueError, MeshFileError, OSError, MemoryError, CardLostError) as error:
        if debug:
            traceback.print_exc()
        _say(_as_options(one_line(error), tokens), error=True)
        return 2
    except Exception:
        traceback.print_exc()
        _say("this is a bug in pliant; please report it with the lines above", error=True)
        return 3
    return code if isinstance(code, int) else 0


def _called(tokens: Sequence[str]) -> Any:
    """Run the command that `tokens` name and return its result."""
    from .usage import check_empty_names, check_whole_numbers, typed_options

    app, config = _app(tokens), _config(tokens)
    if tokens[:1] and tokens[0] in COMMANDS:
        given = [*(_config_options(config).items() if config is not None else ()), *typed_options(tokens)]
        arguments = app[tokens[0]].assemble_argument_collection()
        check_whole_numbers(arguments, given)
        check_empty_names(arguments, tokens)
    if config is not None:
        import cyclopts

        app.config = cyclopts.config.Toml(config, must_exist=True, use_commands_as_keys=False)
    return app(tokens)


def _app(tokens: Sequence[str]) -> Any:
    import cyclopts

    app = cyclopts.App(
        name="pliant",
        help="Collision detection and response for cloth and soft bodies.",
        version=__version__,
        help_format="markdown" if tokens[:1] and tokens[0] in COMMANDS else "plaintext",  # markdown costs 0.1 s
        result_action="return_value",
        suppress_keyboard_interrupt=False,
        default_parameter=cyclopts.Parameter(negative=(), show_default=_default_text),  # --json needs no --no-json
        exit_on_error=False,
        print_error=False,
    )
    for name, (where, line) in COMMANDS.items():
        # help of the called command comes from its docstring; the others are not imported for their one line
        called = name in tokens[:1]
        if called and name == "bench" and importlib.util.find_spec("pliant_bench") is not None:
            where = "pliant_bench.command:bench"
        app.command(where, name=name, help=None if called else line)
    return app


def arguments_of(command: str) -> Any:
    """The files and options of a command, as the command-line library has them."""
    return _app([command])[command].assemble_argument_collection()


def _default_text(value: Any) -> str | None:
    """How the help shows a default: as it is typed; None for what need not be said, a flag or a list that is empty."""
    if value is None or value is False or (isinstance(value, list | tuple) and not value):
        return None
    words = ("on" if each is True else f"{each:g}" if isinstance(each, float) else str(each) for each in _listed(value))
    return " ".join(words)


def _listed(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list | tuple) else [value]


def _config(tokens: Sequence[str]) -> str | None:
    """The file of --config, needed before the other options are parsed; None without it, and for other commands."""
    if tokens[:1] and tokens[0] in ("drape", "play"):
        for token, following in zip(tokens, [*tokens[1:], ""]):
            if token == "--config":
                return following
            if token.startswith("--config="):
                return token.partition("=")[2]
    return None


def _config_options(path: str) -> dict[str, Any]:
    """The options in a TOML file, as they are typed; raise ValueError that names the file where it is not TOML, which
    the library's own message does not."""
    import tomllib

    if not path or path.startswith("-"):
        raise ValueError("--config needs the name of a TOML file")
    with open(path, "rb") as stream:
        try:
            found = tomllib.load(stream)
        except ValueError as error:
            raise ValueError(f"{path} is not TOML: {error}") from None
    if named := sorted(found.keys() & COMMANDS.keys()):  # the library passes over tables of these names
        raise ValueError(f"{path}: options stand at the top of the file, without a table [{named[0]}]")
    return {f"--{key.replace('_', '-')}": value for key, value in found.items()}


def _as_options(text: str, tokens: Sequence[str]) -> str:
    """An error message of the library with its parameters as the options of the command that was called: max_distance
    is --max-distance; a single word is one where the message begins with it, as in "eps = -3 must be more than 0", and
    density is --material.density there."""
    if not tokens or tokens[0] not in COMMANDS:
        return text
    options = {name for argument in arguments_of(tokens[0]) for name in argument.names}
    parts = {name.partition(".")[2]: name for name in options if "." in name}

    def option(word: re.Match[str]) -> str:
        name = f"--{word[0].replace('_', '-')}"
        begins = word.start() == 0 and text[word.end() :].startswith((" = ", " is ", ": "))
        if begins and word[0] == "pins" and "--pin" in options:  # the one whose name differs
            return "--pin"
        if begins and name not in options:
            return parts.get(name[2:], word[0])
        return name if name in options and ("_" in word[0] or begins) else word[0]

    # not parts of paths and of names in quotes
    text = re.sub(r"(?<![\w./\\'\"-])[a-z]+(_[a-z]+)*(?![\w./\\'\"(-])", option, text)
    return re.sub(r"(--[a-z][a-z.-]*)='(\w+)'", r"\1 \2", text)  # as it is typed, not as in Python


def one_line(error: BaseException) -> str:
    """The error message on one line, without the errno."""
    if isinstance(error, OSError) and error.strerror:
        text = f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    else:
        text = str(error) or type(error).__name__
    return " ".join(text.split())


def _say(text: str, error: bool = False) -> None:
    from . import output

    if error:
        output.error(text)
    else:
        output.say(text)


def _attach_log_handler(debug: bool) -> None:
    """Show the library's warnings on stderr, or its whole log when debugging."""
    import logging

    from .output import LogLines

    logger = logging.getLogger("pliant")
    if not any(isinstance(h, LogLines) for h in logger.handlers):
        logger.addHandler(LogLines())
    logger.setLevel(logging.DEBUG if debug else logging.WARNING)

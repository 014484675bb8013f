"""`pliant init`: a commented TOML file with every option of a scene."""

import json
import pathlib
import textwrap
from typing import Any

from . import output
from .output_paths import check_output

# the options of `pliant drape` in the order of the file; `json` and `config` belong to the command line
SECTIONS: dict[str, str] = {
    "What is simulated": "scene cloth body units up body-units body-up layer layer-material heights heights-size "
    "heights-scale heights-resolution body-points body-rest fps place fix-start proxy resolution",
    "What is written": "out replay sheet live subdivide",
    "How long": "frames dt substeps",
    "A character and its clip": "clip lead-in teleports root-motion ease",
    "What holds the cloth": "hold pin attach stitch stitches closing rest-scale",
    "Forces and friction": "gravity wind friction self-friction friction-model restitution",
    "Contact": "eps thickness self-contact method response stepping self-method self-response levels",
    "How it is computed": "solver device measure cache",
    "Material of the cloth": "material.name material.density material.stretch material.stretch-weft material.shear "
    "material.bend material.bend-weft material.damping material.air material.radius",
}
# what stands behind an option that has no fixed default
EXAMPLES: dict[str, Any] = {
    "scene": "twist",
    "cloth": "skirt.obj",
    "body-units": "cm",
    "body-up": "z",
    "body": "body.obj",
    "layer": ["coat.obj"],
    "layer-material": ["wool"],
    "heights": "heights.png",
    "heights-size": "50cm",
    "heights-scale": "8cm",
    "heights-resolution": 256,
    "body-points": "body.pc2",
    "body-rest": "body.obj",
    "fps": 30.0,
    "proxy": "5k",
    "resolution": 60,
    "out": "scene.glb",
    "replay": "scene.html",
    "sheet": "scene.png",
    "live": "scene.pc2",
    "subdivide": 1,
    "frames": 150,
    "substeps": 8,
    "clip": "walk",
    "lead-in": 0.5,
    "pin": ["top 3cm"],
    "attach": ["waist"],
    "stitch": [["group:Left", "group:Right"]],
    "stitches": "lines",
    "friction": 0.3,
    "self-friction": 0.3,
    "eps": "5mm",
    "thickness": "2mm",
    "self-contact": "safe",
    "method": "bvh",
    "self-method": "bvh",
    "self-response": "penalty+geometric",
    "levels": 2,
    "material.name": "silk",
    "material.density": 0.2,
    "material.stretch": 500.0,
    "material.stretch-weft": 500.0,
    "material.shear": 100.0,
    "material.bend": 0.0002,
    "material.bend-weft": 0.0002,
    "material.damping": 0.01,
    "material.air": 1.2,
    "material.radius": 0.0012,
}
NOTES = {
    "What holds the cloth": "A SELECTION names vertices: ids:1,2,5-9, group:Collar, attribute:_PIN>0.5, colour:red, "
    "box:x0,y0,z0,x1,y1,z1, sphere:x,y,z,r, boundary top, top 3cm; joined by + (or) and & (and).",
    "Material of the cloth": "One by name, see `pliant materials`, or parameters, or both; remove the # before "
    "[material], too. Of strands, units have no metre of width: kg/m, N, N m2.",
}
WIDTH = 110
HEAD = """\
A scene for pliant. Run it:

    pliant drape --config {name}
    pliant drape --config {name} --frames 50    (an option that is typed takes precedence)

Every option of `pliant drape` stands below its explanation. A line without # is in effect; remove the # before \
another option to set it. Its value is the default, or an example where the default depends on the scene. Names of \
files are relative to the folder in which the command runs.
"""


def init(
    file: pathlib.Path = pathlib.Path("scene.toml"),
    *,
    cloth: pathlib.Path | None = None,
    body: pathlib.Path | None = None,
) -> None:
    """Write a TOML file that describes a scene, with every option of `pliant drape` and its explanation.

    Without options it describes a tablecloth over a bust, and runs as it is. A file that is already there is not
    overwritten.

    Parameters
    ----------
    file
        The file to write.
    cloth
        Mesh file of the cloth. Default: a tablecloth that fits the body.
    body
        Mesh file of the body, or of a character. Default: a bust.
    """
    if file.exists():
        raise ValueError(f"{file} exists already; name another file: pliant init FILE")
    if cloth is not None and body is None:
        raise ValueError(f"--cloth {cloth} needs the body that it falls on: --body")
    check_output(file)
    given = {"out": f"{file.stem}.glb", "replay": f"{file.stem}.html"}
    files = {"cloth": cloth, "body": body}
    given |= {name: path.as_posix() for name, path in files.items() if path is not None}
    file.write_text(text(file.name, given), "utf-8")
    output.say(f"wrote {file}; run it: pliant drape --config {file}")


def text(name: str, given: dict[str, Any]) -> str:
    """Return the file, in which the options `given` are in effect."""
    from . import _app

    arguments = {}
    for argument in _app(["drape"])["drape"].assemble_argument_collection(parse_docstring=True):
        if argument.show and argument.names:
            arguments[argument.names[0].removeprefix("--")] = argument
    lines = [_comment(paragraph) for paragraph in HEAD.format(name=name).splitlines()]
    for title, names in SECTIONS.items():
        lines += ["", "", f"# ---- {title} {'-' * (WIDTH - len(title) - 8)}"]
        lines += [_comment(NOTES[title])] if title in NOTES else []
        if "material." in names:
            lines += ["", "# [material]"]
        for option in names.split():
            argument = arguments[option]
            default = argument.field_info.default
            value = given.get(option, EXAMPLES.get(option, default))
            key = f"{option.removeprefix('material.')} = {_toml(value)}"
            lines += ["", _comment(" ".join(argument.parameter.help.split())), key if option in given else f"# {key}"]
    return "\n".join(lines) + "\n"


def _comment(words: str) -> str:
    indent = "# " + " " * (len(words) - len(words.lstrip()))
    filled = textwrap.fill(
        words.strip(), WIDTH, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False
    )
    return filled or "#"


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_toml, value))}]"
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)

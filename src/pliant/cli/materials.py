"""`pliant materials`: the table of cloth materials by name, with their sources."""

import pathlib
from typing import Any

from . import output
from .output_paths import check_outputs

# column -> (parameter of Cloth, factor from SI)
COLUMNS = {
    "density g/m2": ("density", 1e3),
    "stretch N/m": ("stretch_by_direction", 1.0),
    "shear N/m": ("shear", 1.0),
    "bend uN m": ("bend_by_direction", 1e6),
    "thickness mm": ("thickness", 1e3),
    "friction": ("friction", 1.0),
    "on cloth": ("self_friction", 1.0),
}


def materials(*, picture: pathlib.Path | None = None, json: bool = False) -> None:
    """List the materials of cloth: their parameters, and the measurements they come from.

    Two values are those along warp and weft. Parameters that no source gives are chosen within what is usual for such a
    fabric; they are marked with *. Use a material with --material NAME in pliant drape and pliant play.

    Parameters
    ----------
    picture
        Write a PNG of the same drape in every material: a square of 42 cm over a round pedestal of 18 cm. It takes two
        minutes.
    json
        Print JSON instead of a table: SI units, sources in full.
    """
    from ..materials.fabrics import MATERIALS, SOURCES

    check_outputs([("--picture", picture, (".png",))], [])
    if picture is not None:
        from ..simulation.swatches import draw_swatches

        output.say_if_compiling("dynamics.cloth.relax_serial")
        with output.progress(f"draping {len(MATERIALS)} materials", len(MATERIALS)) as advance:
            draw_swatches([(name, fabric.cloth) for name, fabric in MATERIALS.items()], picture, advance)
    if json:
        output.print_json([_entry(name, fabric, SOURCES) for name, fabric in MATERIALS.items()])
        return
    rows = [[name, *_cells(fabric), ", ".join(fabric.sources) or "chosen"] for name, fabric in MATERIALS.items()]
    output.table(("material", *COLUMNS, "source"), rows, keys=1)
    output.console().print("* chosen, without a source; docs/materials.md has the samples and the references")


def _cells(fabric: Any) -> list[str]:
    """The parameters of a material as text."""
    cells = []
    for parameter, factor in COLUMNS.values():
        value = getattr(fabric.cloth, parameter)
        several = value if isinstance(value, tuple) else (value,)
        mark = "*" if parameter.removesuffix("_by_direction") in fabric.chosen else ""
        cells.append(
            " / ".join(f"{factor * one:.3g}" if factor * one < 1e3 else f"{one:.0f}" for one in several) + mark
        )
    return cells


def _entry(name: str, fabric: Any, sources: dict[str, str]) -> dict[str, Any]:
    """The material as a JSON object."""
    cloth = fabric.cloth
    (stretch, stretch_weft), (bend, bend_weft) = cloth.stretch_by_direction, cloth.bend_by_direction
    return {
        "name": name,
        "density_kg_per_m2": cloth.density,
        "stretch_n_per_m": stretch,
        "stretch_weft_n_per_m": stretch_weft,
        "shear_n_per_m": cloth.shear,
        "bend_n_m": bend,
        "bend_weft_n_m": bend_weft,
        "damping_m2_per_s": cloth.damping,
        "thickness_m": cloth.thickness,
        "friction": cloth.friction,
        "self_friction": cloth.self_friction,
        "air_kg_per_m3": cloth.air,
        "sample": fabric.sample,
        "stretch_at": fabric.stretch_at,
        "sources": [sources[key] for key in fabric.sources],
        "chosen": list(fabric.chosen),
    }

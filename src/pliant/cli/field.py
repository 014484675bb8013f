"""`pliant field`: bake a distance field, save it, and say how good it is."""

import pathlib
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from . import output
from .reading import PLAIN, FileOptions, read_mesh
from .writing import check_targets


def field(
    mesh: pathlib.Path,
    *,
    out: Annotated[pathlib.Path | None, Parameter(name=["--out", "-o"])] = None,
    resolution: int = 128,
    spacing: float | None = None,
    band: float = 3.0,
    sign: Literal["pseudonormal", "face"] = "pseudonormal",
    samples: int = 20_000,
    files: Annotated[FileOptions, Parameter(name="*")] = PLAIN,
    json: bool = False,
) -> int:
    """Bake the signed distance field of MESH and measure it against the exact surface.

    Parameters
    ----------
    mesh
        An oriented mesh, open or closed.
    out
        Where to save the field (.npz).
    resolution
        Cells along the longest side.
    spacing
        Metres a cell, instead of a resolution.
    band
        How far the field reaches on either side of the surface, in cells.
    sign
        pseudonormal is right everywhere; face is the paper's, wrong at acute edges.
    samples
        Random points in the band at which the error is measured; 0 measures nothing.
    json
        Print JSON instead of a table.
    """
    from .. import validate
    from ..detect.distance_field import DistanceField

    samples = validate.whole("samples", samples, low=0, high=10_000_000)
    check_targets([("--out", out, (".npz",))], [mesh])
    surface = read_mesh(mesh, files)
    output.say_if_compiling("distance_field.bake_slabs")
    with output.shares(f"baking {mesh.name}") as baked:
        made = DistanceField.bake(surface, resolution, spacing=spacing, band=band, sign=sign, progress=baked)
    figures: dict[str, Any] = {
        "mesh": str(mesh),
        "triangles": surface.n_faces,
        "grid": list(made.values.shape),
        "spacing_m": made.spacing,
        "band_cells": made.band,
        "sign": made.sign,
        "seconds": made.seconds,
        "examined_points": made.examined,
        "bytes": made.nbytes,
    }
    if samples:
        with output.progress("measuring the error"):
            figures |= made.error(samples)
    if out is not None:
        made.save(out)
        figures["written"] = str(out)
    if json:
        output.print_json(figures)
    else:
        output.table(("", "field"), _rows(figures, made.spacing))
    return 0


def _rows(figures: dict[str, Any], h: float) -> list[tuple[str, str]]:
    from ..validate import size_text

    rows = [
        ("mesh", f"{figures['mesh']} ({figures['triangles']:,} triangles)"),
        ("grid", " x ".join(map(str, figures["grid"]))),
        ("spacing", f"{1e3 * h:.4g} mm, band of {figures['band_cells']:g} cells on either side"),
        ("time", f"{figures['seconds']:.3f} s"),
        ("examined points", f"{figures['examined_points']:,}"),
        ("memory", size_text(figures["bytes"])),
    ]
    if "error_max_m" in figures:
        for name in ("p50", "p99", "max"):
            error = figures[f"error_{name}_m"]
            rows.append((f"error {name}", f"{1e3 * error:.4g} mm = {error / h:.4f} cells"))
        rows.append(("wrong signs", f"{figures['wrong_signs']} of {figures['samples']:,} (beyond 0.866 cells)"))
        rows.append(("error bound", "0.866 cells (guarantee B)"))
    if "written" in figures:
        rows.append(("written", figures["written"]))
    return rows

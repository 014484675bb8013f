"""`pliant field`: bake a distance field, save it and measure its error."""

import pathlib
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from . import output
from .output_paths import check_outputs
from .reading import PLAIN, FileOptions, check_sources, metres, read_mesh

if TYPE_CHECKING:
    from ..detect.fields.field import DistanceField
    from ..detect.fields.reconstruct import Fidelity
    from ..mesh import Mesh

HTML = (".html", ".htm")
_SAMPLES = 20_000
_KINDS = ("field", "class", "memory", "s", "ns", "p99", "max", "known")


def field(
    mesh: pathlib.Path,
    *,
    out: Annotated[pathlib.Path | None, Parameter(name=["--out", "-o", "--output"])] = None,
    reconstruct: pathlib.Path | None = None,
    report: pathlib.Path | None = None,
    resolution: int = 128,
    spacing: str | None = None,
    band: float = 3.0,
    sign: Literal["pseudonormal", "face"] = "pseudonormal",
    samples: int = _SAMPLES,
    files: Annotated[FileOptions, Parameter(name="*")] = PLAIN,
    compare: bool = False,
    cache: Annotated[bool, Parameter(negative="--no-cache")] = True,
    json: bool = False,
) -> int:
    """Bake the signed distance field of MESH and measure it against the exact surface.

    Parameters
    ----------
    mesh
        An oriented mesh, open or closed.
    out
        File to save the field to (.npz).
    reconstruct
        File to save the marching cubes surface of the field to: .ply, .obj, .stl, .off, .glb, .npz, .msh, .mesh, .vtk
        or .usda; with the extra [usd] also .usdc and .usd, with Blender .abc and .fbx.
    report
        Write an HTML page with slices of the field and the error on the surface.
    resolution
        Cells along the longest side.
    spacing
        Size of a cell, 5mm or metres; replaces the resolution.
    band
        Half-width of the narrow band, in cells.
    sign
        pseudonormal: correct everywhere; face: as in the paper, wrong at acute edges.
    samples
        Random points in the band at which the error is measured; 0 skips the measurement.
    compare
        Also store the field in the other representations (dense, filled, octree, planes) and compare their cost.
    cache
        Read the field from the cache if it was baked before, and store it if baking took long.
    json
        Print JSON instead of a table.
    """
    check_sources(mesh)
    from .. import validate
    from ..detect.fields.cache import fetch_or_bake
    from ..io import save
    from ..io.formats import WRITTEN

    samples = validate.whole("samples", samples, low=0, high=10_000_000)
    check_outputs(
        [("--out", out, (".npz",)), ("--reconstruct", reconstruct, WRITTEN), ("--report", report, HTML)], [mesh]
    )
    surface = read_mesh(mesh, files)
    output.say_if_compiling("fields.bake.bake_tiles")
    options: dict[str, Any] = {"spacing": metres("--spacing", spacing), "band": band, "sign": sign}
    with output.fraction_bar(f"baking {mesh.name}") as baked:
        made, fetched = fetch_or_bake(surface, resolution, cache=cache, progress=baked, **options)
    figures: dict[str, Any] = {
        "mesh": str(mesh),
        "triangles": surface.n_faces,
        "grid": list(made.shape),
        "spacing_m": made.spacing,
        "band_cells": made.band,
        "sign": made.sign,
        "seconds": made.seconds,
        "from_cache": fetched is not None,
        "cache_seconds": fetched,
        "examined_points": made.examined,
        "bytes": made.nbytes,
    }
    if samples:
        with output.progress("measuring the error"):
            figures |= made.error(samples)
    again = _reconstruction(made, samples) if reconstruct is not None or report is not None else None
    if again is not None:
        figures |= {"reconstructed_triangles": again[0].n_faces} | again[1].figures()
    written = []
    if out is not None:
        made.save(out)
        written.append(str(out))
    if again is not None and reconstruct is not None:
        save(reconstruct, again[0])
        written.append(str(reconstruct))
    if again is not None and report is not None:
        _write_report(report, made, again[1], _rows(figures | {"mesh": mesh.name}, made.spacing))
        written.append(str(report))
    figures["written"] = written
    kinds = _compared(made, samples) if compare else []
    if compare:
        figures["compare"] = kinds
    if json:
        output.print_json(figures)
    else:
        rows = _rows(figures, made.spacing) + [("written", name) for name in written]
        output.table(("", "field"), rows)
    if compare and not json:
        words = "the same mesh in all representations; errors in cells"
        output.table(_KINDS, [_kind(row) for row in kinds], title=words, right=" ".join(_KINDS[2:]))
    return 0


def _reconstruction(made: "DistanceField", samples: int) -> "tuple[Mesh, Fidelity]":
    from ..detect.fields.reconstruct import fidelity, reconstruct

    with output.progress("reconstructing the surface"):
        surface = reconstruct(made)
        return surface, fidelity(made, surface, made.spacing, samples or _SAMPLES)


def _write_report(path: pathlib.Path, made: "DistanceField", found: "Fidelity", rows: list[tuple[str, str]]) -> None:
    from ..report.field_page import write_field_page

    title = f"Distance field of {made.mesh.name}"
    with output.progress(f"writing {path}"):
        write_field_page(path, made, found, title=title, figures=rows)


def _compared(made: "DistanceField", samples: int) -> list[dict[str, Any]]:
    from ..detect.fields.survey import compare_fields

    low, high = made.mesh.bounds
    cells = max(2, round(float((high - low).max()) / made.spacing))
    with output.progress("comparing fields", 5) as advance:
        return compare_fields(made.mesh, cells, samples=samples or _SAMPLES, progress=lambda name: advance(note=name))


def _kind(row: dict[str, Any]) -> list[str]:
    """One row of the table of representations, in the order of `_KINDS`."""
    from ..validate import size_text

    errors = [f"{row[f'error_{name}_cells']:.3f}" for name in ("p99", "max")]
    known = f"{100 * row['known']:.1f} %"
    times = f"{row['seconds']:.3f}", f"{row['query_ns']:.0f}"
    return [row["field"], row["guarantee"], size_text(row["bytes"]), *times, *errors, known]


def _rows(figures: dict[str, Any], h: float) -> list[tuple[str, str]]:
    from ..validate import size_text

    time = f"{figures['seconds']:.3f} s"
    if figures["from_cache"]:
        time = f"{figures['cache_seconds']:.3f} s from the cache (baking took {time})"
    rows = [
        ("mesh", f"{figures['mesh']} ({figures['triangles']:,} triangles)"),
        ("grid", " x ".join(map(str, figures["grid"]))),
        ("spacing", f"{1e3 * h:.4g} mm, band of {figures['band_cells']:g} cells on either side"),
        ("time", time),
        ("examined points", f"{figures['examined_points']:,}"),
        ("memory", size_text(figures["bytes"])),
    ]
    if "error_max_m" in figures:
        for name in ("p50", "p99", "max"):
            rows.append((f"error {name}", _length(figures[f"error_{name}_m"], h)))
        rows.append(("wrong signs", f"{figures['wrong_signs']} of {figures['samples']:,} (beyond 0.866 cells)"))
        rows.append(("error bound", "0.866 cells (guarantee B)"))
    if "forward_max_m" in figures:
        rows += _distances(figures, h)
    return rows


def _distances(figures: dict[str, Any], h: float) -> list[tuple[str, str]]:
    """Rows about the reconstruction and its distances from the mesh, both ways."""
    rows = [("reconstruction", f"{figures['reconstructed_triangles']:,} triangles by marching cubes")]
    for direction, words in (("forward", "mesh to reconstruction"), ("backward", "reconstruction to mesh")):
        x, y, z = (f"{a:.4g}" for a in figures[f"{direction}_at_m"])
        rows.append((words, f"max {_length(figures[f'{direction}_max_m'], h)} at ({x}, {y}, {z}) m"))
        rows.append(("", f"mean {_length(figures[f'{direction}_mean_m'], h)}"))
    for name, words in (("lost", "too thin or sharp"), ("unknown", "beside the boundary")):
        if share := figures[f"forward_{name}_share"]:
            rows.append((words, f"{100 * share:.3g} % of the mesh is beyond 0.866 cells"))
    return rows


def _length(metres: float, h: float) -> str:
    return f"{1e3 * metres:.4g} mm = {metres / h:.4f} cells"

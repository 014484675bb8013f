"""`pliant tets`: fill a closed surface with tetrahedra, save them and report their quality."""

import pathlib
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from . import output
from .output_paths import check_outputs
from .reading import PLAIN, FileOptions, check_sources, outward, read_mesh

if TYPE_CHECKING:
    from ..fill import FillLoss
    from ..mesh import Mesh


def tets(
    surface: pathlib.Path,
    *,
    out: Annotated[pathlib.Path | None, Parameter(name=["--out", "-o", "--output"])] = None,
    size: str | None = None,
    files: Annotated[FileOptions, Parameter(name="*")] = PLAIN,
    json: bool = False,
) -> int:
    """Fill a closed SURFACE with tetrahedra of bounded angles.

    The exit code is 1 when a part of the surface thinner than a cell is lost.

    Parameters
    ----------
    surface
        A closed mesh with outward faces.
    out
        File to save the tets to: .msh (Gmsh 4.1), .mesh (MEDIT), .vtk or .npz.
    size
        Edge length: 5mm, 0.2in, or metres. Default: the coarsest of 8 000 to 200 000 tets that loses no part.
    json
        Print JSON instead of a table.
    """
    check_sources(surface)
    import time

    from ..fill import fill_and_measure
    from ..io import save
    from ..io.formats import WRITTEN_TETS

    check_outputs([("--out", out, WRITTEN_TETS)], [surface])
    mesh = outward(read_mesh(surface, files))
    output.say_if_compiling("queries.closest_point.find_nearest")
    start = time.perf_counter()
    with output.progress(f"filling {surface.name}") as advance:
        made, loss = fill_and_measure(mesh, size, progress=lambda points: advance(points, "points processed"))
    figures: dict[str, Any] = {"mesh": str(surface), "seconds": time.perf_counter() - start} | _figures(made, loss)
    figures["written"] = []
    if out is not None:
        save(out, made)
        figures["written"] = [str(out)]
    if json:
        output.print_json(figures)
    else:
        output.table(("", "tets"), _rows(figures) + [("written", name) for name in figures["written"]])
    return 1 if loss.warning else 0


def _figures(made: "Mesh", loss: "FillLoss") -> dict[str, Any]:
    from ..fill import dihedral_angles

    angles = dihedral_angles(made)
    return {
        "size_m": loss.size,
        "vertices": made.n_vertices,
        "tets": len(made.tets),
        "faces": made.n_faces,
        "least_angle_deg": float(angles.min()),
        "largest_angle_deg": float(angles.max()),
        "volume_m3": loss.volume,
        "filled_m3": loss.filled,
        "lost_share": loss.lost_share,
        "farthest_m": loss.farthest,
        "far_vertices": loss.far_vertices,
        "pieces": loss.pieces,
        "filled_pieces": loss.filled_pieces,
    }


def _rows(f: dict[str, Any]) -> list[tuple[str, str]]:
    h = f["size_m"]
    pieces = f"{f['filled_pieces']} of {f['pieces']}" if f["pieces"] != f["filled_pieces"] else str(f["pieces"])
    return [
        ("size", f"{1e3 * h:.4g} mm"),
        ("mesh", f"{f['vertices']} vertices, {f['tets']} tets, {f['faces']} faces"),
        ("angles", f"{f['least_angle_deg']:.1f} to {f['largest_angle_deg']:.1f} degrees (dihedral)"),
        ("volume", f"{f['filled_m3']:.4g} of {f['volume_m3']:.4g} m3, {f['lost_share']:.2%} lost"),
        (
            "surface",
            f"at most {1e3 * f['farthest_m']:.3g} mm = {f['farthest_m'] / h:.2f} cells from the file's vertices",
        ),
        ("pieces", pieces),
        ("time", f"{f['seconds']:.2f} s"),
    ]

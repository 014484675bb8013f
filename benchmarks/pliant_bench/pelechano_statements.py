"""Every figure and stated result of Pelechano, Bull and Slater, and ours."""

from collections.abc import Iterator
from typing import Any

from pliant.detect.detectors.bone_boxes.boxes import SLABS
from pliant.report.tables import Table

from .bone_boxes import WAYS
from .papers import PELECHANO_CULLED, PELECHANO_KEPT, PELECHANO_SIZE
from .statements import Statement, picture

MISSED = "the rest of a frame costs less here than in the paper, whose frame included drawing"
# of each figure, why ours is above the paper's
ABOVE = {
    "culled_percent": "triangles of a slab are in groups with boxes of their own, too",
    "detection_percent": "points that are farther away than they move are not searched; frames of other machines",
    "response_percent": "the response corrects only what was found; frames of other machines",
    "brute_percent": "a frame of 2026 includes an implicit solve, and the test of a triangle is compiled for one core",
}
ALIKE = 0.05  # relative difference of figures that need no reason


def statements(table: Table, sizes: Table) -> Iterator[Statement]:
    """Read from the tables of the report."""
    yield picture("figures 1 to 4", "cloth, a box with subdivisions, boxes that move, projection", "play draws boxes")
    first = next(iter(WAYS))
    rows = [row for row in table.rows if row["who"] == first]
    recall = [row["recall_percent"] for row in rows if row["recall_percent"] is not None]
    yield Statement(
        "figures 5 and 6, sections 4.4 and 4.5",
        "contacts that the projection onto a principal plane finds",
        "no number",
        ", ".join(f"{one:.1f} %" for one in recall) + " of those by exact distances" if recall else "no contacts",
        "the projection misses what is over edges and corners; the default is exact",
    )
    yield Statement("section 5", "subspaces of a box", "15", f"{SLABS}")
    size = PELECHANO_SIZE
    yield Statement(
        "figure 7, section 5",
        "size: avatar and cloth",
        f"{size['avatar vertices']:,} vertices, {size['triangles']:,} polygons; {size['cloth vertices']} vertices",
        f"{rows[0]['triangles']:,} polygons; {rows[0]['vertices']} vertices ({rows[0]['body']})",
        "their avatar is not at hand; a mannequin is reduced to its size",
    )
    for what, key, paper in (
        ("triangles that a vertex is not tested against", "culled_percent", 100.0 * PELECHANO_CULLED),
        ("frame rate kept with detection", "detection_percent", 100.0 * PELECHANO_KEPT["detection"]),
        ("frame rate kept with detection and response", "response_percent", 100.0 * PELECHANO_KEPT["response"]),
        ("frame rate kept by brute force", "brute_percent", 100.0 * PELECHANO_KEPT["brute"]),
    ):
        least, most = (end(row[key] for row in rows) for end in (min, max))
        reasons = [MISSED] if least < (1.0 - ALIKE) * paper else []
        reasons += [ABOVE[key]] if most > (1.0 + ALIKE) * paper or (key == "culled_percent" and most > paper) else []
        yield Statement(
            "section 5",
            what,
            f"{paper:g} %",
            "; ".join(f"{row['body']} {row[key]:.2f} %" for row in rows),
            "; ".join(reasons),
        )
    yield Statement(
        "section 5",
        "share of triangles culled, by complexity of the model",
        "independent of it",
        "; ".join(f"{row['triangles']:,} triangles: {_culled(row):.3f} %" for row in sizes.rows) + ", walking",
    )
    yield picture("figures 8 and 9", "cloth falls onto a shoulder", "the scene cloth-on-shoulder")


def _culled(row: dict[str, Any]) -> float:
    """Percentage of the triangles that are not visited for a vertex of the cloth, mean over vertices and substeps."""
    return 100.0 * (1.0 - row["visited"] / (row["vertices"] * row["triangles"]))

"""The HTML report of a distance field: figures, interactive slices, the error on the surface and its histogram."""

import base64
import html
import io
import os
from collections.abc import Sequence

import numpy as np
from PIL import Image

from .. import validate
from ..detect.fields.reconstruct import BOUND, Fidelity, Field
from ..files import atomic_write
from .camera import Camera
from .heat import RAMP, Heat, heat_pictures, still
from .histogram import histogram_svg
from .page import fill_template, script_data
from .slices import AXES, Pixels, Scale, legend, place_text, positions, slice_picture

COLORS = 48  # palette size of a slice, enough for bands, lines and hatching
_VIEWS = (("", 0.6), (", from behind", 0.6 + np.pi))
_ALT = "surface in the colours of its distance"


def field_page(
    field: Field,
    found: Fidelity,
    *,
    title: str,
    figures: Sequence[tuple[str, str]],
    slices: int = 25,
    size: tuple[int, int] = (560, 440),
) -> str:
    """The page as text: `field`, the error of its reconstruction (`found`), and a table of `figures`."""
    slices = validate.whole("slices", slices, low=1, high=400)
    scale, heat = Scale.of(field), Heat.of(*(d.distance[d.n_vertices :] for d in (found.forward, found.backward)))
    cut = {axis: _slices(field, axis, slices, scale) for axis in range(3)}
    mm = 1e3
    parts = {
        "verdict": html.escape(verdict(found)),
        "figures": "".join(f"<tr><th>{html.escape(k)}</th><td>{html.escape(v)}</td></tr>" for k, v in figures),
        "slices": "".join(_slice_figure(axis, cut[axis]) for axis in (0, 2, 1)),
        "legend": _png(legend(scale, 460, 16)),
        "inside": f"-{mm * scale.most:.3g} mm, inside",
        "outside": f"outside, {mm * scale.most:.3g} mm",
        "step": f"{mm * scale.step:.3g} mm" + (" (one cell)" if hasattr(field, "spacing") else ""),
        "heats": _heats(found, heat, size),
        "ramp": ", ".join("#{:02x}{:02x}{:02x}".format(*row) for row in RAMP.astype(int)),
        "half": f"{mm * heat.top / 2:.3g} mm",
        "top": f"{mm * heat.top:.3g} mm ({heat.top / found.spacing:.2g} cells)",
        "charts": _charts(found),
        "notes": "".join(f"<p>{html.escape(text)}</p>" for text in notes(found)),
        "pictures": script_data(
            {AXES[axis]: {"images": images, "places": labels} for axis, (images, labels, _) in cut.items()}
        ),
    }
    return fill_template("field.html", title, ("report.css", "field.css"), parts, scripts=("field.js",))


def write_field_page(
    path: str | os.PathLike[str],
    field: Field,
    found: Fidelity,
    *,
    title: str,
    figures: Sequence[tuple[str, str]],
) -> None:
    """Write the page to `path` atomically."""
    page = field_page(field, found, title=title, figures=figures)
    with atomic_write(path, "w") as stream:
        stream.write(page)


def verdict(found: Fidelity) -> str:
    """A summary of the error in one or two sentences."""
    h = found.spacing
    back, forth = found.backward.worst / h, found.forward.worst / h
    sentence = f"The reconstruction is at most {back:.2f} cells from the mesh"
    if forth <= BOUND:
        return (
            f"{sentence}, and the mesh at most {forth:.2f} cells from the reconstruction: within the bound of {BOUND}."
        )
    why = []
    if found.lost.any():
        why.append(f"thin or sharp parts ({_percent(found, found.lost)} of the area) fall between the nodes")
    if found.unknown.any():
        why.append(f"beside the boundary ({_percent(found, found.unknown)}) the field gives no value")
    return f"{sentence}. The mesh is up to {forth:.2f} cells from the reconstruction: {' and '.join(why)}."


def _percent(found: Fidelity, which: np.ndarray) -> str:
    share = 100.0 * float(which[found.forward.n_vertices :].mean())
    return "less than 0.01 %" if share < 0.01 else f"{share:.2g} %"


def notes(found: Fidelity) -> list[str]:
    """Explanations of the figures, with a note on open meshes where it applies."""
    n = len(found.forward.points) - found.forward.n_vertices
    texts = [
        "The reconstruction is the marching cubes surface of the field, the surface that contacts act on. Distances "
        f"are exact at every vertex and at {n:,} points spread over either surface, so each maximum is a lower bound "
        "of the Hausdorff distance; denser sampling could only raise it.",
        "From the reconstruction to the mesh: along an edge of the grid the error of the field is at most half a cell, "
        f"and anywhere at most {BOUND} cells, because the true distance has slope at most 1. A point farther from the "
        "mesh than that would be a bug.",
        "From the mesh to the reconstruction there is no such bound. Parts thinner than a cell may contain no node "
        "and vanish, and a corner loses its tip: up to 1.16 cells of a right-angled one. A finer grid recovers them.",
    ]
    if found.unknown.any():
        texts.append(
            "The mesh is open, or parts of it overlap. Beyond a boundary edge the sign jumps without a surface, so the "
            "cells there give no value instead of a false surface, and the reconstruction ends up to two cells before "
            "the boundary. The other direction does not show this loss, because only existing points are measured."
        )
    return texts


def _slices(field: Field, axis: int, count: int, scale: Scale) -> tuple[list[str], list[str], tuple[int, int]]:
    """Pictures as data URLs, their positions as text, and their size in pixels."""
    depths = positions(field, axis, count)
    drawn = [slice_picture(field, axis, float(at), scale) for at in depths]
    words = [place_text(axis, float(at), field.mesh.size) for at in depths]
    return [_png(pixels) for pixels in drawn], words, (drawn[0].shape[1], drawn[0].shape[0])


def _slice_figure(axis: int, cut: tuple[list[str], list[str], tuple[int, int]]) -> str:
    images, labels, (width, height) = cut
    middle, name = len(images) // 2, AXES[axis]
    return (
        f'<figure data-axis="{name}" style="--share: {width}">'
        f'<img src="{images[middle]}" width="{width}" height="{height}" alt="Slice at {labels[middle]}">'
        f'<input type="range" min="0" max="{len(images) - 1}" value="{middle}" aria-label="Slice along {name}" hidden>'
        f"<figcaption><output>{labels[middle]}</output></figcaption></figure>"
    )


def _heats(found: Fidelity, heat: Heat, size: tuple[int, int]) -> str:
    width, height = size
    cameras = [Camera.framing([still(found.mesh.mesh)], width / height, azimuth=azimuth) for _, azimuth in _VIEWS]
    sides = (("mesh", found.mesh, found.made), ("reconstruction", found.made, found.mesh))
    out = []
    for name, surface, other in sides:
        drawn = heat_pictures(surface.mesh, other, heat, cameras, width, height)
        for (behind, _), pixels in zip(_VIEWS, drawn):
            words = f"the {name}{behind}"
            out.append(
                f'<figure><img src="{_jpeg(pixels)}" width="{width}" height="{height}" alt="{words}: {_ALT}">'
                f"<figcaption>{words}</figcaption></figure>"
            )
    return "".join(out)


def _charts(found: Fidelity) -> str:
    top = max(found.forward.worst, found.backward.worst, BOUND * found.spacing)
    out = []
    for words, d in (("from the mesh", found.forward), ("from the reconstruction", found.backward)):
        chart = histogram_svg(d.distance[d.n_vertices :], top, BOUND * found.spacing)
        out.append(f"<figure>{chart}<figcaption>{words}: mean {1e3 * d.mean:.3g} mm</figcaption></figure>")
    return "".join(out)


def _png(pixels: Pixels) -> str:
    """PNG data URL with a palette, about ten kilobytes per slice."""
    small = Image.fromarray(pixels).quantize(COLORS, Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
    stream = io.BytesIO()
    small.save(stream, "PNG", optimize=True)
    return f"data:image/png;base64,{base64.b64encode(stream.getvalue()).decode()}"


def _jpeg(pixels: Pixels) -> str:
    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, "JPEG", quality=90, optimize=True)
    return f"data:image/jpeg;base64,{base64.b64encode(stream.getvalue()).decode()}"

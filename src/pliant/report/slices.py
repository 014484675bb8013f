"""Pictures of slices of a field: warm outside, cool inside, one colour band per cell, a dark line at zero.

After figure 13 of M. Teschner and others, *Collision Detection for Deformable Objects*, 2005. Where the field has no
value, the slice is hatched grey.
"""

import dataclasses

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from ..detect.fields.reconstruct import Field

Floats = NDArray[np.float64]
Pixels = NDArray[np.uint8]
AXES = "xyz"
# slice axis -> axis to the right, axis up, and their signs (seen from above, z points down)
_ACROSS = {0: (2, 1, -1, 1), 1: (0, 2, 1, -1), 2: (0, 1, 1, 1)}
WARM, COOL = np.array([186.0, 66.0, 50.0]), np.array([38.0, 84.0, 156.0])
PALE, LINE = np.array([252.0, 249.0, 244.0]), np.array([28.0, 30.0, 36.0])
NOTHING, HATCH = np.array([229.0, 231.0, 235.0]), np.array([203.0, 207.0, 214.0])
QUIET = (106, 112, 128)
_PERIOD = 8  # pixels from one line of the hatching to the next


@dataclasses.dataclass(frozen=True)
class Scale:
    """Colour map of distances: bands of `step` metres, full colour at `most` metres."""

    step: float
    most: float

    @classmethod
    def of(cls, field: Field) -> "Scale":
        """Bands of one cell up to the end of the narrow band; without cells, ten bands over a tenth of the mesh."""
        if hasattr(field, "spacing") and hasattr(field, "band"):
            return cls(float(field.spacing), float(field.band * field.spacing))
        return cls(0.01 * field.mesh.size, 0.1 * field.mesh.size)


def window(field: Field, scale: Scale) -> Floats:
    """(2,3) box that slices show: the bounding box of the mesh, extended by slightly more than the narrow band."""
    around: Floats = field.mesh.bounds + np.array([[-1.0], [1.0]]) * (scale.most + 2.0 * scale.step)
    return around


def slice_values(field: Field, axis: int, at: float, box: Floats, pixel: float) -> Floats:
    """(h,w) distances on the plane where coordinate `axis` equals `at`, sampled every `pixel` metres."""
    right, up, flip, rise = _ACROSS[axis]
    columns, rows = (np.maximum(np.ceil((box[1] - box[0]) / pixel), 2).astype(int)[k] for k in (right, up))
    points = np.empty((rows, columns, 3))
    points[..., axis] = at
    points[..., right] = (box[0, right] + (np.arange(columns) + 0.5) * pixel)[::flip]
    points[..., up] = (box[0, up] + (np.arange(rows) + 0.5) * pixel)[::-rise, None]
    return field.sample(points.reshape(-1, 3))[0].reshape(rows, columns)


def coloured(d: Floats, scale: Scale) -> Pixels:
    """(h,w,3) sRGB of distances (h,w) in metres."""
    i, j = np.arange(d.shape[0])[:, None], np.arange(d.shape[1])
    out = np.where(np.less((i + j) % _PERIOD, 2)[..., None], HATCH, NOTHING).astype(np.uint8)
    known = np.isfinite(d)
    value, slope = d[known], _slope(d)[known]  # of pixels with a value
    # a band has the colour of its middle
    t = np.clip((np.floor(np.abs(value) / scale.step) + 0.5) * scale.step / scale.most, 0.0, 1.0)[:, None] ** 0.8
    rgb = PALE + t * (np.where(value[:, None] >= 0.0, WARM, COOL) - PALE)
    off = np.abs(value - scale.step * np.rint(value / scale.step)) / slope  # pixels to the nearest step
    rgb -= np.clip(1.0 - off, 0.0, 1.0)[:, None] * 0.126 * rgb
    wide = np.clip(0.5 + 0.25 * scale.step / slope, 0.8, 1.7)  # pixels; thinner where cells are small
    dark = np.clip(wide - np.abs(value) / slope, 0.0, 1.0)[:, None]
    rgb += dark * (LINE - rgb)
    out[known] = np.rint(rgb).astype(np.uint8)
    return out


def _slope(d: Floats) -> Floats:
    """(h,w) slope in metres per pixel, from neighbours with a value; never 0."""
    total = np.zeros(d.shape)
    for axis in (0, 1):
        change = np.nan_to_num(np.abs(np.diff(d, axis=axis)))
        most = np.zeros(d.shape)  # of the changes before and after each pixel
        behind, ahead = (np.moveaxis(most, axis, 0)[part] for part in (slice(1, None), slice(None, -1)))
        change = np.moveaxis(change, axis, 0)
        behind[...] = change
        np.maximum(ahead, change, out=ahead)
        total += most**2
    return np.maximum(np.sqrt(total), 1e-9 * max(float(np.nanmax(np.abs(d), initial=0.0)), 1e-30))


def slice_picture(field: Field, axis: int, at: float, scale: Scale, side: int | None = None) -> Pixels:
    """One slice; `side` pixels for the longest side of the window over all axes, so that slices have one scale.

    Default side: large enough to show single bands, at most 800 pixels.
    """
    box = window(field, scale)
    side = side or int(np.clip(3.0 * (box[1] - box[0]).max() / scale.step, 420, 800))
    return coloured(slice_values(field, axis, at, box, float((box[1] - box[0]).max()) / side), scale)


def positions(field: Field, axis: int, count: int) -> Floats:
    """Positions of `count` slices across the mesh, including both ends."""
    low, high = field.mesh.bounds[:, axis]
    return np.linspace(low, high, count)


def place_text(axis: int, at: float, size: float) -> str:
    """The position as `x = +12.3 mm`, rounded to a thousandth of the mesh's size."""
    digits = max(0, 3 - int(np.ceil(np.log10(max(1e3 * size, 1e-9)))))
    value = round(1e3 * at, digits)
    return f"{AXES[axis]} = {value:+.{digits}f} mm" if value else f"{AXES[axis]} = 0 mm"


def legend(scale: Scale, width: int, height: int) -> Pixels:
    """The colours from inside to outside, left to right."""
    d = np.linspace(-scale.most, scale.most, width)
    return coloured(np.repeat(d[None], height, 0), scale)


def slice_sheet(field: Field, scale: Scale | None = None, side: int = 360) -> Image.Image:
    """The three middle slices side by side above the legend."""
    scale = scale or Scale.of(field)
    middle = field.mesh.bounds.mean(0)
    order = (0, 2, 1)  # from the side, from the front, from above
    tiles = [slice_picture(field, axis, float(middle[axis]), scale, side) for axis in order]
    gap, foot = 14, 76
    width = sum(t.shape[1] for t in tiles) + 2 * gap
    tall = max(t.shape[0] for t in tiles)
    sheet = Image.new("RGB", (width, tall + foot), (255, 255, 255))
    draw, left = ImageDraw.Draw(sheet), 0
    for axis, tile in zip(order, tiles):
        sheet.paste(Image.fromarray(tile), (left, tall - tile.shape[0]))
        words = place_text(axis, middle[axis], field.mesh.size)
        draw.text(
            (left + tile.shape[1] / 2, tall + 14), words, (106, 112, 128), ImageFont.load_default(14), anchor="mm"
        )
        left += tile.shape[1] + gap
    x, y, long = width / 2 - 150, tall + 34, 300
    sheet.paste(Image.fromarray(legend(scale, long, 16)), (int(x), y))
    for share, words in (
        (0.0, f"-{1e3 * scale.most:.3g} mm"),
        (0.5, "surface"),
        (1.0, f"+{1e3 * scale.most:.3g} mm"),
    ):
        draw.text((x + share * long, y + 28), words, (60, 64, 74), ImageFont.load_default(13), anchor="mm")
    return sheet

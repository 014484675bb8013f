"""The worst locations of a check as one picture: each in its whole frame and in close-up, coloured by depth."""

import os
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from ..files import atomic_write
from .camera import Camera
from .check_page import depth_text
from .check_view import COLOURS, CheckView, PlaceView, angles
from .line_drawing import draw_visible_segments, rasterise
from .picture import render
from .sheet import INK, PAPER, QUIET

Floats = NDArray[np.float64]
Pixels = NDArray[np.uint8]
MOST = 3  # locations shown
SELF_COLOUR, BODY_COLOUR, RING_COLOUR = (158, 13, 140), (26, 71, 204), (176, 47, 68)
_SEEN = 0.9  # opacity of penetrating parts, drawn through what is in front of them
_BUSY = 200_000  # faces; above it one sample per pixel


def write_check_sheet(path: str | os.PathLike[str], found: CheckView, tile: tuple[int, int] = (420, 380)) -> None:
    """Write a PNG with one column per location: the whole frame above, the close-up below."""
    sheet = check_sheet(found, tile)
    with atomic_write(path) as stream:
        sheet.save(stream, format="PNG")


def check_sheet(found: CheckView, tile: tuple[int, int] = (420, 380)) -> Image.Image:
    """Columns of two tiles; a single location has them side by side, and a clean check has one tile."""
    width, height = tile
    places = worst_places(found)
    gap, head, caption = max(6, width // 35), max(30, height // 6), max(16, height // 7)
    across, down = (len(places), 2) if len(places) > 1 else (1 + len(places), 1)
    size = (gap + across * (width + gap), head + down * (height + gap) + (caption if places else 0))
    sheet = Image.new("RGB", size, PAPER)
    draw = ImageDraw.Draw(sheet)
    scale = min(230, size[0] // 3) if (found.distances < 0.0).any() else 0
    room = size[0] - 3 * gap - scale
    _write(draw, (gap, head * 0.34), found.title, INK, head * 0.30, room, "lm")
    _write(draw, (gap, head * 0.72), found.verdict, QUIET, head * 0.21, room, "lm")
    if scale:
        _legend(sheet, found, size[0] - gap, round(head * 0.30), scale)
    if not places:
        sheet.paste(Image.fromarray(heat_picture(found, 0, None, width, height)), (gap, head))
    for k, view in enumerate(places):
        x, y = gap + k * (width + gap), head
        near = found.camera_on(view)
        azimuth, elevation = angles(np.subtract(near.eye, near.target) / near.nearest * 1e-3)
        whole = Camera.framing(found.clips, width / height, azimuth=azimuth, elevation=elevation)
        beside = (x, y + height + gap) if down == 2 else (x + width + gap, y)
        sheet.paste(Image.fromarray(heat_picture(found, view.frame, whole, width, height, view)), (x, y))
        sheet.paste(Image.fromarray(heat_picture(found, view.frame, near, width, height)), beside)
        middle, below = x + (width if down == 2 else 2 * width + gap) / 2, beside[1] + height
        _write(draw, (middle, below + 0.36 * caption), view.title, INK, 0.36 * caption, width, "mm")
        _write(draw, (middle, below + 0.78 * caption), view.detail, QUIET, 0.28 * caption, width, "mm")
    return sheet


def worst_places(found: CheckView) -> list[PlaceView]:
    """The worst location of each kind, then the next worst of any kind, at most `MOST`."""
    firsts = [next((s for s in found.places if s.kind == kind), None) for kind in ("inside", "body", "self")]
    chosen = [view for view in firsts if view is not None]
    chosen += [view for view in found.places if view not in chosen][: MOST - len(chosen)]
    return sorted(chosen[:MOST], key=lambda view: list(found.places).index(view))


def heat_picture(
    found: CheckView, frame: int, camera: Camera | None, width: int, height: int, ring: PlaceView | None = None
) -> Pixels:
    """A rendered frame with penetrating parts coloured by depth, and the intersection curves."""
    clips = found.clips
    camera = camera or Camera.framing(clips, width / height)
    samples = 1 if sum(clip.mesh.n_faces for clip in clips) > _BUSY else 2
    plain = render(clips, frame, width, height, camera, samples=samples).astype(np.float64)
    colour, share = _heat(found, frame, camera, 2 * width, 2 * height)
    colour, share = (a.reshape(height, 2, width, 2, -1).mean((1, 3)) for a in (colour * share, share))
    # parts that show through take the brightness of the surface in front of them
    light = plain.max(2, keepdims=True) / 205.0
    hot = np.clip(colour / np.maximum(share, 1e-9) * np.clip(light, 0.65, 1.15), 0.0, 255.0)
    image = Image.fromarray(np.rint(plain + share * (hot - plain)).astype(np.uint8))
    draw = ImageDraw.Draw(image)
    nearest = _nearest(found, frame, camera, width, height)
    for segments, ink in ((found.body_curves, BODY_COLOUR), (found.self_curves, SELF_COLOUR)):
        draw_visible_segments(draw, segments[frame], camera, nearest, ink)
    if ring is not None:
        (x, y, _), _ = (a[0] for a in camera.project(np.array([ring.place]), width, height))
        r = max(10.0, width / 24)
        draw.ellipse((x - r, y - r, x + r, y + r), outline=(255, 255, 255), width=6)
        draw.ellipse((x - r + 1, y - r + 1, x + r - 1, y + r - 1), outline=RING_COLOUR, width=4)
    return np.asarray(image)


def _heat(found: CheckView, frame: int, camera: Camera, width: int, height: int) -> tuple[Floats, Floats]:
    """(h,w,3) sRGB and (h,w,1) opacity of the garment's penetrating parts."""
    garment, distances = found.garment, found.distances[frame].astype(np.float64)
    x, faces = np.asarray(garment.at(frame), np.float64), garment.mesh.faces
    deep = faces[(np.nan_to_num(distances, nan=1.0) < 0.0)[faces].any(1)]  # faces with a penetrating corner
    z, face, bary = rasterise(x, deep, camera, width, height)
    hit = face >= 0
    weights = np.concatenate([bary, 1.0 - bary.sum(2, keepdims=True)], 2)[hit]
    depth = -(weights * np.nan_to_num(distances, nan=0.0)[deep[face[hit]]]).sum(1)
    before = _nearest(found, frame, camera, width, height)
    behind = -1.0 / z[hit] - before[hit]  # metres behind the visible surface
    limit = 0.06 * float(np.linalg.norm(np.ptp(x, axis=0))) + 2.0 * found.top
    colour, share = np.zeros((height, width, 3)), np.zeros((height, width, 1))
    t = np.clip(depth / found.top, 0.0, 1.0) * (len(COLOURS) - 1)
    colour[hit] = np.stack([np.interp(t, np.arange(len(COLOURS)), COLOURS[:, k]) for k in range(3)], 1)
    share[hit, 0] = np.where((depth > 0.0) & (behind < limit), _SEEN, 0.0)
    return colour, share


def _nearest(found: CheckView, frame: int, camera: Camera, width: int, height: int) -> Floats:
    """(h,w) view depth of the first surface, metres; infinite where there is none."""
    first = np.full((height, width), np.inf)
    for clip in found.clips:
        z, _, _ = rasterise(np.asarray(clip.at(frame), np.float64), clip.mesh.faces, camera, width, height)
        first = np.minimum(first, np.where(np.isfinite(z), -1.0 / np.where(z == 0.0, 1.0, z), np.inf))
    return first


def _legend(sheet: Image.Image, found: CheckView, right: int, top: int, length: int) -> None:
    t = np.linspace(0, len(COLOURS) - 1, length)
    row = np.stack([np.interp(t, np.arange(len(COLOURS)), COLOURS[:, k]) for k in range(3)], 1)
    sheet.paste(Image.fromarray(np.rint(row)[None].repeat(10, 0).astype(np.uint8)), (right - length, top))
    draw, font = ImageDraw.Draw(sheet), ImageFont.load_default(12)
    draw.text((right - length, top + 22), "surface", QUIET, font, anchor="lm")
    draw.text((right, top + 22), f"{depth_text(found.top)} inside", QUIET, font, anchor="rm")


def _write(
    draw: ImageDraw.ImageDraw,
    at: tuple[float, float],
    text: str,
    ink: Sequence[int],
    size: float,
    room: float,
    anchor: str,
) -> None:
    """Draw text in the built-in font, scaled down to fit into `room` pixels."""
    text = " ".join(text.split())
    length = draw.textlength(text, ImageFont.load_default(size))
    fitting = ImageFont.load_default(max(6.0, size * min(1.0, room / max(length, 1.0))))
    draw.text(at, text, tuple(ink), fitting, anchor=anchor)

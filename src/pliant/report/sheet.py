"""A contact sheet: a few frames spread over the run, with the time below each."""

import dataclasses
import os
from collections.abc import Sequence

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from .. import validate
from ..files import atomic_write
from ..motion.clip import Clip
from .camera import Camera
from .overlay import Overlay, painted
from .pack import checked_frame_count
from .picture import render

FAR = 3.0  # extent of a run over that of the largest picture, from which the camera follows
PAPER, INK, QUIET = (250, 251, 253), (35, 38, 45), (106, 112, 128)


def contact_sheet(
    clips: Sequence[Clip],
    fps: float,
    path: str | os.PathLike[str],
    *,
    columns: int = 3,
    frames: int = 6,
    title: str | None = None,
    tile: tuple[int, int] = (480, 400),
    samples: int = 2,
    overlays: Sequence[Overlay] = (),
    notes: Sequence[str] = (),
) -> None:
    """Write a PNG with `frames` pictures, including the first and last frame, each of `tile` (width, height) pixels.

    `overlays` are drawn without occlusion; `notes` has one text per frame of the run, shown next to its time.
    """
    fps = validate.number("fps", fps, above=0.0)
    columns = validate.whole("columns", columns, low=1, high=64)
    chosen = spread(checked_frame_count(clips), validate.whole("frames", frames, low=1, high=1024))
    width, height = validate.whole("tile", tile[0], low=8), validate.whole("tile", tile[1], low=8)
    columns = min(columns, len(chosen))
    gap, caption = max(4, width // 40), max(12, height // 12)
    head = 2 * caption if title else gap
    rows = -(-len(chosen) // columns)
    size = (gap + columns * (width + gap), head + rows * (height + caption) + gap)
    validate.budget(f"a contact sheet of {size[0]}x{size[1]}", 16.0 * size[0] * size[1], "make the tiles smaller")
    sheet = Image.new("RGB", size, PAPER)
    draw = ImageDraw.Draw(sheet)
    if title:
        room = size[0] - 2 * gap
        draw.text((gap, head / 2), title, INK, _fitting(draw, title, 0.85 * caption, room), anchor="lm")
    cameras = _cameras(clips, chosen, width / height)
    for k, (frame, camera) in enumerate(zip(chosen, cameras, strict=True)):
        x = gap + (k % columns) * (width + gap)
        y = head + (k // columns) * (height + caption)
        pixels = render(clips, frame, width, height, camera, samples=samples)
        for overlay in overlays:
            mesh = overlay.meshes[frame]
            pixels = pixels if mesh is None else painted(pixels, mesh, camera, overlay.color)
        sheet.paste(Image.fromarray(pixels), (x, y))
        centre = (x + width / 2, y + height + caption / 2)
        text = f"{frame / fps:.2f} s" + (f"   {notes[frame]}" if notes else "")
        draw.text(centre, text, QUIET, ImageFont.load_default(0.55 * caption), anchor="mm")
    with atomic_write(path) as stream:
        sheet.save(stream, format="PNG")


def _cameras(clips: Sequence[Clip], frames: list[int], aspect: float) -> list[Camera]:
    """The camera of each picture: the same for all, or, where what deforms travels so far that it would be small in
    it, one that follows, at the distance that suits all pictures."""
    fixed = Camera.framing(clips, aspect)
    bends = [clip for clip in clips if clip.bends]
    if not bends:
        return [fixed] * len(frames)
    ends = [np.concatenate([(x.min(0), x.max(0)) for x in (clip.at(t) for clip in bends)]) for t in frames]
    size = max(float(np.linalg.norm(np.ptp(each, axis=0))) for each in ends)
    if np.linalg.norm(np.ptp(np.concatenate(ends), axis=0)) <= FAR * size:
        return [fixed] * len(frames)
    away = np.subtract(fixed.eye, fixed.target)
    azimuth, elevation = float(np.arctan2(away[0], away[2])), float(np.arctan2(away[1], np.hypot(away[0], away[2])))
    near = [
        Camera.framing(
            [Clip(clip.mesh, clip.at(t)[None]) for clip in bends], aspect, azimuth=azimuth, elevation=elevation
        )
        for t in frames
    ]
    distance = max(float(np.linalg.norm(np.subtract(each.eye, each.target))) for each in near)
    along = away / np.linalg.norm(away) * distance
    eyes = [(np.array(each.target) + along).tolist() for each in near]
    return [dataclasses.replace(each, eye=(x, y, z)) for each, (x, y, z) in zip(near, eyes, strict=True)]


def spread(count: int, wanted: int) -> list[int]:
    """At most `wanted` of 0..count-1, evenly spread and including first and last (only the last for one)."""
    if wanted == 1:
        return [count - 1]
    return sorted({int(i) for i in np.rint(np.linspace(0, count - 1, wanted))})


def _fitting(
    draw: ImageDraw.ImageDraw, text: str, size: float, room: float
) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    """The built-in font at `size`, scaled down to fit the text into `room` pixels."""
    length = draw.textlength(text, ImageFont.load_default(size))
    return ImageFont.load_default(max(6.0, size * min(1.0, room / max(length, 1.0))))

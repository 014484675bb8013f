"""Render a frame: soft sunlight, sky light with ambient occlusion, and shadows on a floor that fades out.

Light comes from dozens of directions, a small disc for the sun and the upper hemisphere for the sky, each with its own
small shadow map from the rasteriser. Each sample of a pixel uses its own set of directions, so that their mean is
smooth where a single set would show steps.
"""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from .. import validate
from ..kernels.geometry import raster
from ..kernels.report import picture
from ..mesh.subdivision import smooth_normals
from ..motion.clip import Clip
from .camera import Camera, lowest_seen
from .light import SUN, ShadowedLights, sky_lights, sun_lights, unit
from .pack import checked_frame_count, drawn_faces, vertex_uv

Floats = NDArray[np.float64]
TOP, BOTTOM = np.array([0.93, 0.94, 0.965]), np.array([0.66, 0.70, 0.77])  # background gradient, linear RGB
CHECKS = 12  # per unit of texture coordinates, as in static/scene.js


def render(
    clips: Sequence[Clip],
    frame: int,
    width: int = 960,
    height: int = 720,
    camera: Camera | None = None,
    *,
    samples: int = 2,
) -> NDArray[np.uint8]:
    """The clips at `frame` (negative: from the end) as (height, width, 3) sRGB; `samples`^2 samples per pixel."""
    return views(clips, frame, width, height, [camera], samples=samples)[0]


def views(
    clips: Sequence[Clip],
    frame: int,
    width: int,
    height: int,
    cameras: Sequence[Camera | None],
    *,
    samples: int = 2,
    paint: Callable[[Floats], Floats] | None = None,
) -> list[NDArray[np.uint8]]:
    """One picture per camera, as by `render`; the lights are set up once.

    `paint` maps points (p,3) on the surfaces to colours (p,3), linear RGB, which replace those of the clips.
    """
    count = checked_frame_count(clips)
    if not -count <= frame < count:
        raise ValueError(f"frame = {frame} but there are {count} frames")
    width, height = validate.whole("width", width, low=1), validate.whole("height", height, low=1)
    samples = validate.whole("samples", samples, low=1, high=4)
    validate.budget(f"a picture of {width}x{height}", 200.0 * width * height * samples**2, "make it smaller")
    detail = 2 * max(width, height)  # shadows need not be finer than the picture
    studio = _Studio(clips, frame, samples, detail, paint)
    # fixed dithering of less than one level hides 8-bit banding in the background
    grain = np.random.default_rng(8).uniform(-0.5, 0.5, (height, width, 1))
    out = []
    for camera in cameras:
        pixels = studio.shoot(camera or Camera.framing(clips, width / height), width * samples, height * samples)
        small = pixels.reshape(height, samples, width, samples, 3).mean((1, 3))
        out.append(np.rint(np.clip(255 * _srgb(small) + grain, 0, 255)).astype(np.uint8))
    return out


class _Studio:
    """All clips at one frame as one mesh, the lamps around it and the floor below."""

    def __init__(
        self,
        clips: Sequence[Clip],
        frame: int,
        samples: int,
        detail: int,
        paint: Callable[[Floats], Floats] | None = None,
    ) -> None:
        self.paint = paint
        lowest = min(float(clip.bounds[0, 1]) for clip in clips)  # under all frames, not only this one
        self.floor = max(lowest, lowest_seen(clips))
        clips = [clip.displayed(frame) for clip in clips]
        start = np.cumsum([0] + [clip.mesh.n_vertices for clip in clips])
        self.x = np.concatenate([clip.at(0) for clip in clips]).astype(np.float64)
        self.faces = np.concatenate([drawn_faces(clip.mesh) + int(s) for clip, s in zip(clips, start)]).astype(np.int32)
        self.normals = np.concatenate([_normals(clip) for clip in clips])
        is_open = [bool(clip.mesh.welded.topology.boundary.any()) for clip in clips]
        uvs = [vertex_uv(clip) if yes else None for clip, yes in zip(clips, is_open)]
        plain = [np.zeros((clip.mesh.n_vertices, 2)) for clip in clips]
        self.uv = np.concatenate([none if some is None else some for none, some in zip(plain, uvs)])
        owner = np.repeat(np.arange(len(clips)), [clip.mesh.n_faces for clip in clips])
        self.color = np.array([clip.color for clip in clips])[owner]
        self.open = np.array(is_open)[owner]
        self.chequered = np.array([uv is not None for uv in uvs])[owner]
        self.size = float(np.linalg.norm(np.ptp(self.x, axis=0))) or 1.0
        self.middle = (self.x.min(0) + self.x.max(0)) / 2
        self.samples = samples
        rays = samples**2
        bounds = (self.middle, self.size)
        self.sun = ShadowedLights(self.x, self.faces, sun_lights(9 * rays), *bounds, min(768, detail), rays)
        self.sky = ShadowedLights(self.x, self.faces, sky_lights(36 * rays), *bounds, min(224, detail), rays)

    def shoot(self, camera: Camera, width: int, height: int) -> Floats:
        """The picture at full sample resolution, in linear RGB."""
        out = np.empty((height, width, 3))
        out[:] = TOP + (BOTTOM - TOP) * np.linspace(0, 1, height)[:, None, None] ** 1.2
        group = np.arange(height)[:, None] % self.samples * self.samples + np.arange(width) % self.samples
        screen, w = camera.project(self.x, width, height)
        ahead = np.flatnonzero((w > camera.nearest)[self.faces].all(1))
        _, face, bary = raster.depth(screen, self.faces[ahead], width, height)
        hit = face >= 0
        face[hit] = ahead[face[hit]]
        rays = camera.rays(width, height)
        below = ~hit & (rays[..., 1] < 0) & (camera.eye[1] > self.floor)
        if below.any():
            out[below] *= self.floor_light(camera, rays[below], group[below])[:, None]
        if hit.any():
            values = np.empty((int(hit.sum()), 8))
            packed = np.column_stack([self.x, self.normals, self.uv])
            picture.interpolate(face[hit], bary[hit], self.faces, 1 / w, packed, values)
            out[hit] = self.shaded(camera, face[hit], values, group[hit])
        return out

    def floor_light(self, camera: Camera, rays: Floats, group: NDArray[np.int64]) -> Floats:
        """Brightness of the floor where `rays` (p,3) hit it, 0..1; it fades to 1 far away."""
        x = np.asarray(camera.eye) + rays * ((self.floor - camera.eye[1]) / rays[:, 1:2])
        far = np.linalg.norm(x[:, (0, 2)] - self.middle[[0, 2]], axis=1) / (1.5 * self.size)
        light = np.ones(len(x))
        near = far < 1
        up = np.broadcast_to([0.0, 1.0, 0.0], (int(near.sum()), 3))
        sun, full_sun = self.sun.at(x[near], up, group[near])
        sky, full_sky = self.sky.at(x[near], up, group[near])
        dark = 0.34 * (1 - sun / full_sun) + 0.62 * (1 - sky / full_sky)
        fade = np.clip((1 - far[near]) / 0.6, 0, 1)
        light[near] = 1 - dark * fade * fade * (3 - 2 * fade)
        return light

    def shaded(self, camera: Camera, face: NDArray[np.int32], values: Floats, group: NDArray[np.int64]) -> Floats:
        """Colours (p,3) of pixels whose position, normal and texture coordinates are `values` (p,8)."""
        x, n, uv = values[:, :3], unit(values[:, 3:6]), values[:, 6:]
        view = unit(np.asarray(camera.eye) - x)
        a, b, c = (self.x[self.faces[face, k]] for k in range(3))
        behind = (self.open[face] & ((np.cross(b - a, c - a) * view).sum(1) < 0))[:, None]
        n = np.where(behind, -n, n)
        color = np.where(behind, self.color[face] * 0.62 + (0.07, 0.065, 0.06), self.color[face])
        band = (np.abs((uv * CHECKS) % 1 - 0.5) > 0.25).mean(1) * self.chequered[face]
        color += (color * -0.22 + 0.012) * band[:, None]
        if self.paint is not None:
            color = self.paint(x)
        key, _ = self.sun.at(x, n, group)
        sky, full_sky = self.sky.at(x, n, group)
        # occluded parts still receive some light reflected by the floor
        bounce = (0.10 + 0.07 * (1 - n[:, 1])) * (0.35 + 0.65 * sky / np.maximum(full_sky, 1e-9))
        ambient = sky[:, None] * (0.64, 0.68, 0.76) + bounce[:, None] * (1.0, 0.93, 0.85)
        light = ambient + key[:, None] * (1.06, 1.0, 0.92)
        rim = (1 - np.clip((n * view).sum(1), 0, 1)) ** 3
        shine = np.clip((n * unit(SUN + view)).sum(1), 0, 1) ** 40 * 0.12 * np.minimum(key * 2, 1) * ~self.open[face]
        # the fibres that stand off cloth catch the light at grazing angles
        grazing = np.where(self.open[face][:, None], ambient * 1.2 + key[:, None] * 0.35, ambient)
        sheen = rim[:, None] * grazing * np.where(self.open[face][:, None], color * 0.45 + 0.05, color * 0.25 + 0.04)
        return color * light + sheen + shine[:, None]


def _normals(clip: Clip) -> Floats:
    """(n,3) smooth normals of a static clip."""
    return smooth_normals(clip.at(0).astype(np.float64), drawn_faces(clip.mesh), clip.mesh.weld_index)


def _srgb(c: Floats) -> Floats:
    """Linear RGB to sRGB, with a soft shoulder instead of clipping at white."""
    c = np.clip(c / (1 + np.maximum(c - 0.8, 0) * 0.6), 0, 1)
    return np.where(c <= 0.0031308, 12.92 * c, 1.055 * c ** (1 / 2.4) - 0.055)

"""A picture of a frame: soft sun, sky light that reaches into folds, shadows on a floor that fades away.

Light comes from dozens of directions, a small disc for the sun and the upper half for the sky, each with its own small
shadow map from the rasteriser; what several of them cannot see darkens softly, which is all there is to the look. The
rays of one pixel share the directions between them, so that four rays cost as much as one.
"""

import functools
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from .. import validate
from ..clip import Clip
from ..kernels import picture, raster
from .camera import Camera, basis
from .pack import check, vertex_uv

Floats = NDArray[np.float64]
SUN = np.array([-0.56, 1.15, 0.82]) / np.linalg.norm([-0.56, 1.15, 0.82])
TOP, BOTTOM = np.array([0.93, 0.94, 0.965]), np.array([0.66, 0.70, 0.77])  # of the background, linear RGB
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
    """The clips at `frame` (negative counts from the end) as (height, width, 3) sRGB; `samples`^2 rays a pixel."""
    count = check(clips)
    frame = range(count)[frame]
    width, height = validate.whole("width", width, low=1), validate.whole("height", height, low=1)
    samples = validate.whole("samples", samples, low=1, high=8)
    validate.budget(f"a picture of {width}x{height}", 200.0 * width * height * samples**2, "make it smaller")
    camera = camera or Camera.framing(clips, width / height)
    pixels = _linear(_Joined(clips, frame), _low(clips), camera, width * samples, height * samples, samples)
    small = pixels.reshape(height, samples, width, samples, 3).mean((1, 3))
    # a fixed grain of less than one step hides the steps of 8 bits in the background
    grain = np.random.default_rng(8).uniform(-0.5, 0.5, (height, width, 1))
    return np.rint(np.clip(255 * _srgb(small) + grain, 0, 255)).astype(np.uint8)


class _Joined:
    """All clips at one frame as one mesh."""

    def __init__(self, clips: Sequence[Clip], frame: int) -> None:
        start = np.cumsum([0] + [clip.mesh.n_vertices for clip in clips])
        self.x = np.concatenate([clip.at(frame) for clip in clips]).astype(np.float64)
        self.faces = np.concatenate([clip.mesh.faces + int(s) for clip, s in zip(clips, start)]).astype(np.int32)
        self.normals = np.concatenate([_normals(clip, frame) for clip in clips])
        uvs = [vertex_uv(clip) if _open(clip) else None for clip in clips]
        self.uv = np.concatenate(
            [np.full((c.mesh.n_vertices, 2), -1.0) if t is None else t for c, t in zip(clips, uvs)]
        )
        owner = np.repeat(np.arange(len(clips)), [clip.mesh.n_faces for clip in clips])
        self.color = np.array([clip.color for clip in clips])[owner]
        self.open = np.array([_open(clip) for clip in clips])[owner]
        self.checked = np.array([t is not None for t in uvs])[owner]


def _open(clip: Clip) -> bool:
    return bool(clip.mesh.welded.topology.border.any())


def _normals(clip: Clip, frame: int) -> Floats:
    """Area-weighted, summed at welded vertices so that seams do not show; (n,3), zero where no face is."""
    x, faces, index = clip.at(frame).astype(np.float64), clip.mesh.faces, clip.mesh.weld_index
    a, b, c = (x[faces[:, k]] for k in range(3))
    area = np.repeat(np.cross(b - a, c - a), 3, axis=0)
    corner = index[faces].ravel()
    total = np.stack([np.bincount(corner, area[:, k], len(x)) for k in range(3)], 1)
    return _unit(total)[index]


def _low(clips: Sequence[Clip]) -> float:
    """Where the floor is: under everything in all frames."""
    return min(float(clip.frames[..., 1].min()) for clip in clips)


def _linear(mesh: _Joined, low: float, camera: Camera, width: int, height: int, samples: int) -> Floats:
    """The picture before it is made small, in linear light; `samples` rows and columns are one pixel of it later."""
    out = np.empty((height, width, 3))
    out[:] = TOP + (BOTTOM - TOP) * np.linspace(0, 1, height)[:, None, None] ** 1.2
    size = float(np.linalg.norm(np.ptp(mesh.x, axis=0))) or 1.0
    middle = (mesh.x.min(0) + mesh.x.max(0)) / 2
    group = np.arange(height)[:, None] % samples * samples + np.arange(width) % samples
    sun = _Lamp(mesh, _sun_lights(), middle, size, 512, samples**2)
    sky = _Lamp(mesh, _sky_lights(), middle, size, 160, samples**2)
    screen, w = camera.project(mesh.x, width, height)
    _, face, bary = raster.depth(screen, mesh.faces, width, height)
    hit = face >= 0
    rays = camera.rays(width, height)
    floor = ~hit & (rays[..., 1] < 0) & (camera.eye[1] > low)
    if floor.any():
        out[floor] *= _floor(rays[floor], group[floor], camera, low, middle, size, sun, sky)[:, None]
    if hit.any():
        values = np.empty((int(hit.sum()), 8))
        packed = np.column_stack([mesh.x, mesh.normals, mesh.uv])
        picture.interpolate(face[hit], bary[hit], mesh.faces, 1 / w, packed, values)
        out[hit] = _shaded(mesh, face[hit], values, group[hit], camera, sun, sky)
    return out


def _floor(
    rays: Floats,
    group: NDArray[np.int64],
    camera: Camera,
    low: float,
    middle: Floats,
    size: float,
    sun: "_Lamp",
    sky: "_Lamp",
) -> Floats:
    """How bright the floor is where `rays` (p,3) meet it, 0..1; it fades to 1 far away."""
    t = (low - camera.eye[1]) / rays[:, 1]
    x = np.asarray(camera.eye) + rays * t[:, None]
    far = np.linalg.norm(x[:, (0, 2)] - middle[[0, 2]], axis=1) / (1.5 * size)
    light = np.ones(len(x))
    near = far < 1
    up = np.broadcast_to([0.0, 1.0, 0.0], (int(near.sum()), 3))
    (lit, full), (seen, open_sky) = sun.at(x[near], up, group[near]), sky.at(x[near], up, group[near])
    dark = 0.34 * (1 - lit / full) + 0.62 * (1 - seen / open_sky)
    fade = np.clip((1 - far[near]) / 0.6, 0, 1)
    light[near] = 1 - dark * fade * fade * (3 - 2 * fade)
    return light


def _shaded(
    mesh: _Joined,
    face: NDArray[np.int32],
    values: Floats,
    group: NDArray[np.int64],
    camera: Camera,
    sun: "_Lamp",
    sky: "_Lamp",
) -> Floats:
    """Colours (p,3) of pixels whose position, normal and texture coordinates are `values` (p,8)."""
    x, n, uv = values[:, :3], _unit(values[:, 3:6]), values[:, 6:]
    view = _unit(np.asarray(camera.eye) - x)
    a, b, c = (mesh.x[mesh.faces[face, k]] for k in range(3))
    behind = mesh.open[face] & ((np.cross(b - a, c - a) * view).sum(1) < 0)
    n = np.where(behind[:, None], -n, n)
    color = mesh.color[face]
    color = np.where(behind[:, None], color * 0.62 + (0.07, 0.065, 0.06), color)
    band = (np.abs((uv * CHECKS) % 1 - 0.5) > 0.25).mean(1) * mesh.checked[face]
    color += (color * -0.22 + 0.012) * band[:, None]
    (key, _), (above, open_sky) = sun.at(x, n, group), sky.at(x, n, group)
    # what the sky does not reach still gets a little light back from the floor
    bounce = (0.10 + 0.07 * (1 - n[:, 1])) * (0.35 + 0.65 * above / np.maximum(open_sky, 1e-9))
    ambient = above[:, None] * (0.64, 0.68, 0.76) + bounce[:, None] * (1.0, 0.93, 0.85)
    light = ambient + key[:, None] * (1.06, 1.0, 0.92)
    rim = (1 - np.clip((n * view).sum(1), 0, 1)) ** 3
    shine = np.clip((n * _unit(SUN + view)).sum(1), 0, 1) ** 40 * 0.12 * np.minimum(key * 2, 1) * ~mesh.open[face]
    return color * light + rim[:, None] * ambient * (color * 0.25 + 0.04) + shine[:, None]


class _Lamp:
    """Lights from several directions, dealt out to `groups` of rays, and what each of them sees."""

    def __init__(self, mesh: _Joined, lights: Floats, middle: Floats, size: float, pixels: int, groups: int) -> None:
        each = max(1, len(lights) // groups)
        dealt = lights[np.arange(each * groups) % len(lights)].reshape(each, groups, 4).swapaxes(0, 1)
        self.lights = dealt / (1, 1, 1, dealt[..., 3].sum() / groups)
        self.lift = 1.6 * size / pixels
        scale = pixels / (1.04 * size)
        self.frames = np.zeros((groups, each, 3, 4))
        for k in np.ndindex(groups, each):
            right, up, back = basis(-self.lights[k][:3])
            # metres to pixels, y down; depth grows away from the light
            self.frames[k][:, :3] = right * scale, up * -scale, -back
            self.frames[k][:, 3] = np.array([pixels / 2, pixels / 2, 0.0]) - self.frames[k][:, :3] @ middle
        self.maps = np.full((groups, each, pixels, pixels), np.inf, np.float32)
        flat = self.maps.reshape(-1, pixels, pixels)
        picture.shadow_maps(mesh.x, mesh.faces, self.frames.reshape(-1, 3, 4), flat)

    def at(self, x: Floats, n: Floats, group: NDArray[np.int64]) -> tuple[Floats, Floats]:
        """Light at points x (p,3) with normals n (p,3): with shadows, and as if nothing stood in the way."""
        out = np.empty((len(x), 2))
        x, n = np.ascontiguousarray(x), np.ascontiguousarray(n)
        picture.gather(x, n, group, self.lights, self.frames, self.maps, self.lift, out)
        return out[:, 0], out[:, 1]


@functools.cache
def _sun_lights(count: int = 36, spread: float = 0.07) -> Floats:
    """(m,4) directions on a small disc around the sun, and their weights."""
    k = np.arange(count)
    radius, angle = spread * np.sqrt((k + 0.5) / count), 2.39996 * k
    right, up, back = basis(-SUN)
    towards = back + np.outer(radius * np.cos(angle), right) + np.outer(radius * np.sin(angle), up)
    return np.column_stack([_unit(towards), np.ones(count)])


@functools.cache
def _sky_lights(count: int = 144) -> Floats:
    """(m,4) directions spread over the upper half, and weights for a sky that is brightest overhead."""
    k = np.arange(count)
    y = (k + 0.5) / count
    flat, angle = np.sqrt(1 - y * y), 2.39996 * k
    return np.column_stack([flat * np.cos(angle), y, flat * np.sin(angle), 0.5 + 0.5 * y])


def _unit(a: Floats) -> Floats:
    return a / np.maximum(np.linalg.norm(a, axis=-1, keepdims=True), 1e-30)


def _srgb(c: Floats) -> Floats:
    c = np.clip(c / (1 + np.maximum(c - 0.8, 0) * 0.6), 0, 1)
    return np.where(c <= 0.0031308, 12.92 * c, 1.055 * c ** (1 / 2.4) - 0.055)

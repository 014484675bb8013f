"""Data of a check report: a garment coloured by penetration depth, its worst locations, and camera views of them."""

import dataclasses
import functools
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ..kernels.geometry import raster
from ..motion.clip import Clip
from .camera import FOV, Camera
from .heat import RAMP, nice

Floats = NDArray[np.float64]
GARMENT, BODY = (0.36, 0.42, 0.52), (0.80, 0.77, 0.73)  # linear RGB
COLOURS = RAMP[1:]  # of penetrating parts, sRGB; the first colour of the ramp is too pale
_BUSY = 300_000  # faces; above it no search for the best view of a location


@dataclasses.dataclass(frozen=True, kw_only=True)
class PlaceView:
    """A location to show: `frame` indexes the shown frames, `towards` is the unit direction to the camera."""

    frame: int
    kind: str  # "inside", "body" or "self"
    title: str
    detail: str
    place: tuple[float, float, float]
    radius: float  # m, of the neighbourhood to show
    towards: tuple[float, float, float] | None = None


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class CheckView:
    """Everything the page and the sheet show, as plain data.

    fps: of the shown frames; numbers: their frame numbers; distances: (T,n) signed distance of the garment's vertices,
    nan where unknown; self_curves, body_curves: per frame the segments (k,2,3) where the garment intersects itself and
    the body; series: name -> (unit, one value per frame); places: locations, worst first; shells: column headings and
    rows of the table of the body's shells, empty without one.
    """

    title: str
    verdict: str
    garment: Clip
    body: Clip | None
    fps: float
    numbers: Sequence[int]
    distances: NDArray[np.float32]
    self_curves: Sequence[NDArray[np.float32]]
    body_curves: Sequence[NDArray[np.float32]]
    series: Mapping[str, tuple[str, Sequence[float]]]
    places: Sequence[PlaceView]
    facts: Mapping[str, str]
    notes: Sequence[str]
    shells: Sequence[Sequence[str]] = ()

    @property
    def clips(self) -> list[Clip]:
        worn = dataclasses.replace(self.garment, color=GARMENT)
        return [worn] if self.body is None else [worn, dataclasses.replace(self.body, color=BODY)]

    @functools.cached_property
    def top(self) -> float:
        """Depth of the last colour, metres: the 99th percentile, rounded up."""
        deep = -self.distances[self.distances < 0.0].astype(np.float64)
        return nice(max(float(np.quantile(deep, 0.99)), 1e-9)) if len(deep) else 1e-3

    def heat(self, top: float) -> NDArray[np.uint8]:
        """(T,n) 128 on the body's surface, 255 at `top` inside, 1 as far outside, 0 where the distance is unknown."""
        share = np.clip(-self.distances.astype(np.float64) / top, -1.0, 1.0)
        return np.where(np.isfinite(share), 128.0 + np.rint(127.0 * np.nan_to_num(share)), 0.0).astype(np.uint8)

    def camera_on(self, view: PlaceView, zoom: float = 1.0) -> Camera:
        """A camera with an unobstructed view of a place; `zoom` divides the shown radius."""
        return _camera(np.array(view.place), self.direction(view), view.radius / zoom)

    def direction(self, view: PlaceView) -> Floats:
        """(3,) unit direction from a place to the camera: the least occluded of some directions around `towards`."""
        x = [np.asarray(clip.at(view.frame), np.float64) for clip in self.clips]
        hint = np.array(view.towards) if view.towards is not None else np.array(view.place) - np.concatenate(x).mean(0)
        if not np.linalg.norm(hint) > 0.0:
            hint = np.array([0.0, 0.3, 1.0])
        tried = _around(hint / np.linalg.norm(hint))
        if sum(clip.mesh.n_faces for clip in self.clips) > _BUSY:
            return tried[0]
        start = np.cumsum([0] + [len(p) for p in x])
        faces = np.concatenate([clip.mesh.faces + int(s) for clip, s in zip(self.clips, start)]).astype(np.int32)
        points = np.concatenate(x)
        seen = [_seen(points, faces, np.array(view.place), direction, view.radius) for direction in tried]
        return tried[int(np.argmax(seen))]


def srgb_to_linear(rgb: Floats) -> Floats:
    c = np.asarray(rgb, np.float64) / 255.0
    return np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)


def angles(towards: Floats) -> tuple[float, float]:
    """Azimuth and elevation of a direction, radians, in the convention of `static/view.js`."""
    return float(np.arctan2(towards[0], towards[2])), float(np.arcsin(np.clip(towards[1], -1.0, 1.0)))


def _around(hint: Floats) -> list[Floats]:
    """Directions around the unit vector `hint`, starting with `hint`; steep elevations are clamped."""
    azimuth, elevation = angles(hint)
    level = float(np.clip(elevation, -0.35, 0.7))
    turns, tilts = (0.0, 0.5, -0.5, 1.0, -1.0, 1.6, -1.6), (0.0, 0.4, -0.4)
    return [_unit(azimuth + a, float(np.clip(level + b, -0.5, 1.0))) for b in tilts for a in turns]


def _unit(azimuth: float, elevation: float) -> Floats:
    flat = np.cos(elevation)
    return np.array([flat * np.sin(azimuth), np.sin(elevation), flat * np.cos(azimuth)])


def _camera(place: Floats, towards: Floats, radius: float) -> Camera:
    eye = place + towards * (radius / np.tan(FOV / 2))
    return Camera(tuple(eye.tolist()), tuple(place.tolist()))


def _seen(x: Floats, faces: NDArray[np.int32], place: Floats, towards: Floats, radius: float) -> float:
    """Fraction of the pixels that show a surface near the place, 0..1."""
    pixels = 24
    camera = _camera(place, towards, radius)
    screen, w = camera.project(x, pixels, pixels)
    ahead = np.flatnonzero((w > camera.nearest)[faces].all(1))
    z, face, _ = raster.depth(screen, faces[ahead], pixels, pixels)
    rays = camera.rays(pixels, pixels)
    with np.errstate(divide="ignore", invalid="ignore"):
        hits = np.asarray(camera.eye) + rays * (-1.0 / z)[..., None]  # rays have depth 1
    near = (face >= 0) & (np.linalg.norm(np.nan_to_num(hits) - place, axis=2) < 0.6 * radius)
    return float(near.mean())

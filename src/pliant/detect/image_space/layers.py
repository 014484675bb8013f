"""Layers: under every pixel centre all the faces of a body, in order along an axis. Nothing is built that depends on
where its vertices are."""

import dataclasses
import functools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import validate
from ...kernels import adjacency as _adjacency
from ...kernels import columns as _columns
from ...kernels import layer_order as _order
from ...kernels import layers as _kernels
from ...kernels import strips as _strips
from ...kernels.jit import COMPILED, worth
from ...kernels.layers import Drawn, Found, Place, Screen
from ...kernels.raster import REACH
from ...mesh import Mesh
from ..winding import bounds_of, shortest

Floats = NDArray[np.float64]
Rows = NDArray[np.int32]
MOST = 4096  # pixels along a side
_PIECE = 8192  # faces whose doubts a thread looks for at a time
_AROUND = 4096  # faces around a vertex up to which faces are strung into strips
SOME = 20_000  # faces that are drawn, and layers sorted, before a thread would have woken up


class Stretches:
    """Pieces of rays: pixel (k,), depths (k,2) in metres where they begin and end, and how many times (k,) wound."""

    def __init__(self, pixel: Rows, depth: Floats, wound: Rows) -> None:
        self.pixel, self.depth, self.wound = pixel, depth, wound

    def __len__(self) -> int:
        return len(self.pixel)

    @property
    def length(self) -> float:
        """Metres of all together."""
        return float((self.depth[:, 1] - self.depth[:, 0]).sum())


@dataclasses.dataclass(frozen=True, eq=False)
class Layers:
    """A layered depth image.

    Pixel k (row by row) has layers start[k]:start[k+1] of depth (m,), metres along the axis, ascending, and of face
    (m,): a face where the ray enters the body, ~face where it leaves. box (2,3) is what was looked at: layers before
    or behind it lie on its border.
    """

    screen: Screen
    box: Floats
    start: NDArray[np.int64]
    depth: Floats
    face: Rows

    @property
    def pixel(self) -> float:
        """Metres, the longer side of a pixel."""
        return 1.0 / min(self.screen.across, self.screen.down)

    @functools.cached_property
    def counts(self) -> NDArray[np.int64]:
        """(height, width) how many layers there are; even in every pixel of a closed mesh."""
        return np.diff(self.start[:-1]).reshape(self.screen.height, self.screen.width)

    def stretches(self, wound: int = 1) -> Stretches:
        """Where rays are inside, `wound` times or more."""
        # depths are rounded: what is shorter than that is no stretch but two faces at one depth
        least = 1e-14 * float(np.abs(self.box[:, self.screen.axis]).max())
        most = len(self.depth) // 2 + 1
        pixel, out = np.empty(most, np.int32), np.empty((most, 3))
        count = _columns.stretches(self.start, self.depth, self.face, wound, least, 0, out, pixel)
        return Stretches(pixel[:count], out[:count, :2].copy(), out[:count, 2].astype(np.int32))

    @property
    def volume(self) -> float:
        """Cubic metres of the body between the sides of the box, as the pixel centres say."""
        return self.stretches().length / (self.screen.across * self.screen.down)

    def self_overlap(self) -> Stretches:
        """Where the body is inside itself: rays that enter again before they left (Heidelberger et al. 2004)."""
        return self.stretches(2)

    def inside(self, points: Any) -> NDArray[np.bool_]:
        """(n,) which of points (n,3) are inside, each asked at the centre of its pixel: right for all that are farther
        from the surface than 0.71 pixels."""
        p = validate.floats("points", points, (None, 3))
        found = np.empty(len(p), np.int32)
        _columns.inside(self.screen, self.start, self.depth, self.face, p, found)
        return np.asarray(found > 0)

    def places(self, at: Stretches) -> Floats:
        """(k,2,3) the ends of stretches in space, metres."""
        return ends_of(self.screen, at.pixel, at.depth)


def ends_of(s: Screen, pixel: NDArray[Any], depth: Floats) -> Floats:
    """(k,2,3) the ends, metres, of pieces of rays through pixel (k,) between depths (k,2)."""
    out = np.empty((len(pixel), 2, 3))
    out[:, :, (s.axis + 1) % 3] = (s.left + (pixel % s.width + 0.5) / s.across)[:, None]
    out[:, :, (s.axis + 2) % 3] = (s.top + (pixel // s.width + 0.5) / s.down)[:, None]
    out[:, :, s.axis] = depth
    return out


def screen_of(box: Floats, axis: int, resolution: int, farthest: float = 0.0) -> Screen:
    """Pixels that fill box (2,3), `resolution` along its longer side across the axis, and nearly square.

    `farthest`: how far (m) from the middle something to be drawn can be; pixels are never so small that it leaves the
    range of snapped coordinates.
    """
    across = np.array([(axis + 1) % 3, (axis + 2) % 3])
    least = max(2.0 * farthest / REACH, 1e-150)
    size = np.maximum((box[1] - box[0])[across], least)
    pixel = float(size.max()) / resolution
    count = np.clip(np.floor(np.minimum(np.rint(size / pixel), size / least)), 1, resolution)
    # a little larger than the box, so that rounding leaves no strip at the border without a pixel
    size *= 1.0 + 1e-9
    low, scale = 0.5 * (box[0] + box[1])[across] - 0.5 * size, count / size
    return Screen(axis, float(low[0]), float(low[1]), float(scale[0]), float(scale[1]), int(count[0]), int(count[1]))


class DepthCamera:
    """Takes layered depth images of a mesh that may deform from one to the next; it keeps room, and from the second
    image on its faces strung into strips."""

    def __init__(self, mesh: Mesh) -> None:
        if not mesh.n_faces:
            raise ValueError(f"mesh {mesh.name!r} has no faces; expected a surface")
        self.mesh = mesh
        # unsigned: indexing need not look for negative ones
        self.faces = mesh.faces.view(np.uint32)
        self._images = 0
        n = mesh.n_vertices
        self.drawn = Drawn(
            self.faces, self.faces.ravel(), np.empty(0, np.int32), np.empty(n, np.int64), np.empty(n, np.uint32)
        )
        self._found = room(len(self.drawn.strip))
        self._hits = (np.empty(0, np.int32), np.empty(0), np.empty(0, np.int32))

    def string(self) -> None:
        """Strips take as long as some twenty images, which a single one would not be worth; and the square of the
        number of faces around a vertex, where there are very many."""
        faces, n = self.mesh.faces, self.mesh.n_vertices
        count = np.zeros(n + 1, np.int32)
        _adjacency.count_faces(faces, count)
        # a word of a strip has no room for more faces
        if int(count.max()) > _AROUND or len(faces) >= 1 << 27:
            return
        start, ring = np.cumsum(count, dtype=np.int32), np.empty(faces.size, np.int32)
        _adjacency.fill_rings(faces, start.copy(), ring)
        strip, owner = np.empty(faces.size, np.int32), np.empty(faces.size, np.int32)
        length = _strips.string(faces, start, ring, strip, owner)
        corners = strip[:length].view(np.uint32).copy()
        corners.setflags(write=False)  # as the mesh's faces are
        self.drawn = self.drawn._replace(strip=corners, owner=owner[:length].copy())
        self._found = room(length)

    def take(self, x: Floats, screen: Screen, box: Floats, clip: bool = True) -> Layers:
        """The image of vertices x (n,3), metres; `clip` moves layers before and behind the box to its border."""
        # kernels look at no bounds
        if x.shape != self.mesh.vertices.shape or x.dtype != np.float64:
            raise ValueError(f"x is {x.dtype} {x.shape}; expected float64 {self.mesh.vertices.shape}, as the mesh has")
        check_screen(screen)
        self._images += 1
        if self._images == 2 and not len(self.drawn.owner):
            self.string()
        place, shared = place_of(x), len(self.faces)
        worth(_kernels.project, shared, SOME)(place, screen, self.drawn.p, self.drawn.code)
        worth(_kernels.search, shared, SOME)(place, screen, self.drawn, self._found)
        return self.finish(place, screen, self._found, box, clip)

    def finish(self, place: Place, screen: Screen, found: Found, box: Floats, clip: bool) -> Layers:
        """The image of what was found: hits of large faces, and all of them in order."""
        large, small, _ = found.count.sum(0).tolist()
        total = large + small
        if large > len(self._hits[0]):
            validate.budget(f"{total} layers", 32.0 * total, "lower the resolution")
            size = large + large // 4
            self._hits = (np.empty(size, np.int32), np.empty(size), np.empty(size, np.int32))
        pixel, depth, face = (array[:large] for array in self._hits)
        if large:
            first = np.cumsum(found.count[:, 0]) - found.count[:, 0]
            worth(_kernels.fill, len(self.faces), SOME)(place, screen, self.drawn, found, first, pixel, depth, face)
        start = np.zeros(screen.width * screen.height + 2, np.int64)
        depth_out, face_out = np.empty(total), np.empty(total, np.int32)
        low, high = ends_of_depth(screen, box, clip)
        worth(_order.order, total, SOME)(found, pixel, depth, face, low, high, start, depth_out, face_out)
        return Layers(screen, box, start, depth_out, face_out)

    @property
    def p(self) -> NDArray[Any]:
        """(n,2) snapped places of the vertices in the last image."""
        p = np.stack([self.drawn.p & _kernels.LOW, self.drawn.p >> 32], 1) - _kernels.BEFORE
        # compiled loops multiply 32 bits to 64, plain Python does not
        return p.astype(np.int32) if COMPILED else p

    def doubts(self, x: Floats, screen: Screen, box: Floats) -> tuple[NDArray[np.int64], NDArray[np.int64], Floats]:
        """Of each pixel the depths that some face has over its square, after an image of the same: where they begin
        and end (pixels,) in the rows (k,4) of stretches, which are apart and ascend, with areas and volumes."""
        ends, size, p = np.ascontiguousarray(box[:, screen.axis]), _PIECE, self.p
        count, first = (np.zeros(-(-len(self.faces) // size), np.int64) for _ in range(2))
        ask = worth(_columns.all_doubts, len(self.faces), SOME)
        ask(x, screen, p, self.faces, ends, size, first, count, np.empty(0, np.int32), np.empty((0, 4)))
        total = int(count.sum())
        validate.budget(f"{total} pieces of faces", 72.0 * total, "lower the resolution")
        first = np.cumsum(count) - count
        pixel, rows = np.empty(total, np.int32), np.empty((total, 4))
        ask(x, screen, p, self.faces, ends, size, first, count, pixel, rows)
        start, out = np.zeros(screen.width * screen.height + 2, np.int64), np.empty((total, 4))
        _columns.gather_doubts(pixel, rows, start, out)
        stop = np.empty(screen.width * screen.height, np.int64)
        worth(_columns.unite, len(self.faces), SOME)(start, out, stop)
        return start[:-2], stop, out


def check_screen(screen: Screen) -> None:
    """A ValueError for one that the kernels would write beside."""
    if not (1 <= screen.width <= MOST and 1 <= screen.height <= MOST):
        raise ValueError(f"a screen of {screen.width} by {screen.height} pixels; expected 1 to {MOST} along a side")
    if not (screen.across > 0.0 and screen.down > 0.0):
        raise ValueError(f"a screen of {screen.across:g} by {screen.down:g} pixels a metre; expected more than none")


def ends_of_depth(screen: Screen, box: Floats, clip: bool) -> tuple[float, float]:
    """What layers are moved to between, metres along the axis."""
    return (float(box[0, screen.axis]), float(box[1, screen.axis])) if clip else (-np.inf, np.inf)


def place_of(x: Floats) -> Place:
    """Of vertices x (n,3) in whatever order they lie."""
    across = bool(x.flags.f_contiguous)
    flat = x.T.reshape(-1) if across else np.ascontiguousarray(x).reshape(-1)
    flat.setflags(write=False)  # as a mesh's own are: kernels are compiled once for both
    return Place(flat, np.uint64(1 if across else 3), np.uint64(len(x) if across else 1))


def room(corners: int) -> Found:
    """For what is found of a strip."""
    pieces = -(-corners // _kernels.CORNERS)
    size = pieces * _kernels.CORNERS
    return Found(
        np.empty((pieces, 3), np.int64),
        np.empty(size, np.uint32),
        np.empty(size),
        np.empty(size, np.int32),
        np.empty(size, np.int32),
    )


def layered_depth_image(
    mesh: Mesh, *, axis: int | None = None, resolution: int = 64, box: Any = None, x: Any = None
) -> Layers:
    """Layers of `mesh` along `axis` (0, 1, 2; where its box is shortest), `resolution` pixels along the longer side.

    box (2,3): the volume of interest, metres; all of the mesh without it. `x` (n,3): its vertices, where they moved.
    For many images of one mesh keep a `DepthCamera`.
    """
    resolution = validate.whole("resolution", resolution, low=1, high=MOST)
    place = mesh.vertices if x is None else validate.floats("x", x, mesh.vertices.shape)
    around = bounds_of(place)
    seen = around if box is None else checked_box(box)
    along = shortest(seen) if axis is None else validate.whole("axis", axis, low=0, high=2)
    screen = screen_of(seen, along, resolution, float(np.abs(around - seen.mean(0)).max()))
    return DepthCamera(mesh).take(place, screen, seen)


def checked_box(box: Any) -> Floats:
    found = validate.floats("box", box, (2, 3))
    if (found[1] < found[0]).any():
        raise ValueError(f"box = {found.tolist()} has a low corner above the high one; expected [low, high]")
    return found


def closed_surface(name: str, mesh: Mesh) -> Mesh:
    """The surface of a body that has an inside, or a ValueError that says what is wrong."""
    surface = mesh.surface
    if not surface.n_faces or not surface.issues.closed:
        raise ValueError(f"{name} ({mesh.name!r}) is not closed: it has no inside; close its holes (see mesh.issues)")
    if surface.issues.inward:
        raise ValueError(f"{name} ({mesh.name!r}) has faces that look inward; turn them round (faces[:, ::-1])")
    return surface

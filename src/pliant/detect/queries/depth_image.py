"""Layered depth images (LDI): all faces of a body under every pixel centre, sorted by depth along an axis. No
acceleration structure depends on vertex positions."""

import dataclasses
import functools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import renamed, validate
from ...kernels.geometry.raster import REACH
from ...kernels.jit import COMPILED, worth
from ...kernels.mesh import adjacency as _adjacency
from ...kernels.queries import depth_image as _kernels
from ...kernels.queries import depth_image_order as _order
from ...kernels.queries import overlap as _overlap
from ...kernels.queries import strips as _strips
from ...kernels.queries.depth_image import Covered, Drawn, Found, Screen, VertexBuffer
from ...mesh import Mesh
from .winding import bounds_of, shortest

Floats = NDArray[np.float64]
Rows = NDArray[np.int32]
MOST = 4096  # pixels along a side
_PIECE = 8192  # faces per block of `uncertain_intervals`
_AROUND = 4096  # largest number of faces around a vertex for which triangle strips are built
SOME = 20_000  # faces or layers up to which the loop runs on one thread


class RayIntervals:
    """Ray intervals: pixel (k,), depths (k,2) of their ends in metres, and winding numbers (k,)."""

    def __init__(self, pixel: Rows, depth: Floats, winding: Rows) -> None:
        self.pixel, self.depth, self.winding = pixel, depth, winding

    wound = renamed.attribute("wound", "winding")

    def __len__(self) -> int:
        return len(self.pixel)

    @property
    def length(self) -> float:
        """Total length in metres."""
        return float((self.depth[:, 1] - self.depth[:, 0]).sum())


@dataclasses.dataclass(frozen=True, eq=False)
class LayeredDepthImage:
    """A layered depth image.

    Pixel k (in row order) has layers start[k]:start[k+1] of depth (m,), metres along the axis, ascending, and of face
    (m,): face where the ray enters the body, ~face where it exits. box (2,3) is the volume of interest: layers in front
    of or behind it are clamped to it.
    """

    screen: Screen
    box: Floats
    start: NDArray[np.int64]
    depth: Floats
    face: Rows

    @property
    def pixel(self) -> float:
        """The longer side of a pixel in metres."""
        return 1.0 / min(self.screen.across, self.screen.down)

    @functools.cached_property
    def counts(self) -> NDArray[np.int64]:
        """(height, width) number of layers; even in every pixel of a closed mesh."""
        return np.diff(self.start[:-1]).reshape(self.screen.height, self.screen.width)

    def intervals_inside(self, winding: int = 1) -> RayIntervals:
        """Return the ray intervals with a winding number of at least `winding`."""
        # intervals shorter than the rounding error of depths are two faces at equal depth
        least = 1e-14 * float(np.abs(self.box[:, self.screen.axis]).max())
        most = len(self.depth) // 2 + 1
        pixel, out = np.empty(most, np.int32), np.empty((most, 3))
        count = _overlap.intervals_inside(self.start, self.depth, self.face, winding, least, 0, out, pixel)
        return RayIntervals(pixel[:count], out[:count, :2].copy(), out[:count, 2].astype(np.int32))

    stretches = renamed.attribute("stretches", "intervals_inside")

    @property
    def volume(self) -> float:
        """Volume of the body within the box in cubic metres, sampled at the pixel centres."""
        return self.intervals_inside().length / (self.screen.across * self.screen.down)

    def self_overlap(self) -> RayIntervals:
        """Return where the body overlaps itself: rays enter again before they exit (Heidelberger et al. 2004)."""
        return self.intervals_inside(2)

    def inside(self, points: Any) -> NDArray[np.bool_]:
        """(n,) whether points (n,3) are inside, each tested at the centre of its pixel: correct for points farther than
        0.71 pixels from the surface."""
        p = validate.floats("points", points, (None, 3))
        found = np.empty(len(p), np.int32)
        _overlap.winding_numbers(self.screen, self.start, self.depth, self.face, p, found)
        return np.asarray(found > 0)

    def places(self, at: RayIntervals) -> Floats:
        """(k,2,3) the end points of ray intervals in space, metres."""
        return ends_of(self.screen, at.pixel, at.depth)


def ends_of(s: Screen, pixel: NDArray[Any], depth: Floats) -> Floats:
    """(k,2,3) the end points, in metres, of intervals of rays through pixel (k,) between depths (k,2)."""
    out = np.empty((len(pixel), 2, 3))
    out[:, :, (s.axis + 1) % 3] = (s.left + (pixel % s.width + 0.5) / s.across)[:, None]
    out[:, :, (s.axis + 2) % 3] = (s.top + (pixel // s.width + 0.5) / s.down)[:, None]
    out[:, :, s.axis] = depth
    return out


def screen_of(box: Floats, axis: int, resolution: int, farthest: float = 0.0) -> Screen:
    """Return a screen that covers box (2,3) with nearly square pixels, `resolution` along its longer side.

    `farthest`: the largest distance in metres from the centre of anything to be drawn; pixels are kept large enough
    for it to stay in the range of snapped coordinates.
    """
    across = np.array([(axis + 1) % 3, (axis + 2) % 3])
    least = max(2.0 * farthest / REACH, 1e-150)
    size = np.maximum((box[1] - box[0])[across], least)
    pixel = float(size.max()) / resolution
    count = np.clip(np.floor(np.minimum(np.rint(size / pixel), size / least)), 1, resolution)
    # slightly larger than the box, so that rounding leaves no uncovered strip at its edge
    size *= 1.0 + 1e-9
    low, scale = 0.5 * (box[0] + box[1])[across] - 0.5 * size, count / size
    return Screen(axis, float(low[0]), float(low[1]), float(scale[0]), float(scale[1]), int(count[0]), int(count[1]))


class DepthCamera:
    """Renders layered depth images of a mesh that may deform between them; reuses its buffers, and from the second
    image on its triangle strips."""

    def __init__(self, mesh: Mesh) -> None:
        if not mesh.n_faces:
            raise ValueError(f"mesh {mesh.name!r} has no faces; expected a surface")
        self.mesh = mesh
        # unsigned, so that indexing needs no test for negative indices
        self.faces = mesh.faces.view(np.uint32)
        self._images = 0
        n = mesh.n_vertices
        self.drawn = Drawn(
            self.faces, self.faces.ravel(), np.empty(0, np.int32), np.empty(n, np.int64), np.empty(n, np.uint32)
        )
        self._found = allocate(len(self.drawn.strip))
        self._hits = Covered(np.empty(0, np.int32), np.empty(0), np.empty(0, np.int32))

    def build_strips(self) -> None:
        """Build triangle strips. This costs as much as about twenty images, and time quadratic in the number of faces
        around a vertex, so it is skipped for a single image and beyond _AROUND faces."""
        faces, n = self.mesh.faces, self.mesh.n_vertices
        count = np.zeros(n + 1, np.int32)
        _adjacency.count_faces(faces, count)
        # a word of a strip cannot store more faces
        if int(count.max()) > _AROUND or len(faces) >= 1 << 27:
            return
        start, ring = np.cumsum(count, dtype=np.int32), np.empty(faces.size, np.int32)
        _adjacency.fill_rings(faces, start.copy(), ring)
        strip, owner = np.empty(faces.size, np.int32), np.empty(faces.size, np.int32)
        length = _strips.arrange_in_strips(faces, start, ring, strip, owner)
        corners = strip[:length].view(np.uint32).copy()
        corners.setflags(write=False)  # as the mesh's faces are
        self.drawn = self.drawn._replace(strip=corners, owner=owner[:length].copy())
        self._found = allocate(length)

    def take(self, x: Floats, screen: Screen, box: Floats, clip: bool = True) -> LayeredDepthImage:
        """Render the image for vertices x (n,3) in metres; `clip` clamps layers outside the box to it."""
        # kernels do not check bounds
        if x.shape != self.mesh.vertices.shape or x.dtype != np.float64:
            raise ValueError(f"x is {x.dtype} {x.shape}; expected float64 {self.mesh.vertices.shape}, as in the mesh")
        check_screen(screen)
        self._images += 1
        if self._images == 2 and not len(self.drawn.owner):
            self.build_strips()
        vertices, shared = vertex_buffer(x), len(self.faces)
        worth(_kernels.project, shared, SOME)(vertices, screen, self.drawn.p, self.drawn.code)
        worth(_kernels.search, shared, SOME)(vertices, screen, self.drawn, self._found)
        return self.finish(vertices, screen, self._found, box, clip)

    def finish(
        self, vertices: VertexBuffer, screen: Screen, found: Found, box: Floats, clip: bool
    ) -> LayeredDepthImage:
        """Complete the image from `found`: rasterise the large faces and sort all layers."""
        large, small, _ = found.count.sum(0).tolist()
        total = large + small
        if large > len(self._hits.pixel):
            validate.budget(f"{total} layers", 32.0 * total, "lower the resolution")
            size = large + large // 4
            self._hits = Covered(np.empty(size, np.int32), np.empty(size), np.empty(size, np.int32))
        covered = Covered(*(array[:large] for array in self._hits))
        if large:
            first = np.cumsum(found.count[:, 0]) - found.count[:, 0]
            worth(_kernels.fill, len(self.faces), SOME)(vertices, screen, self.drawn, found, first, covered)
        start = np.zeros(screen.width * screen.height + 2, np.int64)
        depth_out, face_out = np.empty(total), np.empty(total, np.int32)
        low, high = ends_of_depth(screen, box, clip)
        worth(_order.order, total, SOME)(found, covered, low, high, start, depth_out, face_out)
        return LayeredDepthImage(screen, box, start, depth_out, face_out)

    @property
    def p(self) -> NDArray[Any]:
        """(n,2) snapped pixel coordinates of the vertices in the last image."""
        p = np.stack([self.drawn.p & _kernels.LOW, self.drawn.p >> 32], 1) - _kernels.BEFORE
        # compiled loops multiply 32-bit factors to 64 bits, interpreted ones do not
        return p.astype(np.int32) if COMPILED else p

    def uncertain_intervals(
        self, x: Floats, screen: Screen, box: Floats
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], Floats]:
        """Return the depth intervals that faces cover over the square of each pixel: start and stop (pixels,) into rows
        (k,4) of disjoint ascending intervals with areas and volumes. Call after `take` with the same arguments."""
        ends, size = np.ascontiguousarray(box[:, screen.axis]), _PIECE
        count, first = (np.zeros(-(-len(self.faces) // size), np.int64) for _ in range(2))
        mesh = _overlap.Projected(validate.read_only(x), self.p, self.faces)
        find = worth(_overlap.all_uncertain_intervals, len(self.faces), SOME)
        find(mesh, screen, ends, size, first, count, np.empty(0, np.int32), np.empty((0, 4)))
        total = int(count.sum())
        validate.budget(f"{total} pieces of faces", 72.0 * total, "lower the resolution")
        first = np.cumsum(count) - count
        pixel, rows = np.empty(total, np.int32), np.empty((total, 4))
        find(mesh, screen, ends, size, first, count, pixel, rows)
        start, out = np.zeros(screen.width * screen.height + 2, np.int64), np.empty((total, 4))
        _overlap.sort_intervals_by_pixel(pixel, rows, start, out)
        stop = np.empty(screen.width * screen.height, np.int64)
        worth(_overlap.unite, len(self.faces), SOME)(start, out, stop)
        return start[:-2], stop, out

    doubts = renamed.attribute("doubts", "uncertain_intervals")
    string = renamed.attribute("string", "build_strips")


def check_screen(screen: Screen) -> None:
    """Raise a ValueError for a screen that would make kernels write out of bounds."""
    if not (1 <= screen.width <= MOST and 1 <= screen.height <= MOST):
        raise ValueError(f"a screen of {screen.width} by {screen.height} pixels; expected 1 to {MOST} along a side")
    if not (screen.across > 0.0 and screen.down > 0.0):
        raise ValueError(f"a screen of {screen.across:g} by {screen.down:g} pixels per metre; expected more than 0")


def ends_of_depth(screen: Screen, box: Floats, clip: bool) -> tuple[float, float]:
    """Return the depths in metres to which layers are clamped; infinite without `clip`."""
    return (float(box[0, screen.axis]), float(box[1, screen.axis])) if clip else (-np.inf, np.inf)


def vertex_buffer(x: Floats) -> VertexBuffer:
    """Return the kernels' view of vertices x (n,3) in either memory order."""
    across = bool(x.flags.f_contiguous)
    flat = x.T.reshape(-1) if across else np.ascontiguousarray(x).reshape(-1)
    flat.setflags(write=False)  # as in a mesh, so that one compiled kernel serves both
    return VertexBuffer(flat, np.uint64(1 if across else 3), np.uint64(len(x) if across else 1))


def allocate(corners: int) -> Found:
    """Allocate the results for a strip with this number of corners."""
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
) -> LayeredDepthImage:
    """Render a layered depth image of `mesh` along `axis` (0, 1, 2), `resolution` pixels along the longer side.

    Default axis: the shortest of the box. box (2,3): the volume of interest in metres. Default: the AABB of the mesh.
    `x` (n,3): moved vertices. For many images of one mesh use a `DepthCamera`.
    """
    resolution = validate.whole("resolution", resolution, low=1, high=MOST)
    vertices = mesh.vertices if x is None else validate.floats("x", x, mesh.vertices.shape)
    around = bounds_of(vertices)
    seen = around if box is None else checked_box(box)
    along = shortest(seen) if axis is None else validate.whole("axis", axis, low=0, high=2)
    screen = screen_of(seen, along, resolution, float(np.abs(around - seen.mean(0)).max()))
    return DepthCamera(mesh).take(vertices, screen, seen)


def checked_box(box: Any) -> Floats:
    found = validate.floats("box", box, (2, 3))
    if (found[1] < found[0]).any():
        raise ValueError(f"box = {found.tolist()} has a low corner above the high one; expected [low, high]")
    return found


def closed_surface(name: str, mesh: Mesh) -> Mesh:
    """Return the surface of a closed body; raise a ValueError that states the defect otherwise."""
    surface = mesh.surface
    if not surface.n_faces or not surface.issues.closed:
        raise ValueError(f"{name} ({mesh.name!r}) is not closed: it has no inside; close its holes (see mesh.issues)")
    if surface.issues.inward:
        raise ValueError(f"{name} ({mesh.name!r}) has faces oriented inward; reverse them (faces[:, ::-1])")
    return surface


__getattr__ = renamed.module(__name__, {"Stretches": f"{__name__}:RayIntervals"})

"""Base class of all distance fields: sampling and error measurement, independent of the storage."""

import functools
import logging
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np
from numpy.typing import NDArray

from ... import arrays, renamed, validate
from ...arguments import takes, wrong
from ...kernels.fields.dense import VANISHED
from ...mesh import Mesh
from ..queries.closest_point import ClosestPoints

if TYPE_CHECKING:
    from .on_card import FieldOnCard

log = logging.getLogger("pliant.detect")
Floats = NDArray[np.float64]
KINDS = ("bricks", "dense", "filled", "adaptive", "planar")  # names of what `by_name.bake_kind` bakes
CELL = 0.8661  # error bound of a trilinear field, relative to the spacing (docs/detectors/distance-field.md)
WORTH_THREADS = 2_000  # points; below it launching threads costs more than they save


class Sampled:
    """A field over the box `low`..`high` around `mesh`. Subclasses define `mesh` and all properties that are not
    implemented here."""

    mesh: Mesh

    @property
    def low(self) -> Floats:
        raise NotImplementedError

    @property
    def high(self) -> Floats:
        raise NotImplementedError

    @property
    def sign_reliable_beyond(self) -> float:
        """Distance from the surface, metres, beyond which the sign must be correct."""
        raise NotImplementedError

    sure = renamed.attribute("sure", "sign_reliable_beyond")

    def bound_at(self, distance: Floats) -> Floats:
        """Return the bound (n,) of the error at points whose exact distances are `distance` (n,), metres; nan where
        none is stated."""
        return np.full(len(distance), np.nan)

    @property
    def sampler(self) -> tuple[ModuleType, Any]:
        """The module with `sample_range` and `sample_points` for this field, and the view that they take."""
        raise NotImplementedError

    def probe(self, p: Floats, distance: Floats, gradient: Floats) -> None:
        """Fill distance (n,) and raw gradient (n,3), both contiguous, at validated points `p` (n,3)."""
        kernels, view = self.sampler
        p = np.ascontiguousarray(p)
        if len(p) > WORTH_THREADS:
            kernels.sample_points(view, p, distance, gradient)
        else:
            kernels.sample_range(view, p, 0, len(p), distance, gradient)

    @functools.cached_property
    def exact(self) -> ClosestPoints:
        """Exact closest-point queries on the surface."""
        return ClosestPoints(self.mesh, behind=True)

    def sample(self, points: Any) -> tuple[Floats, Floats]:
        """Return signed distance (n,) and unit normal (n,3) at `points` (n,3); nan outside the volume and where no sign
        is known.

        Where the gradient vanishes (on the medial axis), the normal is that of the nearest triangle.
        """
        p = validate.floats("points", points, (None, 3))
        distance, normal = np.empty(len(p)), np.empty((len(p), 3))
        self.probe(p, distance, normal)
        length = np.sqrt(np.einsum("ij,ij->i", normal, normal))
        vanished = length < VANISHED
        rows = np.flatnonzero(vanished)
        normal /= np.where(vanished, 1.0, length)[:, None]
        if len(rows):
            normal[rows] = self.exact.query(p[rows])[3]
        return distance, normal

    @overload
    def to(self, device: Literal["cuda"]) -> "FieldOnCard": ...

    @overload
    def to(self, device: Literal["cpu"]) -> "Sampled": ...

    @overload
    def to(self, device: str) -> "Sampled | FieldOnCard": ...

    def to(self, device: str) -> "Sampled | FieldOnCard":
        """Return a copy of this field on a graphics card ("cuda"), which samples points that live there (docs/gpu.md);
        with "cpu", and with "auto" where there is no card, the field itself."""
        if arrays.chosen(device) == "cpu":
            return self
        from .on_card import FieldOnCard

        return FieldOnCard(self)

    def error(self, samples: int = 20_000, seed: int = 0, *, within: float | None = None) -> dict[str, float]:
        """Measure the error at random points against the exact distance, metres, and count the wrong signs.

        The points are anywhere in the volume, or at most `within` metres from a point of the surface. Points without a
        value do not count; signs are compared farther than `sign_reliable_beyond` from the surface.
        """
        samples = validate.whole("samples", samples, low=0, high=100_000_000)
        rng = np.random.default_rng(validate.whole("seed", seed))
        within = None if within is None else validate.number("within", within, low=0.0, high=validate.LARGEST)
        if within is None:
            points = self.low + rng.random((samples, 3)) * (self.high - self.low)
        else:
            points = around(self.mesh, samples, within, rng)
        said, true = self.sample(points)[0], self.exact.query(points)[0]
        valid = ~np.isnan(said)
        off = np.abs(said - true)[valid]
        far = valid & (np.abs(true) > self.sign_reliable_beyond)
        return {
            "samples": int(valid.sum()),
            "error_p50_m": float(np.quantile(off, 0.5)) if off.size else float("nan"),
            "error_p99_m": float(np.quantile(off, 0.99)) if off.size else float("nan"),
            "error_max_m": float(off.max(initial=0.0)),
            "wrong_signs": int(((said > 0.0) != (true > 0.0))[far].sum()),
        }


@takes(Sampled)
def _no_field(name: str, value: Any) -> Sampled:
    """Reject anything that is not a field. A mesh is not baked implicitly, because that takes time and has options."""
    advice = "pliant.DistanceField.bake(mesh)" if isinstance(value, Mesh) or hasattr(value, "faces") else ""
    wanted = f"a DistanceField, AdaptiveField, PlanarField or FilledField, or one of: {', '.join(KINDS)}"
    raise wrong(name, value, wanted, advice)


class Cube(Sampled):
    """A field over a cube."""

    origin: tuple[float, float, float]
    side: float

    @property
    def low(self) -> Floats:
        return np.array(self.origin)

    @property
    def high(self) -> Floats:
        return self.low + self.side


def is_too_coarse(spacing: float, eps: float) -> bool:
    """Whether cells of `spacing` metres are larger than the contact offset, which voids the guarantee of a field."""
    return spacing > 1.001 * eps


def warn_if_too_coarse(spacing: float, eps: float, body: str) -> None:
    """Warn about a field whose cells of `spacing` metres are larger than the contact offset; 0: no uniform grid."""
    if is_too_coarse(spacing, eps):
        text = "the field's cells are %.3g m, larger than eps = %.3g m: cloth may enter %r; choose a larger eps"
        log.warning(text + ", or method bvh, which is exact", spacing, eps, body)


def around(mesh: Mesh, samples: int, within: float, rng: np.random.Generator) -> Floats:
    """Return points (samples,3) in random directions, up to `within` metres from random points of the surface."""
    mesh = mesh.welded
    share = mesh.face_areas / mesh.face_areas.sum()
    uv = rng.dirichlet((1.0, 1.0, 1.0), samples)
    on = np.einsum("ij,ijk->ik", uv, mesh.vertices[mesh.faces[rng.choice(mesh.n_faces, samples, p=share)]])
    away = rng.normal(size=(samples, 3))
    away *= rng.random((samples, 1)) * within / np.linalg.norm(away, axis=1, keepdims=True)
    points: Floats = on + away
    return points

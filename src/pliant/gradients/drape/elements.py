"""The elements of cloth as functions of its rest shape and material, and their adjoint."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...dynamics.cloth import ClothDynamics, by_colour
from ...kernels.dynamics.cloth import Hinges, Membrane
from ...kernels.dynamics.damping import Air, Viscosity
from ...kernels.gradients.prediction import PredictionAdjoint
from ...kernels.gradients.xpbd import SweepAdjoint
from ...scene import Scene
from . import rest_shapes
from .values import DrapeValues

Floats = NDArray[np.float64]


class Elements(NamedTuple):
    """What a substep of one length computes with."""

    membrane: Membrane
    hinges: Hinges
    w: Floats  # (n,) inverse masses, 1/kg
    viscosity: Viscosity
    air: Air
    triangles: rest_shapes.Triangles
    bends: rest_shapes.Hinges


class ElementModel:
    """The elements of the only cloth of a scene, in the order in which XPBD sweeps over them.

    The rigidities of the hinges keep the ratios to which the mesh of the body is calibrated (`dynamics.rigidity`), and
    a hinge that is flat there stays flat: only its weights, areas and curvature follow the rest positions.
    """

    def __init__(self, scene: Scene, dt: float) -> None:
        body = scene.bodies[scene.cloths[0]]
        mesh, dynamics = body.mesh.welded, ClothDynamics(scene, "xpbd")
        self.dt = dt
        self._bend = float(getattr(body.material, "bend", 0.0))  # N m, of the rigidities below
        self.membrane, self.hinges = dynamics.membrane, dynamics.hinges
        self.free = dynamics.w > 0.0
        weave = rest_shapes.weave_of(mesh, body.warp)
        self._face, _ = by_colour(mesh.faces)  # the face of each triangle: none is left out
        self._weave = rest_shapes.Weave(*(part[self._face] for part in weave))
        self._curved = self.hinges.rest > 0.0
        start = rest_shapes.hinges_of(mesh.vertices, self.hinges.vertices)
        self._rigidity = start.area / self.hinges.compliance  # (h,) of the material's own `bend`
        top = mesh.topology
        self._edges, self._face_edges = top.edges, top.face_edges
        own, beside = self._pairs(dynamics)
        self._own, self._beside = own, beside
        a, b = np.sort(np.stack([own, beside]), 0)
        keys = top.edges.min(1).astype(np.int64) * len(self.free) + top.edges.max(1)
        order = np.argsort(keys)
        self._edge = order[np.searchsorted(keys[order], a * len(self.free) + b)]  # (p,) of each pair

    def _pairs(self, dynamics: ClothDynamics) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The pairs of neighbours in the order of `Viscosity`, without damping, too."""
        both = np.concatenate([self._edges, self._edges[:, ::-1]]).astype(np.int64)
        both = both[np.lexsort((both[:, 1], both[:, 0]))]
        self._start = np.searchsorted(both[:, 0], np.arange(len(self.free) + 1)).astype(np.int64)
        return both[:, 0].copy(), both[:, 1].copy()

    def elements(self, given: DrapeValues) -> Elements:
        """Return the elements of a rest shape and a material."""
        m, h = self.membrane, self.hinges
        triangles = rest_shapes.triangles_of(given.rest, m.faces, self._weave)
        bends = rest_shapes.hinges_of(given.rest, h.vertices)
        stiffness = np.array([given.stretch, self._weft(given), given.shear])
        masses = np.bincount(m.faces.ravel(), np.repeat(triangles.area * given.density / 3.0, 3), len(self.free))
        w = np.where(self.free, 1.0 / np.where(self.free, masses, 1.0), 0.0)
        if not self._rigidity.size:
            compliance = np.zeros(0)
        else:
            compliance = bends.area / (self._rigidity * (given.bend / self._bend))
        length = np.where(self._curved, np.linalg.norm(bends.bent, axis=1), 0.0)
        share = self._shares(given, triangles.area, w)[0] if given.damping > 0.0 else np.zeros(0)
        return Elements(
            Membrane(m.faces, triangles.rest, 1.0 / (triangles.area[:, None] * stiffness), m.start),
            Hinges(h.vertices, bends.weights, length, compliance, h.start),
            w,
            Viscosity(self._start, self._beside, share),
            _air(m.faces if given.air > 0.0 else m.faces[:0], given.air, len(w)),
            triangles,
            bends,
        )

    def _weft(self, given: DrapeValues) -> float:
        return float(given.stretch if given.stretch_weft is None else given.stretch_weft)

    def _by_edge(self, area: Floats, rest: Floats) -> tuple[Floats, Floats, Floats]:
        """Vectors (e,3) along the edges, the square of their lengths, and the area (e,) of the faces beside them."""
        of_face = np.zeros(len(self._face_edges))
        of_face[self._face] = area
        span = rest[self._edges[:, 0]] - rest[self._edges[:, 1]]
        beside = np.bincount(self._face_edges.ravel(), np.repeat(of_face, 3), len(self._edges))
        return span, np.asarray(np.einsum("ei,ei->e", span, span)), np.asarray(beside, np.float64)

    def _shares(self, given: DrapeValues, area: Floats, w: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """Return the exchanged fractions of `Viscosity`, the rates (p,) of the pairs, and per vertex the sum of its
        rates in a substep and the bound that this sets."""
        _, length2, beside = self._by_edge(area, given.rest)
        rate = (given.damping * given.density * beside / length2)[self._edge]
        total = np.bincount(self._own, rate * w[self._own], len(w)) * self.dt
        cap = np.minimum(1.0, 0.5 / np.maximum(total, 1e-300))
        share = rate * np.minimum(cap[self._own], cap[self._beside]) * w[self._own] * self.dt
        return share, rate, np.asarray(total, np.float64), cap

    def adjoint(
        self, given: DrapeValues, now: Elements, sweep: SweepAdjoint, start: PredictionAdjoint
    ) -> dict[str, Floats | float]:
        """Return the derivatives with respect to rest shape and material, given those of the elements."""
        m, h, area = now.membrane, now.hinges, now.triangles.area
        out, of_rest, of_w = {}, np.zeros_like(given.rest), sweep.w + start.w
        of_area = -(sweep.compliance * m.compliance).sum(1) / area
        of_stiffness = -(sweep.compliance * m.compliance).sum(0)
        warp, weft, out["shear"] = (of_stiffness / [given.stretch, self._weft(given), given.shear]).tolist()
        out["stretch"], out["stretch_weft"] = (warp + weft, 0.0) if given.stretch_weft is None else (warp, weft)
        out["density"] = out["damping"] = 0.0
        if given.damping > 0.0:
            self._shares_adjoint(given, now, start.share, (of_w, of_area, of_rest, out))
        of_mass = (-of_w * now.w**2)[m.faces].sum(1)
        out["density"] += float(of_mass @ area) / 3.0
        of_area += of_mass * given.density / 3.0
        rest_shapes.triangles_adjoint(now.triangles, m.faces, self._weave, sweep.rest, of_area, of_rest)
        of_soft = sweep.bend * h.compliance
        out["bend"] = float(-of_soft.sum() / given.bend) if len(of_soft) else 0.0
        of_length = np.where(self._curved, sweep.curvature, 0.0)
        bends = sweep.weights, of_soft / now.bends.area, of_length
        rest_shapes.hinges_adjoint(now.bends, given.rest, h.vertices, bends, of_rest)
        out["air"], out["rest"] = float(start.air.sum()), of_rest
        return out

    def _shares_adjoint(self, given: DrapeValues, now: Elements, of_share: Floats, into: tuple) -> None:
        """Add the derivatives of the exchanged fractions with respect to masses, areas, rest positions, density and
        damping to those of `into`."""
        of_w, of_area, of_rest, out = into
        own, beside, w, dt, n = self._own, self._beside, now.w, self.dt, len(now.w)
        _, rate, total, cap = self._shares(given, now.triangles.area, w)
        first = cap[own] <= cap[beside]
        least = np.where(first, own, beside)
        of_rate = of_share * cap[least] * w[own] * dt
        of_w += np.bincount(own, of_share * rate * cap[least] * dt, n)
        of_cap = np.bincount(least, of_share * rate * w[own] * dt, n)
        of_total = np.where(cap < 1.0, -of_cap * cap / np.maximum(total, 1e-300), 0.0) * dt
        of_rate += of_total[own] * w[own]
        of_w += np.bincount(own, of_total[own] * rate, n)
        span, length2, around = self._by_edge(now.triangles.area, given.rest)
        of_log = np.bincount(self._edge, of_rate * rate, len(self._edges))  # of the logarithm of the rate
        out["density"] += float(of_log.sum()) / given.density
        out["damping"] += float(of_log.sum()) / given.damping
        of_area += (of_log / around)[self._face_edges].sum(1)[self._face]
        move = span * (-2.0 * of_log / length2)[:, None]
        rest_shapes.scatter(of_rest, self._edges, np.stack([move, -move], 1))


def _air(faces: NDArray[np.int32], density: float, n: int) -> Air:
    counts = np.bincount(faces.ravel(), minlength=n)
    return Air(
        faces=faces,
        density=np.full(len(faces), float(density)),
        start=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        beside=np.argsort(faces.ravel(), kind="stable") // 3,
        force=np.zeros((len(faces), 3)),
    )

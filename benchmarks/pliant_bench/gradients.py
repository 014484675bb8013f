"""A penetration loss and its derivatives with respect to points and body, by PyTorch and by the tape of Warp."""

import dataclasses
import functools
import importlib
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pliant import geometry, shapes
from pliant.detect.queries.closest_point import ClosestPoints
from pliant.mesh import Mesh
from pliant.report.tables import Column, Table

from . import contest, models
from .contest import Entry
from .peers import PACKAGES, present

Floats = NDArray[np.float64]
UNIT = "ms"
CLEARANCE = 0.005  # m
CHECKED = 50  # points whose distances are compared with those from all triangles
ABSENT = {
    "kaolin": "the package index has a placeholder without queries only (0.1); builds are on its own server, for CUDA",
    "pytorch3d": "not on the package index; built from source",
    "torch-mesh-isect": "not on the package index; CUDA only",
}
COLUMNS = contest.columns(
    UNIT,
    Column("loss", show="{:.6g}"),
    Column("off_loss", "off-loss", "{:.1e}"),
    Column("off_points", "off-points", "{:.1e}"),
    Column("off_body", "off-body", "{:.1e}"),
)


@dataclasses.dataclass(eq=False)
class Case:
    """Points and a body, which moves by a rounding error before each run if it is `moving`; the loss and its
    derivatives by brute force where `rows` are (they are zero elsewhere, or not checked)."""

    mesh: Mesh
    points: Floats
    moving: bool
    runs: int = 0
    truth: tuple[float, Floats, Floats] = (0.0, np.zeros((0, 3)), np.zeros((0, 3)))

    def vertices(self) -> Floats:
        """The vertices of the next run."""
        self.runs += self.moving
        return self.mesh.vertices * (1.0 + 1e-15 * self.runs)


def gradients_table(
    *, quick: bool = False, repeats: int = 5, progress: Callable[[str], None] = lambda _: None, **_: Any
) -> Table:
    """A mannequin with points near its skin and anywhere in its box, at rest and in motion."""
    if present("torch") is None:
        raise ValueError("the benchmark of gradients needs PyTorch: pip install 'pliant[torch]'")
    mesh = shapes.mannequin(0.7 if quick else 1.0)
    rng, count = np.random.default_rng(0), 2_000 if quick else 100_000
    face, weights = rng.integers(0, mesh.n_faces, count), rng.dirichlet([1.0, 1.0, 1.0], count)
    near = np.einsum("ij,ijk->ik", weights, mesh.vertices[mesh.faces[face]]) + rng.normal(size=(count, 3)) * 0.01
    anywhere = rng.uniform(mesh.bounds[0], mesh.bounds[1], (count, 3))
    rows: list[dict[str, Any]] = []
    for moving in (False, True):
        for name, points in (("near", near), ("anywhere", anywhere)):
            case = Case(mesh, points, moving)
            case.truth = _truth(case)
            title = f"{mesh.n_faces:,} faces, {count:,} points {name}{', moving' if moving else ''}"
            rows += contest.compare(title, contest.gather(case, _ours, PEERS, present), UNIT, repeats, progress)
    return Table("gradients", "Penetration loss and its derivatives, milliseconds", COLUMNS, rows)


def _truth(case: Case) -> tuple[float, Floats, Floats]:
    """The loss and its derivatives from nearest points, whose distances are compared with all triangles at some."""
    mesh = case.mesh
    d, q, face, n = ClosestPoints(mesh).query(case.points)
    rows = np.random.default_rng(1).choice(len(d), CHECKED, replace=False)
    stencil = np.empty((mesh.n_faces, 4, 3))
    stencil[:, 1:] = mesh.vertices[mesh.faces]
    for row in rows:
        stencil[:, 0] = case.points[row]
        assert abs(geometry.point_triangle_distance(stencil).min() - abs(d[row])) < 1e-12
    deep = np.maximum(CLEARANCE - d, 0.0)
    push = -2.0 * deep[:, None] * n
    of_body = np.zeros_like(mesh.vertices)
    weights = _weights(mesh.vertices[mesh.faces[face]], q)
    np.add.at(of_body, mesh.faces[face], -push[:, None] * weights[..., None])
    return float(deep @ deep), push, of_body


def _weights(t: Floats, q: Floats) -> Floats:
    """Barycentric coordinates (n,3) of points q (n,3) of triangles t (n,3,3)."""
    n = np.cross(t[:, 1] - t[:, 0], t[:, 2] - t[:, 0])
    parts = [np.einsum("ij,ij->i", n, np.cross(t[:, k - 2] - q, t[:, k - 1] - q)) for k in range(3)]
    return np.stack(parts, 1) / np.einsum("ij,ij->i", n, n)[:, None]


def _judge(case: Case, answer: Any) -> dict[str, Any]:
    """The loss, its relative error, and those of the derivatives, over the largest one."""
    loss, *derivatives = answer
    truth, *exact = case.truth
    off = [float(np.abs(np.asarray(a) - b).max() / np.abs(b).max()) for a, b in zip(derivatives, exact)]
    names = ("off_points", "off_body")
    return {"loss": float(loss), "off_loss": abs(float(loss) / truth - 1.0)} | dict(zip(names, off))


def _tensors(case: Case) -> tuple[Any, Any, Any]:
    torch = importlib.import_module("torch")
    return torch, torch.tensor(case.points), torch.tensor(case.mesh.faces.astype(np.int64))


def _threads(count: int) -> None:
    importlib.import_module("torch").set_num_threads(count)


def _ours(case: Case) -> list[Entry]:
    pt = importlib.import_module("pliant.torch")
    torch, points, faces = _tensors(case)

    def work() -> Any:
        p, x = points.requires_grad_(), torch.tensor(case.vertices(), requires_grad=True)
        loss = pt.penetration(p, x, faces, clearance=CLEARANCE)
        return loss.detach(), *torch.autograd.grad(loss, (p, x))

    def whole() -> Any:
        p, x = points.requires_grad_(), torch.tensor(case.vertices(), requires_grad=True)
        loss = (CLEARANCE - pt.signed_distance(p, x, faces)).clamp(min=0.0).square().sum()
        return loss.detach(), *torch.autograd.grad(loss, (p, x))

    check = functools.partial(_judge, case)
    return [
        Entry(contest.OWN, work, check, ready=_threads, note="penetration, float64"),
        Entry(f"{contest.OWN} signed_distance", whole, check, ready=_threads, note="all distances, float64"),
    ]


def _by_weights(case: Case, query: Callable[[Floats], tuple[Any, Any, Any]]) -> Callable[[], Any]:
    """The loss from what a library finds: the side, the face and the weights of nearest points. The derivative of the
    distance from a nearest point with constant weights is that of the distance."""
    torch, points, faces = _tensors(case)

    def work() -> Any:
        p, x = points.requires_grad_(), torch.tensor(case.vertices(), requires_grad=True)
        sign, face, weights = (torch.as_tensor(a) for a in query(x.detach().numpy()))
        corners = x.index_select(0, faces[face].reshape(-1)).reshape(-1, 3, 3)
        away = p - (corners * weights[..., None]).sum(1)
        loss = (CLEARANCE - sign * away.norm(dim=1)).clamp(min=0.0).square().sum()
        return loss.detach(), *torch.autograd.grad(loss, (p, x))

    return work


def _open3d(case: Case) -> list[Entry]:
    module = importlib.import_module("open3d")
    asked = module.core.Tensor(case.points.astype(np.float32))
    count = [1]
    kept: list[Any] = []

    def query(x: Floats) -> tuple[Any, Any, Any]:
        if case.moving or not kept:
            scene = module.t.geometry.RaycastingScene()
            scene.add_triangles(x.astype(np.float32), case.mesh.faces.astype(np.uint32))
            kept[:] = [scene]
        found = kept[0].compute_closest_points(asked, nthreads=count[0])
        inside = kept[0].compute_occupancy(asked, nthreads=count[0]).numpy()
        u = found["primitive_uvs"].numpy().astype(np.float64)
        weights = np.stack([1.0 - u.sum(1), u[:, 0], u[:, 1]], 1)
        return 1.0 - 2.0 * inside.astype(np.float64), found["primitive_ids"].numpy().astype(np.int64), weights

    def ready(threads: int) -> None:
        _threads(threads)
        count[0] = threads

    note = "compute_closest_points and compute_occupancy, float32, loss by PyTorch"
    check = functools.partial(_judge, case)
    return [Entry(PACKAGES["open3d"][0], _by_weights(case, query), check, ready=ready, note=note)]


def _igl(case: Case) -> list[Entry]:
    module = importlib.import_module("igl")
    faces = case.mesh.faces.astype(np.int64)

    def query(x: Floats) -> tuple[Any, Any, Any]:
        kind = module.SIGNED_DISTANCE_TYPE_FAST_WINDING_NUMBER
        d, face, nearest, *_ = module.signed_distance(case.points, x, faces, sign_type=kind)
        return np.sign(d), face, _weights(x[faces[face]], nearest)

    note = "signed_distance, fast winding number, loss by PyTorch"
    check = functools.partial(_judge, case)
    work = _by_weights(case, query)
    return [Entry(PACKAGES["igl"][0], work, check, runs_on="all", ready=_threads, note=note)]


def _warp(case: Case) -> list[Entry]:
    from . import warp_kernels

    penalty = warp_kernels.Penalty(*models.arrays(case.mesh), case.points, CLEARANCE)
    note = "mesh_query_point_sign_normal and tape, float32"

    def work() -> Any:
        return penalty.derivatives(case.vertices() if case.moving else None)

    return [Entry(PACKAGES["warp"][0], work, functools.partial(_judge, case), runs_on="one", note=note)]


PEERS: dict[str, contest.Maker] = {"open3d": _open3d, "igl": _igl, "warp": _warp}

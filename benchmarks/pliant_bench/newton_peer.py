"""Newton as a peer: proximity of cloth (T4) and falling cloth (T8, real time). On the CPU it runs on one thread."""

import dataclasses
import importlib
import types
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pliant.mesh import Mesh

Floats = NDArray[np.float64]
_ROOM = (128, 256)  # buffered triangles per vertex, and edges per edge


def _modules() -> tuple[Any, Any]:
    warp = importlib.import_module("warp")
    warp.config.quiet = True
    return importlib.import_module("newton"), warp


def _edges(mesh: Mesh) -> NDArray[np.int32]:
    """The edges (e,4) of a two-manifold mesh as Newton stores them: the vertices across, -1 beyond a boundary, and the
    ends."""
    f = mesh.faces
    ends = np.concatenate([f[:, [0, 1]], f[:, [1, 2]], f[:, [2, 0]]])
    across = np.concatenate([f[:, 2], f[:, 0], f[:, 1]])
    low, high = ends.min(1).astype(np.int64), ends.max(1)
    order = np.argsort(low * mesh.n_vertices + high, kind="stable")
    key = (low * mesh.n_vertices + high)[order]
    first = np.flatnonzero(np.r_[True, key[1:] != key[:-1]])
    shared = np.diff(np.r_[first, len(key)]) > 1
    other = np.where(shared, across[order[np.minimum(first + 1, len(key) - 1)]], -1)
    return np.column_stack([across[order[first]], other, ends[order[first]]]).astype(np.int32)


class Proximity:
    """The detector of its cloth solver: refit, then exact distances of all near pairs. `room`: what is buffered of
    triangles per vertex and of edges per edge. What its ModelBuilder would give to the detector is made of arrays here,
    because that takes minutes with a million particles, in lists of Python, and kernels of Warp for processors."""

    def __init__(
        self,
        mesh: Mesh,
        poses: Sequence[Floats],
        within: float,
        *,
        where: str = "cpu",
        room: tuple[int, int] = _ROOM,
    ) -> None:
        _, self.warp = _modules()
        warp, self.where, self.room = self.warp, where, room
        kind = importlib.import_module("newton._src.geometry.tri_mesh_collision").TriMeshCollisionDetector
        adjacency = types.SimpleNamespace(init_vertex_adjacency=lambda count: None)  # for filters, which it has not
        edges = _edges(mesh)
        model = types.SimpleNamespace(
            device=warp.get_device(where),
            particle_count=mesh.n_vertices,
            particle_q=warp.array(mesh.vertices.astype(np.float32), dtype=warp.vec3, device=where),
            particle_world=warp.full(mesh.n_vertices, -1, dtype=warp.int32, device=where),
            world_count=1,
            tri_count=mesh.n_faces,
            tri_indices=warp.array(mesh.faces.astype(np.int32), dtype=warp.int32, device=where),
            edge_count=len(edges),
            edge_indices=warp.array(edges, dtype=warp.int32, device=where),
            soft_mesh_adjacency=adjacency,
        )
        buffers = {"vertex_collision_buffer_pre_alloc": room[0], "edge_collision_buffer_pre_alloc": room[1]}
        self.detector = kind(model, init_collision_info=True, **buffers)
        self.poses = [warp.array(x.astype(np.float32), dtype=warp.vec3, device=where) for x in poses]
        self.within = within

    def work(self) -> None:
        for x in self.poses:
            self.detector.refit(x)
            self.detector.vertex_triangle_collision_detection(self.within)
            self.detector.edge_edge_collision_detection(self.within)
        self.warp.synchronize_device(self.where)

    @property
    def overflowed(self) -> bool:
        """Whether a buffer had no room for all pairs, which are then lost."""
        counts = self.detector.vertex_colliding_triangles_count, self.detector.edge_colliding_edges_count
        return any(int(count.numpy().max()) > room for count, room in zip(counts, self.room, strict=True))

    def check(self, _: Any) -> dict[str, int]:
        """Each pair of edges is stored with both edges; the buffers suffice for the cases measured here."""
        faces, edges = self.detector.vertex_colliding_triangles_count, self.detector.edge_colliding_edges_count
        return {"vertex_face": int(faces.numpy().sum()), "edge_edge": int(edges.numpy().sum()) // 2}


@dataclasses.dataclass(frozen=True)
class Solver:
    """One of its cloth solvers: number of substeps per frame, and of iterations per substep."""

    name: str
    substeps: int
    iterations: int
    self_contact: bool
    note: str = "float32"

    @property
    def text(self) -> str:
        return f"{self.name} {self.substeps} x {self.iterations}" + ("" if self.self_contact else ", no self-contact")


# VBD keeps 95 % of the edges within a strain of 2 % with 20 substeps; Style3D does with three iterations
SOLVERS = (
    Solver("VBD", 1, 10, True),
    Solver("VBD", 5, 4, True),
    Solver("VBD", 20, 2, True),
    Solver("XPBD", 5, 4, False, "float32; particles of 10 g: it flies apart with light cloth"),
    Solver("Style3D", 1, 3, True),
    Solver("Style3D", 1, 10, True),
)


class Ball(NamedTuple):
    """A round ball above the ground, whose height is 0."""

    radius: float
    height: float  # of the centre


@dataclasses.dataclass(frozen=True)
class Drop:
    """A horizontal grid of nx x ny particles, `h` apart, that falls on a body. SI units, y up."""

    body: Mesh | Ball
    size: tuple[int, int]
    h: float
    corner: tuple[float, float, float]  # the particle with the least x and the largest z
    density: float
    stretch: float  # N/m along the threads
    shear: float  # N/m; only Style3D has it apart from `stretch`
    bend: float  # N m
    damping: float  # m2/s
    friction: float
    eps: float
    dt: float

    @property
    def stiffness(self) -> float:
        """N/m: the constants lambda = mu with which a triangle has this stiffness along the threads,
        4 mu (lambda + mu) / (lambda + 2 mu)."""
        return 3.0 / 8.0 * self.stretch


class Falling:
    """Cloth that falls on a body; z is up internally, y is up in the results."""

    def __init__(self, drop: Drop, solver: Solver) -> None:
        self.newton, self.warp = _modules()
        self.solver, self.dt = solver, drop.dt
        model = self._model(drop)
        model.soft_contact_ke, model.soft_contact_kd, model.soft_contact_mu = 1e3, 1e-1, drop.friction
        self.engine = self._engine(model)
        self.now, self.next, self.control = model.state(), model.state(), model.control()
        self.pipeline = self.newton.CollisionPipeline(model)
        self.contacts = self.pipeline.contacts()
        self.faces = model.tri_indices.numpy().reshape(-1, 3).astype(np.int32)

    def _model(self, drop: Drop) -> Any:
        newton, warp = self.newton, self.warp
        builder = newton.ModelBuilder()
        if self.solver.name == "Style3D":
            newton.solvers.SolverStyle3D.register_custom_attributes(builder)
        self._add_body(builder, drop.body)
        h, (nx, ny), (x, y, z) = drop.h, drop.size, drop.corner
        grid = {
            "pos": warp.vec3(x, -z, y),
            "rot": warp.quat_identity(),
            "vel": warp.vec3(),
            "dim_x": nx - 1,
            "dim_y": ny - 1,
            "cell_x": h,
            "cell_y": h,
            "mass": drop.density * h * h,
            "particle_radius": drop.eps,
        }
        if self.solver.name == "Style3D":
            style = importlib.import_module("newton.solvers").style3d
            k, b = drop.stretch, drop.bend / 3.0  # a hinge across a thread of the grid has three times this
            stretch, bend = warp.vec3(k, k, drop.shear), warp.vec3(b, b, b)
            style.add_cloth_grid(builder, tri_aniso_ke=stretch, edge_aniso_ke=bend, **grid)
        elif self.solver.name == "XPBD":
            grid["mass"] = 0.01
            none = {"spring_kd": 0.0, "edge_ke": 0.0, "tri_ke": 0.0, "tri_ka": 0.0, "tri_kd": 0.0}
            builder.add_cloth_grid(add_springs=True, spring_ke=drop.stiffness, **none, **grid)
        else:
            bend = {"tri_kd": drop.density * drop.damping, "edge_ke": drop.bend / h, "edge_kd": 0.0}
            builder.add_cloth_grid(tri_ke=drop.stiffness, tri_ka=drop.stiffness, **bend, **grid)
            builder.color(include_bending=True)
        return builder.finalize(device="cpu")

    def _add_body(self, builder: Any, body: Mesh | Ball) -> None:
        newton, warp = self.newton, self.warp
        if isinstance(body, Ball):
            middle = warp.transform(warp.vec3(0.0, 0.0, body.height), warp.quat_identity())
            builder.add_shape_sphere(-1, xform=middle, radius=body.radius)
            builder.add_ground_plane()
            return
        x, y, z = body.vertices.T
        mesh = newton.Mesh(np.stack([x, -z, y], 1).astype(np.float32), body.faces.ravel(), compute_inertia=False)
        builder.add_shape_mesh(-1, mesh=mesh)

    def _engine(self, model: Any) -> Any:
        solvers, iterations = self.newton.solvers, self.solver.iterations
        if self.solver.name == "VBD":
            return solvers.SolverVBD(
                model,
                iterations=iterations,
                particle_enable_self_contact=True,
                particle_self_contact_margin=0.006,
                particle_self_contact_gap=0.004,
                particle_vertex_contact_buffer_size=64,
                particle_edge_contact_buffer_size=128,
            )
        return getattr(solvers, f"Solver{self.solver.name}")(model, iterations=iterations)

    def step(self) -> None:
        self.pipeline.collide(self.now, self.contacts)
        if self.solver.name == "VBD":
            self.engine.rebuild_bvh(self.now)
        for _ in range(self.solver.substeps):
            self.now.clear_forces()
            self.engine.step(self.now, self.next, self.control, self.contacts, self.dt / self.solver.substeps)
            self.now, self.next = self.next, self.now

    def positions(self) -> Floats:
        """Positions (n,3), y up."""
        x, y, z = self.now.particle_q.numpy().astype(np.float64).T
        return np.stack([x, z, -y], 1)

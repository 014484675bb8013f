"""Mesh: vertices and faces, validated once on construction; derived quantities are computed on demand."""

import dataclasses
import functools
import os
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import validate
from ..arguments import takes, wrong
from .issues import Issues, find_issues
from .marks import NO_MARKS, Marks
from .topology import Topology, find_copies, parted, tet_surface, weld

if TYPE_CHECKING:
    import meshio
    import open3d
    import pyvista
    import trimesh

    from . import foreign

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]


@dataclasses.dataclass(frozen=True, eq=False)
class Mesh:
    """A triangle (or tetrahedral) mesh, or polylines. Metres, y up, faces counter-clockwise seen from outside.

    vertices (n,3) float64, faces (m,3) int32, tets (k,4) int32. The arrays are copies, checked and read-only.
    uv (m,3,2) texture coordinates per face corner, or None; material (m,) index into `materials`, or None.
    `source` holds what io needs to write the mesh back into a file of the same format. groups (n,) or None: vertices
    of different groups are never welded, even if their positions are equal (see `welded_at`). marks: named groups,
    attributes and colours of the vertices, as the file gives them. lines (s,2): the segments of strands; a mesh with
    lines has no other faces, and its `faces` are these segments as triangles without area (a, b, b), for detectors.
    """

    vertices: Floats
    faces: Ints
    tets: Ints = dataclasses.field(default_factory=lambda: np.zeros((0, 4), np.int32))
    name: str = "mesh"
    uv: NDArray[np.float64] | None = None
    material: Ints | None = None
    materials: tuple[dict[str, Any], ...] = ()
    source: Any = None
    groups: Ints | None = None
    marks: Marks = NO_MARKS
    lines: Ints = dataclasses.field(default_factory=lambda: np.zeros((0, 2), np.int32))

    if TYPE_CHECKING:  # what it takes, besides what it keeps

        def __init__(
            self,
            vertices: ArrayLike,
            faces: ArrayLike,
            tets: ArrayLike = ...,
            name: str = ...,
            uv: ArrayLike | None = ...,
            material: ArrayLike | None = ...,
            materials: tuple[dict[str, Any], ...] = ...,
            source: Any = ...,
            groups: ArrayLike | None = ...,
            marks: Marks = ...,
            lines: ArrayLike = ...,
        ) -> None: ...

    def __post_init__(self) -> None:
        x = validate.floats("vertices", self.vertices, (None, 3))
        if len(x) == 0:
            raise ValueError("vertices is empty; expected at least one row of x, y, z")
        if not isinstance(self.name, str):
            raise wrong("name", self.name, "text")
        put = functools.partial(object.__setattr__, self)
        put("vertices", x)
        put("lines", validate.indices("lines", self.lines, 2, len(x)))
        put("faces", validate.indices("faces", self.faces, 3, len(x)))
        if len(self.lines):
            put("faces", self._faces_of_lines())
            if self.groups is None:  # strands that cross or share a point are not joined there
                put("groups", np.arange(len(x), dtype=np.int32))
        put("tets", validate.indices("tets", self.tets, 4, len(x)))
        if self.uv is not None:
            put("uv", validate.floats("uv", self.uv, (len(self.faces), 3, 2)))
        if self.material is not None:
            put("material", validate.rows("material", self.material, len(self.materials), "materials"))
            if len(self.material) != len(self.faces):
                raise ValueError(f"material has {len(self.material)} entries; expected {len(self.faces)}, one per face")
        if self.groups is not None:
            put("groups", validate.rows("groups", self.groups, len(x), "vertices").astype(np.int32))
            if len(self.groups) != len(x):
                raise ValueError(f"groups has {len(self.groups)} entries; expected {len(x)}, one per vertex")
        if not isinstance(self.marks, Marks):
            raise wrong("marks", self.marks, "Marks", "those of another mesh, mesh.marks")
        if not self.marks.fits(len(x)):
            raise ValueError(f"marks name vertices of another mesh; this one has {len(x)}")
        for array in (self.vertices, self.faces, self.tets, self.uv, self.material, self.groups, self.lines):
            if array is not None:
                array.flags.writeable = False

    @classmethod
    def from_tets(cls, vertices: Any, tets: Any, **fields: Any) -> "Mesh":
        """A mesh of tets whose faces are their surface: the tet faces that belong to one tet only."""
        plain = cls(vertices, np.zeros((0, 3), np.int32), tets)  # validates both
        return cls(plain.vertices, tet_surface(plain.tets), plain.tets, **fields)

    @classmethod
    def from_lines(cls, vertices: Any, lines: Any, **fields: Any) -> "Mesh":
        """A mesh of polylines, such as strands of hair, from vertices (n,3) and segments (s,2)."""
        return cls(vertices, np.zeros((0, 3), np.int32), lines=lines, **fields)

    @classmethod
    def from_object(cls, other: Any, name: str = "mesh") -> "Mesh":
        """A mesh of another library: of trimesh, Open3D (also of tensors), PyVista or meshio; a pair (vertices, faces)
        of arrays or tensors, such as those of SMPL; or a dict of them. Polygons become fans of triangles.

        Every function that takes a Mesh takes these objects, too. Positions are metres, y up: scale and turn others.
        """
        mesh = as_mesh("other", other)
        return dataclasses.replace(mesh, name=name)

    def to_trimesh(self) -> "trimesh.Trimesh":
        """This mesh for trimesh, which has to be installed; vertices keep their order."""
        from . import foreign

        return foreign.to_trimesh(self)

    def to_open3d(self) -> "open3d.geometry.TriangleMesh":
        """This mesh for Open3D, which has to be installed: a TriangleMesh, of tets a TetraMesh, of lines a LineSet."""
        from . import foreign

        return foreign.to_open3d(self)

    def to_pyvista(self) -> "pyvista.PolyData":
        """This mesh for PyVista, which has to be installed: PolyData, of tets an UnstructuredGrid."""
        from . import foreign

        return foreign.to_pyvista(self)

    def to_meshio(self) -> "meshio.Mesh":
        """This mesh for meshio, which has to be installed: its tets, its lines or else its triangles."""
        from . import foreign

        return foreign.to_meshio(self)

    def _faces_of_lines(self) -> Ints:
        """The segments as triangles without area; raise ValueError for other faces, and for segments of no length."""
        a, b = self.vertices[self.lines[:, 0]], self.vertices[self.lines[:, 1]]
        if (a == b).all(1).any():
            worst = int(np.argmax((a == b).all(1)))
            raise ValueError(f"lines[{worst}] = {self.lines[worst].tolist()} has no length; expected two points")
        faces = np.ascontiguousarray(self.lines[:, [0, 1, 1]])
        if len(self.tets) or (len(self.faces) and not np.array_equal(self.faces, faces)):
            raise ValueError("a mesh has either lines or faces and tets; put the others into a mesh of their own")
        return faces

    @property
    def n_vertices(self) -> int:
        return len(self.vertices)

    @property
    def n_faces(self) -> int:
        return len(self.faces)

    @functools.cached_property
    def bounds(self) -> Floats:
        """(2,3): lowest and highest corner of the bounding box of all vertices."""
        # column by column: four times as fast as along rows of three
        columns = [self.vertices[:, k] for k in range(3)]
        return np.array([[x.min() for x in columns], [x.max() for x in columns]])

    @functools.cached_property
    def size(self) -> float:
        """The diagonal of the bounding box, metres."""
        return float(np.linalg.norm(self.bounds[1] - self.bounds[0]))

    @functools.cached_property
    def median_edge(self) -> float:
        """The median edge length of all faces, metres; 0 without faces."""
        ends = self.vertices[self.topology.edges]
        return float(np.median(np.linalg.norm(ends[:, 0] - ends[:, 1], axis=1))) if len(ends) else 0.0

    @functools.cached_property
    def topology(self) -> Topology:
        """Edges and adjacency on the unwelded vertices."""
        return Topology.of(self.faces, self.n_vertices, np.full(self.n_faces, len(self.lines) > 0))

    @functools.cached_property
    def weld_index(self) -> Ints:
        """(n,) index of each vertex in `welded`, where the vertices that files duplicate at seams are merged."""
        index = weld(self.vertices)
        if self.groups is not None:
            key = index.astype(np.int64) * self.n_vertices + self.groups
            _, first, inverse = np.unique(key, return_index=True, return_inverse=True)
            index = np.argsort(np.argsort(first))[inverse.ravel()].astype(np.int32)
        if not len(self.tets):
            return index
        # surface vertices come first, so that the first rows are a mesh of the surface alone
        inner = np.ones(int(index.max()) + 1, np.bool_)
        inner[index[self.faces]] = False
        rank = np.empty(len(inner), np.int32)
        rank[np.argsort(inner, kind="stable")] = np.arange(len(inner), dtype=np.int32)
        return rank[index]

    @functools.cached_property
    def copies(self) -> NDArray[np.int64]:
        """(k,2) each vertex that coincides with an earlier one, and the first vertex at that position."""
        return find_copies(self.weld_index)

    @functools.cached_property
    def welded(self) -> "Mesh":
        """The mesh with coincident vertices merged, in order of first appearance; itself where there are none.
        In a mesh of tets, surface vertices come before interior ones.

        Simulation and adjacency use this mesh; `x_welded[mesh.weld_index]` maps a result to the file's vertices.
        """
        index = self.weld_index
        count = int(index.max()) + 1
        if count == self.n_vertices and (index == np.arange(count)).all():
            return self
        first = np.full(count, self.n_vertices, np.int64)
        np.minimum.at(first, index, np.arange(self.n_vertices))
        return dataclasses.replace(
            self,
            vertices=self.vertices[first],
            faces=index[self.faces],
            tets=index[self.tets],
            lines=index[self.lines],
            source=None,
            groups=None if self.groups is None else index[self.groups[first]],
            marks=NO_MARKS,
        )

    def welded_at(self, x: Any, slack: float = 0.0) -> "Mesh":
        """This mesh with only those of its coincident vertices welded that also coincide at positions x (n,3), or in
        all frames x (t,n,3); itself if all of them do, within `slack` metres.

        Vertices that coincide in the rest pose may separate during an animation. Call this for each pose of a moving
        mesh before using `weld_index`, `welded`, `surface` or `issues`.
        """
        at = validate.numbers("x", x)
        if at.shape[-2:] != self.vertices.shape:
            raise ValueError(f"x has shape {at.shape}; expected {self.vertices.shape}, or frames of it")
        groups = parted(self.copies, at, slack)
        return self if groups is None else dataclasses.replace(self, groups=groups)

    @functools.cached_property
    def surface(self) -> "Mesh":
        """The collision surface of the welded mesh: all of it, or for a mesh of tets the surface faces and their
        vertices, which are the first of `welded`."""
        mesh = self.welded
        if not len(mesh.tets):
            return mesh
        count = int(mesh.faces.max(initial=0)) + 1
        groups = None if mesh.groups is None else mesh.groups[:count]
        return Mesh(mesh.vertices[:count], mesh.faces, name=self.name, groups=groups)

    @functools.cached_property
    def links(self) -> Ints:
        """(k,2) all edges of faces and tets, each once, lower vertex first."""
        if not len(self.tets):
            return self.topology.edges
        pairs = np.sort(self.tets[:, [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]]].reshape(-1, 2), 1)
        return np.unique(np.concatenate([self.topology.edges, pairs]), axis=0).astype(np.int32)

    @functools.cached_property
    def tet_volumes(self) -> Floats:
        """(k,) cubic metres; negative for an inverted tet."""
        a, b, c, d = (self.vertices[self.tets[:, k]] for k in range(4))
        return np.einsum("ij,ij->i", np.cross(b - a, c - a), d - a) / 6.0

    @property
    def massive_elements(self) -> tuple[Ints, Floats]:
        """The elements among whose corners the mass is divided, with their volumes, lengths or areas: tets, lines or
        faces."""
        if len(self.tets):
            return self.tets, self.tet_volumes
        if len(self.lines):
            return self.lines, np.linalg.norm(self.vertices[self.lines[:, 1]] - self.vertices[self.lines[:, 0]], axis=1)
        return self.faces, self.face_areas

    @functools.cached_property
    def issues(self) -> Issues:
        """The defects of the mesh, determined on the welded vertices."""
        return find_issues(self.welded, self.n_vertices - self.welded.n_vertices)

    @functools.cached_property
    def face_areas(self) -> Floats:
        a, b, c = (self.vertices[self.faces[:, k]] for k in range(3))
        return 0.5 * np.linalg.norm(np.cross(b - a, c - a), axis=1)

    @functools.cached_property
    def face_normals(self) -> Floats:
        """(m,3) unit normals; zero for degenerate faces."""
        a, b, c = (self.vertices[self.faces[:, k]] for k in range(3))
        return _unit(np.cross(b - a, c - a))

    @functools.cached_property
    def edge_normals(self) -> Floats:
        """(k,3) unit pseudonormals of `topology.edges`: the mean of the faces around each edge."""
        total = _scatter(self.topology.face_edges, np.repeat(self.face_normals, 3, 0), len(self.topology.edges))
        return _unit(total)

    @functools.cached_property
    def vertex_normals(self) -> Floats:
        """(n,3) unit angle-weighted pseudonormals (Baerentzen and Aanaes 2005)."""
        corners = self.vertices[self.faces]
        ahead = _unit(np.roll(corners, -1, 1) - corners)
        behind = _unit(np.roll(corners, 1, 1) - corners)
        # atan2 is accurate near 0 and pi, where acos is not
        angles = np.arctan2(np.linalg.norm(np.cross(ahead, behind), axis=2), (ahead * behind).sum(2))
        weighted = angles[:, :, None] * self.face_normals[:, None, :]
        return _unit(_scatter(self.faces, weighted.reshape(-1, 3), self.n_vertices))

    @functools.cached_property
    def volume(self) -> float:
        """Signed volume by the divergence theorem, about the centre of the bounding box; valid for closed meshes."""
        x = self.vertices - self.bounds.mean(0)
        a, b, c = (x[self.faces[:, k]] for k in range(3))
        return float(np.einsum("ij,ij->", a, np.cross(b, c)) / 6.0)

    def moved(self, vertices: Any) -> "Mesh":
        """The same mesh with other vertex positions."""
        shape = validate.numbers("vertices", vertices).shape
        if shape != self.vertices.shape:
            raise ValueError(f"vertices has shape {shape}; expected {self.vertices.shape}")
        return dataclasses.replace(self, vertices=vertices)

    def __repr__(self) -> str:
        tets = f", {len(self.tets)} tets" if len(self.tets) else ""
        elements = f"{len(self.lines)} lines" if len(self.lines) else f"{self.n_faces} faces{tets}"
        return f"<Mesh {self.name!r}: {self.n_vertices} vertices, {elements}, diagonal {self.size:.3g} m>"


@takes(Mesh)
def as_mesh(name: str, value: Any) -> Mesh:
    """Convert to a Mesh: a mesh of another library (`foreign.arrays_of`), or a pair (vertices, faces), as in libigl.
    `name` is the argument's name in errors; paths are not loaded here."""
    if isinstance(value, Mesh):
        return value
    from . import foreign

    if isinstance(value, (str, os.PathLike)):
        raise wrong(name, value, "a mesh, not the name of a file", f"pliant.load({os.fspath(value)!r})")
    if isinstance(value, type):
        raise wrong(name, value, foreign.WANTED)
    if isinstance(getattr(value, "mesh", None), Mesh):
        moves = "; a body that moves is for pliant.recorded_scene" if hasattr(value, "frames") else ""
        raise wrong(name, value, "a Mesh", f"give its .mesh{moves}")
    try:
        found = foreign.arrays_of(value)
        if found is not None:
            return _of_arrays(found, name)
    except ValueError as error:
        raise ValueError(f"{name}.{error}") from None
    raise wrong(name, value, foreign.WANTED, "give its .to_mesh()" if hasattr(value, "geometry") else "")


def _of_arrays(found: "foreign.Arrays", name: str) -> Mesh:
    if found.tets is not None:
        return Mesh.from_tets(found.vertices, found.tets, name=name)
    if found.lines is not None:
        return Mesh.from_lines(found.vertices, found.lines, name=name)
    return Mesh(found.vertices, found.faces, name=name)


def _unit(a: Floats) -> Floats:
    # scaled by the largest component first, so that lengths of 1e-170 do not underflow
    largest = np.abs(a).max(-1, keepdims=True) if a.size else np.ones((*a.shape[:-1], 1))
    safe = np.where(largest > 0, largest, 1.0)
    b = a / safe
    length = np.linalg.norm(b, axis=-1, keepdims=True)
    return b / np.where(length > 0, length, 1.0)


def _scatter(index: NDArray[Any], values: Floats, count: int) -> Floats:
    """Sum rows of `values` into `count` rows by `index`; bincount adds sequentially, so the sums are deterministic."""
    flat = index.ravel()
    return np.stack([np.bincount(flat, values[:, k], count) for k in range(3)], axis=1)

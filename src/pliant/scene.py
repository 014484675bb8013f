"""Scene: everything that is constant during a simulation: bodies, materials, wind, and contact parameters."""

import dataclasses
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from . import renamed, validate
from .arguments import check_arguments, takes, wrong
from .brief import Brief
from .materials import Cloth, Solid, Strands
from .mesh import Mesh
from .mesh.element_check import check_elements
from .mesh.height_image import HeightImage
from .mesh.selection import rows_of
from .mesh.stitches import Stitches, check_stitches
from .motion.deforming import Attached, Deforming, Recorded, welds
from .motion.gripped import positions_at
from .motion.rigid import IDENTITY_POSE, Motion, placed
from .state import State

Floats = NDArray[np.float64]
FRICTION_MODELS = ("coulomb", "simple")
SELF_CONTACT = ("off", "push", "safe")
WARPS = ("auto", "u", "v", "x", "y", "z")
_PLAIN = Cloth()
FOLD = 0.25  # largest default thickness, in edge lengths: thicker cloth could not fold
CLOTH_COLOUR, _BODY_COLOUR = (0.62, 0.16, 0.13), (0.78, 0.74, 0.70)


@check_arguments
@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Grip(Brief):
    """Vertices of a deformable body, as rows of its mesh, with prescribed motion: rigid, or individual (`Attached`)."""

    rows: Any
    motion: Motion | Deforming

    def __post_init__(self) -> None:
        object.__setattr__(self, "rows", validate.rows("rows", self.rows, 2**31 - 1))


@check_arguments
@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Body(Brief):
    """A mesh with a role: cloth, a soft body (`material` is a `Solid`, the mesh has tets, and its faces are their
    surface), strands (`material` is `Strands`, the mesh has lines), or an `obstacle`, static or kinematic.

    `pins` are vertices that do not move, as rows or as a selection ("top 3cm", see docs/holding.md); `grips` are
    vertices with prescribed motion. `stitches` (k,2) are pairs of vertices of a cloth that are sewn together (see
    `Scene.closing`), and `rest_scale` multiplies its rest lengths, those along warp and weft, or with a factor per
    vertex those around it. `flat` assumes zero curvature as the rest state (sewn garments); otherwise it is the mesh's
    own curvature. `motion` moves an obstacle rigidly or deforms it (`Skinned`, `Recorded`). Obstacles with the same
    `group` are parts of one object and may overlap: a point of the cloth touches only the nearest part. `layer` is the
    number of garments worn below a cloth: its distance from obstacles is larger by as many thicknesses. `warp` is the
    direction of a cloth's warp: along texture coordinate "u" or "v", or the axis "x", "y" or "z" projected on every
    triangle; "auto" is "v" where the mesh has texture coordinates, otherwise "y", or "x" for cloth that lies flat.
    `heights` is the image of an obstacle made by `height_image`.
    """

    mesh: Mesh
    obstacle: bool = False  # static without `motion`, otherwise kinematic
    material: Cloth | Solid | Strands = _PLAIN
    pins: Any = ()
    velocity: tuple[float, float, float] = (0.0, 0.0, 0.0)  # m/s, at the start
    flat: bool = False
    color: tuple[float, float, float] | None = None
    name: str = ""
    motion: Motion | Deforming | None = None
    group: str = ""
    grips: Sequence[Grip] = ()
    layer: int = 0
    warp: str = "auto"
    stitches: Any = ()
    rest_scale: Any = 1.0
    heights: HeightImage | None = None

    @classmethod
    def height_image(
        cls,
        picture: Any,
        *,
        size: float,
        scale: float,
        centre: Any = (0.0, 0.0, 0.0),
        resolution: int | None = None,
        name: str = "height image",
        motion: Motion | None = None,
    ) -> "Body":
        """Return the obstacle that a height image is, see `HeightImage.of`: the method "height-grid" uses the image
        itself; `mesh` is the plate below it, for others and for measurements."""
        image = HeightImage.of(picture, size=size, scale=scale, centre=centre, resolution=resolution, name=name)
        return cls(image.mesh, obstacle=True, heights=image, motion=motion)

    def __post_init__(self) -> None:
        if validate.choice("warp", self.warp, WARPS) in ("u", "v") and self.mesh.uv is None:
            raise ValueError(f"warp = {self.warp!r} needs texture coordinates, which {self.label!r} does not have")
        held = [Grip(validate.rows("grip rows", g.rows, self.mesh.n_vertices), g.motion) for g in self.grips]
        object.__setattr__(self, "grips", tuple(held))
        if self.obstacle and self.grips:
            raise ValueError(
                f"body {self.label!r} is an obstacle; only deformable bodies have grips, use motion instead"
            )
        object.__setattr__(self, "pins", rows_of("pins", self.pins, self.mesh))
        object.__setattr__(self, "stitches", validate.indices("stitches", self.stitches, 2, self.mesh.n_vertices))
        scale = validate.scales("rest_scale", self.rest_scale, self.mesh.n_vertices, low=0.1, high=10.0)
        object.__setattr__(self, "rest_scale", scale)
        sewn = len(self.stitches) or not isinstance(scale, tuple) or scale != (1.0, 1.0)
        if sewn and (self.obstacle or not isinstance(self.material, Cloth)):
            raise ValueError(f"body {self.label!r} is not cloth; only cloth has stitches and a rest_scale")
        object.__setattr__(self, "velocity", tuple(validate.floats("velocity", self.velocity, (3,)).tolist()))
        if self.obstacle and any(self.velocity):
            raise ValueError(f"body {self.label!r} is an obstacle; its velocity must be 0, not {self.velocity}")
        for what, given in (("motion", self.motion is not None), ("group", bool(self.group))):
            if given and not self.obstacle:
                raise ValueError(f"body {self.label!r} is deformable and has no {what}; only an obstacle can have one")
        if self.heights is not None and (not self.obstacle or not isinstance(self.motion, (Motion, type(None)))):
            raise ValueError(f"body {self.label!r} is a height image; it can only be an obstacle, static or rigid")
        if validate.whole("layer", self.layer, low=0, high=100) and self.obstacle:
            raise ValueError(f"body {self.label!r} is an obstacle; only cloth can have a layer")
        if not self.mesh.n_faces:
            advice = ", such as pliant.Mesh.from_tets makes" if len(self.mesh.tets) else ""
            raise ValueError(f"body {self.label!r} has no faces; expected a surface{advice}")
        if self.motion is not None and not isinstance(self.motion, Motion):
            # coincident vertices are welded only where the motion keeps them together
            object.__setattr__(self, "mesh", welds(self.mesh, self.motion))
        _check_material(self)
        if self.color is not None:
            object.__setattr__(self, "color", validate.color("color", self.color))
        if self.color is None:
            object.__setattr__(self, "color", _BODY_COLOUR if self.obstacle else CLOTH_COLOUR)

    fixed = renamed.attribute("fixed", "obstacle")

    @property
    def label(self) -> str:
        return self.name or self.mesh.name


@takes(Body)
def _no_body(name: str, value: Any) -> Body:
    """Reject anything that is not a Body: a mesh alone may be cloth or an obstacle."""
    advice = "pliant.Body(mesh) for cloth, pliant.Body(mesh, obstacle=True) for an obstacle"
    raise wrong(name, value, "a Body", advice if isinstance(value, Mesh) or hasattr(value, "faces") else "")


def _check_material(body: Body) -> None:
    """Check that the mesh has the elements of its material: faces, valid tets, or lines that are polylines."""
    name = "an obstacle" if body.obstacle else type(body.material).__name__
    if name in ("Solid", "Strands") and (body.layer or body.flat):
        raise ValueError(f"body {body.label!r} is {name}; layer and flat are for cloth")
    check_elements(body.mesh, body.label, name)


@check_arguments
@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Scene(Brief):
    """Bodies in one world. The (welded) vertices of all of them are one array, in the order of `bodies`.

    eps: contact offset between deformable bodies and obstacles, metres. friction: coefficient c_f between them;
    self_friction: among deformable bodies. friction_model: "coulomb" (eqs. 5 and 6 of Fuhrmann et al. 2003, with
    sticking) or "simple" (eq. 3 there: scales tangential motion). restitution: coefficient of restitution, 0..1.
    self_contact: "safe" (deformable bodies are kept `thickness` metres from themselves and each other, and a state
    without intersections stays so, see docs/self-contact.md); "push" (the same without guarantee); or "off".
    friction, self_friction and thickness that are not given are those of the cloths' materials: the mean of the
    coefficients, the largest thickness; where no material has them, 0.3, `friction`, and `eps` but at most a quarter of
    every median edge. overlaps: pairs of closed bodies, by index, whose overlap volume is measured and drawn, at
    `overlap_resolution` pixels. stitches: `Stitches` within or between cloths, or of a cloth to a soft body, besides
    those of the bodies; closing: seconds from the start in which all stitches close.
    """

    bodies: Sequence[Body]
    gravity: tuple[float, float, float] = (0.0, -9.81, 0.0)  # m/s2
    wind: tuple[float, float, float] = (0.0, 0.0, 0.0)  # m/s
    eps: float = 0.005
    friction: float | None = None  # a number after construction, like self_friction and thickness
    friction_model: str = "coulomb"
    restitution: float = 0.0
    name: str = "scene"
    self_contact: str = "safe"
    thickness: float | None = None
    overlaps: Sequence[tuple[int, int]] = ()
    overlap_resolution: int = 64  # pixels along the longer side of the image
    self_friction: float | None = None
    stitches: Sequence[Stitches] = ()
    closing: float = 0.5

    def __post_init__(self) -> None:
        put = functools.partial(object.__setattr__, self)
        put("bodies", tuple(self.bodies))
        pairs = validate.indices("overlaps", self.overlaps, 2, len(self.bodies), "bodies")
        put("overlaps", tuple((int(a), int(b)) for a, b in pairs))
        for k, (a, b) in enumerate(self.overlaps):
            if a == b:
                raise ValueError(f"overlaps[{k}] = ({a}, {b}) is a body with itself; expected two bodies")
        put("overlap_resolution", validate.whole("overlap_resolution", self.overlap_resolution, low=1, high=4096))
        if not self.bodies:
            raise ValueError("bodies is empty; a scene needs at least one Body")
        for name in ("gravity", "wind"):
            put(name, tuple(validate.floats(name, getattr(self, name), (3,)).tolist()))
        validate.number("eps", self.eps, above=0.0)
        validate.choice("friction_model", self.friction_model, FRICTION_MODELS)
        most = 1.0 if self.friction_model == "simple" else np.inf
        for name, otherwise in (("friction", 0.3), ("self_friction", None)):
            given = getattr(self, name)
            own = self._of_materials(name)
            chosen = given if given is not None else float(np.mean(own)) if own else otherwise
            put(name, validate.number(name, self.friction if chosen is None else chosen, low=0.0, high=most))
        validate.number("restitution", self.restitution, low=0.0, high=1.0)
        validate.choice("self_contact", self.self_contact, SELF_CONTACT)
        edges = (body.mesh.welded.median_edge for body in self.bodies if not body.obstacle)
        plain = min([self.eps, *(FOLD * edge for edge in edges if edge > 0.0)])
        thick = max(self._of_materials("thickness"), default=plain) if self.thickness is None else self.thickness
        put("thickness", validate.number("thickness", thick, above=0.0))
        put("closing", validate.number("closing", self.closing, low=0.0, high=validate.LARGEST))
        cloths, solids = ({b: self.bodies[b].mesh for b in found} for found in (self.cloths, self.solids))
        put("stitches", check_stitches(self.stitches, cloths, solids))

    def _of_materials(self, name: str) -> list[float]:
        """Return the values of a parameter that the materials of cloths and strands have."""
        found = [getattr(self.bodies[b].material, name) for b in (*self.cloths, *self.strands)]
        return [value for value in found if value is not None]

    @functools.cached_property
    def between_deformables(self) -> "Scene":
        """This scene with the friction among deformable bodies as its `friction`, for responses between them."""
        return self if self.self_friction == self.friction else dataclasses.replace(self, friction=self.self_friction)

    @functools.cached_property
    def first(self) -> NDArray[np.int64]:
        """(bodies+1,) row of each body's first vertex, and the total number of vertices."""
        return np.concatenate([[0], np.cumsum([body.mesh.welded.n_vertices for body in self.bodies])]).astype(np.int64)

    @functools.cached_property
    def seams(self) -> tuple[Stitches, ...]:
        """All stitches: those within each cloth, and those of the scene."""
        own = [Stitches.pairs(self.bodies[b].stitches, (b, b)) for b in self.cloths if len(self.bodies[b].stitches)]
        return (*own, *self.stitches)

    def rows(self, body: int) -> slice:
        return slice(int(self.first[body]), int(self.first[body + 1]))

    def layer_offset(self, body: int) -> float:
        """Return the additional contact offset (m) from obstacles, due to the layer of a cloth or a strand's radius."""
        material, layer = self.bodies[body].material, self.bodies[body].layer
        return material.radius if isinstance(material, Strands) else layer * cast(float, self.thickness)

    lift = renamed.attribute("lift", "layer_offset")

    @property
    def deformable(self) -> list[int]:
        """Indices of the deformable bodies: cloth, soft bodies and strands."""
        return [b for b, body in enumerate(self.bodies) if not body.obstacle]

    soft = renamed.attribute("soft", "deformable")

    @property
    def cloths(self) -> list[int]:
        return [b for b in self.deformable if isinstance(self.bodies[b].material, Cloth)]

    @property
    def solids(self) -> list[int]:
        return [b for b in self.deformable if isinstance(self.bodies[b].material, Solid)]

    @property
    def strands(self) -> list[int]:
        return [b for b in self.deformable if isinstance(self.bodies[b].material, Strands)]

    @property
    def obstacles(self) -> list[int]:
        """Indices of the obstacles, static and kinematic."""
        return [b for b, body in enumerate(self.bodies) if body.obstacle]

    @property
    def moving(self) -> list[int]:
        return [b for b, body in enumerate(self.bodies) if body.motion is not None]

    fixed = renamed.attribute("fixed", "obstacles")

    @functools.cached_property
    def deforming_motions(self) -> dict[int, Deforming]:
        """Per deforming obstacle (by index): the motion of its welded vertices."""
        found = {}
        for b in self.moving:
            body = self.bodies[b]
            if not isinstance(body.motion, Motion) and body.motion is not None:
                found[b] = body.motion.taking(np.unique(body.mesh.weld_index, return_index=True)[1])
        return found

    shapes = renamed.attribute("shapes", "deforming_motions")

    @property
    def deformable_rows(self) -> slice:
        """Rows from the first vertex of the first deformable body to the last vertex of the last one."""
        soft = self.deformable
        return slice(int(self.first[soft[0]]), int(self.first[soft[-1] + 1])) if soft else slice(0, 0)

    @functools.cached_property
    def masses(self) -> Floats:
        """(n,) lumped vertex masses, kg: each face, tet or line is divided among its ends; zero for obstacles."""
        masses = np.zeros(int(self.first[-1]))
        for b in self.deformable:
            mesh, density = self.bodies[b].mesh.welded, self.bodies[b].material.density
            elements, size = mesh.massive_elements
            share = np.repeat(size * density / elements.shape[1], elements.shape[1])
            masses[self.rows(b)] = np.bincount(elements.ravel(), share, mesh.n_vertices)
        return masses

    @functools.cached_property
    def inverse_masses(self) -> Floats:
        """(n,) 1/kg; zero for vertices that are not simulated: those of obstacles, pins and grips, or without mass."""
        return self._inverse_masses(self.gripped_rows)

    @functools.cached_property
    def yielding_inverse_masses(self) -> Floats:
        """(n,) as `inverse_masses`, but in safe mode those of vertices attached to skin are not zero: these yield where
        the cloth cannot follow the skin."""
        soft = self.is_attached & (self.self_contact == "safe")
        return self._inverse_masses(self.gripped_rows[~soft]) if soft.any() else self.inverse_masses

    def _inverse_masses(self, held: NDArray[np.int32]) -> Floats:
        w = np.zeros_like(self.masses)
        np.divide(1.0, self.masses, out=w, where=self.masses > 0.0)
        for b in self.deformable:
            pins = self.bodies[b].mesh.weld_index[self.bodies[b].pins]
            w[int(self.first[b]) + pins] = 0.0
        w[held] = 0.0
        return w

    @functools.cached_property
    def grips(self) -> list[tuple[NDArray[np.int32], Floats, Motion | Deforming]]:
        """Per grip: rows (k,) of its vertices, their rest positions (k,3), and their motion."""
        found: list[tuple[NDArray[np.int32], Floats, Motion | Deforming]] = []
        for b in self.deformable:
            mesh = self.bodies[b].mesh
            for grip in self.bodies[b].grips:
                own, first = np.unique(mesh.weld_index[grip.rows], return_index=True)
                motion = grip.motion if isinstance(grip.motion, Motion) else grip.motion.taking(first)
                found.append(((int(self.first[b]) + own).astype(np.int32), mesh.welded.vertices[own], motion))
        return found

    @functools.cached_property
    def is_attached(self) -> NDArray[np.bool_]:
        """Which of the gripped vertices (k,) are attached to skin (`Attached`), or follow recorded frames of their own,
        and so yield in safe mode."""
        parts = [np.full(len(rows), isinstance(motion, (Attached, Recorded))) for rows, _, motion in self.grips]
        return np.concatenate([np.zeros(0, np.bool_), *parts])

    def gripped_at(self, times: Floats, sample: Callable[[Deforming, Floats], Floats] | None = None) -> Floats:
        """Return the positions (t,k,3) of all gripped vertices at `times` (t,), seconds. `sample` replaces the method
        of that name of deforming motions, for callers that have sampled them before."""
        parts = [np.zeros((len(times), 0, 3))]
        parts += [positions_at(motion, rest, times, sample) for _, rest, motion in self.grips]
        return np.concatenate(parts, 1)

    @functools.cached_property
    def gripped_rows(self) -> NDArray[np.int32]:
        """Rows (k,) of all gripped vertices."""
        return np.concatenate([np.zeros(0, np.int32), *(rows for rows, _, _ in self.grips)])

    held = renamed.attribute("held", "gripped_rows")
    held_at = renamed.attribute("held_at", "gripped_at")

    def poses(self, time: float) -> Floats:
        """Return the pose (bodies,3,4) of each body at `time`, seconds."""
        motions = [body.motion for body in self.bodies]
        return np.stack([motion.at(time) if isinstance(motion, Motion) else IDENTITY_POSE for motion in motions])

    def bones(self, time: float) -> dict[int, Floats]:
        """Return, per deforming obstacle (by index), its motion sample (k,3,4) at `time`, seconds, see `Deforming`:
        bone matrices and morph weights, or the time."""
        return {b: shape.sample(np.array([time]))[0] for b, shape in self.deforming_motions.items()}

    def place(self, x: Floats, pose: Floats, bones: Mapping[int, Floats]) -> None:
        """Set the rows of `x` (n,3) of all kinematic bodies according to `pose` (bodies,3,4) or `bones`."""
        for b in self.moving:
            x[self.rows(b)] = self.place_of(b, pose, bones)

    def place_of(self, body: int, pose: Floats, bones: Mapping[int, Floats]) -> Floats:
        """Return the vertex positions (k,3) of a kinematic body."""
        if body in self.deforming_motions:
            return self.deforming_motions[body].shape(bones[body])
        return placed(self.bodies[body].mesh.welded.vertices, pose[body])

    def start(self) -> State:
        """Return the initial state."""
        x = np.concatenate([body.mesh.welded.vertices for body in self.bodies])
        pose, bones = self.poses(0.0), self.bones(0.0)
        self.place(x, pose, bones)
        x[self.gripped_rows] = self.gripped_at(np.zeros(1))[0]
        state = State.at(x, pose=pose)
        state.bones = bones
        for b in self.deformable:
            state.v[self.rows(b)] = self.bodies[b].velocity
        state.v[self.inverse_masses == 0.0] = 0.0
        return state

"""Holding: pin, attach, sew and scale the cloths of a scene, by selections of their vertices."""

import dataclasses
import difflib
import logging
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import validate
from ..detect.queries.closest_point import ClosestPoints
from ..mesh import Mesh
from ..mesh.selection import FORMS, rows_of, select
from ..mesh.stitches import Stitches, sewn
from ..motion.bones import REGIONS, OnBone, bone_called, list_bones
from ..motion.deforming import Attached, Skinned
from ..motion.rigid import Motion
from ..scene import Grip, Scene
from .regions import rows_near_region

log = logging.getLogger("pliant.scenes")
Rows = NDArray[np.int64]
Floats = NDArray[np.float64]
LINES = "lines"
SKIN = "skin"
Tell = Callable[[str], None]


@dataclasses.dataclass(frozen=True, eq=False)
class Holding:
    """How cloths are held. A selection names vertices of the first cloth, or of another one: `NAME/SELECTION`.

    pins: selections, or rows of the first cloth, that do not move. attach: `SELECTION`, `SELECTION=TARGET` or a region
    (`REGIONS`): vertices that follow the nearest skin, or the bone or body TARGET. stitch: pairs of selections whose
    boundary vertices are sewn together by arc length. stitches: pairs (k,2) of vertices of the first cloth, or "lines"
    for the line elements of its file. closing: seconds in which stitches close. rest_scale: factor of all rest lengths,
    or of those along warp and weft, that is reached in the same time.
    """

    pins: Any = ()
    attach: Any = ()
    stitch: Sequence[tuple[str, str]] = ()
    stitches: Any = ()
    closing: float | None = None
    rest_scale: float | tuple[float, float] = 1.0

    def __post_init__(self) -> None:
        if isinstance(self.attach, str):
            object.__setattr__(self, "attach", (self.attach,))
        if isinstance(self.pins, str):
            object.__setattr__(self, "pins", (self.pins,))
        for k, pair in enumerate(self.stitch):
            if isinstance(pair, str) or len(pair) != 2:
                raise ValueError(f"stitch[{k}] = {pair!r}; expected two selections")

    @classmethod
    def of(cls, options: dict[str, Any]) -> "Holding":
        """Remove the options about holding from those of a scene, and return them."""
        names = [field.name for field in dataclasses.fields(cls)]
        return cls(**{name: options.pop(name) for name in names if name in options})

    @property
    def holds(self) -> bool:
        """Whether anything is pinned, attached or sewn; then nothing is held automatically."""
        return any(len(each) for each in (self.pins, self.attach)) or self.sews

    @property
    def sews(self) -> bool:
        return any(len(each) for each in (self.stitch, self.stitches))


def hold_cloths(scene: Scene, holding: Holding, tell: Tell = log.info) -> Scene:
    """Return the scene with its cloths and strands held; `tell` gets a line about what was chosen for each request."""
    if not holding.holds and holding.rest_scale == 1.0:
        return scene
    if not (scene.cloths or (scene.strands and holding.rest_scale == 1.0 and not holding.sews)):
        more = "; strands have pins and attachments only" if scene.strands else ""
        raise ValueError(f"scene {scene.name!r} has no cloth to hold{more}")
    holder = _Holder(scene, tell)
    bodies = holder.bodies
    if holding.rest_scale != 1.0:
        for b in scene.cloths:
            bodies[b] = dataclasses.replace(bodies[b], rest_scale=holding.rest_scale)
    for text in _requests(holding.pins):
        holder.pin(text)
    for text in holding.attach:
        holder.attach(text)
    stitches = list(scene.stitches)
    for one, two in holding.stitch:
        stitches += _sewn(scene, one, two, tell)
    if len(holding.stitches):
        stitches.append(_pairs(scene, holding.stitches, tell))
    closing = scene.closing if holding.closing is None else holding.closing
    return dataclasses.replace(scene, bodies=bodies, stitches=stitches, closing=closing)


def _requests(given: Any) -> list[Any]:
    """Return selections one by one, or rows as a single request."""
    several = isinstance(given, (list, tuple)) and all(isinstance(each, str) for each in given)
    return list(given) if several else [given] if len(given) else []


def _cloth(scene: Scene, text: Any) -> tuple[int, Any]:
    """Return the cloth that a selection is about, and the selection: of the first cloth, unless NAME/ precedes it."""
    if isinstance(text, str) and "/" in text:
        name, _, rest = text.partition("/")
        named = [b for b in (*scene.cloths, *scene.strands) if scene.bodies[b].label == name]
        if named:
            return named[0], rest
    return (*scene.cloths, *scene.strands)[0], text


def _sewn(scene: Scene, one: str, two: str, tell: Tell) -> list[Stitches]:
    """Sew the boundary vertices of two selections together."""
    (a, first), (b, second) = _cloth(scene, one), _cloth(scene, two)
    meshes = scene.bodies[a].mesh, scene.bodies[b].mesh
    try:
        found = sewn(meshes[0], select(meshes[0], first), meshes[1], select(meshes[1], second), (a, b))
    except ValueError as error:
        raise ValueError(f"stitch {one!r} {two!r}: {error}") from None
    tell(f"{sum(map(len, found))} stitches in {len(found)} seams join {one!r} and {two!r}")
    return found


def _pairs(scene: Scene, given: Any, tell: Tell) -> Stitches:
    """Return stitches from pairs (k,2) of vertices of the first cloth, or from the lines of its file."""
    b = scene.cloths[0]
    mesh = scene.bodies[b].mesh
    if isinstance(given, str):
        validate.choice("stitches", given, (LINES,))
        if not len(mesh.marks.lines):
            raise ValueError(f"the file of {mesh.name!r} has no line elements (l); expected pairs of vertices")
        given = mesh.marks.lines
    pairs = validate.indices("stitches", given, 2, mesh.n_vertices)
    tell(f"{len(pairs)} stitches join pairs of vertices of {mesh.name!r}")
    return Stitches.pairs(pairs, (b, b))


def _selected(mesh: Mesh, selection: str, text: str) -> Rows:
    """Return the rows of a selection; an error about a single word names the regions, too."""
    try:
        return select(mesh, selection)
    except ValueError as error:
        if not re.fullmatch(r"[A-Za-z]+", selection.strip()) or "not understood" not in str(error):
            raise
        near = difflib.get_close_matches(selection.lower(), REGIONS, n=1)
        hint = f"did you mean {near[0]!r}? " if near else ""
        regions = ", ".join(REGIONS)
        raise ValueError(f"attach {text!r}: {hint}expected a region ({regions}), or a selection: {FORMS}") from None


class _Holder:
    """The bodies of a scene while pins and grips are added to its cloths."""

    def __init__(self, scene: Scene, tell: Tell) -> None:
        self.scene, self.tell = scene, tell
        self.bodies = list(scene.bodies)
        self._surfaces: dict[int, ClosestPoints] = {}

    def pin(self, text: Any) -> None:
        """Pin what a selection names, or rows of the first cloth."""
        b, rest = _cloth(self.scene, text)
        rows = rows_of("pins", rest, self.bodies[b].mesh)
        self._add_pins(b, rows)
        x = self.bodies[b].mesh.vertices[rows]
        near = [self._near(c, x) for c in self.scene.obstacles]
        self.tell(f"{_counted(rows, self.bodies[b].label)} pinned{_told(near)}")

    def attach(self, text: str) -> None:
        """Attach what one request names to a body of the scene."""
        selection, target = split_target(text)
        b, selection = _cloth(self.scene, selection)
        mesh = self.bodies[b].mesh
        if not self.scene.obstacles:
            raise ValueError(f"attach {text!r}: scene {self.scene.name!r} has no body to attach to; use pins")
        c, bone = self._target(mesh.vertices, target, text)
        body, why = self.scene.bodies[c], ""
        if selection.lower() in REGIONS:
            if not isinstance(body.motion, Skinned):
                raise ValueError(
                    f"attach {text!r} needs a character with bones, and {body.label!r} has none; expected a selection, "
                    "such as 'top 3cm' or 'boundary top'"
                )
            rows, names = rows_near_region(mesh, body.motion.character, selection.lower())
            why = f", the boundary nearest to {', '.join(names)}"
        else:
            rows = _selected(mesh, selection, text)
        points = mesh.vertices[rows]
        if body.motion is None:
            self._add_pins(b, rows)
        else:
            others = [_without(grip, rows) for grip in self.bodies[b].grips]
            grips = [*(grip for grip in others if grip is not None), Grip(rows, self._motion(c, points, bone))]
            self.bodies[b] = dataclasses.replace(self.bodies[b], grips=grips)
        place = f"bone {bone[1]!r}" if bone else f"the skin of {body.label!r}"
        told = _told([self._near(c, points)])
        self.tell(f"{_counted(rows, self.bodies[b].label)} attached to {place}{why}{told}")

    def _add_pins(self, b: int, rows: Rows) -> None:
        self.bodies[b] = dataclasses.replace(self.bodies[b], pins=np.union1d(self.bodies[b].pins, rows))

    def _motion(self, c: int, points: Floats, bone: tuple[int, str] | None) -> Any:
        """Return the motion of points that are attached to a kinematic body, or to one of its bones."""
        body = self.scene.bodies[c]
        if bone is not None and isinstance(body.motion, Skinned):
            return OnBone(body.motion, bone[0], points)
        if body.motion is None or isinstance(body.motion, Motion):
            return body.motion
        skin = body.mesh.welded
        corners = skin.faces[self._surface(c).query(points)[2]]
        carrier = body.motion.taking(np.unique(body.mesh.weld_index, return_index=True)[1])
        return Attached.at(carrier, skin.vertices, corners, points)

    def _target(self, x: Floats, target: str, text: str) -> tuple[int, tuple[int, str] | None]:
        """Return the obstacle, and the bone with its name, if one is meant."""
        obstacles, bodies = self.scene.obstacles, self.scene.bodies
        if not target or target.lower() == SKIN:
            if len(obstacles) == 1:
                return obstacles[0], None
            return min(obstacles, key=lambda c: float(np.median(np.abs(self._surface(c).query(x)[0])))), None
        named = [c for c in obstacles if bodies[c].label == target]
        if named:
            return named[0], None
        listed = [f"the bodies are: {', '.join(bodies[c].label for c in obstacles)}"]
        for c in obstacles:
            motion = bodies[c].motion
            if isinstance(motion, Skinned):
                bone = bone_called(motion.character, target.removeprefix("bone:"))
                if bone is not None:
                    return c, (bone, motion.character.names[bone])
                listed.append(list_bones(motion.character))
        raise ValueError(f"attach {text!r}: there is no body or bone {target!r}; {'; '.join(listed)}")

    def _surface(self, c: int) -> ClosestPoints:
        """Return the surface of an obstacle at the vertices of its mesh, before any motion."""
        if c not in self._surfaces:
            self._surfaces[c] = ClosestPoints(self.scene.bodies[c].mesh.welded)
        return self._surfaces[c]

    def _near(self, c: int, x: Floats) -> tuple[int, int]:
        """Return how many points start inside an obstacle, and how many others nearer to it than eps."""
        away = self._surface(c).query(x)[0]
        return int((away < 0.0).sum()), int(((away >= 0.0) & (away < self.scene.eps)).sum())


def _without(grip: Grip, rows: Rows) -> Grip | None:
    """Return a grip without the vertices `rows`, which another grip holds; None if no vertex remains."""
    keep = np.flatnonzero(~np.isin(grip.rows, rows))
    motion = grip.motion if isinstance(grip.motion, Motion) else grip.motion.taking(keep)
    return Grip(grip.rows[keep], motion) if len(keep) else None


def split_target(text: str) -> tuple[str, str]:
    """Split SELECTION=TARGET; a comparison with a number belongs to the selection."""
    selection, sign, target = text.rpartition("=")
    if not sign or not target.strip() or re.fullmatch(r"\s*[-+.0-9eE]+\s*", target) or selection[-1:] in "<>=":
        return text.strip(), ""
    return selection.strip(), target.strip()


def _counted(rows: Rows, label: str) -> str:
    return f"{len(rows)} {'vertex' if len(rows) == 1 else 'vertices'} of {label!r} {'is' if len(rows) == 1 else 'are'}"


def _told(near: list[tuple[int, int]]) -> str:
    """Return the part of a message about vertices that contacts would push away, were they not held."""
    inside, close = sum(n for n, _ in near), sum(n for _, n in near)
    words = [f"{inside} of them inside the body"] if inside else []
    words += [f"{close} {'others' if inside else 'of them'} nearer to the body than eps"] if close else []
    return f" ({' and '.join(words)}; they are held there)" if words else ""

"""Build: the detectors and the handler of self-contact, which a simulation makes once from its scene."""

from collections.abc import Mapping, Sequence
from typing import Any

from ..detect.base import BaseDetector, Detector, Reports, Side, with_defaults
from ..detect.detectors.distance_field import DistanceFieldDetector
from ..detect.detectors.offset import OffsetDetector
from ..detect.detectors.rigid_parts import PartsDetector
from ..detect.fields.sampled import warn_if_too_coarse
from ..detect.methods import METHODS
from ..detect.options import check_options
from ..dynamics.shared import once
from ..scene import Scene
from .deformable_contact import DeformableContact
from .guard import Guard
from .self_contact_interface import NoGuard, SelfContact

AHEAD = 1.25  # times eps: distance of detection where cloth is solved after it, which may bring the cloth nearer


def detection_distances(scene: Scene, method: str, ahead: float = 1.0) -> list[float]:
    """Return the distances (m) within which the detectors of all pairs of a deformable body and an obstacle find
    contacts.

    Detectors of points that support deforming obstacles find contacts within `ahead` times the contact offset, all
    others within the offset: it determines the cells of a field, and pairs of features that are farther away have
    oblique normals. The offset of the body's layer is added."""
    found = []
    for b, c in _pairs(scene):
        detector_class = METHODS[method].against(scene.deforming_motions.get(c))
        farther = detector_class.obstacle_may_deform and detector_class.reports is Reports.POINTS
        found.append(scene.eps * (ahead if farther else 1.0) + scene.layer_offset(b))
    return found


def _pairs(scene: Scene) -> list[tuple[int, int]]:
    return [(b, c) for b in scene.deformable for c in scene.obstacles]


def make_detectors(scene: Scene, method: str, options: Mapping[str, Any], ahead: float = 1.0) -> list[Detector]:
    """Make one detector per deformable body and obstacle; fields of obstacles of one group are combined. See
    `detection_distances` for `ahead`."""
    options = check_options(method, options)
    pairs, distances = _pairs(scene), detection_distances(scene, method, ahead)
    unused = sorted(name for name in options if name not in ("progress", "cache"))
    if unused and not pairs:
        missing, such = "deformable body", "pliant.Body(mesh)"
        if scene.deformable:
            missing = "obstacle"
            such = "pliant.Body(mesh, obstacle=True) or pliant.Body.height_image(picture, size=0.5, scale=0.1)"
        raise ValueError(
            f"scene {scene.name!r} has no {missing}, so that no detector is made and option {unused[0]!r} of method "
            f"{method!r} would have no effect; add one, such as {such}"
        )
    found: list[tuple[int, Any]] = []
    groups: dict[tuple[int, str], list[Any]] = {}
    for k, (b, c) in enumerate(pairs):
        body, detector_class = scene.bodies[c], METHODS[method].against(scene.deforming_motions.get(c))
        if c in scene.deforming_motions and not detector_class.obstacle_may_deform:
            able = ", ".join(name for name, other in METHODS.items() if other.obstacle_may_deform)
            raise ValueError(f"method {method!r} needs rigid bodies, but {body.label!r} deforms; use one of: {able}")
        deformable, obstacle = _sides(scene, b, c, detector_class)
        own = _options_of(options, k, len(pairs))
        detector = _made(detector_class, deformable, obstacle, distances[k], own)
        field = detector.field
        kept = scene.eps + (scene.layer_offset(b) if b in scene.strands else 0.0)
        warn_if_too_coarse(detector.cell_size or getattr(field, "spacing", 0.0), kept, body.label)
        if field is not None and body.group:
            groups.setdefault((b, body.group), []).append(detector)
        else:
            found.append((b, detector))
    found += [(b, PartsDetector(parts)) for (b, _), parts in groups.items()]
    offset = scene.layer_offset
    return [OffsetDetector(detector, offset(b)) if offset(b) else detector for b, detector in found]


def _made(made: type[BaseDetector], deformable: Side, obstacle: Side, within: float, options: dict[str, Any]) -> Any:
    """Make a detector; in a batch of scenes, with the field that was baked for another scene."""
    if made is not DistanceFieldDetector or "field" in options:
        return made(deformable, obstacle, within=within, **options)
    detectors = []

    def bake() -> Any:
        detectors.append(DistanceFieldDetector(deformable, obstacle, within=within, **options))
        return detectors[0].field

    accuracy = tuple((name, value) for name, value in options.items() if name not in ("progress", "midpoints"))
    field = once("field", (deformable.mesh, obstacle.mesh, within, accuracy), bake)
    if detectors:
        return detectors[0]
    midpoints = options.get("midpoints", True)
    return DistanceFieldDetector(deformable, obstacle, within=within, field=field, midpoints=midpoints)


def _sides(scene: Scene, b: int, c: int, detector_class: type[BaseDetector]) -> tuple[Side, Side]:
    """Return the sides of a deformable body b and an obstacle c, as the detector takes them."""
    mesh, body = scene.bodies[b].mesh, scene.bodies[c]
    deformable = Side(mesh.welded if detector_class.volume else mesh.surface, int(scene.first[b]), b)
    return deformable, Side(body.mesh.welded, int(scene.first[c]), c, scene.deforming_motions.get(c), body.heights)


def refusal_of(scene: Scene, method: str, options: Mapping[str, Any]) -> str:
    """Return why options of a method do not apply to the bodies of a scene; empty if they do."""
    for b, c in _pairs(scene):
        detector_class = METHODS[method].against(scene.deforming_motions.get(c))
        if why := detector_class.refuses(*_sides(scene, b, c, detector_class), options):
            return why
    return ""


def _options_of(options: Mapping[str, Any], k: int, count: int) -> dict[str, Any]:
    """Return the options of the k-th of `count` detectors, with `progress` scaled to all of them."""
    whole = options.get("progress")
    if whole is None or count < 2:
        return dict(options)
    return {**options, "progress": lambda share: whole((k + share) / count)}


def reads_obstacles(scene: Scene, detectors: Sequence[Detector]) -> bool:
    """Whether anything reads the vertices of moving obstacles in every substep."""
    always = scene.self_contact == "safe" or bool(scene.deforming_motions)
    reads = always or any(with_defaults(d).obstacle_may_deform for d in detectors)
    return bool(scene.moving) and reads


def may_yield(scene: Scene, detectors: Sequence[Detector], own: str | None) -> bool:
    """Whether deforming obstacles may yield where they overlap: the guard, unless an `own` method or response for
    self-contact takes its place, and detectors that test exactly what is inside read their vertices."""
    guarded = scene.self_contact == "safe" and not own and bool(scene.deformable)
    return guarded and all(with_defaults(each).inside_query is not None for each in detectors)


def make_self_contact(
    scene: Scene, method: str | None, options: Mapping[str, Any] | None, response: str | None
) -> SelfContact:
    """Return what handles contacts among deformable bodies."""
    if options and method is None and response is None:
        raise ValueError("self_options are options of a self_method; pass self_method too")
    # pairs close at rest are taken from the scene's start, not from the state, so that a resumed run agrees
    if method is not None or response is not None:
        return DeformableContact(scene, scene.start(), method, options, response)
    return NoGuard() if scene.self_contact == "off" or not scene.deformable else Guard(scene, scene.start())

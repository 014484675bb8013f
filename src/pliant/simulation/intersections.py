"""The responses of a simulation, and for those that need it the intersections of pairs of its bodies."""

import itertools
from typing import Any

from ..detect.base import Side
from ..detect.queries.volume_gradient import VolumeGradient
from ..respond import RESPONSES, Response, Volume
from ..scene import Scene


def make_response(scene: Scene, name: str, *, among_deformables: bool = False, **options: Any) -> Response:
    """Make the named response: against obstacles, or among deformable bodies with the friction of these."""
    made, ruling = RESPONSES[name], scene.between_deformables if among_deformables else scene
    if not issubclass(made, Volume):
        return made(ruling, **options)
    deformable = scene.deformable
    pairs = (
        itertools.combinations(deformable, 2) if among_deformables else itertools.product(deformable, scene.obstacles)
    )
    return made(ruling, intersect=[_gradient(scene, name, *pair).at for pair in pairs], **options)


def _gradient(scene: Scene, name: str, a: int, b: int) -> VolumeGradient:
    for body in (scene.bodies[a], scene.bodies[b]):
        issues = body.mesh.surface.issues
        if not issues.closed or issues.inward or not body.mesh.surface.n_faces:
            defect = "has faces oriented inward" if issues.closed and issues.inward else "is open"
            why = f"{body.label!r} {defect}; use 'projection' or 'penalty'"
            raise ValueError(f"response {name!r} needs closed bodies with faces outward, which have a volume; {why}")
    sides = (Side(scene.bodies[body].mesh.surface, int(scene.first[body]), body) for body in (a, b))
    return VolumeGradient(*sides)

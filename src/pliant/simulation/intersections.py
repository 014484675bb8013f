"""The responses of a simulation, and for those that need it the intersections of pairs of its bodies."""

import itertools
from typing import Any

from ..detect.base import Side
from ..detect.queries.volume_gradient import VolumeGradient
from ..respond import RESPONSES, Projection, Response, Volume
from ..scene import Body, Scene


def make_response(
    scene: Scene, name: str, *, among_deformables: bool = False, coloured: bool = False, **options: Any
) -> Response:
    """Make the named response: against obstacles, or among deformable bodies with the friction of these."""
    made, ruling = RESPONSES[name], scene.between_deformables if among_deformables else scene
    if issubclass(made, Projection):
        options["coloured"] = coloured
    if not issubclass(made, Volume):
        return made(ruling, **options)
    deformable = scene.deformable
    pairs = (
        itertools.combinations(deformable, 2) if among_deformables else itertools.product(deformable, scene.obstacles)
    )
    return made(ruling, intersect=[_gradient(scene, name, *pair).at for pair in pairs], **options)


def response_reasons(scene: Scene) -> dict[str, str]:
    """Return for every response why it cannot be used against the obstacles of a scene; empty if it can."""
    defects = [found for b in (*scene.deformable, *scene.obstacles) if (found := _defect(scene.bodies[b]))]
    why = f"needs closed bodies, but {defects[0]}" if defects else ""
    return {name: why if made.needs_closed else "" for name, made in RESPONSES.items()}


def _defect(body: Body) -> str:
    """Return why a body has no volume; empty if it has one."""
    surface = body.mesh.surface
    if not surface.n_faces or not surface.issues.closed:
        return f"{body.label!r} is open"
    return f"{body.label!r} has faces oriented inward" if surface.issues.inward else ""


def _gradient(scene: Scene, name: str, a: int, b: int) -> VolumeGradient:
    for body in (scene.bodies[a], scene.bodies[b]):
        if defect := _defect(body):
            why = f"{defect}; use 'projection' or 'penalty'"
            raise ValueError(f"response {name!r} needs closed bodies with faces outward, which have a volume; {why}")
    sides = (Side(scene.bodies[body].mesh.surface, int(scene.first[body]), body) for body in (a, b))
    return VolumeGradient(*sides)

"""The scenes that a drape can be differentiated in; the others are refused by name."""

import numpy as np

from ... import validate
from ...dynamics import SOLVERS
from ...scene import Scene


def check_solver(solver: str) -> None:
    """Raise an error unless the solver can be differentiated."""
    if validate.choice("solver", solver, SOLVERS) == "implicit":
        advice = 'its iteration is truncated and in single precision (docs/decisions/0012); pass solver="xpbd"'
        raise ValueError(f"solver = 'implicit' has no gradient in a differentiable drape; {advice}")


def check_scene(scene: Scene) -> None:
    """Raise an error that names the first property of a scene with which there is no gradient."""
    if len(scene.deformable) != 1 or len(scene.cloths) != 1:
        raise ValueError(f"scene {scene.name!r} has {_counted(scene)}; a differentiable drape has exactly one cloth")
    cloth, body = scene.cloths[0], scene.bodies[scene.cloths[0]]
    refused = {
        f"self_contact = {scene.self_contact!r}": (scene.self_contact != "off", 'pass self_contact="off"'),
        f"friction_model = {scene.friction_model!r}": (scene.friction_model != "coulomb", 'pass "coulomb"'),
        f"restitution = {scene.restitution:g}": (scene.restitution != 0.0, "pass 0"),
        "stitches": (bool(scene.seams), "sew the mesh before"),
        "rest_scale": (not isinstance(body.rest_scale, tuple) or body.rest_scale != (1.0, 1.0), "pass rest positions"),
        "group of obstacles": (any(scene.bodies[b].group for b in scene.obstacles), "join their meshes"),
    }
    for name, (found, advice) in refused.items():
        if found:
            raise ValueError(f"{name} has no gradient in a differentiable drape; {advice}")
    for b in (cloth, *scene.obstacles):
        mesh = scene.bodies[b].mesh
        if mesh.welded.n_vertices != mesh.n_vertices:
            count = mesh.n_vertices - mesh.welded.n_vertices
            raise ValueError(f"mesh {mesh.name!r} has {count} vertices at places of others; pass mesh.welded")
    mesh = body.mesh
    if len(mesh.issues.degenerate):
        raise ValueError(
            f"mesh {mesh.name!r}: face {int(mesh.issues.degenerate[0])} has no area; repair the cloth before"
        )
    unused = np.setdiff1d(np.arange(mesh.n_vertices), mesh.faces)
    if len(unused):
        raise ValueError(f"mesh {mesh.name!r}: vertex {int(unused[0])} belongs to no face; remove it before")


def _counted(scene: Scene) -> str:
    kinds = {"cloths": scene.cloths, "soft bodies": scene.solids, "strands": scene.strands}
    return ", ".join(f"{len(found)} {name}" for name, found in kinds.items() if found) or "no cloth"

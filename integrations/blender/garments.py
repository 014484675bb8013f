"""The objects that the user has chosen, refused with a reason where they cannot be used."""

import contextlib

import bpy

from .process import Problem
from .recording import Recording, record, with_own_vertices


def chosen(scene: bpy.types.Scene) -> tuple[bpy.types.Object, list[bpy.types.Object]]:
    """The garment and its bodies."""
    settings = scene.pliant
    if settings.garment is None:
        raise Problem("no garment is chosen; choose one in the panel Pliant")
    bodies = chosen_bodies(scene, [settings.garment])
    _check(scene, [settings.garment])
    return settings.garment, bodies


def chosen_bodies(scene: bpy.types.Scene, garments: list[bpy.types.Object]) -> list[bpy.types.Object]:
    """The body, or the meshes of the collection of bodies, without the garments."""
    settings = scene.pliant
    bodies = [settings.body] if settings.bodies is None and settings.body else []
    if settings.bodies is not None:
        bodies = [thing for thing in settings.bodies.all_objects if thing.type == "MESH" and thing not in garments]
        if not bodies:
            raise Problem(f"collection {settings.bodies.name!r} has no meshes besides the garment")
    for garment in garments:
        if garment in bodies:
            raise Problem(f"{garment.name!r} is chosen as garment and as body")
    _check(scene, bodies, changed=False)
    return bodies


def layers(scene: bpy.types.Scene) -> list[tuple[bpy.types.Object, str, str]]:
    """The garments to drape, inner to outer, each with its material and the vertex group of its pins."""
    settings = scene.pliant
    rows = [(settings.garment, settings.material, settings.pins)]
    rows += [(layer.garment, layer.material, layer.pins) for layer in settings.layers]
    for k, (garment, _, pins) in enumerate(rows):
        if garment is None:
            raise Problem("no garment is chosen; choose one in the panel Pliant, or remove the empty layer")
        if any(garment == other for other, _, _ in rows[:k]):
            raise Problem(f"{garment.name!r} is chosen twice; each layer is another garment")
        if pins and pins not in garment.vertex_groups:
            raise Problem(f"{garment.name!r} has no vertex group {pins!r}; choose one of its own for its pins")
    _check(scene, [garment for garment, _, _ in rows])
    return rows


def pinned(thing: bpy.types.Object, group: str) -> list[int]:
    """The vertices whose weight in a vertex group is more than a half."""
    index = thing.vertex_groups[group].index
    found = [v.index for v in thing.data.vertices if any(g.group == index and g.weight > 0.5 for g in v.groups)]
    if not found:
        raise Problem(f"no vertex of {thing.name!r} has a weight of more than 0.5 in group {group!r}; assign some")
    return found


def named(name: str) -> bpy.types.Object:
    """An object that was there when the command started."""
    if name not in bpy.data.objects:
        raise Problem(f"{name!r} is not there any more; it was deleted or renamed while pliant worked")
    return bpy.data.objects[name]


def recorded(
    scene: bpy.types.Scene,
    garments: list[bpy.types.Object],
    bodies: list[bpy.types.Object],
    without: tuple[str, ...],
) -> tuple[list[Recording], list[Recording]]:
    """The garments, with their own vertices and without these results of Pliant, and the bodies, in every frame."""
    with contextlib.ExitStack() as stack:
        for garment in garments:
            stack.enter_context(with_own_vertices(garment, without=without))
        found = record(scene, [*garments, *bodies])
    for garment, recording in zip(garments, found):
        if recording.frames.shape[1] != len(garment.data.vertices):
            raise Problem(f"a modifier of {garment.name!r} changes its vertices; move it to the end of the stack")
    return found[: len(garments)], found[len(garments) :]


def _check(scene: bpy.types.Scene, things: list[bpy.types.Object], changed: bool = True) -> None:
    for thing in things:
        if thing.name not in scene.objects or thing.name not in bpy.context.view_layer.objects:
            raise Problem(f"{thing.name!r} is not in this view layer")
        if thing.mode == "EDIT":
            raise Problem(f"{thing.name!r} is in Edit Mode; leave it first")
        if changed and thing.library is not None:
            raise Problem(f"{thing.name!r} is linked from another file; make a library override of it first")

"""Repaired positions as shape keys: one per frame, keyed so that each acts in its own frame.

Armatures and other modifiers act after shape keys. A key therefore holds the positions that these turn into the
repaired ones; they are found by Newton's method on what Blender evaluates, with the derivative at each vertex by
differences, and accepted only where Blender evaluates them to the repaired positions.
"""

from collections.abc import Callable
from typing import Any

import bpy
import numpy as np

from .process import Problem
from .recording import FIX, evaluated, own_keys, with_own_vertices

STEPS = 12  # of Newton's method; skinning needs one or two
STEP = 1e-3  # of the size: the difference by which derivatives are measured
CLOSE = 2e-6  # of the largest coordinate: within single precision


def write(scene: bpy.types.Scene, thing: bpy.types.Object, frames: np.ndarray) -> None:
    """Replace the keys of Fix by ones for these positions (T,n,3) in the object, after its deforming modifiers."""
    _check(thing)
    now, had_keys, active = scene.frame_current, thing.data.shape_keys is not None, thing.active_shape_key_index
    numbers = range(scene.frame_start, scene.frame_start + len(frames))
    if not had_keys:
        thing.shape_key_add(name="Basis", from_mix=False)
    probe = thing.shape_key_add(name="Pliant Probe", from_mix=False)
    probe.value = 1.0
    basis = _get(probe)
    try:
        found = []
        with with_own_vertices(thing, without=(FIX,)):
            for number, wanted in zip(numbers, frames):
                scene.frame_set(number)
                found.append(_inverse(thing, _evaluation(thing, probe, basis), wanted))
    except Problem:
        thing.shape_key_remove(probe)
        if not had_keys:
            thing.shape_key_clear()
        raise
    finally:
        scene.frame_set(now)
    thing.shape_key_remove(probe)
    remove(thing)
    for number, offset in zip(numbers, found):
        key = thing.shape_key_add(name=FIX if len(frames) == 1 else f"{FIX} {number}", from_mix=False)
        _set(key, basis + offset)
        _animate(key, number, numbers)
    thing.active_shape_key_index = active
    _make_linear(thing)
    scene.frame_set(now)


def remove(thing: bpy.types.Object) -> None:
    """Remove the keys of Fix and their animation."""
    for key in own_keys(thing):
        path = key.path_from_id("value")
        for bag, curve in [pair for pair in _curves(thing.data.shape_keys) if pair[1].data_path == path]:
            bag.fcurves.remove(curve)
        thing.shape_key_remove(key)


def _check(thing: bpy.types.Object) -> None:
    mesh = thing.data
    if mesh.users > 1:
        raise Problem(f"the mesh of {thing.name!r} has {mesh.users} users; make it single-user, or store a mesh cache")
    if mesh.library is not None:
        raise Problem(f"the mesh of {thing.name!r} is linked from another file; store a mesh cache")
    if mesh.shape_keys is not None and not mesh.shape_keys.use_relative:
        raise Problem(f"the shape keys of {thing.name!r} are absolute; make them relative, or store a mesh cache")


def _evaluation(
    thing: bpy.types.Object, probe: bpy.types.ShapeKey, basis: np.ndarray
) -> Callable[[np.ndarray], np.ndarray]:
    """What Blender evaluates in this frame for offsets (n,3) of the basis."""

    def at(offset: np.ndarray) -> np.ndarray:
        _set(probe, basis + offset)
        thing.data.update()
        return evaluated(thing).astype(np.float64)

    return at


def _inverse(thing: bpy.types.Object, at: Callable[[np.ndarray], np.ndarray], wanted: np.ndarray) -> np.ndarray:
    """The offsets (n,3) that are evaluated to the wanted positions."""
    offset = np.zeros(wanted.shape)
    size = max(float(np.ptp(wanted, axis=0).max()), 1e-9)
    bound = CLOSE * max(float(np.abs(wanted).max()), size)
    seen, slope, before = at(offset), None, np.inf
    for _ in range(STEPS):
        worst = float(np.abs(wanted - seen).max())
        if worst <= bound:
            return offset
        if slope is None or worst > 0.25 * before:
            slope = _slopes(at, offset, seen, STEP * size)
            if float(np.abs(np.linalg.det(slope)).min()) < 1e-9:
                break
        before = worst
        offset = offset + np.linalg.solve(slope, (wanted - seen)[:, :, None])[:, :, 0]
        seen = at(offset)
    if float(np.abs(wanted - seen).max()) <= bound:
        return offset
    names = ", ".join(m.name for m in thing.modifiers if m.show_viewport) or "its other shape keys"
    raise Problem(
        f"shape keys of {thing.name!r} cannot hold the result, because {names} after them cannot be inverted; "
        "choose Mesh Cache in the panel"
    )


def _slopes(at: Callable[[np.ndarray], np.ndarray], offset: np.ndarray, seen: np.ndarray, step: float) -> np.ndarray:
    """The derivatives (n,3,3) of each evaluated vertex by its own offset."""
    return np.stack([(at(offset + step * axis) - seen) / step for axis in np.eye(3)], 2)


def _animate(key: bpy.types.ShapeKey, number: int, numbers: range) -> None:
    """Give the key the value 1 in its frame, and 0 in the frames beside it."""
    for frame, value in ((number - 1, 0.0), (number + 1, 0.0), (number, 1.0)):
        key.value = value
        if len(numbers) > 1 and frame in numbers:
            key.keyframe_insert("value", frame=frame)


def _make_linear(thing: bpy.types.Object) -> None:
    paths = {key.path_from_id("value") for key in own_keys(thing)}
    for _, curve in _curves(thing.data.shape_keys):
        for point in curve.keyframe_points if curve.data_path in paths else ():
            point.interpolation = "LINEAR"


def _curves(keys: bpy.types.Key) -> list[tuple[Any, bpy.types.FCurve]]:
    """The animation curves of shape keys, each with the channels that hold it."""
    data = keys.animation_data
    if data is None or data.action is None or data.action_slot is None:
        return []
    strips = [strip for layer in data.action.layers for strip in layer.strips]
    bags = [bag for strip in strips if (bag := strip.channelbag(data.action_slot)) is not None]
    return [(bag, curve) for bag in bags for curve in bag.fcurves]


def _get(key: bpy.types.ShapeKey) -> np.ndarray:
    out = np.empty(3 * len(key.data), np.float32)
    key.data.foreach_get("co", out)
    return out.reshape(-1, 3).astype(np.float64)


def _set(key: bpy.types.ShapeKey, x: np.ndarray) -> None:
    key.data.foreach_set("co", x.astype(np.float32).ravel())

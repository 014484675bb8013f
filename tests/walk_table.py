"""The public callables of pliant with good arguments, and the kind of each parameter (see walk.py)."""

# ruff: noqa: E501  (tables)
import dataclasses
import pathlib
from typing import Any

import numpy as np

import pliant
from characters import post, sleeve
from pliant.detect.methods import METHODS
from pliant.motion.clip import Clip
from pliant.motion.deforming import Attached, Recorded
from walk import Call

X = np.array([[0.0, 0, 0], [1, 0, 0], [0, 0, 1], [1, 0, 1], [0.5, 1, 0.5]])
F = np.array([[0, 2, 1], [1, 2, 3]])
CENTRE = {"centre": "array"}


def table(folder: pathlib.Path) -> list[Call]:
    flat = pliant.Mesh(X, F)
    above = pliant.Mesh(X + np.array([0.05, 0.01, 0.02]), F)
    body = pliant.shapes.box(0.4, 1)
    bar = pliant.shapes.bar((0.2, 0.1, 0.1), (1, 1, 1))
    sheet = pliant.shapes.cloth(0.3, 0.3, 2, centre=(0.0, 0.205, 0.0))
    clip = Clip(flat, np.stack([X, X + 0.1]))
    motion = pliant.Motion.hinge((0, 1, 0), (0, 0, 0), [0.0, 1.0], [0.0, 1.0])
    moving = Recorded(np.array([0.0, 1.0]), np.stack([X, X + 0.1]))
    scene = pliant.Scene([pliant.Body(sheet), pliant.Body(body, obstacle=True)], eps=0.02)
    character = post(rings=4, around=4)
    field = pliant.DistanceField.bake(body, 6)
    saved = folder / "mesh.obj"
    pliant.save(saved, flat)
    pliant.save_animation(folder / "clip.npz", [clip], 30.0)
    pliant.save_character(folder / "character.glb", character)
    field.save(folder / "field.npz")
    pliant.Simulation(scene, method="brute-force").save(folder / "state.npz")
    return [
        *_shapes(),
        *_meshes(flat, clip, folder),
        *_nouns(flat, body, bar, clip, motion, moving, character, scene),
        *_questions(flat, above, body, bar, folder),
        *_fields(body, field, folder),
        *_detectors(sheet, body, above, flat, field),
        *_runs(scene, sheet, body, folder, character),
        *_gradients(scene, sheet),
    ]


def _shapes() -> list[Call]:
    s = pliant.shapes
    thing = {"size": 0.1}
    return [
        Call("shapes.ball", s.ball, {"subdivisions": 0}, {"radius": "number", "subdivisions": "whole", **CENTRE}),
        Call("shapes.bar", s.bar, {"divisions": 1}, {"size": "array", "divisions": "array", **CENTRE}),
        Call(
            "shapes.bowl",
            s.bowl,
            {"resolution": 4},
            {"radius": "number", "thickness": "number", "resolution": "whole", **CENTRE},
        ),
        Call("shapes.box", s.box, {"divisions": 1}, {"size": "array", "divisions": "array", **CENTRE}),
        Call(
            "shapes.cloth",
            s.cloth,
            {"resolution": 2},
            {
                "width": "number", "height": "number", "resolution": "array", "irregular": "flag", "seed": "whole",
                "plane": "choice", **CENTRE,
            },
        ),
        Call("shapes.torus", s.torus, {"around": 5, "across": 4}, {"major": "number", "minor": "number", "around": "whole", "across": "whole", **CENTRE}),
        Call("shapes.cylinder", s.cylinder, {"resolution": 1}, {"radius": "number", "height": "number", "resolution": "whole", **CENTRE}),
        Call("shapes.tet_ball", s.tet_ball, {"radius": 0.1, **thing}, {"radius": "number~", "size": "number?", **CENTRE}),
        Call("shapes.tet_box", s.tet_box, thing, {"edges": "array", "size": "number?", "rounding": "number?", **CENTRE}),
        Call("shapes.creature", s.creature, {"size": 0.03}, {"length": "number~", "size": "number?", **CENTRE}),
        Call("shapes.liver", s.liver, {"size": 0.044}, {"length": "number~", "size": "number?", **CENTRE}),
        Call("shapes.intestine", s.intestine, {"size": 0.012, "bends": 0, "width": 0.03}, {"radius": "number", "bends": "whole", "width": "number", "size": "number?", **CENTRE}),
        Call("shapes.face", s.face, {"resolution": 5}, {"resolution": "whole"}),
        Call("shapes.face_heights", s.face_heights, {"resolution": 5}, {"resolution": "whole"}),
        Call("shapes.bust", s.bust, {"detail": 0.7}, {"detail": "number~"}),
        Call("shapes.mannequin", s.mannequin, {"detail": 0.7}, {"detail": "number~"}),
        Call("shapes.mannequin_rig", s.mannequin_rig, {"detail": 0.7}, {"detail": "number~"}),
        Call("shapes.walking_mannequin", s.walking_mannequin, {"detail": 0.7}, {"detail": "number~"}),
        Call(
            "shapes.cape", s.cape, {"spacing": 0.1},
            {"length": "number", "centre": "array", "radius": "number", "angle": "number", "slope": "number", "spacing": "number"},
        ),
        Call("shapes.shirt_panels", s.shirt_panels, {"spacing": 0.05}, {"spacing": "number"}),
        Call(
            "shapes.skirt", s.skirt, {"spacing": 0.04},
            {"length": "number", "flare": "number", "waist": "number", "ease": "number", "spacing": "number"},
        ),
        Call(
            "shapes.strands", s.strands, {"roots": [[0.0, 0, 0]], "directions": [[0.0, 1, 0]]},
            {"roots": "array", "directions": "array", "length": "number", "points": "whole", "curl": "number", "turns": "number", "name": "text"},
        ),
        Call("shapes.trousers", s.trousers, {"spacing": 0.04}, {"waist": "number", "hem": "number", "ease": "number", "spacing": "number"}),
        Call(
            "shapes.stuffed",
            s.stuffed,
            {"function": lambda p: np.linalg.norm(p, axis=1) - 0.1, "low": (-0.1,) * 3, "high": (0.1,) * 3, "size": 0.1},
            {"function": "called", "low": "array", "high": "array", "size": "number", "slope": "number?", "name": "text", "max_bytes": "number?"},
        ),
    ]  # fmt: skip


def _meshes(flat: Any, clip: Any, folder: pathlib.Path) -> list[Call]:
    file, units = {"path": folder / "mesh.obj"}, {"units": "number", "up": "choice", "max_bytes": "whole?"}
    return [
        Call("load", pliant.load, file, {"path": "path", "part": "text?", **units}, {"up": "axis"}),
        Call(
            "load_character", pliant.load_character, {"path": folder / "character.glb"},
            {"path": "path", "part": "text?", **units}, {"up": "axis"},
        ),
        Call(
            "load_clip", pliant.load_clip, {"path": folder / "clip.npz"},
            {"path": "path", "part": "text?", "points": "path?", "clip": "text?", "fps": "number?", **units}, {"up": "axis"},
        ),
        Call("load_heights", pliant.load_heights, {"path": folder / "no.png"}, {"path": "path", "max_bytes": "whole?"}),
        Call("save", pliant.save, {"path": folder / "out.obj", "mesh": flat}, {"path": "path", "mesh": "mesh"}),
        Call(
            "save_animation", pliant.save_animation, {"path": folder / "out.npz", "clips": [clip], "fps": 30.0},
            {"path": "path", "clips": "several", "fps": "number"},
        ),
        Call(
            "save_character", pliant.save_character, {"path": folder / "out.glb", "character": post(rings=4, around=4)},
            {"path": "path", "character": "instance"},
        ),
        Call(
            "Mesh", pliant.Mesh, {"vertices": X, "faces": F},
            {"vertices": "array", "faces": "array", "tets": "array", "uv": "array?", "material": "array?", "name": "text", "groups": "array?", "marks": "instance", "lines": "array"},
        ),
        Call("Mesh.from_tets", pliant.Mesh.from_tets, {"vertices": X, "tets": [[0, 1, 2, 4]]}, {"vertices": "array", "tets": "array"}),
        Call("Mesh.from_lines", pliant.Mesh.from_lines, {"vertices": X, "lines": [[0, 1]]}, {"vertices": "array", "lines": "array"}),
        Call("Mesh.moved", flat.moved, {"vertices": X}, {"vertices": "array"}),
    ]  # fmt: skip


def _nouns(
    flat: Any, body: Any, bar: Any, clip: Any, motion: Any, moving: Any, character: Any, scene: Any
) -> list[Call]:
    cloth = dict.fromkeys(("density", "stretch", "shear", "bend", "damping", "air", "strain_limit"), "number")
    cloth |= dict.fromkeys(("stretch_weft", "bend_weft", "thickness", "friction", "self_friction"), "number?")
    return [
        Call("Cloth", pliant.Cloth, {}, cloth),
        Call("Solid", pliant.Solid, {}, dict.fromkeys(("young", "poisson", "density", "damping"), "number")),
        Call(
            "Strands", pliant.Strands, {},
            {**dict.fromkeys(("density", "stretch", "bend", "radius", "damping", "air"), "number"), **dict.fromkeys(("friction", "self_friction"), "number?")},
        ),
        Call("select", pliant.select, {"mesh": flat, "selection": "all"}, {"mesh": "mesh", "selection": "text"}),
        Call("Stitches", pliant.Stitches, {"rows": [0], "onto": [[1, 2]]}, {"rows": "rows", "onto": "array", "share": "array?", "bodies": "several"}),
        Call("Stitches.pairs", pliant.Stitches.pairs, {"pairs": [[0, 1]]}, {"pairs": "array", "bodies": "several"}),
        Call("Grip", pliant.Grip, {"rows": [0], "motion": motion}, {"rows": "rows", "motion": "instance"}),
        Call(
            "Body", pliant.Body, {"mesh": flat},
            {
                "mesh": "mesh", "obstacle": "flag", "material": "instance", "pins": "rows", "velocity": "array", "flat": "flag",
                "color": "array?", "name": "text", "motion": "instance?", "group": "text", "grips": "several", "layer": "whole",
                "warp": "choice", "stitches": "array", "rest_scale": "array", "heights": "instance?",
            },
        ),
        Call(
            "Scene", pliant.Scene, {"bodies": [pliant.Body(flat), pliant.Body(body, obstacle=True)]},
            {
                "bodies": "several", "gravity": "array", "wind": "array", "eps": "number", "friction": "number?",
                "friction_model": "choice", "restitution": "number", "name": "text", "self_contact": "choice",
                "thickness": "number?", "overlaps": "several", "overlap_resolution": "whole", "self_friction": "number?",
                "stitches": "several", "closing": "number",
            },
        ),
        Call("Clip", pliant.Clip, {"mesh": flat, "frames": X[None]}, {"mesh": "mesh", "frames": "array", "color": "array", "poses": "array?", "skin": "instance?", "subdivision": "instance?"}),
        Call(
            "Motion", pliant.Motion, {"times": [0.0, 1.0], "poses": np.stack([np.eye(3, 4)] * 2)},
            {"times": "array", "poses": "array", "pivot": "array", "cycle": "number?", "parent": "instance?"},
        ),
        Call(
            "Motion.hinge", pliant.Motion.hinge, {"axis": (0, 1, 0), "centre": (0, 0, 0), "times": [0, 1], "angles": [0, 1]},
            {"axis": "array", "centre": "array", "times": "array", "angles": "array", "smooth": "flag", "parent": "instance?"},
        ),
        Call(
            "Motion.spin", pliant.Motion.spin, {"axis": (0, 1, 0), "centre": (0, 0, 0), "rate": 1.0},
            {"axis": "array", "centre": "array", "rate": "number", "start": "number", "ramp": "number", "parent": "instance?"},
        ),
        Call("Motion.at", motion.at, {"time": 0.5}, {"time": "number"}),
        Call("Recorded", Recorded, {"times": [0.0, 1.0], "frames": np.stack([X, X])}, {"times": "array", "frames": "array"}),
        Call(
            "Attached.at", Attached.at, {"carrier": moving, "x": X, "corners": [[0, 1, 2]], "points": X[:1]},
            {"carrier": "instance", "x": "array", "corners": "array", "points": "array"},
        ),
        Call(
            "Skinned", pliant.Skinned, {"character": character},
            {"character": "instance", "clip": "text?", "lead_in": "number", "loop": "flag", "rows": "rows?", "frame": "instance?"},
        ),
        Call("Character.shape", character.shape, {"clip": None, "time": 0.0}, {"clip": "text?", "time": "number"}),
        Call("Character.skin_matrices_at", character.skin_matrices_at, {"clip": None, "times": [0.0]}, {"clip": "text?", "times": "array"}),
    ]  # fmt: skip


def _questions(flat: Any, above: Any, body: Any, bar: Any, folder: pathlib.Path) -> list[Call]:
    pair = {"a": above, "b": flat}
    p = np.arange(24.0).reshape(2, 4, 3) % 5
    impact = {"p_0": "array", "p_1": "array", "method": "choice", "tolerance": "number"}
    g = pliant.geometry
    return [
        Call("choose_method", pliant.choose_method, pair, {"a": "mesh", "b": "mesh?", "within": "number"}),
        Call("find_contacts", pliant.find_contacts, {**pair, "method": "brute-force"}, {"a": "mesh", "b": "mesh?", "method": "choice", "within": "number"}),
        Call("find_contact_batch", pliant.find_contact_batch, {**pair, "method": "brute-force"}, {"a": "mesh", "b": "mesh?", "x_a": "array?", "x_b": "array?", "method": "choice", "within": "number"}),
        Call("intersections", pliant.intersections, pair, {"a": "mesh", "b": "mesh?"}),
        Call("closest_point", pliant.closest_point, {"mesh": flat, "points": X}, {"mesh": "mesh", "points": "array"}),
        Call("ClosestPoints", pliant.ClosestPoints, {"mesh": flat}, {"mesh": "mesh", "behind": "flag"}),
        Call("ClosestPoints.query", pliant.ClosestPoints(flat).query, {"points": X}, {"points": "array", "guess": "array?"}),
        Call("DeformingClosestPoints", pliant.DeformingClosestPoints, {"mesh": flat}, {"mesh": "mesh"}),
        Call("DeformingClosestPoints.update", pliant.DeformingClosestPoints(flat).update, {"x": X}, {"x": "array"}),
        Call("Intersections", pliant.Intersections, pair, {"a": "mesh", "b": "mesh?", "max_bytes": "number?"}),
        Call("Intersections.update", pliant.Intersections(flat, above).update, {}, {"x_a": "array?", "x_b": "array?"}),
        Call("Overlaps", pliant.Overlaps, {"a": body, "b": body, "resolution": 4}, {"a": "mesh", "b": "mesh", "resolution": "whole", "axis": "whole?"}),
        Call("collision_free_step", pliant.collision_free_step, {"mesh": flat, "x_0": X, "x_1": X}, {"mesh": "mesh", "x_0": "array", "x_1": "array", "tolerance": "number"}),
        Call("overlap", pliant.overlap, {"a": body, "b": body, "resolution": 4}, {"a": "mesh", "b": "mesh", "resolution": "whole", "axis": "whole?"}),
        Call("cut", pliant.cut, {"mesh": bar, "point": (0, 0, 0), "normal": (1, 0, 0)}, {"mesh": "mesh", "point": "array", "normal": "array", "reach": "number?", "x": "array?"}),
        Call("proxy", pliant.proxy, {"garment": flat}, {"garment": "mesh", "vertices": "whole", "body": "mesh?"}),
        Call("Wrap", pliant.Wrap, {"garment": flat, "proxy": flat}, {"garment": "mesh", "proxy": "mesh", "rigid": "number?"}),
        Call("Wrap.place", pliant.Wrap(flat, flat).place, {"x": X}, {"x": "array"}),
        Call("fill_with_tets", pliant.fill_with_tets, {"surface": body, "size": 0.3}, {"surface": "mesh", "size": "number?", "max_bytes": "number?", "progress": "called?"}),
        Call("geometry.point_triangle_distance", g.point_triangle_distance, {"p": p}, {"p": "array"}),
        Call("geometry.edge_edge_distance", g.edge_edge_distance, {"p": p}, {"p": "array"}),
        Call("geometry.vertex_face_impact", g.vertex_face_impact, {"p_0": p, "p_1": p}, impact),
        Call("geometry.edge_edge_impact", g.edge_edge_impact, {"p_0": p, "p_1": p}, impact),
        Call("contacts.gap", pliant.contacts.gap, {"contacts": pliant.contacts.empty(1), "x": X}, {"contacts": "array", "x": "numbers"}),
        Call("contacts.table", pliant.contacts.table, {"contacts": pliant.contacts.empty(1)}, {"contacts": "array"}),
        Call("contacts.empty", pliant.contacts.empty, {}, {"count": "whole"}),
        Call("contacts.sort", pliant.contacts.sort, {"contacts": pliant.contacts.empty(1)}, {"contacts": "array"}),
        Call("contacts.concatenate", pliant.contacts.concatenate, {"parts": [pliant.contacts.empty(1)]}, {"parts": "several"}),
        Call("contacts.concatenate_unsorted", pliant.contacts.concatenate_unsorted, {"parts": [pliant.contacts.empty(1)]}, {"parts": "several"}),
        Call("check", pliant.check, {"garment": above, "body": body}, {"garment": "mesh", "body": "mesh?", "fps": "number", "every": "whole", "progress": "called?"}),
        Call(
            "bind", pliant.bind, {"garment": sleeve(rings=3, around=8), "character": post(rings=4, around=4), "max_distance": 0.5},
            {
                "garment": "mesh", "character": "instance", "pose": "choice", "clip": "choice?", "time": "number", "max_distance": "number?",
                "max_angle": "number", "influences": "whole", "smooth": "whole", "progress": "called?",
            },
        ),
        Call(
            "fix", pliant.fix, {"garment": above, "body": body},
            {
                "garment": "mesh", "body": "mesh?", "clearance": "number", "inner": "several", "untangle": "flag", "max_strain": "number?",
                "fps": "number", "progress": "called?",
            },
        ),
        Call(
            "compare", pliant.compare, {"a": above, "b": body, "frames": 1, "methods": ["brute-force"], "within": 0.01},
            {
                "a": "mesh", "b": "mesh?", "within": "number?", "frames": "whole", "every": "whole?", "methods": "several?", "seed": "whole",
                "progress": "called?",
            },
        ),
    ]  # fmt: skip


def _fields(body: Any, field: Any, folder: pathlib.Path) -> list[Call]:
    grid = pliant.HeightGrid.of_mesh(body, resolution=3)
    seen = {"resolution": "whole", "spacing": "number?", "max_bytes": "number?"}
    placed = {"spacing": "array", "direction": "choice", "origin": "array"}
    heights = np.zeros((3, 3))
    return [
        Call(
            "DistanceField.bake", pliant.DistanceField.bake, {"mesh": body, "resolution": 4},
            {
                "mesh": "mesh", "resolution": "whole", "spacing": "number?", "band": "number", "margin": "number", "sign": "choice",
                "storage": "choice", "like": "instance?", "max_bytes": "number?", "progress": "called?",
            },
        ),
        Call("DistanceField.sample", field.sample, {"points": X}, {"points": "array"}),
        Call("DistanceField.rebake", field.rebake, {"vertices": body.vertices}, {"vertices": "array", "progress": "called?"}),
        Call("DistanceField.error", field.error, {"samples": 5}, {"samples": "whole", "seed": "whole", "within": "number?"}),
        Call("DistanceField.save", field.save, {"path": folder / "f.npz"}, {"path": "path"}),
        Call("DistanceField.load", pliant.DistanceField.load, {"path": folder / "field.npz"}, {"path": "path", "max_bytes": "number?"}),
        Call("HeightGrid", pliant.HeightGrid, {"heights": heights, "spacing": 0.1}, {"heights": "array", **placed, "velocity": "array?"}),
        Call("HeightGrid.of_mesh", pliant.HeightGrid.of_mesh, {"mesh": body, "resolution": 3}, {"mesh": "mesh", "direction": "choice", **seen}),
        Call(
            "HeightGrid.of_picture", pliant.HeightGrid.of_picture, {"picture": heights, "spacing": 0.1},
            {"picture": "array", "spacing": "array", "scale": "number", "direction": "choice", "centre": "array", "empty": "number?"},
        ),
        Call("HeightGrid.sample", grid.sample, {"points": X}, {"points": "array"}),
        Call("HeightGrid.update", grid.update, {"x": body.vertices}, {"x": "array", "v": "array?"}),
        Call("HeightGrid.seek", grid.seek, {"time": 0.0}, {"time": "number"}),
        Call("HeightGrids", pliant.HeightGrids, {"grids": [grid]}, {"grids": "several", "whole": "flag"}),
        Call("HeightGrids.around", pliant.HeightGrids.around, {"mesh": body, "resolution": 3}, {"mesh": "mesh", "directions": "several?", **seen}),
        Call("HeightSequence", pliant.HeightSequence, {"times": [0.0, 1.0], "heights": np.zeros((2, 3, 3)), "spacing": 0.1}, {"times": "array", "heights": "array", **placed}),
    ]  # fmt: skip


TREE = {"arity": "whole", "split": "choice"}
BVH = {"volume": "choice", "leaf": "whole", "update": "choice", "margin": "number?", "worse": "number?", **TREE}
OPTIONS: dict[str, dict[str, str]] = {
    "brute-force": {"max_bytes": "number?"},
    "distance-field": {
        "field": "instance?", "spacing": "number?", "tolerance": "number?", "midpoints": "flag", "cache": "flag",
        "max_bytes": "number?", "progress": "called?", "share": "number?",
    },
    "bvh": {"cull": "flag", "max_bytes": "number?", **BVH},
    "continuous": {"solver": "choice", "tolerance": "number", "max_bytes": "number?", "velocity_cones": "flag", **BVH},
    "height-grid": {"grids": "instance?", "directions": "several?", "resolution": "whole?", "midpoints": "flag", "max_bytes": "number?"},
    "bone-boxes": {"slabs": "whole", "midpoints": "flag", "exact": "flag", "deep": "flag", "every": "number"},
    "sphere-surface": {"levels": "whole?", "tolerance": "number?", "camera": "array?", "child": "choice", "cull": "flag", "max_bytes": "number?", **TREE},
    "spatial-hash": {"cell": "number?", "table": "whole?", "hash": "choice", "depth": "choice", "max_bytes": "number?"},
    "stochastic-bvh": {
        "quality": "number", "budget_ms": "number?", "budget_tests": "whole?", "clock": "called", "max_bytes": "number?",
        "arity": "whole", "split": "choice",
    },
    "active-pairs": {"fresh": "whole", "seed": "whole", "far": "number?", "spread": "whole?", "tracking": "choice", "max_bytes": "number?"},
    "image-space": {"test": "choice?", "resolution": "whole?"},
}  # fmt: skip


def _detectors(sheet: Any, body: Any, above: Any, flat: Any, field: Any) -> list[Call]:
    found = []
    for method in METHODS:
        good: dict[str, Any] = {"a": sheet, "b": body, "within": 0.02}
        if method == "distance-field":
            good["field"] = field
        if method == "height-grid":
            good["resolution"] = 4
        if method == "active-pairs":
            good["fresh"] = 4

        def make(method: str = method, **given: Any) -> Any:
            return pliant.detector(method, given.pop("a"), given.pop("b"), **given).find()

        kinds = {"a": "mesh", "b": "mesh?", "within": "number", **OPTIONS[method]}
        found.append(Call(f"detector {method}", make, good, kinds))
    one = pliant.detector("continuous", above, flat)  # the method that takes start_a and start_b
    start = dict.fromkeys(("x_a", "x_b", "start_a", "start_b"), "array?")
    found.append(Call("detector", pliant.detector, {"method": "brute-force", "a": above}, {"method": "choice"}))
    found.append(Call("detector.update", one.update, {}, start))
    return found


def _runs(scene: Any, sheet: Any, body: Any, folder: pathlib.Path, character: Any) -> list[Call]:
    def simulate(**given: Any) -> Any:
        return pliant.Simulation(**given).step()

    sim = pliant.Simulation(scene, method="brute-force", substeps=1)
    made = {"options": "mapping?", "detectors": "several?", "self_options": "mapping?", "clock": "instance?"}
    return [
        Call(
            "Simulation", simulate, {"scene": scene, "method": "brute-force", "substeps": 1},
            {
                "scene": "instance", "dt": "number", "substeps": "whole?", "method": "choice", "response": "choice", "self_method": "choice?",
                "self_response": "choice?", "state": "instance?", **made,
            },
        ),
        Call("Simulation.run", sim.run, {"frames": 1}, {"frames": "whole"}),
        Call("Simulation.to", sim.to, {"device": "cpu"}, {"device": "choice"}),
        Call("Simulation.batch", pliant.Simulation.batch, {"scenes": [scene], "device": "cpu"}, {"scenes": "several", "dt": "number", "device": "choice"}),
        Call("Simulation.grab", sim.grab, {"origin": (0, 2, 0), "along": (0, -1, 0)}, {"origin": "array", "along": "array"}),
        Call("Simulation.save", sim.save, {"path": folder / "s.npz"}, {"path": "path"}),
        Call("Simulation.load", pliant.Simulation.load, {"path": folder / "state.npz", "scene": scene}, {"path": "path", "scene": "instance", **made}),
        Call(
            "dress_scene", pliant.dress_scene, {"garments": [character.mesh.moved(1.05 * character.mesh.vertices)], "character": character},
            {
                "garments": "several", "character": "instance", "clip": "text?", "lead_in": "number?", "loop": "flag", "teleports": "choice",
                "root_motion": "choice", "hold": "choice", "ease": "number", "eps": "number?", "material": "choice?", "name": "text",
            },
        ),
        Call(
            "recorded_scene", pliant.recorded_scene, {"garments": [sheet], "body": Clip(body, body.vertices[None]), "fps": 30.0},
            {
                "garments": "several", "body": "instance", "fps": "number", "lead_in": "number?", "rest": "mesh?", "hold": "choice",
                "eps": "number?", "material": "choice?", "name": "text",
            },
        ),
        Call(
            "record", pliant.record, {"sim": sim, "frames": 1, "measure": False},
            {"sim": "instance", "frames": "whole", "measure": "flag", "count_intersections": "flag?", "progress": "called?", "watch": "called?"},
        ),
        Call(
            "drape", pliant.drape, {"cloth": sheet, "body": body, "frames": 1, "substeps": 1, "method": "brute-force", "measure": False},
            {
                "cloth": "mesh", "body": "mesh", "frames": "whole?", "dt": "number", "substeps": "whole?", "method": "choice?", "measure": "flag",
                "progress": "called?", "proxy": "whole?",
            },
        ),
    ]  # fmt: skip


def _gradients(scene: Any, sheet: Any) -> list[Call]:
    scene = dataclasses.replace(scene, self_contact="off")
    drape = pliant.DifferentiableDrape(scene, substeps=1)
    arrays = dict.fromkeys(("x", "v", "rest", "pins", "body"), "array?")
    numbers = dict.fromkeys(
        ("stretch", "stretch_weft", "shear", "bend", "density", "damping", "air", "friction"), "number?"
    )
    tape = drape.run(1)
    return [
        Call(
            "DifferentiableDrape", pliant.DifferentiableDrape, {"scene": scene},
            {"scene": "instance", "dt": "number", "solver": "choice", "substeps": "whole?", "width": "number", "memory": "number"},
        ),
        Call("DifferentiableDrape.run", drape.run, {"frames": 1}, {"frames": "whole", **arrays, **numbers}),
        Call("DrapeTape.backward", tape.backward, {"of_x": tape.x}, {"of_x": "array", "of_v": "array?"}),
    ]  # fmt: skip

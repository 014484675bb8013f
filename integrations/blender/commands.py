"""What Check, Fix and Bind exchange with the pliant process."""

from typing import Any

import bpy
import numpy as np

from . import caches, depths, garments, shape_keys, skinning
from .jobs import Job
from .process import Problem
from .recording import FIX, Recording, joined


class WithRecording(Job):
    """A job on one garment, and on its bodies if there are any, in every frame of the scene."""

    without: tuple[str, ...] = ()  # results of Pliant that are left out

    def record(self) -> list[str]:
        """Write garment.npz and body.npz; return the words that name them."""
        garment, bodies = garments.chosen(self.scene)
        (worn,), others = garments.recorded(self.scene, [garment], bodies, self.without)
        self.garment_name, self.recording = garment.name, worn
        fps = self.scene.render.fps / self.scene.render.fps_base
        worn.save(str(self.process.folder / "garment.npz"), fps)
        if not others:
            return ["garment.npz"]
        joined(others).save(str(self.process.folder / "body.npz"), fps)
        return ["garment.npz", "--body", "body.npz"]

    recording: Recording

    @property
    def garment(self) -> bpy.types.Object:
        return garments.named(self.garment_name)


class Check(WithRecording):
    label = "Check"

    def words(self) -> list[str]:
        files = self.record()
        return ["check", *files, *(["--distances", "distances.npz"] if len(files) > 1 else [])]

    def bring_back(self, found: dict[str, Any]) -> str:
        path, metres = self.process.folder / "distances.npz", self.scene.unit_settings.scale_length
        if path.is_file():
            with np.load(path) as stored:
                depths.show(self.garment, stored["distances"] / metres)
        return depths.list_findings(self.scene, found)


class Fix(WithRecording):
    label, changes = "Fix", True
    without = (FIX,)

    def words(self) -> list[str]:
        settings = self.scene.pliant
        clearance = settings.clearance * self.scene.unit_settings.scale_length
        if settings.store == "CACHE":
            caches.folder()  # refused before the work starts
        tangles = [] if settings.untangle else ["--no-tangles"]
        return ["fix", *self.record(), "-o", "fixed.npz", "--clearance", f"{clearance:.9g}m", *tangles]

    def bring_back(self, found: dict[str, Any]) -> str:
        with np.load(self.process.folder / "fixed.npz") as stored:
            frames = stored["frames_0"] if "frames_0" in stored else stored["vertices"][None]
        scene, garment = self.scene, self.garment
        local = caches.local_frames(scene, frames, self.recording.matrices)
        if scene.pliant.store == "KEYS":
            shape_keys.write(scene, garment, local)
            if FIX in garment.modifiers:
                garment.modifiers.remove(garment.modifiers[FIX])
        else:
            path = caches.cache_file(garment, "fix")
            caches.write_pc2(path, local)
            shape_keys.remove(garment)
            caches.play(scene, garment, FIX, path)
        left = found["remains"]
        return "; ".join(["remains", *left]) if left else "no intersections remain"


class Bind(Job):
    label, changes = "Bind", True

    def words(self) -> list[str]:
        garment, bodies = garments.chosen(self.scene)
        rigged = [body for body in bodies if body.find_armature() is not None]
        if len(bodies) != 1 or not rigged:
            raise Problem("Bind needs one body with an Armature modifier; choose it in the panel Pliant")
        armature = rigged[0].find_armature()
        self._names = garment.name, armature.name
        skinning.write(self.process.folder, self.scene, garment, rigged[0], armature)
        words = ["bind", "garment.npz", "body.glb", "-o", "bound.glb"]
        return [*words, "--alone", "--check-frames", "0", "--influences", "8"]

    def bring_back(self, found: dict[str, Any]) -> str:
        garment, armature = (garments.named(name) for name in self._names)
        names, joints, weights = skinning.read(self.process.folder / "bound.glb")
        skinning.apply(garment, armature, names, joints, weights)
        return f"{len(weights)} vertices bound to {len(np.unique(joints[weights > 0.0]))} bones of {armature.name}"

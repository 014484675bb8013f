"""Drape: the garments are simulated on the moving body, and play while the process runs."""

import contextlib
import json
import math
from typing import Any

import bpy

from . import caches, garments
from .jobs import Job
from .process import Problem
from .recording import DRAPE, FIX, joined

_KEPT = ("cache_format", "filepath", "frame_start", "play_mode", "deform_mode", "show_viewport", "show_render")


class Drape(Job):
    label, changes = "Drape", True

    def words(self) -> list[str]:
        caches.folder()  # refused before the work starts
        scene, settings, folder = self.scene, self.scene.pliant, self.process.folder
        layers = garments.layers(scene)
        things = [thing for thing, _, _ in layers]
        bodies = garments.chosen_bodies(scene, things)
        if not bodies:
            raise Problem("Drape needs a body; choose one in the panel Pliant")
        worn, others = garments.recorded(scene, things, bodies, (FIX, DRAPE))
        fps = scene.render.fps / scene.render.fps_base
        for k, recording in enumerate(worn):
            recording.save(str(folder / f"garment{k}.npz"), fps)
        joined(others).save(str(folder / "body.npz"), fps)
        self._names, self._matrices = [thing.name for thing in things], [recording.matrices for recording in worn]
        self._done, self._before = [0] * len(things), [None] * len(things)
        self._settling = math.ceil(settings.settle * fps - 1e-6)
        frames = self._settling + len(worn[0].frames) - 1
        if not frames:
            raise Problem("the frame range has one frame; choose a longer one, or give the cloth time to settle")
        for thing in things:
            caches.cache_file(thing, "drape-live").unlink(missing_ok=True)
        pins = [
            f"garment{k}/ids:{','.join(map(str, garments.pinned(thing, group)))}"
            for k, (thing, _, group) in enumerate(layers)
            if group
        ]
        (folder / "pins.toml").write_text(f"pin = {json.dumps(pins)}\n", "utf-8")
        gravity = scene.gravity if scene.use_gravity else (0.0, 0.0, 0.0)
        x, y, z = (f"{value + 0.0:.6g}" for value in (gravity[0], gravity[2], -gravity[1]))
        words = ["drape", "garment0.npz", "body.npz", "--config", "pins.toml", "--live", "live.pc2"]
        words += ["--frames", str(frames), "--dt", repr(1.0 / fps), "--lead-in", repr(self._settling / fps)]
        words += ["--hold", "auto" if settings.hold else "none", "--gravity", x, y, z]
        first = layers[0][1]
        words += [] if first == "DEFAULT" else ["--material", first.lower()]
        for k, (_, material, _) in enumerate(layers[1:], 1):
            words += ["--layer", f"garment{k}.npz", "--layer-material", material.lower()]
        if settings.thickness:
            words += ["--thickness", f"{settings.thickness * scene.unit_settings.scale_length:.9g}m"]
        return words

    def update(self) -> None:
        """Add the frames that are done to the caches, and play them."""
        scene = self.scene
        for k, name in enumerate(self._names):
            thing = garments.named(name)
            path = caches.cache_file(thing, "drape-live")
            fresh = caches.read_pc2(self._live(k), self._settling + self._done[k])
            if len(fresh):
                now = slice(self._done[k], self._done[k] + len(fresh))
                caches.append_pc2(path, caches.local_frames(scene, fresh, self._matrices[k][now]))
                self._done[k] += len(fresh)
            if self._done[k] < 2:  # the modifier interpolates between two samples
                continue
            if self._before[k] is None:
                own = thing.modifiers.get(DRAPE)
                self._before[k] = {} if own is None else _state(thing, own)
                caches.play(scene, thing, DRAPE, path)
            if len(fresh):
                thing.update_tag()

    def hide(self) -> None:
        """Let the garments move as they did before the first frame was shown."""
        for k, name in enumerate(getattr(self, "_names", [])):
            thing, before = bpy.data.objects.get(name), self._before[k]
            own = None if thing is None else thing.modifiers.get(DRAPE)
            self._before[k] = None
            if own is None or before is None:
                continue
            if not before:
                thing.modifiers.remove(own)
                continue
            for key in _KEPT:
                setattr(own, key, before[key])
            thing.modifiers.move(list(thing.modifiers).index(own), before["place"])

    def fail(self) -> None:
        self.hide()
        for name in getattr(self, "_names", []):
            if name in bpy.data.objects:
                with contextlib.suppress(Problem, OSError):
                    caches.cache_file(bpy.data.objects[name], "drape-live").unlink(missing_ok=True)

    def bring_back(self, found: dict[str, Any]) -> str:
        self.update()
        count = len(self._matrices[0])
        if any(done != count for done in self._done):
            raise Problem(f"pliant wrote {min(self._done)} of {count} frames")
        for name in self._names:
            thing = garments.named(name)
            live, path = (caches.cache_file(thing, kind) for kind in ("drape-live", "drape"))
            if count == 1:
                caches.append_pc2(live, caches.read_pc2(live, 0))
            live.replace(path)
            caches.play(self.scene, thing, DRAPE, path)
            thing.update_tag()
        return _summary(found, self._names, count)

    def _live(self, k: int) -> Any:
        name = "live.pc2" if len(self._names) == 1 else f"live-garment{k}.pc2"
        return self.process.folder / name


def _state(thing: bpy.types.Object, own: bpy.types.Modifier) -> dict[str, Any]:
    place = {"place": list(thing.modifiers).index(own)}
    return {key: getattr(own, key) for key in _KEPT} | place


def _summary(found: dict[str, Any], names: list[str], count: int) -> str:
    """The result as one line; pliant knows the garments by the names of their files."""
    starts = [names[int(each["garment"].removeprefix("garment"))] for each in found["start_fixes"]]
    notes = [f"the start of {name} was fixed" for name in starts]
    if found["penetration_m"]:
        notes.append(f"cloth is up to {1e3 * found['penetration_m']:.3g} mm inside the body")
    if found["intersecting_pairs_cloth_most"]:
        notes.append(f"up to {found['intersecting_pairs_cloth_most']} pairs of cloth intersect")
    if found["crossing_pairs_bodies_most"]:
        notes.append(f"up to {found['crossing_pairs_bodies_most']} pairs of cloth and body cross")
    return f"{count} frames draped; {'; '.join(notes) or 'no intersections'}"

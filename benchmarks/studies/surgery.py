"""Pictures and figures of hair and of the scenes of surgery: `python benchmarks/studies/surgery.py [NAME ...]`."""

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

import pliant
from pliant.detect.queries.closest_point import ClosestPoints
from pliant.detect.queries.view_volume import ViewVolume
from pliant.motion.rigid import placed
from pliant.report.camera import Camera
from pliant.report.picture import render, views
from pliant.scenes import SCENE_METHODS, SCENES
from pliant.simulation.record import record
from pliant.simulation.result import Result

# scene: frames of the run, and the frames that are shown
SHOWN = {
    "hair-on-bust": (165, (0, 30, 85, 165)),
    "surgical-tool": (150, (20, 60, 110, 150)),
    "two-organs": (150, (10, 60, 90, 150)),
    "gut-with-mesentery": (130, (0, 50, 100, 130)),
}
DARK = np.array([0.10, 0.03, 0.03])  # of faces in the viewing volume


def run(name: str) -> Result:
    """Run a scene and print what was measured."""
    own: dict[str, Any] = {"method": SCENE_METHODS[name]} if name in SCENE_METHODS else {}
    result = record(pliant.Simulation(SCENES[name](), **own), SHOWN[name][0])
    for what, value in result.facts.items():
        print(f"{name}: {what}: {value}", file=sys.stderr)
    return result


def draw(name: str, save: Callable[..., None], row: Callable[..., Any]) -> None:
    """Save the picture of a scene; in that of the tool, the faces in its viewing volume are dark."""
    result, tiles = run(name), []
    clips = result.displayed_clips()
    camera = Camera.framing(clips, 330 / 330, elevation=0.9 if name == "gut-with-mesentery" else None)
    for frame in SHOWN[name][1]:
        if name == "surgical-tool":
            tiles += views(clips, frame, 330, 330, [camera], samples=2, paint=_patch(result, frame))
        else:
            tiles.append(render(clips, frame, 330, 330, camera, samples=2))
    save(name, row(tiles))


def _patch(result: Result, frame: int) -> Callable[[Any], Any]:
    """Colours by position: of the nearest body, and dark on faces of the liver within 3 mm of the viewing volume."""
    scene, meshes = result.scene, []
    for b, clip in enumerate(result.clips):
        mesh, x = scene.bodies[b].mesh, np.empty((int(clip.mesh.weld_index.max()) + 1, 3))
        x[mesh.weld_index] = clip.at(frame)
        meshes.append(mesh.surface.moved(x[: mesh.surface.n_vertices]))
    volume, pose = ViewVolume(scene.bodies[1].mesh), result.clips[1].poses
    assert pose is not None
    volume.move(placed(scene.bodies[1].mesh.welded.vertices, pose[frame]))
    volume.planes[:, 3] += 0.003
    seen = volume.visible(meshes[0].vertices, meshes[0].faces)
    queries, colours = [ClosestPoints(mesh) for mesh in meshes], np.array([body.color for body in scene.bodies])

    def paint(points: Any) -> Any:
        found = [query.query(points) for query in queries]
        owner = np.abs(np.stack([each[0] for each in found])).argmin(0)
        dark = (owner == 0) & seen[found[0][2]]
        return np.where(dark[:, None], DARK, colours[owner])

    return paint


if __name__ == "__main__":
    for chosen in sys.argv[1:] or SHOWN:
        run(chosen)

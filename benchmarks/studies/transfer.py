"""The picture and the table of docs/bind.md: `studies/transfer.py` prints the table (the human needs ../shared/data),
`studies/transfer.py dense` the cost of dense garments."""

import dataclasses
import pathlib
import sys
import time
from collections.abc import Callable, Iterator

import numpy as np

import pliant
from pliant import Character, Clip, Mesh, shapes
from pliant.binding.bound import MATCHED
from pliant.binding.matching import SurfacePoints
from pliant.report.camera import Camera
from pliant.report.picture import render

WIDE, HIGH, GAP = 276, 400, 8
BODY, CLOTH, BLUE = (0.78, 0.74, 0.70), (0.62, 0.16, 0.13), (0.16, 0.25, 0.42)
STRIDE = 0.78  # s, of the walk: the legs are far apart
DATA = pathlib.Path(__file__).resolve().parents[2].parent / "shared" / "data" / "human"


def by_nearest_points(garment: Mesh, body: Character) -> Character:
    """The garment with the weights of the nearest points of the body, all of them."""
    found = SurfacePoints(body.mesh).nearest(garment.vertices)
    corners, n = body.mesh.faces[found.face], garment.n_vertices
    weights = np.zeros((n, len(body.names)))
    share = (found.barycentric[:, :, None] * body.weights[corners]).reshape(n, -1)
    np.add.at(weights, (np.arange(n)[:, None], body.joints[corners].reshape(n, -1)), share)
    joints = np.argsort(-weights, 1, kind="stable")[:, :4]
    kept = np.take_along_axis(weights, joints, 1)
    return dataclasses.replace(body, mesh=garment, joints=joints, weights=kept / kept.sum(1, keepdims=True), morphs=())


def draw_bind(save: Callable[[str, np.ndarray], None]) -> None:
    """A skirt in the bind shape, inpainted vertices in blue; in a stride by nearest points, and by `bind`."""
    walker, skirt = shapes.walking_mannequin(), shapes.skirt()
    bound = pliant.bind(skirt, walker)
    matched = (bound.kind == MATCHED)[skirt.faces].all(1)
    rest = [
        Clip(Mesh(skirt.vertices, skirt.faces[chosen]), skirt.vertices[None], color)
        for chosen, color in ((matched, CLOTH), (~matched, BLUE))
    ]
    body = walker.shape("walk", STRIDE)
    tiles = [shot([Clip(walker.mesh, walker.mesh.vertices[None], BODY), *rest])]
    for garment in (by_nearest_points(skirt, walker), bound.garment):
        x = garment.shape("walk", STRIDE)
        tiles.append(shot([Clip(walker.mesh, body[None], BODY), Clip(skirt, x[None], CLOTH)]))
    gap = np.full((HIGH, GAP, 3), 255, np.uint8)
    save("bind", np.concatenate([part for tile in tiles for part in (gap, tile)][1:], 1))


def shot(clips: list[Clip]) -> np.ndarray:
    """Hips and legs, from the side in front."""
    low = [Clip(clip.mesh, np.clip(clip.frames, [-0.4, 0.0, -0.4], [0.4, 1.15, 0.4]), clip.color) for clip in clips]
    camera = Camera.framing(low, WIDE / HIGH, azimuth=0.9, elevation=0.12, fill=0.95)
    return render(clips, 0, WIDE, HIGH, camera, samples=3)


def garments() -> Iterator[tuple[str, Mesh, Character, Character | None]]:
    """Name, garment, body, and the garment with the weights of its file."""
    walker = shapes.walking_mannequin()
    yield "skirt on the mannequin", shapes.skirt(), walker, None
    yield "trousers on the mannequin", shapes.trousers(), walker, None
    if DATA.is_dir():
        from pliant_bench.bone_boxes import human_character

        body = human_character(DATA)
        for name in ("skirt", "tights"):
            stored = np.load(DATA / f"{name}.npz")
            mesh, weights = Mesh(stored["V_rest"], stored["F"], name=name), stored["skin_weights"].astype(np.float64)
            weights /= weights.sum(1, keepdims=True)
            own = dataclasses.replace(body, mesh=mesh, joints=stored["skin_bones"], weights=weights)
            yield f"{name} of the human", mesh, body, own


def figures() -> None:
    """Strain, penetration and self-intersections of bound garments in eight frames of a walk."""
    print(
        "| garment | weights | inpainted | strain, mean | 99th percentile | deepest, mm | crossings | self | CPU, s |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    for name, mesh, body, own in garments():
        clip = body.clips["walk"]
        times = clip.duration * np.arange(8) / 8
        under = Clip(body.mesh, np.stack([body.shape("walk", t) for t in times]))
        began = time.process_time()
        bound = pliant.bind(mesh, body)
        took = time.process_time() - began
        rows = [("nearest points", by_nearest_points(mesh, body), "", ""), ("of its file", own, "", "")]
        rows.append(("`bind`", bound.garment, f"{np.mean(bound.kind != MATCHED):.1%}", f"{took:.2f}"))
        rows.append(("`bind`, 8 bones", pliant.bind(mesh, body, influences=8).garment, "", ""))
        for how, garment, share, seconds in rows:
            if garment is None:
                continue
            x = np.stack([garment.shape("walk", t) for t in times])
            strain, report = strains(mesh, x), pliant.check(Clip(mesh, x), under)
            told = [f"{strain.mean():.1%}", f"{np.quantile(strain, 0.99):.0%}", f"{1e3 * report.worst_depth:.1f}"]
            told += [f"{report.crossings}", f"{report.self_intersections}"]
            print(f"| {name} | {how} | {share} | {' | '.join(told)} | {seconds} |", flush=True)


def dense() -> None:
    """CPU time of skirts of more and more triangles, and the memory of the process."""
    import resource

    walker = shapes.walking_mannequin()
    pliant.bind(shapes.skirt(), walker)  # load the kernels
    for spacing in (0.02, 0.01, 0.004):
        skirt = shapes.skirt(spacing=spacing)
        began = time.process_time()
        bound = pliant.bind(skirt, walker)
        took, memory = time.process_time() - began, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        share = np.mean(bound.kind != MATCHED)
        print(f"{skirt.n_faces:,} triangles, {share:.0%} inpainted: {took:.2f} s, {memory:.0f} MiB", flush=True)


def strains(mesh: Mesh, frames: np.ndarray) -> np.ndarray:
    """(t,k) relative change of length of each edge."""
    a, b = mesh.topology.edges.T
    rest = np.linalg.norm(mesh.vertices[a] - mesh.vertices[b], axis=1)
    lengths = np.linalg.norm(frames[:, a] - frames[:, b], axis=2)
    return np.abs(lengths[:, rest > 0.0] / rest[rest > 0.0] - 1.0)


if __name__ == "__main__":
    if sys.argv[1:] not in ([], ["dense"]):
        sys.exit(__doc__)
    dense() if sys.argv[1:] else figures()

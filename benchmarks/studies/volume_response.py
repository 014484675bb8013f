"""The response `volume` for docs/respond/volume.md.

`NUMBA_NUM_THREADS=1 python benchmarks/studies/volume_response.py [gradient] [apart] [rest]` prints Markdown tables: the
error and the cost of the gradient against the resolution, for two balls whose lens has a closed form; deep overlaps
that part by several responses; and a soft block that rests on a floor.
"""

import sys
import time
from collections.abc import Callable

import numpy as np

from pliant.detect.base import Side
from pliant.detect.queries.overlap import overlap
from pliant.detect.queries.volume_gradient import VolumeGradient
from pliant.scene import Body, Scene, Solid
from pliant.shapes import ball, bar, box, tet_ball, tet_box
from pliant.simulation import Simulation

FOAM = Solid(young=1e4, poisson=0.4, density=300.0, damping=0.03)
RUNS = 20


def gradient() -> None:
    """Two balls of 20 480 faces: the volume of their lens, and its change with the distance of the centres."""
    r, s, way = 0.1, 0.08, np.array([0.11, 0.05, 0.03])
    d = float(np.linalg.norm(way))
    a, b = ball(r, 5), ball(s, 5, centre=tuple(way))
    lens = np.pi * (r + s - d) ** 2 * (d * d + 2 * d * (r + s) - 3 * (r - s) ** 2) / (12 * d)
    rim = np.pi * (r * r - ((d * d + r * r - s * s) / (2 * d)) ** 2)
    x = np.concatenate([a.vertices, b.vertices])
    w = np.ones(len(x))
    print(
        "| pixels | volume, error | gradient, error | direction, error | sum of all forces, of their size | CPU, ms |"
    )
    print("|---|---|---|---|---|---|")
    for resolution in (8, 16, 32, 64, 128):
        query = VolumeGradient(Side(a), Side(b, a.n_vertices, 1), resolution=resolution)
        found = query.at(x, w)
        assert found is not None
        g = found.gradient(len(x))
        n = g[: a.n_vertices].sum(0)
        angle = np.degrees(np.arccos(min(n @ way / np.linalg.norm(n) / d, 1.0)))
        times = []
        for _ in range(RUNS):
            began = time.process_time()
            query.at(x, w)
            times.append(time.process_time() - began)
        cells = [f"{found.volume / lens - 1.0:+.2%}", f"{np.linalg.norm(n) / rim - 1.0:+.2%}", f"{angle:.3f}°"]
        rest = f"{np.abs(g.sum(0)).max() / np.abs(g).sum():.0e}"
        print("| " + " | ".join([str(resolution), *cells, rest, f"{1e3 * min(times):.1f}"]) + " |")


def balls() -> Scene:
    return together(tet_ball(0.1, 0.05), tet_ball(0.1, 0.05, centre=(0.101, 0.011, 0.007)))


def boxes() -> Scene:
    return together(tet_box(0.2, 0.04), tet_box(0.1, 0.025, centre=(0.01, 0.02, 0.075)))


def together(*meshes) -> Scene:
    bodies = [Body(mesh, material=FOAM) for mesh in meshes]
    return Scene(bodies, gravity=(0, 0, 0), eps=1e-4, self_contact="push")


def parted(made: Callable[[], Scene], response: str, method: str) -> list[str]:
    scene = made()
    sim, m = Simulation(scene, self_method=method, self_response=response), scene.masses
    surfaces = [scene.bodies[b].mesh.surface for b in (0, 1)]
    fastest, least, over, spent, momentum = 0.0, 1.0, "never", 0.0, 0.0
    for _ in range(80):
        began = time.process_time()
        frame = sim.step()
        spent += time.process_time() - began
        fastest = max(fastest, float(np.sqrt((sim.state.v**2).sum(1).max())))
        momentum = max(momentum, float(np.abs(m @ sim.state.v).max()))
        for b in (0, 1):
            mesh = scene.bodies[b].mesh.welded
            least = min(least, float(mesh.moved(frame.x[scene.rows(b)]).tet_volumes.sum() / mesh.volume))
        shared = overlap(*(s.moved(frame.x[scene.rows(b)][: s.n_vertices]) for b, s in enumerate(surfaces)))
        if shared.most == 0.0 and over == "never":
            over = f"{frame.time:.2f} s"
    means = [m[rows] @ sim.state.v[rows] / m[rows].sum() for rows in map(scene.rows, (0, 1))]
    cells = [over, f"{fastest:.1f} m/s", f"{np.linalg.norm(means[0] - means[1]):.2f} m/s", f"{least:.1%}"]
    return [*cells, f"{momentum:.0e} kg m/s", f"{1e3 * spent / 80:.1f}"]


def apart() -> None:
    heads = "bodies | response | nothing shared after | fastest vertex | parting speed | volume, at least | momentum"
    print(f"| {heads} | CPU, ms per frame |")
    print("|---|---|---|---|---|---|---|---|")
    for made in (balls, boxes):
        for response, method in (
            ("volume", "image-space"),
            ("separate", "spatial-hash"),
            ("penalty", "spatial-hash"),
            ("projection", "spatial-hash"),
        ):
            print("| " + " | ".join([made.__name__, f"{response}, {method}", *parted(made, response, method)]) + " |")


def rest() -> None:
    """A block of 1 kg on a floor: how far it sinks in, and what it shares with the floor."""
    print("| response | lowest vertex, mm | shared volume, ml | force, of the weight | CPU, ms per frame |")
    print("|---|---|---|---|---|")
    stuff = Solid(young=1e5, density=1000.0, damping=0.1)
    for response in ("volume", "penalty", "projection"):
        block = Body(bar((0.1, 0.1, 0.1), (5, 5, 5), centre=(0.0, 0.05, 0.0)), material=stuff)
        floor = Body(box((1.0, 0.2, 1.0), 1, centre=(0.0, -0.1, 0.0)), obstacle=True)
        scene = Scene([block, floor], eps=1e-3, friction=0.3, self_contact="off")
        sim = Simulation(scene, method="bvh", response=response)
        for _ in sim.run(100):
            pass
        began, forces, lowest, shared = time.process_time(), [], [], []
        for frame in sim.run(50):
            forces.append(sim.response.force.sum(0)[1] if response == "volume" else np.nan)
            x = frame.x[scene.rows(0)]
            lowest.append(x[:, 1].min())
            surface = scene.bodies[0].mesh.surface
            shared.append(overlap(surface.moved(x[: surface.n_vertices]), scene.bodies[1].mesh).volume)
        spent = time.process_time() - began
        weight = scene.masses[scene.rows(0)].sum() * 9.81
        carried = "" if response != "volume" else f"{np.mean(forces) / weight:.3f}"
        cells = [f"{1e3 * np.mean(lowest):.2f}", f"{1e6 * np.mean(shared):.3f}", carried, f"{1e3 * spent / 50:.1f}"]
        print("| " + " | ".join([response, *cells]) + " |")


if __name__ == "__main__":
    for name in sys.argv[1:] or ("gradient", "apart", "rest"):
        {"gradient": gradient, "apart": apart, "rest": rest}[name]()
        print()

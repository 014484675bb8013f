"""Soft bodies, measured: `python benchmarks/studies/tets.py [strain] [ringing] [turned] [speed] [cylinders]`.

Pictures: `draw_soft`, for pictures.py.

Milliseconds are CPU time of this process (set NUMBA_NUM_THREADS=1 for that of one thread).
"""

import sys
import time
from collections.abc import Callable

import numpy as np

import pliant
from pliant.motion.clip import Clip
from pliant.report.camera import Camera
from pliant.report.picture import render
from pliant.scenes import SCENES
from pliant.simulation.measure.intersection_statistics import IntersectionStatistics
from pliant.simulation.record import record

WIDE, HIGH, GAP = 294, 270, 8
LENGTH, SIDE, DENSITY, G = 0.4, 0.05, 400.0, 9.81


def hung(young: float, poisson: float, substeps: int, cells: int = 2) -> tuple[float, float]:
    """Strain in the middle of a hanging bar relative to the closed form, and its relative narrowing."""
    mesh = pliant.shapes.bar((SIDE, LENGTH, SIDE), (cells, 8 * cells, cells))
    x = mesh.vertices
    stuff = pliant.Solid(young, poisson, DENSITY, damping=0.3)
    body = pliant.Body(mesh, material=stuff, pins=np.flatnonzero(x[:, 1] > LENGTH / 2 - 1e-9))
    sim = pliant.Simulation(pliant.Scene([body]), substeps=substeps)
    y = np.mean([frame.x[mesh.weld_index] for frame in sim.run(250)][-30:], 0)
    low, high = (np.abs(x[:, 1] - level) < 1e-9 for level in (-0.1, 0.1))
    strain = (y[high, 1].mean() - y[low, 1].mean()) / 0.2 - 1.0
    inside = np.abs(x[:, 1]) < 0.1 + 1e-9
    left, right = (y[inside & (sign * x[:, 0] > 0.49 * SIDE), 0].mean() for sign in (-1.0, 1.0))
    return strain * young / (DENSITY * G * LENGTH / 2), (1.0 - (right - left) / SIDE) / strain


def strain() -> None:
    """How closely one sweep per substep approximates the material, by Young's modulus and substeps."""
    print("young Pa  cells  substeps  E dt^2 / (density h^2)  strain / closed form  narrowing (poisson 0.3)")
    for young, cells in ((5e4, 2), (2e5, 2), (1e6, 2), (5e4, 4)):
        for substeps in (8, 16, 32, 64):
            share, narrow = hung(young, 0.3, substeps, cells)
            number = young * (0.01 / substeps) ** 2 / (DENSITY * (SIDE / cells) ** 2)
            print(f"{young:8g}  {cells:5}  {substeps:8}  {number:22.3f}  {share:20.4f}  {narrow:10.4f}", flush=True)


def block(stuff: pliant.Solid) -> pliant.Simulation:
    body = pliant.Body(pliant.shapes.bar((0.2, 0.1, 0.1), (4, 2, 2)), material=stuff)
    return pliant.Simulation(pliant.Scene([body], gravity=(0.0, 0.0, 0.0)))


def ringing() -> None:
    """The energy that implicit steps dissipate from a block that oscillates without damping."""
    for young in (1e4, 5e4, 2e5):
        sim = block(pliant.Solid(young, 0.4, damping=0.0))
        sim.state.x *= (1.2, 0.95, 0.95)
        start = sum(sim.dynamics.energy(sim.state).values())
        left = [sum(sim.dynamics.energy(sim.state).values()) / start for _ in sim.run(50)]
        print(f"young {young:g} Pa: {left[9]:.3f} of the energy is left after 0.1 s, {left[-1]:.4f} after 0.5 s")


def turned() -> None:
    """Whether a fully inverted block recovers."""
    for young in (1e4, 1e6, 1e9):
        for poisson in (0.0, 0.3, 0.45, 0.49):
            sim = block(pliant.Solid(young, poisson, damping=0.05))
            mesh = sim.scene.bodies[0].mesh.welded
            sim.state.x *= (1.0, -1.0, 1.0)
            for _ in sim.run(300):
                pass
            share = mesh.moved(sim.state.x).tet_volumes / mesh.tet_volumes
            print(f"young {young:g} Pa, poisson {poisson}: volumes {share.min():.2f} to {share.max():.2f} after 3 s")


def speed() -> None:
    """Nanoseconds per tetrahedron of a constraint sweep, and of an internal friction sweep."""
    from pliant.dynamics import TetDynamics
    from pliant.kernels.dynamics import tets as kernels

    mesh = pliant.shapes.cylinder(0.05, 0.3, 6).welded
    dynamics = TetDynamics(pliant.Scene([pliant.Body(mesh, material=pliant.Solid())]))
    x = mesh.vertices * (1.1, 0.95, 0.95) + np.random.default_rng(0).normal(0, 3e-4, mesh.vertices.shape)
    v, y, count = np.ones_like(x), x.copy(), len(mesh.tets)
    answers = dynamics.answers(6.25e-4)

    def relax() -> None:
        y[:] = x
        kernels.relax_serial(dynamics.tets, answers, y, dynamics.w)

    def damp() -> None:
        kernels.damp_tets(dynamics.tets, 0, count, x, v, dynamics.w, 6.25e-4)

    for name, work in (("relax", relax), ("damp", damp)):
        spent = []
        for _ in range(12):
            begin = time.process_time()
            work()
            spent.append(time.process_time() - begin)
        print(f"{name}: {1e9 * min(spent) / count:.0f} ns per tetrahedron, of {count}")


def cylinders(frames: int = 300) -> None:
    """The scene in every mode: intersections, deformation and cost."""
    print("resolution  mode   tets    ms  passes  contacts  pairs: soft  tray  bent  volume          fastest at end")
    for resolution, mode in ((2, "safe"), (3, "safe"), (3, "push"), (4, "safe")):
        scene = SCENES["cylinders"](resolution=resolution, self_contact=mode)
        sim = pliant.Simulation(scene)
        count, spent, met, contacts = IntersectionStatistics(scene, sim.state.x), [], [], 0
        start, bent, volume = sim.dynamics.energy(sim.state)["kinetic"], 0.0, []
        for _ in range(frames):
            begin = time.process_time()
            frame = sim.step()
            spent.append(1e3 * (time.process_time() - begin))
            met.append(count.at(frame.x))
            contacts = max(contacts, len(frame.contacts))
            if frame.index <= 20:  # the collision, before landing
                bent = max(bent, sim.dynamics.energy(sim.state)["elastic"] / start)
            for b in scene.solids:
                mesh = scene.bodies[b].mesh.welded
                volume.append(mesh.moved(frame.x[scene.rows(b)]).tet_volumes.sum() / mesh.tet_volumes.sum())
        soft, tray = np.sum(met, 0)
        tets = sum(len(scene.bodies[b].mesh.tets) for b in scene.solids)
        fastest = float(np.linalg.norm(sim.state.v[scene.deformable_rows], axis=1).max())
        print(
            f"{resolution:10}  {mode}  {tets:5}  {np.median(spent[1:]):4.1f}  {sim.self_contact.passes / frames:6.1f}"
            f"  {contacts:8}  {soft:11}  {tray:4}  {bent:.2f}  {min(volume):.3f} to {max(volume):.3f}"
            f"  {fastest:.3f} m/s",
            flush=True,
        )


def draw_soft(save: Callable[[str, np.ndarray], None]) -> None:
    """The cylinders at six times with a common camera."""
    result = record(pliant.Simulation(SCENES["cylinders"](resolution=4)), 300, measure=False)
    shown = (0, 8, 13, 24, 60, 300)
    held = [Clip(clip.mesh, clip.frames[:61] if clip.bends else clip.frames, clip.color) for clip in result.clips]
    camera = Camera.framing(held, WIDE / HIGH, azimuth=0.5, elevation=0.4, fill=0.94)
    tiles = [render(result.clips, t, WIDE, HIGH, camera, samples=3) for t in shown]
    gap, line = np.full((HIGH, GAP, 3), 255, np.uint8), np.full((GAP, 3 * WIDE + 2 * GAP, 3), 255, np.uint8)
    rows = [np.concatenate([tiles[k], gap, tiles[k + 1], gap, tiles[k + 2]], 1) for k in (0, 3)]
    save("cylinders", np.concatenate([rows[0], line, rows[1]]))


if __name__ == "__main__":
    every = {"strain": strain, "ringing": ringing, "turned": turned, "speed": speed, "cylinders": cylinders}
    for chosen in sys.argv[1:] or every:
        every[chosen]()

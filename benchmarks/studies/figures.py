"""Measure the figures quoted in the documentation: `python benchmarks/studies/figures.py [NAME ...]`."""

import argparse
import pathlib
import tempfile
import time
from collections.abc import Callable

import numpy as np

import pliant
from pliant.motion.rigid import placed
from pliant.scenes import SCENES
from pliant.simulation.record import record
from pliant.simulation.result import Result

G = 9.81
# scenes in which cloth is draped over bodies, at rest and moving
RESTING = ("tablecloth-on-bust", "tablecloth-on-ball", "cloth-on-box-corner", "cloth-in-a-bowl")
MOVING = ("rod", "spinning-ball", "waving-mannequin")


def slope(angle: float, friction: float, model: str = "coulomb") -> pliant.Simulation:
    """A patch of cloth at rest on a plank tilted by `angle` radians, in vacuum; it would slide towards +x. By XPBD, in
    which only the response `projection` exerts friction."""
    turn = np.array([[np.cos(angle), np.sin(angle), 0.0], [-np.sin(angle), np.cos(angle), 0.0], [0.0, 0.0, 1.0]])
    plank, patch = pliant.shapes.box((4.0, 0.1, 0.3), (4, 1, 1)), pliant.shapes.cloth(0.04, 0.04, 3)
    patch = patch.moved((patch.vertices + np.array([-1.5, 0.055, 0.0])) @ turn.T)
    bodies = [
        pliant.Body(patch, material=pliant.Cloth(air=0.0)),
        pliant.Body(plank.moved(plank.vertices @ turn.T), obstacle=True),
    ]
    scene = pliant.Scene(bodies, friction=friction, friction_model=model)
    return pliant.Simulation(scene, substeps=10, solver="xpbd")


def speeds(sim: pliant.Simulation, angle: float, frames: int) -> tuple[np.ndarray, np.ndarray]:
    """Times and mean speeds down the slope."""
    down = np.array([np.cos(angle), -np.sin(angle), 0.0])
    rows = [(f.time, float((sim.state.v[sim.scene.rows(0)] @ down).mean())) for f in sim.run(frames)]
    t, v = np.array(rows).T
    return t, v


def friction() -> None:
    """Speed on a slope against g (sin a - c cos a) t."""
    print("degrees  c / tan a  closed form m/s  measured m/s  error %")
    for degrees, share in ((20, 0.0), (20, 0.25), (20, 0.5), (20, 0.75), (35, 0.5), (35, 0.9)):
        a = np.radians(degrees)
        t, v = speeds(slope(a, share * np.tan(a)), a, 40)
        wanted = G * np.sin(a) * (1 - share) * t[-1]
        print(f"{degrees:7}  {share:9.2f}  {wanted:15.4f}  {v[-1]:12.4f}  {100 * (v[-1] / wanted - 1):+7.3f}")
    for degrees in (10, 20, 35):
        a = np.radians(degrees)
        sim = slope(a, 1.05 * np.tan(a))
        start = sim.state.x.copy()
        speeds(sim, a, 60)
        moved = 1e6 * np.abs(sim.state.x - start).max()
        print(f"{degrees:7}       1.05  sticks: moved at most {moved:.3g} um in 0.6 s")


def fall() -> None:
    """Free fall of a cloth in vacuum for 0.3 s."""
    sheet = pliant.shapes.cloth(0.5, 0.5, 12)
    sim = pliant.Simulation(pliant.Scene([pliant.Body(sheet, material=pliant.Cloth(air=0.0))]), substeps=10)
    for _ in sim.run(30):
        pass
    t, y = sim.state.time, sheet.vertices[:, 1] - sim.state.x[:, 1]
    wanted = 0.5 * G * t * t
    speed = np.abs(sim.state.v[:, 1] + G * t).max()
    print(f"fallen {y.mean():.6f} m, closed form {wanted:.6f} m ({100 * (y.mean() / wanted - 1):+.3f} %)")
    print(f"expected for steps of 1 ms: g t dt / 2 = {0.5 * G * t * 1e-3:.6f} m; speed off by {speed:.1e} m/s")


def stretch() -> None:
    """XPBD: the deviation of the edges of the tablecloth on the ball from their rest lengths, by number of substeps."""
    print("substeps  longest edge, whole run %  longest at rest %  99 % of edges at rest %  ms / frame")
    for substeps in (8, 16, 32):
        scene = SCENES["tablecloth-on-ball"](self_contact="off")
        sim = pliant.Simulation(scene, solver="xpbd", substeps=substeps)
        result = record(sim, 250, measure=False)
        longer = elongation(result)
        p99, ms = np.percentile(longer[-1], 99), result.summary["ms_per_frame"]
        print(f"{substeps:8}  {longer.max():25.2f}  {longer[-1].max():17.2f}  {p99:23.2f}  {ms:10.1f}")


def energy() -> None:
    """Kinetic, elastic and gravitational energy (from the lowest point reached) as shares of the start; 120 frames."""
    print(
        "scene                 solver    stretch N/m  substeps   most  at frame  most elastic  most kinetic + gravity"
    )
    stiff = pliant.Cloth(stretch=2000.0, shear=200.0)
    ways = [("implicit", cloth, 4) for cloth in (pliant.Cloth(), stiff)]
    ways += [("xpbd", cloth, substeps) for cloth, substeps in ((pliant.Cloth(), 16), (stiff, 16), (stiff, 32))]
    for name in RESTING:
        for solver, material, substeps in ways:
            sim = pliant.Simulation(SCENES[name](material=material), solver=solver, substeps=substeps)
            rows, history = sim.scene.rows(0), []
            for _ in sim.run(120):
                history.append([*sim.dynamics.energy(sim.state).values(), sim.state.x[rows, 1].min()])
            kinetic, elastic, gravity, y = np.array(history).T
            shift = G * y.min() * sim.scene.masses.sum()
            start = sum(sim.dynamics.energy(sim.scene.start()).values()) - shift
            bare, total = (kinetic + gravity - shift) / start, (kinetic + elastic + gravity - shift) / start
            print(
                f"{name:20}  {solver:8}  {material.stretch:11.0f}  {substeps:8}  {total.max():.3f}"
                f"  {total.argmax() + 1:8}  {elastic.max() / start:12.3f}  {bare.max():22.4f}",
                flush=True,
            )


def real_time() -> None:
    """Scenes with draped cloth as they are: exact penetration depth, intersecting pairs, strain and real-time factor
    (run it on an idle machine)."""
    print(
        "scene                 particles  body faces  contacts  deepest mm  nearest mm  pairs  strain 95 %  largest %",
        end="",
    )
    print("  rest m/s  ms / frame  x real")
    for name in (*RESTING, *MOVING):
        result = record(pliant.Simulation(SCENES[name]()), 250)
        s, strain = result.summary, np.percentile(elongation(result), (95, 100), axis=1).max(1)
        pairs = s["intersecting_pairs_cloth_total"] + s["intersecting_pairs_bodies_total"]
        print(
            f"{name:20}  {s['particles']:9}  {s['body_triangles']:10}  {s['contacts_most']:8}"
            f"  {1e3 * s['penetration_m']:10.3g}  {1e3 * s['least_distance_m']:10.2f}  {pairs:5}"
            f"  {strain[0]:11.2f}  {strain[1]:9.2f}"
            f"  {s['fastest_at_end_m_per_s']:8.4f}  {s['ms_per_frame']:10.1f}  {s['times_real_time']:6.2f}",
            flush=True,
        )


def elongation(result: Result) -> np.ndarray:
    """Per cent (frames,edges) by which edges of the first body are longer than at the start, which is their rest."""
    edges = result.scene.bodies[0].mesh.topology.edges
    length = np.linalg.norm(result.x[0][:, edges[:, 0]] - result.x[0][:, edges[:, 1]], axis=2)
    return np.asarray(100 * (length / length[0] - 1))


def moving() -> None:
    """Moving bodies against closed forms, and the cost of the parts of the mannequin."""
    still = np.eye(3, 4)

    def shifted(x: float) -> np.ndarray:
        pose = still.copy()
        pose[0, 3] = x
        return pose

    def patch(motion: pliant.Motion, friction: float, at: float = 0.0) -> pliant.Simulation:
        sheet = pliant.shapes.cloth(0.04, 0.04, 3, centre=(at, 0.055, 0.0))
        table = pliant.Body(pliant.shapes.box((1.0, 0.1, 1.0), 1), obstacle=True, motion=motion)
        cloth = pliant.Body(sheet, material=pliant.Cloth(air=0.0, damping=0.0))
        return pliant.Simulation(pliant.Scene([cloth, table], eps=0.005, friction=friction), substeps=10)

    def slip(sim: pliant.Simulation, frames: int) -> float:
        rest = sim.state.x[:9].copy()
        for _ in sim.run(frames):
            pass
        return float(np.abs(sim.state.x[:9] - placed(rest, sim.state.pose[1])).max())

    t = np.linspace(0.0, 1.0, 2001)
    a = 0.8 * 0.5 * G
    pulled = pliant.Motion(t[:401], [shifted(0.5 * a * s * s) for s in t[:401]])
    print(f"table at {a:.2f} m/s2, friction 0.5: slips {1e6 * slip(patch(pulled, 0.5), 20):.2f} um in 0.2 s")
    sim = patch(pliant.Motion([0.0, 1.0], [still, shifted(2.0)]), 0.2)
    slip(sim, 20)
    v, wanted = float(sim.state.v[:9, 0].mean()), 0.2 * G * sim.state.time
    print(f"table pulled away at 2 m/s, friction 0.2: {v:.4f} m/s after {sim.state.time:.2f} s, c_f g t = {wanted:.4f}")
    rate = np.sqrt(0.25 * G / 0.3)
    table = pliant.Motion.hinge((0, 1, 0), (0, 0, 0), t, rate * np.where(t < 0.5, t * t, t - 0.25))
    slipped = 1e6 * slip(patch(table, 0.5, 0.3), 90)
    print(f"turntable at {rate:.2f} rad/s, 0.3 m out, friction 0.5: slips {slipped:.2f} um in 0.9 s")
    ends = []
    for u in (np.zeros(3), np.array([1.0, 0.25, -0.5])):
        track = np.stack([still, still])
        track[1, :, 3] = 10.0 * u
        sheet = pliant.Body(pliant.shapes.cloth(0.5, 0.5, 12, centre=(0.02, 0.17, 0.01)), velocity=tuple(u))
        stone = pliant.Body(pliant.shapes.ball(0.15, 3), obstacle=True, motion=pliant.Motion([0.0, 10.0], track))
        sim = pliant.Simulation(pliant.Scene([sheet, stone], wind=tuple(u)), substeps=10)
        for _ in sim.run(40):
            pass
        ends.append(sim.state.x[:144] - u * sim.state.time)
    print(
        f"the same fall on a ball at rest and at 1.15 m/s differ by {np.abs(ends[1] - ends[0]).max():.1e} m after 0.4 s"
    )
    sim = pliant.Simulation(SCENES["waving-mannequin"]())
    for _ in sim.run(120):
        pass
    (parts,) = sim.detectors
    near, count = best_of(lambda: parts.find(sim.state)), int((parts._placement > 0).sum())
    sim.state.pose[1:, 1, 3] += 10.0
    far = best_of(lambda: parts.find(sim.state))
    print(f"mannequin of {len(parts.parts)} parts: {near:.0f} us with {count} of them near, {far:.0f} us with none")


def best_of(call: Callable[[], object], times: int = 300) -> float:
    """Microseconds."""
    took = []
    for _ in range(times):
        began = time.perf_counter()
        call()
        took.append(time.perf_counter() - began)
    return 1e6 * min(took)


def keep() -> None:
    """Baking against the cache: seconds for the key, writing and reading; best of three."""
    meshes = pathlib.Path(__file__).resolve().parents[3] / "shared" / "data" / "meshes"
    print("mesh                  cells  bake s  key s  write s  read s  MB")
    for name, cells in (("bunny_69451.ply", 128), ("bunny_69451.ply", 400), ("dragon_871414.ply.gz", 600)):
        if not (meshes / name).exists():
            print(f"{name} is missing")
            continue
        mesh = pliant.load(meshes / name)
        fields = [pliant.DistanceField.bake(mesh, cells) for _ in range(4)]  # the first may compile
        field = min(fields[1:], key=lambda f: f.seconds)
        key, write, read, size = kept(mesh, cells, field)
        print(f"{name:20}  {cells:5}  {field.seconds:6.3f}  {key:5.3f}  {write:7.3f}  {read:6.3f}  {size:.1f}")


def kept(mesh: pliant.Mesh, cells: int, field: pliant.DistanceField) -> tuple[float, ...]:
    """Seconds for key, writing and reading, and megabytes."""
    from pliant.detect.fields import cache

    times = []
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "entry.field"
        for _ in range(3):
            marks = [time.perf_counter()]
            key = cache.key_of(mesh, cells)
            marks.append(time.perf_counter())
            assert cache.write(path, key, field)
            marks.append(time.perf_counter())
            assert cache.read(path, key, mesh) is not None
            marks.append(time.perf_counter())
            times.append(np.diff(marks))
        size = path.stat().st_size / 1e6
    return (*np.min(times, axis=0), size)


FIGURES: dict[str, Callable[[], None]] = {
    "friction": friction, "fall": fall, "stretch": stretch, "energy": energy, "real-time": real_time,
    "cache": keep, "moving": moving,
}  # fmt: skip

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(FIGURES))
    for chosen in parser.parse_args().names or FIGURES:
        began = time.perf_counter()
        print(f"# {chosen}: {FIGURES[chosen].__doc__}")
        FIGURES[chosen]()
        print(f"# {time.perf_counter() - began:.0f} s\n", flush=True)

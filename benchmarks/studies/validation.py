"""Cloth against closed forms and standard tests of textiles: the tables of docs/dynamics/validation.md.

`python benchmarks/studies/validation.py [NAME ...]` runs the named tests, or all: strip, cantilever, bias, swing,
slope, cusick, xpbd. All but the last use the implicit solver; everything is in vacuum where the closed form is.
"""

import dataclasses
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

import pliant
from pliant.materials.fabrics import MATERIALS
from pliant.mesh import Mesh

G = 9.81
VACUUM = {"air": 0.0}


def at_rest(sim: pliant.Simulation, frames: int, tolerance: float = 1e-7) -> None:
    """Run until nothing moves: velocities are cleared whenever the kinetic energy falls (dynamic relaxation)."""
    mass, before = sim.scene.masses, 0.0
    for _ in range(frames):
        x = sim.state.x.copy()
        sim.step()
        energy = float(mass @ (sim.state.v**2).sum(1))
        if energy < before:
            sim.state.v[:] = 0.0
            energy = 0.0
        before = energy
        if energy == 0.0 and np.abs(sim.state.x - x).max() < tolerance * sim.scene.bodies[0].mesh.size:
            return


def simulated(mesh: Mesh, cloth: pliant.Cloth, pins: Any, **options: Any) -> pliant.Simulation:
    substeps, solver, warp = options.pop("substeps", 8), options.pop("solver", "implicit"), options.pop("warp", "auto")
    body = pliant.Body(mesh, material=cloth, pins=np.flatnonzero(pins), warp=warp)
    return pliant.Simulation(pliant.Scene([body], **options), 0.01, substeps=substeps, solver=solver)


# -- closed forms ----------------------------------------------------------------------------------------------------


def strip(cloth: pliant.Cloth, direction: str, length: float = 0.4, n: int = 17) -> tuple[float, float]:
    """Elongation of a strip that hangs under its own weight along warp or weft: measured, and rho g L^2 / (2 k)."""
    mesh = pliant.shapes.cloth(0.25 * length, length, (1 + (n - 1) // 4, n), plane="xy")
    y, k = mesh.vertices[:, 1], cloth.stretch_by_direction[direction == "weft"]
    cloth = dataclasses.replace(cloth, **VACUUM)
    sim = simulated(mesh, cloth, y > y.max() - 1e-9, warp="v" if direction == "warp" else "u")
    at_rest(sim, 400)
    low = y < y.min() + 1e-9
    return float((y - sim.state.x[:, 1])[low].mean()), cloth.density * G * length**2 / (2.0 * k)


def elastica(length: float) -> tuple[float, float]:
    """Tip (across, down) of a horizontal cantilever that bends under its own weight, in bending lengths
    (B / (rho g))^(1/3), as is `length`: theta'' = -(length - s) cos(theta), theta(0) = 0, theta'(length) = 0."""
    from scipy.integrate import solve_bvp, trapezoid

    s = np.linspace(0.0, length, 400)
    guess = np.stack([0.5 * np.pi * (1.0 - np.exp(-s)), 0.5 * np.pi * np.exp(-s)])
    found = solve_bvp(
        lambda s, y: np.stack([y[1], -(length - s) * np.cos(y[0])]),
        lambda a, b: np.array([a[0], b[1]]),
        s,
        guess,
        tol=1e-8,
    )
    theta = found.sol(np.linspace(0.0, length, 4001))[0]
    return tuple(float(trapezoid(f(theta), dx=length / 4000)) for f in (np.cos, np.sin))  # type: ignore[return-value]


def cantilever(
    cloth: pliant.Cloth, direction: str, n: int = 33, across: int = 3, irregular: bool = False
) -> tuple[float, float]:
    """Bending length by ASTM D1388 (Peirce): measured, and (B / (rho g))^(1/3), metres.

    The overhang is that at which the chord of the heavy elastica falls by 41.5 degrees. The measured bending length is
    that of the elastica with the chord angle of the simulated strip.
    """
    from scipy.optimize import brentq

    def chord(length: float) -> float:
        across, down = elastica(length)
        return float(np.degrees(np.arctan2(down, across)))

    exact = (cloth.bend_by_direction[direction == "weft"] / (cloth.density * G)) ** (1.0 / 3.0)
    ratio = brentq(lambda length: chord(length) - 41.5, 1.0, 4.0)
    overhang = exact * ratio
    h = overhang / (n - 1.5)  # the clamp is in the middle of the first column of triangles
    mesh = pliant.shapes.cloth(h * (n - 1), h * (across - 1), (n, across), irregular=irregular)
    x = mesh.vertices[:, 0]
    cloth, warp = dataclasses.replace(cloth, **VACUUM), "u" if direction == "warp" else "v"
    sim = simulated(mesh, cloth, x < x.min() + 1.35 * h, warp=warp)
    at_rest(sim, 1500, 1e-8)
    tip = sim.state.x[x > x.max() - 1e-9].mean(0) - np.array([x.min() + 0.5 * h, 0.0, 0.0])
    angle = float(np.degrees(np.arctan2(-tip[1], tip[0])))
    return overhang / brentq(lambda length: chord(length) - angle, 0.5, 5.0), exact


def bias(cloth: pliant.Cloth, length: float = 0.4, n: int = 41) -> tuple[float, float]:
    """Elongation of the middle half of a strip cut at 45 degrees: measured, and rho g L^2 / (4 E), with
    4 / E = 1 / warp + 1 / weft + 1 / shear."""
    mesh = pliant.shapes.cloth(0.1 * length, length, (1 + (n - 1) // 10, n), plane="xy")
    turned = mesh.vertices[:, :2] @ np.array([[1.0, -1.0], [1.0, 1.0]]) / np.sqrt(2.0)
    mesh = dataclasses.replace(mesh, uv=turned[mesh.faces])
    y = mesh.vertices[:, 1]
    sim = simulated(mesh, dataclasses.replace(cloth, **VACUUM), y > y.max() - 1e-9)
    at_rest(sim, 600)
    drop = [float((y - sim.state.x[:, 1])[np.abs(y - at) < 1e-9].mean()) for at in (-length / 4, length / 4)]
    modulus = 4.0 / (sum(1.0 / k for k in cloth.stretch_by_direction) + 1.0 / cloth.shear)
    return drop[0] - drop[1], cloth.density * G * length**2 / (4.0 * modulus)


def swing(substeps: int, length: float = 0.4, n: int = 33, periods: int = 3) -> tuple[float, float, float]:
    """Period of a strip that swings in its first mode: measured, and that of a heavy chain, 4 pi sqrt(L / g) / j with
    j = 2.405, the first zero of the Bessel function J0; and the share of the energy left after the last period."""
    from scipy.special import j0, jn_zeros

    zero = float(jn_zeros(0, 1)[0])
    mesh = pliant.shapes.cloth(0.1 * length, length, (3, n), plane="xy")
    y = mesh.vertices[:, 1]
    top = y > y.max() - 1e-9
    cloth = pliant.Cloth(stretch=2000.0, bend=0.0, damping=0.0, air=0.0)
    sim = simulated(mesh, cloth, top, substeps=substeps)
    at_rest(sim, 200)
    depth = 1.0 + (y - y.max()) / length  # 1 at the top, 0 at the free end
    sim.state.x[:, 2] += 0.02 * length * j0(zero * np.sqrt(np.clip(depth, 0.0, 1.0)))
    sim.state.v[:] = 0.0
    end, exact = y < y.min() + 1e-9, 4.0 * np.pi * np.sqrt(length / G) / zero
    z, t = [], []
    for frame in sim.run(round(periods * exact / 0.01) + 5):
        z.append(float(sim.state.x[end, 2].mean()))
        t.append(frame.time)
    crossings = [
        t[k] + (t[k + 1] - t[k]) * z[k] / (z[k] - z[k + 1]) for k in range(len(z) - 1) if z[k] > 0.0 >= z[k + 1]
    ]
    measured = (crossings[-1] - crossings[0]) / (len(crossings) - 1)
    peaks = [max(z[round(k * exact / 0.01) : round((k + 1) * exact / 0.01)]) for k in range(periods)]
    return measured, float(exact), float((peaks[-1] / (0.02 * length)) ** 2)


def slope(friction: float, degrees: float, seconds: float = 0.4, method: str = "distance-field") -> tuple[float, float]:
    """Distance that a sheet slides down a slope: measured, and that of Coulomb's law, g (sin a - c cos a) t^2 / 2."""
    a = np.radians(degrees)
    floor = pliant.shapes.box((2.0, 0.1, 0.6), (20, 1, 6), centre=(0.5, -0.05, 0.0))
    eps, t = 0.005, round(seconds / 0.01)
    mesh = pliant.shapes.cloth(0.2, 0.2, 6, centre=(0.0, eps, 0.0))
    body = pliant.Body(mesh, material=pliant.Cloth(air=0.0))
    gravity = (G * float(np.sin(a)), -G * float(np.cos(a)), 0.0)
    scene = pliant.Scene([body, pliant.Body(floor, obstacle=True)], gravity=gravity, friction=friction, eps=eps)
    sim = pliant.Simulation(scene, 0.01, substeps=8, solver="implicit", method=method)
    for _ in sim.run(10):  # it settles on its contacts: at first nothing presses it onto the slope
        pass
    start, v = (a[: len(mesh.vertices), 0].mean() for a in (sim.state.x, sim.state.v))
    for _ in sim.run(t):
        pass
    moved = float(sim.state.x[: len(mesh.vertices), 0].mean() - start - v * seconds)
    return moved, max(0.0, 0.5 * G * float(np.sin(a) - friction * np.cos(a)) * seconds**2)


# -- Cusick drape ----------------------------------------------------------------------------------------------------


def disc(radius: float, spacing: float) -> Mesh:
    """A flat disc of triangles of about equal size, with texture coordinates in metres."""
    from scipy.spatial import Delaunay

    rings = [np.zeros((1, 2))]
    count = round(radius / spacing)
    for k in range(1, count + 1):
        r, around = radius * k / count, round(2 * np.pi * k)
        angle = 2 * np.pi * (np.arange(around) + 0.5 * (k % 2)) / around
        rings.append(np.stack([r * np.cos(angle), r * np.sin(angle)], 1))
    p = np.concatenate(rings)
    faces = Delaunay(p).simplices
    a, b, c = (p[faces[:, k]] for k in range(3))
    area = (b[:, 0] - a[:, 0]) * (c[:, 1] - a[:, 1]) - (b[:, 1] - a[:, 1]) * (c[:, 0] - a[:, 0])
    faces = np.where((area < 0)[:, None], faces[:, ::-1], faces)[np.abs(area) > 1e-9 * spacing]
    return Mesh(np.stack([p[:, 0], 0.0 * p[:, 0], -p[:, 1]], 1), faces, name="disc", uv=p[faces])


def shadow(mesh: Mesh, x: np.ndarray, bins: int = 720) -> np.ndarray:
    """Outer radius of the shadow of a draped disc, by direction."""
    top = mesh.topology
    ends = x[top.edges[top.boundary]][:, :, [0, 2]]
    t = np.linspace(0.0, 1.0, 9)[None, :, None]
    p = ((1.0 - t) * ends[:, :1] + t * ends[:, 1:]).reshape(-1, 2)
    where = ((np.arctan2(p[:, 1], p[:, 0]) + np.pi) / (2 * np.pi) * bins).astype(int) % bins
    r = np.zeros(bins)
    np.maximum.at(r, where, np.hypot(p[:, 0], p[:, 1]))
    known = np.flatnonzero(r)
    return np.interp(np.arange(bins), known, r[known], period=bins)


def cusick(cloth: pliant.Cloth, spacing: float = 0.006, seconds: float = 2.5) -> tuple[float, int]:
    """Drape coefficient, percent, and number of nodes of a disc of 30 cm over a support of 18 cm (Cusick 1968)."""
    return measured_drape(*draped_disc(cloth, spacing, seconds))


def draped_disc(cloth: pliant.Cloth, spacing: float, seconds: float) -> tuple[Mesh, np.ndarray]:
    """A disc of 30 cm held by a support of 18 cm after `seconds`: its mesh, and its vertices."""
    mesh = disc(0.15, spacing)
    r = np.hypot(mesh.vertices[:, 0], mesh.vertices[:, 2])
    noise = np.random.default_rng(3).normal(scale=2e-4, size=len(r)) * (r > 0.09)
    mesh = mesh.moved(mesh.vertices + np.stack([0 * r, noise, 0 * r], 1))
    body = pliant.Body(
        mesh, material=dataclasses.replace(cloth, damping=0.02), pins=np.flatnonzero(r <= 0.0901), flat=True
    )
    sim = pliant.Simulation(pliant.Scene([body]), 0.01, substeps=8, solver="implicit")
    for _ in sim.run(round(seconds / 0.01)):
        pass
    return mesh, sim.state.x


def draw_cusick(save: Any) -> None:
    """Discs of every material from limp to stiff, for docs/dynamics/validation.md."""
    from pliant.motion.clip import Clip
    from pliant.report.camera import Camera
    from pliant.report.picture import render

    tiles, names, camera = [], ("silk", "jersey", "denim", "felt"), None
    for name in names:
        mesh, x = draped_disc(pliant.Cloth.named(name), 0.007, 1.5)
        clips = [Clip(mesh, np.stack([mesh.vertices, x]), (0.62, 0.16, 0.13))]
        camera = camera or Camera.framing(clips, 1.2)
        tiles.append(render(clips, 1, 288, 240, camera))
    save("cusick", np.concatenate(tiles, 1))


def measured_drape(mesh: Mesh, x: np.ndarray) -> tuple[float, int]:
    """Drape coefficient, percent, and number of nodes of a draped disc of 30 cm on a support of 18 cm."""
    from scipy.ndimage import gaussian_filter1d
    from scipy.signal import find_peaks

    outer = np.maximum(shadow(mesh, x), 0.09)
    coefficient = float((outer**2).mean() - 0.09**2) / (0.15**2 - 0.09**2)
    smooth = gaussian_filter1d(outer, 10.0, mode="wrap")
    peaks, _ = find_peaks(np.concatenate([smooth, smooth]), prominence=0.003)
    return 100.0 * coefficient, int(((peaks >= 360) & (peaks < 1080)).sum())


# -- tables ----------------------------------------------------------------------------------------------------------


def row(name: str, measured: float, exact: float, unit: str, scale: float = 1.0) -> None:
    error = 100.0 * (measured / exact - 1.0) if exact else float("nan")
    print(f"| {name} | {scale * exact:.4g} {unit} | {scale * measured:.4g} {unit} | {error:+.2f} % |", flush=True)


def strips() -> None:
    for name in ("cotton", "denim", "jersey"):
        for direction in ("warp", "weft"):
            row(f"hanging strip, {name}, {direction}", *strip(pliant.Cloth.named(name), direction), "mm", 1e3)


def cantilevers() -> None:
    for name in ("cotton", "denim", "silk"):
        for direction in ("warp", "weft"):
            row(f"cantilever, {name}, {direction}", *cantilever(pliant.Cloth.named(name), direction), "mm", 1e3)
    for name, direction in (("wool", "warp"), ("denim", "warp"), ("denim", "weft")):
        found = cantilever(pliant.Cloth.named(name), direction, across=9, irregular=True)
        row(f"cantilever of irregular triangles, {name}, {direction}", *found, "mm", 1e3)


def biases() -> None:
    for name in ("cotton", "denim", "silk"):
        row(f"bias strip, {name}", *bias(pliant.Cloth.named(name)), "mm", 1e3)


def swings() -> None:
    for substeps in (4, 8, 16):
        measured, exact, left = swing(substeps)
        row(f"swing, {substeps} substeps ({100 * left:.0f} % of the energy left)", measured, exact, "s")


def carried() -> None:
    """Elongation of a hanging strip by XPBD over that of its material, against stretch dt^2 / (density edge^2)."""
    length, density = 0.4, 0.2
    for k, n, substeps in ((500.0, 17, 16), (2000.0, 17, 16), (8000.0, 17, 16), (2000.0, 33, 16), (2000.0, 33, 64)):
        mesh = pliant.shapes.cloth(0.25 * length, length, (1 + (n - 1) // 4, n), plane="xy")
        y, cloth = mesh.vertices[:, 1], pliant.Cloth(density, k, k / 5.0, damping=0.05, air=0.0)
        sim = simulated(mesh, cloth, y > y.max() - 1e-9, substeps=substeps, solver="xpbd")
        for _ in sim.run(120):
            pass
        low, h, dt = y < y.min() + 1e-9, length / (n - 1), 0.01 / substeps
        ratio = float((y - sim.state.x[:, 1])[low].mean()) * 2.0 * k / (density * G * length**2)
        over = k * dt**2 / (density * h**2)
        print(f"| {k:.0f} N/m | {1e3 * h:.3g} mm | {substeps} | {over:.3g} | {ratio:.3g} |", flush=True)


def slopes() -> None:
    for friction, degrees in ((0.0, 20.0), (0.2, 20.0), (0.4, 30.0), (0.4, 20.0)):
        for method in ("distance-field", "bvh"):
            name = f"slope of {degrees:g} degrees, friction {friction:g}, {method}"
            row(name, *slope(friction, degrees, method=method), "m")


def cusicks() -> None:
    for name in MATERIALS:
        coefficient, nodes = cusick(pliant.Cloth.named(name))
        cloth = pliant.Cloth.named(name)
        mean = float(np.mean(cloth.bend_by_direction))
        length = 100.0 * (mean / (cloth.density * G)) ** (1.0 / 3.0)
        print(f"| {name} | {1e6 * mean:.3g} | {length:.2f} | {coefficient:.0f} % | {nodes} |", flush=True)


TABLES: dict[str, Callable[[], None]] = {
    "strip": strips,
    "cantilever": cantilevers,
    "bias": biases,
    "swing": swings,
    "slope": slopes,
    "cusick": cusicks,
    "xpbd": carried,
}

if __name__ == "__main__":
    for chosen in sys.argv[1:] or TABLES:
        TABLES[chosen]()

"""Simulations on a graphics card beside threads: `python -m pliant_bench.gpu_simulations [--quick]`.

One cloth of a million particles with friction, launch by launch and as a graph, with the time of every kernel; and a
batch of a thousand drapes. Results are compared bit by bit.
"""

import argparse
import json
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import pliant
from pliant import shapes
from pliant.kernels import device, jit
from pliant.scene import Body, Scene
from pliant.simulation import Simulation

SUBSTEPS = 8
ARRAYS = ("x", "v", "x_start", "v_start")


def cloth_on_ball(resolution: int, radius: float = 0.3, friction: float = 0.5, eps: float = 0.005) -> Scene:
    """A sheet of resolution x resolution particles just above a ball."""
    sheet = shapes.cloth(2.0, 2.0, resolution=resolution)
    above = pliant.Mesh(sheet.vertices + np.array([0.0, radius + 0.4 * eps, 0.0]), sheet.faces)
    return on_ball(above, radius, friction, eps)


def on_ball(above: pliant.Mesh, radius: float, friction: float, eps: float) -> Scene:
    ball = Body(shapes.ball(radius, 3), obstacle=True)
    return Scene([Body(above, velocity=(0.0, -2.0, 0.0)), ball], self_contact="off", friction=friction, eps=eps)


def seconds(work: Callable[[], Any], times: int = 1) -> float:
    """Seconds of one call, until the card is done."""
    device.synchronize()
    start = time.perf_counter()
    for _ in range(times):
        work()
    device.synchronize()
    return (time.perf_counter() - start) / times


def equal(one: Simulation, other: Simulation) -> bool:
    """Whether both end with the same bits."""
    return all(np.array_equal(getattr(one.state, name), getattr(other.state, name)) for name in ARRAYS)


def large(resolution: int, frames: int, say: Callable[..., None]) -> None:
    """A single cloth."""
    start = time.perf_counter()
    scene = cloth_on_ball(resolution)
    sim = Simulation(scene, 0.005, substeps=SUBSTEPS, solver="xpbd")
    say(task="set-up on the host", particles=len(sim.state.x), seconds=time.perf_counter() - start)
    begin = sim.state.copy()
    threads = min(seconds(sim.step) for _ in range(frames))
    last, contacts = sim.state.copy(), sim.step()
    say(task="substep on threads", threads=jit.threads(), ms=1e3 * threads / SUBSTEPS, contacts=len(contacts.contacts))
    sim.state, sim.index = begin, 0
    say(task="to the card", seconds=seconds(lambda: sim.to("cuda")))
    say(task="first frame", seconds=seconds(sim.step))
    card = min([seconds(sim.step) for _ in range(frames - 1)] or [float("nan")])
    same = all(np.array_equal(getattr(sim.state, name), getattr(last, name)) for name in ARRAYS)
    sim.step()
    card = min(card, *(seconds(sim.step) for _ in range(3)))
    say(task="substep on the card, graph", ms=1e3 * card / SUBSTEPS, bitwise=same)
    run: Any = sim.card_run
    (division,) = run._divisions.values()
    graph = division.graph
    if not device.SIMULATED and callable(graph):
        say(task="graph of a substep alone", ms=1e3 * seconds(graph, 20))
    division.graph = None
    recorded, device.recorded = device.recorded, lambda work: None
    say(task="substep on the card, launches", ms=1e3 * seconds(sim.step) / SUBSTEPS)
    device.recorded = recorded
    if not device.SIMULATED:
        kernels(run, division, say)


def kernels(run: Any, division: Any, say: Callable[..., None]) -> None:
    """The time of every kernel of a substep, each in a graph of twenty launches of it."""
    launched: list[tuple[Any, ...]] = []
    launch, device.launch = device.launch, lambda *args, **options: launched.append(args)
    run._move(division)
    run._detect(division)
    run._respond(division)
    device.launch = launch
    total: dict[str, list[float]] = {}
    clear, counts = run._kernels.clear, [contacts._listed.counts for contacts in run._contacts]
    for args in launched:

        def twenty(args: tuple[Any, ...] = args) -> None:
            for _ in range(20):
                if args[0].__name__ == "touch_midpoints":  # it adds to the lists
                    for each in counts:
                        launch(clear, len(each), each)
                launch(*args)

        run._zero()
        graph = device.recorded(twenty)
        total.setdefault(args[0].__name__, []).append(1e6 * seconds(graph) / 20)
    for name, times in total.items():
        say(task=f"kernel {name}", launches=len(times), microseconds=sum(times))
    say(task="all kernels", launches=len(launched), microseconds=sum(sum(times) for times in total.values()))


def many(count: int, resolution: int, frames: int, say: Callable[..., None]) -> None:
    """A batch of drapes that differ in friction, gravity and contact offset, over five balls."""
    start = time.perf_counter()
    sheet = shapes.cloth(1.0, 1.0, resolution=resolution)
    cloths = [
        pliant.Mesh(sheet.vertices + np.array([0.0, r + 0.002, 0.0]), sheet.faces) for r in np.linspace(0.2, 0.3, 5)
    ]
    scenes = []
    for k in range(count):
        scene = on_ball(cloths[k * 5 // count], 0.2 + 0.025 * (k * 5 // count), 0.1 + 0.8 * k / count, 0.005)
        scenes.append(scene)
    balls: dict[int, Body] = {}
    for k, scene in enumerate(scenes):  # scenes of one radius share the body, and so its field
        body = balls.setdefault(k * 5 // count, scene.bodies[1])
        scenes[k] = Scene([scene.bodies[0], body], self_contact="off", friction=scene.friction, eps=scene.eps)
    say(task="scenes", count=count, seconds=time.perf_counter() - start)
    begin = time.perf_counter()
    batch = Simulation.batch(scenes, 0.01, substeps=16, solver="xpbd", device="cuda")
    say(task="batch made", particles=len(batch.sims[0].state.x), seconds=time.perf_counter() - begin)
    first = time.perf_counter()
    batch.step()
    say(task="first frame of the batch", seconds=time.perf_counter() - first)
    rest = time.perf_counter()
    for _ in range(frames - 1):
        batch.step()
    device.synchronize()
    took = time.perf_counter() - rest
    states = [batch.sims[k].state for k in (0, count // 2, count - 1)]
    whole = time.perf_counter() - start
    say(
        task="drapes",
        frames=frames,
        seconds=whole,
        frame_ms=1e3 * took / max(frames - 1, 1),
        per_minute=60 * count / whole,
    )
    for k, state in zip((0, count // 2, count - 1), states, strict=True):
        alone = Simulation(scenes[k], 0.01, substeps=16, solver="xpbd")
        for _ in range(frames):
            alone.step()
        say(task=f"drape {k} is bitwise equal", bitwise=bool(np.array_equal(alone.state.x, state.x)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small cases, for a dry run in Numba's simulator")
    parser.add_argument("--only", choices=["large", "many"], help="one cloth of a million particles, or the batch")
    given = parser.parse_args()
    quick = given.quick
    if missing := device.missing():
        raise SystemExit(missing)

    def say(**row: Any) -> None:
        print(json.dumps(row), flush=True)

    say(card=device.card_name())
    if given.only != "many":
        large(6 if quick else 1000, 1 if quick else 4, say)
    if given.only != "large":
        many(3 if quick else 1000, 4 if quick else 63, 1 if quick else 100, say)


if __name__ == "__main__":
    main()

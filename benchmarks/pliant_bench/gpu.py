"""Kernels on a graphics card beside threads: times, whether the results are bitwise equal, and the memory floor."""

import argparse
import contextlib
import dataclasses
import functools
import json
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pliant import DistanceField, geometry, shapes
from pliant.contacts import CONTACT
from pliant.detect.detectors.continuous import Sweep
from pliant.detect.fields.sampled import around
from pliant.detect.queries.closest_point import ClosestPoints
from pliant.detect.queries.intersections import Intersections
from pliant.kernels import device, jit
from pliant.kernels.queries.closest_point import along_curve
from pliant.mesh import Mesh
from pliant.report.tables import Column, Table

from .gpu_contacts import Contacts, folded_sheet, newton_contacts, warp_nearest

Floats = NDArray[np.float64]
COLUMNS = (
    Column("task"),
    Column("count", show="{:,}"),
    Column("threads_ms", "threads", "{:.3g}"),
    Column("card_ms", "card", "{:.3g}"),
    Column("kernel_ms", "kernel", "{:.3g}"),
    Column("ratio", "ratio", "{:.0f}"),
    Column("floor_ms", "floor", "{:.2g}"),
    Column("warp_ms", "warp", "{:.3g}"),
    Column("newton_ms", "newton", "{:.3g}"),
    Column("newton_pairs", detail=True),
    Column("newton_lost", detail=True),
    Column("failed", detail=True),
    Column("equal", "bitwise"),
)


@dataclasses.dataclass(eq=False)
class Task:
    """The same work on threads and on the card; `kernel`: only its launches, or None. `traffic`: bytes that the card
    has to read and write at least."""

    name: str
    count: int
    traffic: int
    threads: Callable[[], Any]
    card: Callable[[], Any]
    kernel: Callable[[], Any] | None = None
    # what makes the same work of others, in single precision
    warp: Callable[[], Any] | None = None
    newton: Callable[[], Any] | None = None


Done = Callable[[dict[str, Any]], None]
PARTS = ("contacts", "sheets", "samples", "distances", "impacts", "nearest")


def gpu_table(
    *,
    quick: bool = False,
    only: str | None = None,
    repeats: int = 5,
    progress: Callable[[str], None] = lambda _: None,
    done: Done = lambda _: None,
) -> tuple[Table, str]:
    """Contacts, samples of a field, distances, times of impact and nearest points; and the card, without which
    ValueError. `only`: one of PARTS. `done` is told each row as soon as it is measured."""
    if missing := device.missing():
        raise ValueError(f"the benchmark of graphics cards cannot run: {missing}")
    many = (60 if device.SIMULATED else 100_000) if quick else 10_000_000
    bandwidth = _bandwidth(64 if device.SIMULATED else 1 << 28)
    rows = []
    for task in _tasks(many, quick, only):
        progress(task.name)
        expected, found = task.threads(), task.card()
        row: dict[str, Any] = {"task": task.name, "count": task.count, "equal": _equal(expected, found)}
        del expected, found
        row["threads_ms"] = 1e3 * min(_seconds(task.threads) for _ in range(repeats))
        row["card_ms"] = 1e3 * min(_seconds(task.card) for _ in range(repeats))
        if task.kernel is not None:
            row["kernel_ms"] = 1e3 * min(_seconds(task.kernel) for _ in range(repeats + 1))
        row |= {"ratio": row["threads_ms"] / row["card_ms"], "floor_ms": 1e3 * task.traffic / bandwidth}
        if task.warp is not None:
            _peer(row, "warp_ms", task.warp, repeats)
        if task.newton is not None:
            theirs = _peer(row, "newton_ms", functools.partial(_work_of, task.newton), repeats)
            if theirs is not None:
                row |= {"newton_pairs": sum(theirs.check(None).values()), "newton_lost": theirs.overflowed}
        rows.append(row)
        done(row)
    title = f"Graphics card and {jit.threads()} threads, milliseconds; {bandwidth / 1e12:.3g} TB/s copied"
    return Table("gpu", title, COLUMNS, rows), device.card_name()


def _work_of(make: Callable[[], Any]) -> Any:
    made = make()
    return None if made is None else made.work


def _peer(row: dict[str, Any], key: str, make: Callable[[], Any], repeats: int) -> Any:
    """Measure the work that `make` prepares, which is a method of what is returned; a peer that is not installed, or
    fails, leaves the row without its figure."""
    try:
        work = make()
        if work is None:
            return None
        row[key] = 1e3 * min(_seconds(work) for _ in range(repeats + 1))
        return getattr(work, "__self__", None)
    except Exception as error:  # whatever a peer raises
        row["failed"] = f"{key.removesuffix('_ms')}: {type(error).__name__}: {' '.join(str(error).split())[:200]}"
        return None


def _tasks(many: int, quick: bool, only: str | None) -> Iterator[Task]:
    rng = np.random.default_rng(0)
    body = shapes.ball(0.5, 2) if quick else shapes.mannequin(1.6)
    side = (6 if device.SIMULATED else 100) if quick else 1000
    parts: dict[str, Callable[[], Iterator[Task]]] = {
        "contacts": lambda: _contacts(side),
        "sheets": lambda: _crumpled(side if quick else 400, rng),
        "samples": lambda: _samples(body, many, quick, rng),
        "distances": lambda: _distances(many, rng),
        "impacts": lambda: _impacts(many, rng),
        "nearest": lambda: _nearest(body, max(many // 10, 40), rng),
    }
    assert set(parts) == set(PARTS)
    for name, tasks in parts.items():
        if only in (None, name):
            yield from tasks()


def _samples(body: Mesh, many: int, quick: bool, rng: np.random.Generator) -> Iterator[Task]:
    field = DistanceField.bake(body, 16 if quick else 200)
    there: Any = field.to("cuda")
    points = around(body, many, 0.9 * field.band * field.spacing, rng)
    for order, p in (("random", points), ("along a curve", points[along_curve(points)])):
        held = [device.upload(p), device.empty(many), device.empty((many, 3))]
        own = [np.empty(many), np.empty((many, 3))]

        def threads(p: Floats = p, own: list[Any] = own) -> Any:
            field.probe(p, *own)
            return own

        def card(held: list[Any] = held) -> Any:
            return there.probe(held[0])

        def kernel(held: list[Any] = held) -> Any:
            return there.probe(*held)

        yield Task(f"samples with gradient, {order}", many, 56 * many, threads, card, kernel)


def _rows(many: int, rng: np.random.Generator) -> Floats:
    """Stencils (many,4,3) of random numbers, of which a million differ."""
    few = rng.normal(size=(min(many, 1_000_000), 4, 3))
    return np.tile(few, (-(-many // len(few)), 1, 1))[:many]


def _distances(many: int, rng: np.random.Generator) -> Iterator[Task]:
    p = _rows(many, rng)
    there, out = device.upload(p), device.empty(many)
    for name in ("point_triangle_distance", "edge_edge_distance"):
        measure, of_rows = getattr(geometry, name), getattr(device.twin("geometry.batches"), f"{name}s")

        def threads(measure: Any = measure) -> Any:
            return measure(p)

        def card(measure: Any = measure) -> Any:
            return measure(there)

        def kernel(of_rows: Any = of_rows) -> None:
            device.launch(of_rows, many, there, out)

        yield Task(name, many, 104 * many, threads, card, kernel)


def _impacts(many: int, rng: np.random.Generator) -> Iterator[Task]:
    start = _rows(many, rng)
    end = start + 0.02 * _rows(many, rng)
    there = device.upload(start), device.upload(end)
    for name in ("vertex_face_impact", "edge_edge_impact"):
        find = getattr(geometry, name)

        def threads(find: Any = find) -> Any:
            return find(start, end)

        def card(find: Any = find) -> Any:
            return find(*there)

        yield Task(name, many, 201 * many, threads, card)


def _nearest(body: Mesh, count: int, rng: np.random.Generator) -> Iterator[Task]:
    query = ClosestPoints(body)
    there: Any = query.to("cuda")
    low, high = body.bounds
    cases = {"near": around(body, count, 0.01 * body.size, rng), "anywhere": rng.uniform(low, high, (count, 3))}
    for name, p in cases.items():
        for order, points in (("", p), (", along a curve", p[along_curve(p)])):
            held = device.upload(points)

            def threads(points: Floats = points) -> Any:
                return query.query(points)

            def card(held: Any = held) -> Any:
                return there.query(held)

            title = f"nearest points of {body.n_faces:,} faces, {name}{order}"

            def warp(points: Floats = points) -> Any:
                return warp_nearest(body, points)

            yield Task(title, count, 88 * count, threads, card, warp=warp)


def _contacts(side: int) -> Iterator[Task]:
    case = Contacts(side)
    count, n = len(case.card()), case.cloth.n_vertices
    # positions and the indices of triangles are read, records are written
    traffic = 24 * n + 48 * case.cloth.n_faces + CONTACT.itemsize * count
    name = f"{count:,} contacts of a folded sheet"
    # "kernel": the pairs alone, sorted, without records
    yield Task(name, n, traffic, case.threads, case.card, case.pairs, newton=lambda: newton_contacts(case))


def _crumpled(side: int, rng: np.random.Generator) -> Iterator[Task]:
    """Exact self-intersections of a crumpled sheet, and the collision-free step of one that moves."""
    cloth, x = folded_sheet(side)
    crumpled = x + rng.normal(size=x.shape) * 0.2 / side
    query, held = Intersections(cloth), device.upload(crumpled)
    there: Any = query.to("cuda")
    faces = 24 * cloth.n_vertices + 12 * cloth.n_faces
    yield Task(
        f"self-intersections of {cloth.n_faces:,} faces",
        cloth.n_faces,
        faces,
        lambda: query.update(crumpled).pairs(),
        lambda: there.update(held).pairs(),
    )
    end = x + rng.normal(size=x.shape) * 0.3 / side
    sweep, both = Sweep(cloth), (device.upload(x), device.upload(end))
    swept: Any = sweep.to("cuda")
    yield Task(
        f"collision-free step of {cloth.n_faces:,} faces",
        cloth.n_faces,
        2 * faces,
        lambda: np.array([sweep.step(x, end)]),
        lambda: np.array([swept.step(*both)]),
    )


def _bandwidth(count: int) -> float:
    """Bytes per second that the card reads and writes when it copies."""
    one, two = device.empty(count), device.empty(count)
    best = min(_seconds(lambda: two.copy_to_device(one)) for _ in range(6))
    return 16.0 * count / best


def _seconds(work: Callable[[], Any]) -> float:
    """Seconds of one call, until the card is done."""
    device.synchronize()
    start = time.perf_counter()
    made = work()
    device.synchronize()
    took = time.perf_counter() - start
    del made
    return took


def _equal(expected: Any, found: Any) -> bool:
    """Whether results on the card are bitwise those of threads; where both are no numbers, whatever their bits."""
    return all(_same_bits(a, np.asarray(_on_host(b))) for a, b in zip(_listed(expected), _listed(found), strict=True))


def _same_bits(a: Any, b: Any) -> bool:
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    if a.dtype.kind != "f":
        return bool(a.tobytes() == b.tobytes())
    bits = np.dtype(f"i{a.dtype.itemsize}")
    one, two = np.ascontiguousarray(a), np.ascontiguousarray(b)
    return bool(((one.view(bits) == two.view(bits)) | (np.isnan(one) & np.isnan(two))).all())


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]


def _on_host(value: Any) -> Any:
    with contextlib.suppress(AttributeError):
        return value.copy_to_host()
    return value


def main() -> None:
    """Print each row as a line of JSON as soon as it is measured: `python -m pliant_bench.gpu [--quick]`."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--quick", action="store_true", help="small cases, for a dry run in Numba's simulator")
    parser.add_argument("--only", choices=PARTS)
    given = parser.parse_args()

    def say(row: dict[str, Any]) -> None:
        print(json.dumps(row), flush=True)

    table, card = gpu_table(quick=given.quick, only=given.only, repeats=3, done=say)
    print(json.dumps({"card": card, "title": table.title}))


if __name__ == "__main__":
    main()

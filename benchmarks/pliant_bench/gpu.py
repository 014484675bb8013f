"""Kernels on a graphics card beside threads: times, whether the results are bitwise equal, and the memory floor."""

import contextlib
import dataclasses
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pliant import DistanceField, geometry, shapes
from pliant.contacts import CONTACT
from pliant.detect.fields.sampled import around
from pliant.detect.queries.closest_point import ClosestPoints
from pliant.kernels import device, jit
from pliant.kernels.queries.closest_point import along_curve
from pliant.mesh import Mesh
from pliant.report.tables import Column, Table

from .gpu_contacts import Contacts, newton_contacts, warp_nearest

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
    Column("kernel_of", detail=True),
    Column("newton_pairs", detail=True),
    Column("newton_lost", detail=True),
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
    warp: Callable[[], Any] | None = None  # the same work of others, in single precision
    newton: Callable[[], Any] | None = None
    others: Callable[[], dict[str, Any]] | None = None  # further figures of the row


def gpu_table(
    *, quick: bool = False, repeats: int = 5, progress: Callable[[str], None] = lambda _: None
) -> tuple[Table, str]:
    """Samples of a field, distances, times of impact and nearest points; and the card, without which ValueError."""
    if missing := device.missing():
        raise ValueError(f"the benchmark of graphics cards cannot run: {missing}")
    many = (60 if device.SIMULATED else 100_000) if quick else 10_000_000
    bandwidth = _bandwidth(64 if device.SIMULATED else 1 << 28)
    rows = []
    for task in _tasks(many, quick):
        progress(task.name)
        expected, found = task.threads(), task.card()
        row: dict[str, Any] = {"task": task.name, "count": task.count, "equal": _equal(expected, found)}
        del expected, found
        row["threads_ms"] = 1e3 * min(_seconds(task.threads) for _ in range(repeats))
        row["card_ms"] = 1e3 * min(_seconds(task.card) for _ in range(repeats))
        if task.kernel is not None:
            row["kernel_ms"] = 1e3 * min(_seconds(task.kernel) for _ in range(repeats + 1))
        for name, work in (("warp", task.warp), ("newton", task.newton)):
            if work is not None:
                row[f"{name}_ms"] = 1e3 * min(_seconds(work) for _ in range(repeats + 1))
        if task.others is not None:
            row |= task.others()
        row |= {"ratio": row["threads_ms"] / row["card_ms"], "floor_ms": 1e3 * task.traffic / bandwidth}
        rows.append(row)
        progress(str(row))
    title = f"Graphics card and {jit.threads()} threads, milliseconds; {bandwidth / 1e12:.3g} TB/s copied"
    return Table("gpu", title, COLUMNS, rows), device.card_name()


def _tasks(many: int, quick: bool) -> Iterator[Task]:
    rng = np.random.default_rng(0)
    body = shapes.ball(0.5, 2) if quick else shapes.mannequin(1.6)
    yield from _samples(body, many, quick, rng)
    yield from _distances(many, rng)
    yield from _impacts(many, rng)
    yield from _nearest(body, max(many // 10, 40), rng)
    yield from _contacts((6 if device.SIMULATED else 100) if quick else 1000)


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
            yield Task(title, count, 88 * count, threads, card, warp=warp_nearest(body, points))


def _contacts(side: int) -> Iterator[Task]:
    case = Contacts(side)
    count = len(case.card())
    # positions and the indices of triangles are read, records are written
    traffic = 24 * case.cloth.n_vertices + 48 * case.cloth.n_faces + CONTACT.itemsize * count
    theirs = newton_contacts(case)
    name, n = f"{count:,} contacts of a folded sheet", case.cloth.n_vertices
    task = Task(name, n, traffic, case.threads, case.card, case.pairs, others=lambda: {"kernel_of": "pairs alone"})
    if theirs is not None:
        task.newton = theirs.work
        task.others = lambda: {
            "kernel_of": "pairs alone",
            "newton_pairs": sum(theirs.check(None).values()),
            "newton_lost": theirs.overflowed,
        }
    yield task


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
    """Whether results on the card are bitwise those of threads."""
    pairs = zip(_listed(expected), _listed(found), strict=True)
    return all(np.array_equal(_on_host(b), a, equal_nan=a.dtype.kind == "f") for a, b in pairs)


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]


def _on_host(value: Any) -> Any:
    with contextlib.suppress(AttributeError):
        return value.copy_to_host()
    return value

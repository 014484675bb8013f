"""Garments of 10 000 vertices that naive skinning transfer moves on dancing characters, before and after `pliant.fix`:
the table of docs/fix.md.

    python benchmarks/studies/dancing.py                      # every garment on the dancing mannequin
    python benchmarks/studies/dancing.py robot/snug-top       # a character of ../shared/data in its own clip
    python benchmarks/studies/dancing.py mannequin/skirt --vertices 2000 --frames 20
    python benchmarks/studies/dancing.py human/tights         # as posed in ../shared/data/human, with its vertices
"""

import argparse
import dataclasses
import functools
import pathlib
import time
from typing import NamedTuple

import checking
import numpy as np
from numpy.typing import NDArray
from transfer import by_nearest_points

import pliant
from pliant import Character, Clip, Mesh
from pliant.detect.queries.closest_point import ClosestPoints
from pliant.motion.animation import Animation, Track
from pliant_bench.garments.characters import NAMES, actor
from pliant_bench.garments.measuring import Gauge
from pliant_bench.garments.outline import Outline
from pliant_bench.garments.shells import Shell
from pliant_bench.garments.tailor import MAKERS, Garment
from pliant_bench.garments.wearing import Run, outline, tailored

Floats = NDArray[np.float64]
FPS = 30.0
BEAT = 0.6  # seconds of a beat of the dance
CLEARANCE = 0.001  # metres, of `fix`
ROOM = 2.0 * CLEARANCE  # metres: a body leaves cloth room if no other part of it is within twice this
STRAIN = 0.03  # bar of the edge strain beyond that of the input
GARMENTS = ("skirt", "T-shirt", "trousers", "long dress", "snug top")


def dance(seconds: float, keys_per_second: float = 60.0) -> dict[str, Floats]:
    """Rotations (k,4) of bones of the mannequin: it spins, twists and bends, and throws up arms and knees."""
    from scipy.spatial.transform import Rotation

    t = np.arange(0.0, seconds + 1.0 / keys_per_second, 1.0 / keys_per_second)
    axes = dict(zip("xyz", np.eye(3)))

    def turn(axis: str, degrees: Floats | float) -> Rotation:
        return Rotation.from_rotvec(np.radians(np.broadcast_to(degrees, t.shape))[:, None] * axes[axis])

    def wave(period: float, shift: float = 0.0) -> Floats:
        return np.asarray(np.sin(2.0 * np.pi * (t / (period * BEAT) + shift)))

    # it eases into the spin, one turn in four beats
    spin = 90.0 * np.maximum(t - BEAT, 0.0) / BEAT
    found = {
        "hips": turn("y", spin) * turn("z", 8.0 * wave(2.0)),
        "spine": turn("y", 15.0 * wave(2.0)) * turn("x", 8.0 * wave(1.0)),
        "chest": turn("y", 15.0 * wave(2.0)) * turn("z", -10.0 * wave(2.0)),
        "neck": turn("y", -20.0 * wave(2.0)),
    }
    for side, sign, shift in (("left", 1.0, 0.0), ("right", -1.0, 0.5)):
        up = np.maximum(wave(2.0, shift), 0.0) ** 2
        found[f"thigh.{side}"] = turn("x", -70.0 * up) * turn("z", sign * (4.0 + 14.0 * up))
        found[f"shin.{side}"] = turn("x", 85.0 * up)
        raised = 30.0 + 40.0 * wave(2.0, 0.25 + shift)
        found[f"upper_arm.{side}"] = turn("z", sign * raised) * turn("x", 25.0 * wave(1.0, shift))
        found[f"forearm.{side}"] = turn("y", -sign * (40.0 + 35.0 * wave(1.0)))
    return {name: rotation.as_quat() for name, rotation in found.items()} | {"": t[:, None]}


def dancer(seconds: float) -> Character:
    """The mannequin with the clip "dance"."""
    who = pliant.shapes.walking_mannequin()
    turns = dance(seconds)
    times = turns.pop("")[:, 0]
    column = {name: who.skeleton.column(who.names.index(name), "rotation") for name in turns}
    tracks = tuple(Track(column[name], times, turn, "linear", True) for name, turn in turns.items())
    return dataclasses.replace(who, clips={"dance": Animation(tracks)})


class Case(NamedTuple):
    """A garment that follows the skin of a body, the garment as it was made, and the same bound by `pliant bind`."""

    name: str
    worn: Garment
    garment: Clip
    body: Clip
    bound: Clip | None = None


def case(name: str, vertices: int, frames: int, folder: pathlib.Path | None) -> Case:
    """The garment of this name, CHARACTER/GARMENT, in as many frames."""
    who, _, what = name.partition("/")
    if who == "human":
        return posed(name, what, frames)
    plain, what = who.replace("-", " "), next(one for one in (*MAKERS, "trousers") if _plain(one) == _plain(what))
    if what == "trousers":
        worn = trousers(outline(plain, folder, Run.detail), vertices)
    else:
        # `fix` knows the rest lengths of the mesh alone, so strain is measured against these, without ease
        worn = dataclasses.replace(tailored(Run(plain, what, vertices, folder=folder)), ease=None)
    if who == "mannequin":
        character, clip = dancer(frames / FPS), "dance"
    else:
        played = actor(plain, folder)
        character, clip = played.character, played.clip
    times = np.arange(frames) / FPS % max(character.clips[clip].duration, 1.0 / FPS)
    # garments are made in the rest pose, and weights are transferred there
    skin = character.mesh.moved(character.shape(None, 0.0))
    moved = by_nearest_points(worn.mesh, _bound_at_rest(character, skin))
    under = np.stack([character.shape(clip, float(t)) for t in times])
    over = np.stack([moved.shape(clip, float(t)) for t in times])
    smooth = pliant.bind(worn.mesh, _bound_at_rest(character, skin)).garment
    bound = np.stack([smooth.shape(clip, float(t)) for t in times])
    return Case(name, worn, Clip(worn.mesh, over), Clip(skin, under), Clip(worn.mesh, bound))


def posed(name: str, what: str, frames: int) -> Case:
    """Clothes of the walking human in as many frames, again from the first after the last."""
    over, under = checking.clip(what), checking.clip("body")
    rows, none = np.arange(frames) % len(over), np.zeros(0, np.int64)
    worn = Garment(over.mesh, (), none, none, 0)
    return Case(name, worn, *(Clip(one.mesh, np.asarray(one.frames, np.float64)[rows]) for one in (over, under)))


def trousers(around: Outline, vertices: int) -> Garment:
    """From the waist to the calves, 12 mm off the body, which the surface spans between the thighs."""
    at, points = around.landmarks, around.trunk_points
    low = at.floor + 0.25 * (at.crotch - at.floor)
    legs = points[(points[:, 1] > low) & (points[:, 1] < at.waist)]
    reach = np.array([0.03, 0.0, 0.03])
    box = np.stack([legs.min(0) - reach, legs.max(0) + reach])
    box[:, 1] = low, at.waist
    x, faces, side = Shell(around, 0.012, *box).mesh(vertices)
    hem, top = np.flatnonzero(side == 2), np.flatnonzero(side == 3)
    return Garment(Mesh(x, faces, name="trousers"), (), top, hem, 3)


def _plain(text: str) -> str:
    return text.lower().replace(" ", "-")


def _bound_at_rest(character: Character, skin: Mesh) -> Character:
    """The character with its rest pose as the shape that its bones move."""
    still = np.tile(np.eye(4), (len(character.names), 1, 1))
    still[:, :3] = character.skin_matrices_at(None, [0.0])[0]
    inverse = character.inverse @ np.linalg.inv(still)
    return dataclasses.replace(character, mesh=skin, inverse=inverse, morphs=())


class Frames(NamedTuple):
    """Sums over frames, and the edge strain and differences over time of all of them."""

    inside: int  # vertices and edge midpoints inside, where the body leaves room
    deepest: float  # metres
    crossings: int  # pairs of garment and body that cross there
    tangles: int  # self-intersecting pairs there
    no_room: int  # points, pairs and self-intersecting pairs where the body leaves no room
    strain: Floats  # (t,k) relative change of length against the rest shape
    third: Floats  # (t-3,n) metres: third differences of positions over frames
    relative: Floats  # (t-3,n) metres: the same, in the frame of the face of the skin that is nearest at rest
    alternating: Floats  # (t-6,n) metres: amplitude of motion that alternates from frame to frame
    relative_alternating: Floats  # (t-6,n) metres: the same, in the frame of that face
    flicker: Floats  # (t-3,f) degrees: third differences of the normals of faces, by which light changes


def measured(one: Case, frames: Floats) -> Frames:
    """Measure the garment at `frames` (T,n,3) by exact queries that `fix` does not decide."""
    gauge = Gauge(one.worn, one.body.mesh, ROOM)
    inside = crossings = tangles = no_room = 0
    deepest, strain = 0.0, []
    first = np.unique(one.body.mesh.weld_index, return_index=True)[1]
    for t, x in enumerate(frames):
        y = np.asarray(one.body.at(t), np.float64)[first]
        depth, deep, pinched, *_ = gauge.penetration(x, y)
        with_body, _, pinched_pairs = gauge.body_pairs(x, y)
        own, pinched_own = _tangles(gauge, x, y)
        inside, deepest, crossings = inside + deep, max(deepest, depth), crossings + with_body
        tangles, no_room = tangles + own, no_room + pinched + pinched_pairs + pinched_own
        strain.append(gauge.strain(x))
    both = frames, _relative_to_skin(one, frames)
    third, relative = (_differences(some, 3) for some in both)
    # other frequencies count less: an eighth at half of this one
    alternating = [_differences(some, 6) / 64.0 for some in both]
    flicker = np.degrees(_differences(_normals(frames, one.worn.mesh.faces), 3))
    return Frames(
        inside, deepest, crossings, tangles, no_room, np.stack(strain), third, relative, *alternating, flicker
    )


def _normals(frames: Floats, faces: NDArray[np.int32]) -> Floats:
    """(T,f,3) unit normals of faces; zero where they have no area."""
    a, b, c = (frames[:, faces[:, k]] for k in range(3))
    n = np.cross(b - a, c - a)
    return np.asarray(n / np.maximum(np.linalg.norm(n, axis=2, keepdims=True), 1e-300))


def _differences(x: Floats, order: int) -> Floats:
    """(t-order,n) lengths of the differences of this order over frames."""
    return np.asarray(np.linalg.norm(np.diff(x, order, axis=0), axis=2))


def _tangles(gauge: Gauge, x: Floats, body: Floats) -> tuple[int, int]:
    """Self-intersecting pairs, where the body leaves room and where it does not."""
    pairs = gauge._own.update(x).pairs()
    room = _room(gauge, x[gauge.cloth.faces[pairs]].mean((1, 2)), body)
    return int(room.sum()), int((~room).sum())


def _room(gauge: Gauge, points: Floats, body: Floats) -> NDArray[np.bool_]:
    """(k,) whether the body leaves cloth room at `points` (k,3)."""
    if not len(points):
        return np.zeros(0, np.bool_)
    gauge.room.update(body)
    return gauge.room.exists(*gauge.room.nearest(points))


def strained(one: Case, frames: Floats, excess: Floats) -> NDArray[np.bool_]:
    """(t,k) edges of `frames` with more than `STRAIN` of added strain `excess` (t,k) where the body leaves room."""
    gauge, found = Gauge(one.worn, one.body.mesh, ROOM), excess > STRAIN
    first = np.unique(one.body.mesh.weld_index, return_index=True)[1]
    for t in np.flatnonzero(found.any(1)):
        rows = np.flatnonzero(found[t])
        middle = frames[t][gauge.cloth.topology.edges[rows]].mean(1)
        found[t, rows] = _room(gauge, middle, np.asarray(one.body.at(t), np.float64)[first])
    return found


def _relative_to_skin(one: Case, frames: Floats) -> Floats:
    """(t,n,3) the garment in the frame of the face of the skin that is nearest at rest."""
    skin = one.body.mesh
    face = ClosestPoints(skin).query(one.worn.mesh.vertices)[2]
    corners = skin.welded.faces[face]
    first = np.unique(skin.weld_index, return_index=True)[1]
    local = []
    for t, x in enumerate(frames):
        a, b, c = np.moveaxis(np.asarray(one.body.at(t), np.float64)[first][corners], 1, 0)
        u = (b - a) / np.linalg.norm(b - a, axis=1)[:, None]
        n = np.cross(b - a, c - a)
        n /= np.maximum(np.linalg.norm(n, axis=1), 1e-300)[:, None]
        axes = np.stack([u, np.cross(n, u), n], 1)
        local.append(np.einsum("nij,nj->ni", axes, x - (a + b + c) / 3.0))
    return np.stack(local)


@functools.cache
def _warm() -> None:
    """Load or compile every kernel, so that no case pays for it."""
    small = case("mannequin/T-shirt", 1000, 4, None)
    pliant.fix(small.garment, small.body, clearance=CLEARANCE)


def row(one: Case) -> list[str]:
    """The row of a case in the table."""
    _warm()
    wall, cpu, pace = time.perf_counter(), time.process_time(), Pace()
    fixed = pliant.fix(one.garment, one.body, clearance=CLEARANCE, progress=pace)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    before = measured(one, np.asarray(one.garment.frames, np.float64))
    after = measured(one, np.asarray(fixed.garment.frames, np.float64))
    excess = np.maximum(np.abs(after.strain) - np.abs(before.strain), 0.0)
    told = [one.name, f"{one.worn.mesh.n_vertices:,}", f"{len(one.garment)}"]
    told += [f"{a:,} -> {b:,}" for a, b in zip(before[:1] + before[2:5], after[:1] + after[2:5])]
    told += [f"{1e3 * before.deepest:.1f} -> {1e3 * after.deepest:.1f}"]
    told += [f"{100 * np.quantile(excess, q):.1f}" for q in (0.99, 0.999, 1.0)]
    with_room = int(strained(one, np.asarray(fixed.garment.frames, np.float64), excess).sum())
    told += [f"{with_room:,} of {excess.size:,}", f"{int((excess > STRAIN).sum()) - with_room:,}"]
    for a, b in zip(before[6:], after[6:]):
        each = [np.sqrt((some**2).mean(0)) for some in (a, b)]
        unit = 1.0 if a is before.flicker else 1e3
        told += [_ratio(*(unit * np.quantile(some, q) for some in each)) for q in (0.5, 0.99)]
    told += _of_bound(one)
    return [*told, f"{wall:.1f}", f"{cpu:.1f}", f"{pace.slowest(len(one.garment)):.1f}"]


class Pace:
    """Progress of `fix`, which reports every frame of every stage."""

    def __init__(self) -> None:
        self.reports = [(0.0, time.process_time())]

    def __call__(self, share: float) -> None:
        self.reports.append((share, time.process_time()))

    def slowest(self, frames: int) -> float:
        """CPU time of the slowest frame in all stages, relative to the median. What is done in all frames together is
        left out, since its report adds nothing to the share."""
        shares, times = np.array(self.reports).T
        steps, seconds, total = np.diff(shares), np.diff(times), np.zeros(frames)
        for step in np.unique(np.round(steps[steps > 1e-9], 9)):
            stage = seconds[np.abs(steps - step) < 2e-9]
            if len(stage) % frames == 0:
                total += stage.reshape(-1, frames).sum(0)
        return float(total.max() / np.median(total))


def _ratio(one: float, two: float) -> str:
    return f"{one:.3f} -> {two:.3f}, {two / one:.2f} times"


def _of_bound(one: Case) -> list[str]:
    """Third differences relative to the skin, mm, of the garment with the smooth weights of `pliant bind`."""
    if one.bound is None:
        return ["", ""]
    each = np.sqrt((_differences(_relative_to_skin(one, one.bound.frames), 3) ** 2).mean(0))
    return [f"{1e3 * np.quantile(each, q):.3f}" for q in (0.5, 0.99)]


COLUMNS = (
    "character/garment",
    "vertices",
    "frames",
    "points inside",
    "crossing pairs",
    "self-intersecting pairs",
    "without room",
    "deepest, mm",
    "strain added, %: 99th percentile",
    "99.9th",
    "largest",
    "edges above 3 %",
    "without room",
    "third differences of a vertex, mm, RMS over frames: median",
    "99th percentile",
    "relative to the skin: median",
    "99th percentile",
    "alternating motion, mm: median",
    "99th percentile",
    "alternating relative to the skin: median",
    "99th percentile",
    "third differences of the normals of faces, degrees: median",
    "99th percentile",
    "bound by pliant bind: third differences relative to the skin, mm: median",
    "99th percentile",
    "s",
    "CPU s",
    "slowest frame, times the median",
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", help=f"CHARACTER/GARMENT; characters: {', '.join(NAMES)}.")
    parser.add_argument("--vertices", type=int, default=10_000, help="Default: 10000.")
    parser.add_argument("--frames", type=int, default=100, help="Default: 100.")
    parser.add_argument("--data", type=pathlib.Path, help="folder of the characters. Default: ../shared/data.")
    args = parser.parse_args()
    names = args.cases or [f"mannequin/{name.replace(' ', '-')}" for name in GARMENTS]
    print(f"| {' | '.join(COLUMNS)} |\n|{'---|' * len(COLUMNS)}")
    for name in names:
        print(f"| {' | '.join(row(case(name, args.vertices, args.frames, args.data)))} |", flush=True)


if __name__ == "__main__":
    main()

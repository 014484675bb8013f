"""What section 2 of the survey of 2005 states about bounding volume hierarchies, and ours."""

import functools
import pathlib
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pliant.detect.base import Side
from pliant.detect.bvh.blend import BlendTree
from pliant.detect.bvh.tree import find_pairs, refit, tree_of
from pliant.detect.detectors.bvh import BvhDetector
from pliant.shapes import cloth
from pliant.state import State

from . import models, trees
from .statements import Statement, picture, span
from .stochastic import Moving, folded_cloth
from .timing import threads

Floats = NDArray[np.float64]
Progress = Callable[[str], None]
BENT, OTHER = np.array([0.4, 0.2]), np.array([0.1, 0.9])  # weights of two bends


def statements(*, quick: bool, repeats: int, folder: pathlib.Path | None, progress: Progress) -> Iterator[Statement]:
    """CPU time of one thread, best of several runs."""
    strip = trees.folding(10, 30, 3) if quick else trees.folding()
    bodies = trees.two_bodies(models.data_folder(folder), 3 if quick else 8)
    yield picture("figures 1 and 2", "cloth and surgery", "scenes: walking-skirt, liver, two-organs")
    yield picture("figure 4", "kinds of bounding volumes", "bvh:volume=sphere, box, oriented, 14-dop, 18-dop, 26-dop")
    yield picture("figure 5", "three levels of an 18-DOP hierarchy", "play draws the volumes of any level")
    with threads(1):
        progress("section 2: arity and volumes")
        yield from _arities(strip, repeats)
        yield from _volumes(strip, repeats)
        progress("section 2.3: updates")
        yield from _refit(quick, repeats)
        yield from _worn(bodies, repeats)
        yield from _updates(strip, bodies, repeats)
        progress("sections 2.3.2 and 2.3.3: blended shapes")
        yield from _blended(quick, repeats)
        progress("section 2.4: cones")
        yield from _cones(quick, repeats)
    yield picture("figures 8 and 9", "continuous detection keeps cloth from intersecting", "bench peers T5; 0 missed")


def depth_of(skip: NDArray[Any]) -> int:
    """Levels below the root of a hierarchy in depth-first order; `skip` (n,) is the next node beside each subtree."""
    open_: list[int] = []
    deepest = 0
    for node, end in enumerate(skip.tolist()):
        while open_ and open_[-1] <= node:
            open_.pop()
        deepest = max(deepest, len(open_))
        open_.append(end)
    return deepest


def _arities(strip: trees.Deforming, repeats: int) -> Iterator[Statement]:
    said = []
    for arity in (2, 4, 8):
        options = trees.DEFAULT | {"arity": arity, "leaf": 1}
        best = _best(strip, options, repeats)
        tree = tree_of(strip.frames[0][0], strip.faces[0], **options)
        said.append(
            f"{arity}: {len(tree.nodes):,} nodes, depth {depth_of(tree.nodes['skip'])}, refit {best['refit_ms']:.2f} "
            f"ms, traversal {best['walk_ms']:.2f} ms"
        )
    yield Statement(
        "figure 6, sections 2.2 and 2.6",
        "children per node",
        "4 or 8 are better than 2: fewer nodes, less depth; no numbers",
        "; ".join(said),
        "the figure is a sketch; ours is cloth that folds, whose nodes are contiguous, so that depth costs little",
    )


def _volumes(strip: trees.Deforming, repeats: int) -> Iterator[Statement]:
    said = []
    for volume in ("box", "18-dop", "oriented"):
        best = _best(strip, trees.DEFAULT | {"volume": volume}, repeats)
        said.append(f"{volume}: refit {best['refit_ms']:.2f} ms, traversal {best['walk_ms']:.2f} ms")
    yield Statement("section 2.6", "volumes of deforming objects", "AABBs are preferred to OBBs", "; ".join(said))


def _best(scene: trees.Deforming, options: dict[str, Any], repeats: int) -> dict[str, float]:
    runs = [trees.measure(scene, options) for _ in range(repeats + 1)][1:]  # the first may compile
    return {key: min(run[key] for run in runs) for key in runs[0]}


def _refit(quick: bool, repeats: int) -> Iterator[Statement]:
    scene = folded_cloth(40 if quick else 224, 2)
    faces = scene.sides[0].mesh.faces.astype(np.int32)
    tree = tree_of(scene.frames[0], faces)
    fit = least(lambda: refit(tree, scene.frames[1], faces), repeats)
    build = least(lambda: tree_of(scene.frames[1], faces), repeats)
    yield Statement(
        "section 2.3",
        "rebuild over refit of AABBs",
        "about 10 times",
        f"{build / fit:.0f} times ({1e3 * build:.2f} against {1e3 * fit:.2f} ms, {len(faces):,} triangles)",
        "the build evaluates the surface area heuristic, and the refit is one pass over contiguous boxes",
    )


def _worn(bodies: trees.Deforming, repeats: int) -> Iterator[Statement]:
    old = [tree_of(x, f, **trees.DEFAULT) for x, f in zip(bodies.frames[0], bodies.faces, strict=True)]
    for tree, x, f in zip(old, bodies.frames[-1], bodies.faces, strict=True):
        refit(tree, x, f)
    new = [tree_of(x, f, **trees.DEFAULT) for x, f in zip(bodies.frames[-1], bodies.faces, strict=True)]
    spent = [least(functools.partial(find_pairs, *pair, within=0.0), repeats) for pair in (old, new)]
    tests = [find_pairs(*pair, within=0.0).tests for pair in (old, new)]
    yield Statement(
        "section 2.3",
        "query after a refit, over that after a rebuild",
        "no significant loss while the topology is kept",
        f"{bodies.name}, twisted by 1.5 rad: {spent[0] / spent[1]:.2f} times the time, {tests[0]:,} against "
        f"{tests[1]:,} tests",
        "" if tests[0] < 1.25 * tests[1] else "the twist has worn the hierarchy; worse= rebuilds it",
    )


FEW = "not confirmed: a refit of all nodes is one pass in order, about as fast as that of the few that are reached"
MANY = "not confirmed: the traversal refits what it reaches, and the rest is left"


def _updates(strip: trees.Deforming, bodies: trees.Deforming, repeats: int) -> Iterator[Statement]:
    few, many = bodies._replace(frames=bodies.frames[:2]), strip._replace(frames=strip.frames[-2:])
    for where, scene in (("few deep nodes are reached", few), ("many are", many)):
        said = {}
        for update in ("bottom-up", "top-down", "hybrid"):
            runs = [trees.follow(scene, update, 0.0, None) for _ in range(repeats + 1)][1:]
            said[update] = min(run["frame_ms"] for run in runs)
        fastest = min(said, key=lambda update: said[update])
        wanted = ("top-down", "hybrid") if scene is few else ("bottom-up",)
        yield Statement(
            "section 2.3.1",
            f"update where {where}",
            "top-down is faster, hybrid is the compromise" if scene is few else "bottom-up is faster",
            ", ".join(f"{update} {ms:.2f} ms" for update, ms in said.items()) + f" with traversal ({scene.name})",
            "" if fastest in wanted else FEW if scene is few else MANY,
        )


def _blended(quick: bool, repeats: int) -> Iterator[Statement]:
    said, grown, slower = [], [], False
    for count in (8, 16) if quick else (40, 160):
        one, far, x, faces = sheets(count)
        at = one.set(BENT).positions()
        fitted = tree_of(x, faces)
        blend = least(lambda one=one, far=far: one.set(BENT).pairs(far.set(OTHER)), repeats)  # type: ignore[misc]
        plain = least(functools.partial(refit, fitted, at, faces), repeats)
        said.append(f"{len(faces):,} triangles: {1e3 * blend:.3f} ms, refit {1e3 * plain:.3f} ms")
        grown.append(volume_ratio(one, x, faces))
        slower |= blend > plain
    yield Statement(
        "section 2.3.2",
        "volumes from the coefficients, over those of a refit",
        "tend to be not larger",
        f"{span(grown)} times the volume of all boxes, a sheet of two bends",
        "" if max(grown) < 1.02 else "sums of intervals are wider than the shape where parts cancel",
    )
    yield Statement(
        "figure 7, section 2.3.3",
        "blended volumes by number of polygons",
        "faster, and depends much less on the polygon count",
        "; ".join(said) + " (two sheets apart)",
        "a call for two bodies takes longer than to refit a small one" if slower else "",
    )


def sheets(count: int) -> tuple[BlendTree, BlendTree, Floats, NDArray[np.int32]]:
    """Two sheets 2 m apart, each a sum of two bends; the vertices and faces of the first."""
    mesh = cloth(1.0, 1.0, count)
    x = mesh.vertices
    bends = np.zeros((2, *x.shape))
    bends[0, :, 1], bends[1, :, 1] = 0.3 * np.cos(2 * np.pi * x[:, 0]), 0.15 * np.sin(6 * np.pi * x[:, 2])
    one, far = (BlendTree.bounded(x + np.array([0.0, up, 0.0]), bends, mesh.faces) for up in (0.0, 2.0))
    return one, far, x, mesh.faces.astype(np.int32)


def volume_ratio(one: BlendTree, x: Floats, faces: NDArray[np.int32]) -> float:
    """Volume of all boxes of the nodes from the weights, over that of the boxes of a refit at the same shape.

    The weights are positive, so that an interval is the weighted sum of those of the parts."""
    at = one.set(BENT).positions()
    blended = np.einsum("t,tnk->nk", one.weights, one.traversed().node_parts)
    tree = tree_of(x, faces)
    refit(tree, at, faces)
    fitted = tree.nodes["bounds"].astype(np.float64)
    sizes = [np.prod(np.maximum(b[:, 3:6] - b[:, :3], 1e-12), axis=1).sum() for b in (blended, fitted)]
    return float(sizes[0] / sizes[1])


def _cones(quick: bool, repeats: int) -> Iterator[Statement]:
    for what, scene in (("flat", _flat(20 if quick else 100)), ("folded", folded_cloth(24 if quick else 100, 2))):
        sides, x, within = scene.sides, scene.frames[-1], scene.within
        spent, found = [], []
        for cull in (True, False):
            detector, state = BvhDetector(*sides, within=within, cull=cull), State.at(x)
            spent.append(least(lambda d=detector, s=state: d.update(s).find(s), repeats))  # type: ignore[misc]
            found.append(detector.update(state).find(state).copy())
        same = found[0].tobytes() == found[1].tobytes()
        yield Statement(
            "section 2.4",
            f"self-collision with normal cones (angle below pi) and contours, {what} cloth",
            "exact, avoids unnecessary tests; no numbers",
            f"{'the same' if same else 'OTHER'} {len(found[0]):,} contacts, {1e3 * spent[0]:.2f} ms with and "
            f"{1e3 * spent[1]:.2f} ms without",
            "" if same else "this is an error",
        )


def _flat(count: int) -> Moving:
    mesh = cloth(1.0, 1.0, count)
    return Moving("flat cloth", (Side(mesh, 0, 0),), [mesh.vertices], 0.4 / count)


def least(work: Callable[[], object], repeats: int) -> float:
    """CPU seconds of the fastest run; the first may compile."""
    spent: list[float] = []
    for _ in range(repeats + 1):
        began = time.process_time()
        work()
        spent.append(time.process_time() - began)
    return min(spent[1:])

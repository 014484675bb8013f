"""Isosurface stuffing: tets of bounded angles inside an implicit function (Labelle and Shewchuk, SIGGRAPH 2007).

A body-centred cubic lattice is laid over the function, nodes too near to the surface are warped onto it, and the
lattice tets that the surface still cuts are clipped by stencils. The paper proves dihedral angles of 10.7 to 164.8
degrees for any function. The warping limits used here come from a numerical search instead of the paper's text, so
that its proof does not apply to them; the bounds below are the worst angles observed.
"""

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import validate
from ..arguments import check_arguments
from ..kernels.shapes import stuffing as _kernels
from ..mesh import Mesh
from ..validate import Floats
from .lattice import LONG, SHORT, Lattice, lattice_tets
from .pinches import without_pinches

Function = Callable[[Floats], Floats]
# degrees: the worst angles in lattices of random signs and cuts, at the limits that optimise them
LEAST_ANGLE, LARGEST_ANGLE = 10.78, 164.74
_LIMITS = {LONG: 0.2851, SHORT: 0.3988}  # a cut within this share of the edge from a node warps the node
_ROUNDS = 40  # maximum number of iterations; regula falsi needs about six
_TET_BYTES = 550.0  # memory per tet during construction; 500 were measured
_CHUNK = 65_536  # points per evaluation of the function
_LOCAL = list(itertools.combinations(range(4), 2))  # edges of a tet; local points 4 to 9 are the cuts on them
_CUT = {frozenset(edge): 4 + k for k, edge in enumerate(_LOCAL)}


class NothingInsideError(ValueError):
    """Raised if the function is negative nowhere, or only in parts too thin for the lattice."""


@check_arguments
def stuffed(
    function: Function,
    low: Any,
    high: Any,
    size: float,
    *,
    slope: float | None = None,
    name: str = "stuffed",
    max_bytes: float | None = None,
) -> Mesh:
    """A mesh of positive tets with edges of about `size` where `function` is negative, within the box low..high.

    `function` maps points (n,3) to values (n,): continuous, negative inside. Surface vertices lie on its zero set (to
    1e-9 of `size`), except where the surface would touch itself: tets are removed there until it does not. Parts
    thinner than `size` may be lost. With `slope`, a Lipschitz constant of the function (1 for a distance), it is
    evaluated only near the surface.
    """
    bottom, top = validate.floats("low", low, (3,)), validate.floats("high", high, (3,))
    size = validate.number("size", size, above=0.0, high=validate.LARGEST)
    slope = None if slope is None else validate.number("slope", slope, above=0.0)
    if not (bottom < top).all():
        raise ValueError(f"low = {bottom.tolist()} must be below high = {top.tolist()}")
    lattice = Lattice.over(bottom, top, size, max_bytes)
    f = lattice.values(lambda x: _evaluated(function, x), slope)
    beyond = np.ones(lattice.count, np.bool_)
    beyond[lattice.inner()] = False
    if (f[np.tile(beyond, 2)] < 0.0).any():
        at = lattice.points(np.flatnonzero(np.tile(beyond, 2) & (f < 0.0))[:1])[0]
        raise ValueError(f"the function is negative at {at.tolist()}; expected a box that contains all of its inside")
    tets = 6 * int((f < 0.0).sum())  # a node belongs to 24 tets, a tet has four nodes
    advice = "use a larger size or raise max_bytes"
    validate.budget(f"filling with about {tets} tets", _TET_BYTES * tets, advice, max_bytes)
    ends, kind = lattice.cut_edges(f)
    where = _cuts(function, lattice.points(ends[:, 0]), lattice.points(ends[:, 1]), f[ends])
    x, pieces, surface = filled(lattice, f, ends, kind, where)
    pieces = without_pinches(x, pieces, surface)
    if not len(pieces):
        raise NothingInsideError(f"nothing is inside the function at size {size:g}; use a smaller size or another box")
    kept, corners = np.unique(pieces, return_inverse=True)
    return Mesh.from_tets(x[kept], corners.reshape(-1, 4), name=name)


def filled(
    lattice: Lattice, f: Floats, ends: NDArray[np.int64], kind: NDArray[np.int8], where: Floats
) -> tuple[Floats, NDArray[np.int64], NDArray[np.bool_]]:
    """Vertices (n,3), tets (k,4) and a mask of the surface vertices (n,). `f` are the values at the nodes, set to 0 for
    warped nodes; the cut edges `ends`, of `kind`, are cut at the fractions `where`."""
    moved, dead = _warp(ends, kind, where, lattice.size)
    f[moved[:, 0]] = 0.0
    points, tets = _clipped(lattice, f, lattice_tets(lattice, f), ends[~dead])
    a, b = lattice.points(ends[:, 0]), lattice.points(ends[:, 1])
    cut = a + where[:, None] * (b - a)
    # points are the nodes, followed by the cuts
    n = 2 * lattice.count
    x = np.concatenate([lattice.points(points[points < n]), cut[~dead][points[points >= n] - n]])
    used = np.isin(moved[:, 0], points)
    x[np.searchsorted(points, moved[used, 0])] = cut[moved[used, 1]]
    return x, tets, np.append(f == 0.0, np.ones(len(ends), np.bool_))[points]


def _evaluated(function: Function, x: Floats) -> Floats:
    """Evaluate the function in chunks that stay in cache, and check the values."""
    pieces = [np.asarray(function(x[k : k + _CHUNK]), np.float64) for k in range(0, len(x), _CHUNK)]
    f = np.concatenate(pieces) if pieces else np.zeros(0)
    if f.shape != (len(x),):
        raise ValueError(f"the function returned shape {f.shape} for {len(x)} points; expected ({len(x)},)")
    if not np.isfinite(f).all():
        at = x[np.argmin(np.isfinite(f))]
        raise ValueError(f"the function is not finite at {at.tolist()}; expected a number everywhere in the box")
    return f


def _cuts(function: Function, a: Floats, b: Floats, f: Floats) -> Floats:
    """(k,) fraction of each edge a-b at which the function is zero, by regula falsi with the Illinois modification."""
    low, high = np.zeros(len(a)), np.ones(len(a))
    f_low, f_high = f[:, 0].copy(), f[:, 1].copy()
    t = f_low / (f_low - f_high)
    side = np.zeros(len(a), np.int8)
    left = np.arange(len(a))
    for k in range(_ROUNDS):
        if not len(left):
            break
        at = t[left]
        g = _evaluated(function, a[left] + at[:, None] * (b[left] - a[left]))
        same = (g < 0) == (f_low[left] < 0)
        # the value of an end kept twice is halved, so that both ends converge; every third round bisects
        for rows, end, value, other, mark in (
            (same, low, f_low, f_high, 1),
            (~same, high, f_high, f_low, -1),
        ):
            r = left[rows]
            end[r], value[r] = at[rows], g[rows]
            other[r[side[r] == mark]] *= 0.5
            side[r] = mark
        falsi = (low * f_high - high * f_low)[left] / (f_high - f_low)[left]
        t[left] = 0.5 * (low + high)[left] if k % 3 == 2 else falsi
        done = (g == 0.0) | (np.abs(t[left] - at) < 1e-9) | ((high - low)[left] < 1e-9)
        t[left[g == 0.0]] = at[g == 0.0]
        left = left[~done]
    return np.clip(t, 0.0, 1.0)


def _warp(
    ends: NDArray[np.int64], kind: NDArray[np.int8], where: Floats, size: float
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """(m,2) warped nodes and the cut edge each moves along; (k,) edges that are no longer cut."""
    count = len(ends)
    order = np.argsort(ends.T.ravel(), kind="stable")
    nodes, start = np.unique(ends.T.ravel()[order], return_index=True)
    edges = order % max(count, 1)
    share = np.where(order < count, where[edges], 1.0 - where[edges])
    limit = np.array([_LIMITS[LONG], _LIMITS[SHORT]])[kind[edges]]
    length = np.array([size, np.sqrt(0.75) * size])[kind[edges]]
    warped, dead = np.empty(len(nodes), np.int64), np.zeros(count, np.bool_)
    _kernels.warp_nodes(nodes, np.append(start, 2 * count), edges, share, share * length, limit, warped, dead)
    moves = warped >= 0
    return np.stack([nodes[moves], warped[moves]], 1), dead


def _clipped(
    lattice: Lattice, f: Floats, tets: NDArray[np.int64], ends: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The inner parts of the lattice tets: points (p,), numbered nodes first, then cuts; tets (k,4) of points."""
    n = 2 * lattice.count
    sign = np.sign(f[tets]).astype(np.int64) + 1
    pieces = STENCILS[sign @ np.array([27, 9, 3, 1])]
    tet, piece = np.nonzero(pieces[:, :, 0] >= 0)
    local = pieces[tet, piece]
    out = np.take_along_axis(tets[tet], np.minimum(local, 3), 1)
    cut = np.nonzero(local > 3)
    pair = np.sort(tets[tet[cut[0]]][np.arange(len(cut[0]))[:, None], np.array(_LOCAL)[local[cut] - 4]], 1)
    keys = np.sort(ends, 1) @ np.array([n, 1])
    order = np.argsort(keys)
    out[cut] = n + order[np.searchsorted(keys[order], pair @ np.array([n, 1]))]
    points, flat = np.unique(out, return_inverse=True)
    return points, flat.reshape(-1, 4)


def _stencils() -> NDArray[np.int64]:
    """(81,3,4) local points of the tets that remain of a lattice tet, -1 where there are fewer than three.

    The row index is the signs of the corners in base 3 (0 inside, 1 on the surface, 2 outside). Corners 0 and 1 are
    the ends of one long edge, 2 and 3 of the other.
    """
    table = np.full((81, 3, 4), -1, np.int64)
    # one lattice tet with cuts at the edge midpoints: the orientation is the same for all
    x = np.array([[0, 0, 0], [2, 0, 0], [1, 1, -1], [1, 1, 1]], float)
    x = np.concatenate([x, [0.5 * (x[i] + x[j]) for i, j in _LOCAL]])
    for row, signs in enumerate(itertools.product((-1, 0, 1), repeat=4)):
        for k, t in enumerate(_pieces(signs)):
            a, b, c, d = x[list(t)]
            table[row, k] = t if np.dot(np.cross(b - a, c - a), d - a) > 0 else (t[0], t[1], t[3], t[2])
    return table


def _pieces(signs: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Tets of local points, of either orientation, that fill the inner part of a lattice tet."""
    inside, on, outside = ([i for i in range(4) if signs[i] == s] for s in (-1, 0, 1))
    if not inside:
        return []
    if not outside:
        return [(0, 1, 2, 3)]
    if len(inside) == 1:
        (p,) = inside
        return [(p, *on, *(_CUT[frozenset((p, q))] for q in outside))]
    if len(outside) == 1:
        (q,) = outside
        wanted = {(p, r): _touched(p, r, q) for p in inside for r in inside if p != r}
        return _prism([*inside, *on], [*(_CUT[frozenset((p, q))] for p in inside), *on], wanted)
    (p, r), (q, s) = inside, outside
    near, away = ([i, _CUT[frozenset((i, q))], _CUT[frozenset((i, s))]] for i in (p, r))
    wanted = {}
    for end, o in ((near[1], q), (near[2], s)):
        wanted[p, end] = p if _touched(p, r, o) == p else end
        wanted[end, p] = wanted[p, end]
    return _prism(near, away, wanted)


def _touched(p: int, r: int, q: int) -> int:
    """The corner, p or r (both inside), at which the diagonal of the quadrilateral on the face p, r, q starts.

    The diagonal ends at the cut on the longer of the two cut edges. If both edges are short, the parity of the lattice
    decides (the paper's parity rule), which lattice_tets encodes equally for all tets.
    """
    partner = {0: 1, 1: 0, 2: 3, 3: 2}
    if partner[p] == q:
        return r
    if partner[r] == q:
        return p
    return {2: 0, 3: 1, 0: 3, 1: 2}[q]


def _prism(top: list[int], bottom: list[int], wanted: dict[tuple[int, int], int]) -> list[tuple[int, ...]]:
    """A prism as three tets: wanted[p, r] is the top corner, p or r, at which the diagonal between them starts."""
    for order in itertools.permutations(range(3)):
        # top corners are replaced by bottom corners one by one; a diagonal starts at the one replaced later
        rank = {top[k]: order.index(k) for k in range(3)}
        if all((p if rank[p] > rank[r] else r) == start for (p, r), start in wanted.items()):
            now, out = list(top), []
            for k in order:
                out.append((*now, bottom[k]))
                now[k] = bottom[k]
            return [t for t in out if len(set(t)) == 4]
    raise AssertionError("the diagonals are cyclic")


STENCILS = _stencils()

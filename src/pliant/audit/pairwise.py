"""Comparison of methods that report pairs of features: vertex and face, edge and edge."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..contacts import EDGE_EDGE, Contacts
from ..detect.base import BaseDetector
from .queries import GroundTruth
from .verdicts import CLEAR, Verdict, added, repeated, turns

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]
Bools = NDArray[np.bool_]
# vertices of the first side against faces of the second, the reverse, pairs of edges: the order of `GroundTruth.near`
VERTEX_TO_FACE, FACE_TO_VERTEX, EDGE_TO_EDGE = 0, 1, 2


class _Claims(NamedTuple):
    """Contact records of one of the three sorts, and their pairs (k,2), indexed as in `GroundTruth.near`."""

    records: Contacts
    pairs: Rows


def features(detector: BaseDetector, facts: GroundTruth, found: Contacts) -> Verdict:
    """Compare pairs within the distance, each once, and vertices deep inside the other side, if that is closed, each
    with one nearest face."""
    bounds = detector.bounds
    parts = [
        _compare_kind(detector, facts, k, claims, bounds[k == EDGE_TO_EDGE])
        for k, claims in enumerate(_claims(found, facts))
    ]
    if np.isnan(bounds).any():  # none is stated
        return added(parts)._replace(bound=float("nan"), beyond=0)
    return added(parts)._replace(bound=max(bounds))


def _compare_kind(detector: BaseDetector, facts: GroundTruth, kind: int, claims: _Claims, bound: float) -> Verdict:
    """Judge the `claims` of one sort of pair. Expected are the pairs in `near` and one face for each vertex in `deep`;
    with a detector by CCD also the collisions in `sure`. Those in `perhaps` may be reported or not."""
    slack, near, (records, pairs) = facts.slack, facts.near[kind], claims
    d, reference, own = near.distance, _keys(near.pairs), _keys(pairs)
    at = np.minimum(np.searchsorted(reference, own), max(len(reference) - 1, 0))
    known = np.isin(own, reference)
    away, deep = _deep(facts, kind, detector.finds_deep)
    # a deep vertex needs exactly one face, any that is as near as the nearest
    fits = ~known & deep[pairs[:, 0]] if len(deep) else np.zeros(len(own), np.bool_)
    fits[fits] = np.abs(records["distance"][fits] - away[pairs[fits, 0]]) <= CLEAR * slack
    sure, perhaps, touched = _collisions(detector, facts, kind)
    collides = np.isin(own, _keys(perhaps))
    lost = ~np.isin(reference, own) & (d <= facts.within - slack)
    if len(touched):
        # near pairs beyond a contact found by CCD at one of their vertices are not expected: see `continuous.joined`
        lost &= ~np.isin(_vertices(facts, kind, near.pairs), touched).any(1)
    deep_lost = deep.copy()
    deep_lost[pairs[fits, 0]] = False
    missed_collisions = sure[~np.isin(_keys(sure), own)]
    wrong = (~known & ~fits & ~collides) | repeated(own)
    wrong[fits] |= repeated(pairs[fits, 0])
    compared = known & ~collides
    side = _sides(facts, kind, claims)[compared]
    error = np.abs(records["distance"][compared] - side * d[at[compared]])
    turn = turns(records["normal"][compared], side[:, None] * near.gap[at[compared]], CLEAR * slack)
    beyond = int(
        (d[lost] <= facts.within - bound - slack).sum() + deep_lost.sum() + len(missed_collisions) + wrong.sum()
    )
    missing = [near.pairs[lost], np.flatnonzero(deep_lost)[:, None].repeat(2, 1), missed_collisions]
    return Verdict(
        expected=int((d <= facts.within - slack).sum() + deep.sum() + (~np.isin(_keys(sure), reference)).sum()),
        right=_positions(facts, kind, pairs[~wrong]),
        missed=_positions(facts, kind, np.concatenate(missing)),
        extra=_positions(facts, kind, pairs[wrong]),
        beyond=beyond + int((error > bound + CLEAR * slack).sum()),
        unreached=0,
        depth=error,
        turn=turn,
        bound=bound,
    )


def _claims(found: Contacts, facts: GroundTruth) -> list[_Claims]:
    elements, edges = found["elements"].astype(np.int64), found["kind"] == EDGE_EDGE
    back = found["bodies"][:, 0] != facts.query.one.body
    pairs = np.where((edges & back)[:, None], elements[:, ::-1], elements)
    if facts.query.other is None:
        pairs = np.where(edges[:, None], np.sort(pairs, 1), pairs)
    return [_Claims(found[mask], pairs[mask]) for mask in (~edges & ~back, ~edges & back, edges)]


def _keys(pairs: Rows) -> Rows:
    """An integer key per pair, in the order of the pairs."""
    return pairs[:, 0] << 32 | pairs[:, 1]


def _deep(facts: GroundTruth, kind: int, counts: bool) -> tuple[Floats, Bools]:
    """Signed distances of a side's vertices from the other side, and a mask of those deeper than `within`; empty where
    deep vertices do not count."""
    if not counts or kind == EDGE_TO_EDGE or facts.query.other is None or not facts.query.solid[1 - kind]:
        return np.zeros(0), np.zeros(0, np.bool_)
    away = facts.vertices[kind].distance
    return away, away < -facts.within - facts.slack


def _sides(facts: GroundTruth, kind: int, claims: _Claims) -> Floats:
    """(k,) 1 outside, -1 inside; for edges as recorded, because only the magnitude is compared."""
    if kind == EDGE_TO_EDGE:
        return np.where(claims.records["distance"] < 0.0, -1.0, 1.0)
    if facts.query.other is None or not facts.query.solid[1 - kind]:
        return np.ones(len(claims.pairs))
    return np.where(facts.vertices[kind].distance[claims.pairs[:, 0]] < 0.0, -1.0, 1.0)


def _collisions(detector: BaseDetector, facts: GroundTruth, kind: int) -> tuple[Rows, Rows, Rows]:
    """Pairs that must and that may be found to collide during the step, and all vertices of the latter; empty without
    CCD."""
    none = np.zeros((0, 2), np.int64)
    if not detector.swept:
        return none, none, none[:, 0]
    touched = [_vertices(facts, k, perhaps).ravel() for k, (_, perhaps) in enumerate(facts.collisions)]
    return *facts.collisions[kind], np.unique(np.concatenate(touched))


def _vertices(facts: GroundTruth, kind: int, pairs: Rows) -> Rows:
    """(k,4) rows of all vertices of the pairs in the array of positions."""
    one, two = facts.query.one, facts.query.two
    if kind == FACE_TO_VERTEX:
        one, two = two, one
    first = one.mesh.topology.edges[pairs[:, 0]] if kind == EDGE_TO_EDGE else pairs[:, :1]
    second = two.mesh.topology.edges[pairs[:, 1]] if kind == EDGE_TO_EDGE else two.mesh.faces[pairs[:, 1]]
    return np.concatenate([first + one.first, second + two.first], 1).astype(np.int64)


def _positions(facts: GroundTruth, kind: int, pairs: Rows) -> Floats:
    """(k,3) position of the first feature of each pair."""
    return (facts.x, facts.y, facts.middles)[kind][pairs[:, 0]]

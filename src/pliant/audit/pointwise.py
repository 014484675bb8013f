"""Comparison of methods that report points: near a surface, inside a closed mesh, inside tetrahedra."""

import numpy as np
from numpy.typing import NDArray

from ..contacts import MIDPOINT_FIELD, Contacts
from ..detect.base import BaseDetector, Reports
from ..detect.fields.exact import ExactDistances
from ..detect.fields.field import DistanceField
from ..detect.fields.sampled import Sampled
from ..mesh import Mesh
from ..motion.rigid import brought
from .queries import Exact, GroundTruth, exact_from
from .reference_contacts import box_pairs, from_segments, from_triangles
from .verdicts import CLEAR, Verdict, added, repeated, turns

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Rows = NDArray[np.int64]
_NODES = 1e-6  # tolerance of node values, relative to the size of the mesh
_CORNERS = np.stack(np.meshgrid(*[[0.0, 1.0]] * 3, indexing="ij"), -1).reshape(8, 3)


def points(detector: BaseDetector, facts: GroundTruth, found: Contacts) -> Verdict:
    """Compare vertices, and edge midpoints unless the detector reports vertices alone, of the first side within the
    distance of the second, or inside it."""
    slack, within, d = facts.slack, facts.within, facts.points.distance
    at = np.concatenate([facts.x, facts.middles])
    rows = found["elements"][:, 0].astype(np.int64) + np.where(found["kind"] == MIDPOINT_FIELD, len(facts.x), 0)
    # an open mesh has unsigned distances, unless the method distinguishes its sides
    far = d if detector.signed_if_open or facts.query.solid[1] else np.abs(d)
    bound, by_point, seen = max(detector.bounds), detector.bound_at(d), _covered(detector, facts, at)
    got, there = _marked(rows, len(d)), far <= within - slack
    if detector.reports is Reports.VERTICES:
        there[len(facts.x) :] = False
    missed, extra = there & seen & ~got, got & (far > within + slack)
    fine = far[rows] <= within + slack
    again = repeated(rows)
    error = np.abs(found["distance"][fine] - d[rows[fine]])
    if detector.views:
        # only sides are guaranteed, and only beyond the bound; distances are estimates
        beyond = int((missed & (d < -bound)).sum()) if facts.query.solid[1] else 0
        beyond += _count_false(detector, facts, np.flatnonzero(extra), at)
    else:
        # comparisons with nan, where no bound is stated, are false
        beyond = int((far[missed] <= within - by_point[missed] - slack).sum())
        beyond += int((far[extra] > within + by_point[extra] + slack).sum())
        beyond += int((error > by_point[rows[fine]] + CLEAR * slack).sum())
    return Verdict(
        expected=int((there & (seen | got)).sum()),
        right=at[rows[fine & ~again]],
        missed=at[missed],
        extra=np.concatenate([at[extra], at[rows[again]]]),
        beyond=beyond + int(again.sum()),
        unreached=int((there & ~seen & ~got).sum()),
        depth=error,
        turn=_turns(found[fine], facts.points, rows[fine], slack),
        bound=bound,
    )


def _covered(detector: BaseDetector, facts: GroundTruth, at: Floats) -> Bools:
    """Mask of the points in the method's stated range."""
    field, d, first = detector.field, facts.points.distance, len(facts.x)
    seen = detector.covers(d)
    # the midpoint of an edge inside is not tested where both ends are out of range
    seen[first:] &= seen[facts.query.one.mesh.topology.edges].any(1) | (d[first:] >= -facts.within)
    if isinstance(field, DistanceField):
        body, pose = facts.query.two.body, facts.state.pose
        at = brought(at, pose[body]) if body < len(pose) else at
        silent = np.flatnonzero(seen & np.isnan(field.sample(at)[0]))
        seen[silent[_without_sign(field, at[silent])]] = False
    elif isinstance(field, Sampled) and not facts.query.solid[1]:
        # a leaf that a sign change beyond the boundary may cross has no value; which these are is up to the field
        body, pose = facts.query.two.body, facts.state.pose
        at = brought(at, pose[body]) if body < len(pose) else at
        seen &= np.isfinite(field.sample(at)[0])
    return seen


def _without_sign(field: DistanceField, p: Floats) -> Bools:
    """Mask of points (n,3) in cells where a field may have no sign: by the exact distances at the corners the sign
    jumps there, and a corner is nearest to a boundary edge, or two corners differ by more than their distance."""
    if not len(p):
        return np.zeros(0, np.bool_)
    nodes = np.floor((p - field.low) * (1.0 / field.spacing))[:, None] + _CORNERS
    corners, hair = (field.low + field.spacing * nodes).reshape(-1, 3), _NODES * field.mesh.size
    distance, _, sign_plane_distance, _ = ExactDistances(field.mesh).query(corners, np.full(len(corners), -1, np.int32))
    boundary = _boundary_distance(field.mesh.welded, corners, field.band * field.spacing) <= np.abs(distance) + hair
    d, either = (
        distance.reshape(-1, 8),
        (sign_plane_distance < hair).reshape(-1, 8),
    )  # in the plane where the sign jumps
    mixed = (either | (d > -hair)).any(1) & (either | (d < hair)).any(1)
    apart = field.spacing * np.linalg.norm(_CORNERS[:, None] - _CORNERS, axis=2)
    steep = np.abs(d[:, :, None] - d[:, None]) > np.where(apart > 0.0, apart - hair, np.inf)
    return np.asarray(mixed & (boundary.reshape(-1, 8).any(1) | steep.any((1, 2))))


def _boundary_distance(mesh: Mesh, p: Floats, reach: float) -> Floats:
    """(n,) distance of points from the boundary edges of a mesh, infinite beyond `reach`."""
    out, ends = np.full(len(p), np.inf), mesh.vertices[mesh.topology.edges[mesh.topology.boundary]]
    for pairs in box_pairs(p, p, ends.min(1), ends.max(1), reach):
        a, b = ends[pairs[:, 1]].transpose(1, 0, 2)
        np.minimum.at(out, pairs[:, 0], np.linalg.norm(from_segments(p[pairs[:, 0]], a, b), axis=1))
    return out


def _count_false(detector: BaseDetector, facts: GroundTruth, rows: Rows, at: Floats) -> int:
    """Number of `rows` of points (n,3) that are false in every direction of projection: farther than
    sqrt(3) (within + 3 cells) from the volume below the height field."""
    limit = np.sqrt(3.0) * (facts.within + 3.0 * max(detector.bounds))
    suspects = at[rows[np.abs(facts.points.distance[rows]) > limit]]
    corners = facts.y[facts.query.two.mesh.faces]
    low, high, held = corners.min(1) - limit, corners.max(1) + limit, np.zeros(len(suspects), np.bool_)
    for axis, sign in detector.views:
        across = [k for k in range(3) if k != axis]
        flat = corners.copy()
        flat[:, :, axis] = 0.0
        for k in np.flatnonzero(~held):
            p = suspects[k]
            near = ((low[:, across] <= p[across]) & (high[:, across] >= p[across])).all(1)
            foot = np.where(np.arange(3) == axis, 0.0, p)
            gap = from_triangles(np.broadcast_to(foot, (int(near.sum()), 3)), flat[near])
            near[near] = np.linalg.norm(gap, axis=1) <= limit
            below = high[near, axis] >= p[axis] if sign > 0.0 else low[near, axis] <= p[axis]
            held[k] = bool(below.any())
    return int((~held).sum())


def inside(detector: BaseDetector, facts: GroundTruth, found: Contacts) -> Verdict:
    """Compare vertices inside the other, closed, side; for self-contact, those inside another part of the side."""
    query, slack, bound = facts.query, facts.slack, max(detector.bounds)
    if query.other is None:
        tested, sure, perhaps = facts.inside_itself
        reported = found["elements"][:, 0].astype(np.int64)
        certain = facts.deep_inside_itself(bound)
        return _stated(detector, _sets(reported[np.isin(reported, tested)], sure, perhaps, facts.x, certain))
    parts = []
    for which, (x, exact) in enumerate(zip((facts.x, facts.y), facts.vertices, strict=True)):
        records = found[found["bodies"][:, 0] == (query.one, query.two)[which].body]
        rows = records["elements"][:, 0].astype(np.int64)
        d = exact.distance if query.solid[1 - which] else np.full(len(x), np.inf)
        sure, perhaps, certain = (
            np.flatnonzero(d < -slack),
            np.flatnonzero(d <= slack),
            np.flatnonzero(d < -bound - slack),
        )
        part = _sets(rows, sure, perhaps, x, certain)
        fine = d[rows] <= slack
        error = np.abs(records["distance"] - d[rows])[fine]
        beyond = part.beyond + int((error > bound + CLEAR * slack).sum())
        turn = _turns(records[fine], exact, rows[fine], slack)
        parts.append(part._replace(beyond=beyond, depth=error, turn=turn))
    return _stated(detector, added(parts))


def in_tets(detector: BaseDetector, facts: GroundTruth, found: Contacts) -> Verdict:
    """Compare vertices inside tetrahedra of the other side, or of their own. The separation direction is not the
    shortest, so its length is reported but not part of the guarantee."""
    query, parts = facts.query, []
    sides = [(query.one, query.two, facts.y), (query.two, query.one, facts.x)]
    for (side, other, y), (x, sure, perhaps) in zip(sides, facts.in_tets):
        records = found[found["bodies"][:, 0] == side.body]
        rows = records["elements"][:, 0].astype(np.int64)
        part = _sets(rows, sure, perhaps, x)
        if query.other is not None:
            # interior vertices count as well
            exact = exact_from(other, y, x[rows])
            every = np.arange(len(rows))
            error = np.abs(records["distance"] - exact.distance)
            part = part._replace(depth=error, turn=_turns(records, exact, every, facts.slack))
        parts.append(part)
    return _stated(detector, added(parts))


def _stated(detector: BaseDetector, verdict: Verdict) -> Verdict:
    """The verdict with the stated bound of the depth. Membership is exact for classes A and B; class C states none."""
    beyond = 0 if detector.guarantee == "C" else verdict.beyond
    return verdict._replace(bound=max(detector.bounds), beyond=beyond)


def _sets(reported: Rows, sure: Rows, perhaps: Rows, x: Floats, certain: Rows | None = None) -> Verdict:
    """Compare the rows of x that a method reported with the required (`sure`) and the allowed ones (`perhaps`);
    repetitions are extra. `certain`: those that no bound of the method excuses; default: all that are required."""
    right, missed = np.intersect1d(reported, perhaps), np.setdiff1d(sure, reported)
    extra = np.concatenate([np.setdiff1d(reported, perhaps), reported[repeated(reported)]])
    none = np.zeros(0)
    return Verdict(
        expected=len(sure),
        right=x[right],
        missed=x[missed],
        extra=x[extra],
        beyond=len(missed if certain is None else np.intersect1d(missed, certain)) + len(extra),
        unreached=0,
        depth=none,
        turn=none,
        bound=0.0,
    )


def _marked(rows: Rows, count: int) -> Bools:
    out = np.zeros(count, np.bool_)
    out[rows] = True
    return out


def _turns(records: Contacts, exact: Exact, rows: Rows, slack: float) -> Floats:
    """Errors of the normals, for points far enough from the surface to have a direction."""
    clear = np.abs(exact.distance[rows]) > CLEAR * slack
    return turns(records["normal"][clear], exact.normal[rows[clear]], 0.5)

"""Warnings about a finished run, each with a remedy that fits the detected cause."""

import dataclasses
import pathlib
import shlex
from collections.abc import Sequence
from typing import Any

from .reading import PAIR, PairOptions


@dataclasses.dataclass(frozen=True)
class Sources:
    """The input files of a run: garments, inner to outer, and the body they are worn on. None: generated geometry."""

    garments: Sequence[pathlib.Path | None] = ()
    body: pathlib.Path | None = None
    files: PairOptions = PAIR


GENERATED = Sources()
AT_REST = 0.05  # of its size per second: cloth of which more than a twentieth is faster has not come to rest


def run_warnings(result: Any, sources: Sources = GENERATED, solver: str = "implicit") -> list[str]:
    """Return one warning per problem of the run, each with its remedy."""
    from ..audit.findings import size_words

    lines: list[str] = []
    bodies = result.scene.bodies
    if not result.scene.deformable:
        return lines
    touches = result.n_contacts if result.n_obstacle_contacts is None else result.n_obstacle_contacts
    hung = any(len(bodies[b].pins) or len(bodies[b].grips) for b in result.scene.deformable)
    if result.initial_intersections:
        lines.append(start_line(result, sources))
    if result.penetrates:
        deep = size_words(result.summary["penetration_m"])
        lines.append(f"cloth was up to {deep} inside the body; {_advice(result)}")
    elif result.scene.obstacles and not touches.any() and not hung:
        lines.append(f"the cloth never touched the body; {_contact_advice(result)}")
    elif result.scene.obstacles and not touches[-1] and not hung:
        lines.append("the cloth is off the body at the end; more --friction or another --place may hold it")
    elif not hung and (fell := _slid(result)):
        lines.append(
            f"the cloth has slid down the body by {fell:.2g} m; more --friction, or pinned vertices, would hold it"
        )
    elif any(sources.garments) and (speed := _speed_at_end(result)):
        lines.append(f"the cloth still moves at {speed:.2g} m/s at the end; more --frames let it come to rest")
    if solver == "implicit" and (stretched := _stretched(result)):
        lines.append(stretched)
    if result.crosses_bodies and not result.penetrates and result.scene.self_contact != "safe":
        lines.append(_crossing_warning(result, sources))
    if result.self_intersects_at_end:
        count = int(result.intersecting_pairs[-1, 0])
        why = "" if not result.initial_intersections else "; some did so at the start"
        lines.append(
            f"{count:,} pairs of cloth triangles intersect at the end{why}; --self-contact safe keeps cloth free of "
            "self-intersections if it starts without any"
        )
    if result.safe_mode_failed:
        why = "please report this as a defect"
        if result.failed_substeps:
            why = f"{result.given_up_pairs:,} pairs of features, or vertices beside them, could not be kept apart"
            why += f" in {result.failed_substeps:,} substeps"
            why += f": bodies or grips left the cloth no room; slower motion or more --substeps may help{_ease(result)}"
        if result.intersecting_pairs is not None and result.intersecting_pairs[0].any():
            why = "the start has intersections, and safe mode only prevents new ones"
        counted = "an uncounted number of pairs of triangles intersect"
        if result.intersecting_pairs is not None:
            when = _frames_with_pairs(result.intersecting_pairs)
            counted = f"{result.intersecting_pairs.sum():,} pairs of triangles intersect in {when} of safe mode"
        lines.append(f"{counted}; {why}")
    return lines


def _stretched(result: Any) -> str:
    """The warning about cloth that is stretched far beyond its limit, which the implicit solver is to keep."""
    strain, scene = result.strain, result.scene
    if strain is None:
        return ""
    limit = max(scene.bodies[b].material.strain_limit for b in scene.cloths)
    if strain.percentile_95 <= 2.0 * limit and strain.most <= max(6.0 * limit, 0.3):
        return ""
    found = f"95 % of the edges by up to {100.0 * strain.percentile_95:.2g} %, one by {100.0 * strain.most:.3g} %"
    why = "it is too small for this body or its poses, or held where that moves away"
    return f"the cloth is stretched beyond its limit of {100.0 * limit:.2g} %, {found}: {why}{_ease(result)}"


def _ease(result: Any) -> str:
    """A hint for garments on a character that have their own size."""
    import numpy as np

    bodies = [result.scene.bodies[b] for b in result.scene.cloths]
    own = bool(result.scene.deforming_motions) and all(np.all(np.asarray(body.rest_scale) == 1.0) for body in bodies)
    return ", and --ease 15% if a garment is too tight for the poses of the clip" if bodies and own else ""


def _frames_with_pairs(pairs: Any) -> str:
    """When triangles intersect, for counts (frames + 1, 2) of which the first row is the start."""
    start, *bad = pairs.any(1)
    frames = f"{sum(bad):,} frame{'s' if sum(bad) != 1 else ''}"
    return " and ".join(["the start"] * bool(start) + [frames] * (any(bad) or not start))


def carrying_warnings(result: Any) -> list[str]:
    """Return the warnings about garments that were carried by proxies, as they are written."""
    from ..audit.findings import size_words

    lines = []
    finer = "a larger --eps or a finer --proxy may help"
    if result.penetrates or result.crosses_bodies:
        deep, most = size_words(result.summary["penetration_m"]), result.summary["crossing_pairs_bodies_most"]
        lines.append(
            f"the garment, carried by its proxy, was up to {deep} inside the body, and {most or 0:,} pairs of "
            f"triangles crossed at most; {finer}"
        )
    if more := result.gained_intersections:
        lines.append(
            f"the garment, carried by its proxy, gained up to {more:,} intersecting pairs of its own triangles; a "
            "larger --thickness or a finer --proxy may help"
        )
    return lines


def start_line(result: Any, sources: Sources = GENERATED) -> str:
    """The intersections at the start, and the command that removes them."""
    safe = "; --self-contact safe does not cover these pairs" if result.scene.self_contact == "safe" else ""
    found = f"the start has intersections: {result.initial_intersections_text} intersect{safe}"
    return f"{found}; {_fix_commands(result, sources)}"


def _fix_commands(result: Any, sources: Sources) -> str:
    """The `pliant fix` command for each garment that intersects itself, the body or an inner one, inner to outer."""
    soft = list(result.scene.deformable)
    files = list(sources.garments)
    if len(files) != len(soft) or any(file is None for file in files):
        return "pliant.fix(garment, body) removes the intersections of a garment before it is draped"
    commands, done = [], dict(enumerate(files))
    for k, b in enumerate(soft):
        # a pair of two garments is resolved by moving the outer one
        if not any(
            b in each.bodies and all(c not in soft[k + 1 :] for c in each.bodies)
            for each in result.initial_intersections
        ):
            continue
        file = files[k]
        assert file is not None
        words = ["pliant", "fix", str(file)]
        if sources.body is not None:
            words += ["--body", str(sources.body), *(["--rest"] if result.scene.deforming_motions else [])]
            for below in range(k):
                words += ["--over", str(done[below])]
        for option, given in dataclasses.asdict(sources.files).items():
            if given != getattr(PAIR, option):
                words += [f"--{option.replace('_', '-')}", str(given)]
        done[k] = pathlib.Path(f"{file.stem}-fixed.obj")  # where the command is run: inputs may be read-only
        commands.append(shlex.join([*words, "-o", str(done[k])]))
    return f"remove them first: {' && '.join(commands)}"


def _advice(result: Any) -> str:
    """The remedy against cloth inside the body, chosen by its cause."""
    from ..simulation.measure.causes import FAST, deepest_of

    worst, eps = deepest_of(result), result.scene.eps
    if result.least_distance[0] < 0.0 and -result.least_distance[0] >= 0.5 * result.summary["penetration_m"]:
        deforms = bool(result.scene.deforming_motions)
        fitting = "a garment that fits the rest pose" if deforms else "--place above, or a garment that fits"
        return f"it starts there: {fitting}"
    if worst is not None and worst.pinched:
        return (
            f"the body intersects itself there ({worst.pairs:,} pairs of its triangles in frame {worst.frame}) and "
            "leaves no room: change the pose or the skinning, no option helps"
        )
    if worst is not None and worst.pairs and worst.depth <= 2.0 * eps:
        return (
            f"the body intersects itself ({worst.pairs:,} pairs of its triangles in frame {worst.frame}; pliant check "
            "BODY lists them) and may leave too little room: change the pose or the skinning, or try a larger --eps"
        )
    if not all(result.scene.bodies[b].mesh.issues.closed for b in result.scene.obstacles):
        return "it is not closed, and cloth can slip past its boundary; close its holes or give it a thickness"
    if worst is not None and worst.step > FAST * eps:
        return (
            f"body and cloth move {1e3 * worst.step:.3g} mm in a substep in frame {worst.frame}, eps is "
            f"{1e3 * eps:.3g} mm: try more --substeps"
        )
    if worst is not None and worst.depth <= 2.0 * eps:
        return f"less than 2 eps ({1e3 * eps:.3g} mm): try a larger --eps"
    return f"look at frame {worst.frame if worst else 0} (--replay): no option is known to help"


def _crossing_warning(result: Any, sources: Sources) -> str:
    """The warning for crossing triangles while no vertex or edge midpoint is inside."""
    finer = "--resolution" if not any(sources.garments) else "a finer mesh of the cloth"
    most, frames = result.summary["crossing_pairs_bodies_most"], result.summary["frames_with_crossing_pairs"]
    crossing = f"{most:,} pairs of triangles cross in {frames:,} frames"
    return f"corners of the body reach between the vertices of the cloth, {crossing}; try {finer} or a larger --eps"


def _contact_advice(result: Any) -> str:
    """The remedy for cloth that never touched the body: more time if it falls towards it, else another place."""
    bodies = [result.scene.bodies[b] for b in result.scene.obstacles]
    start = [x[0] for x in result.x.values()]
    over = min(x[:, 1].min() for x in start) >= max(body.mesh.bounds[1, 1] for body in bodies)
    if over:
        return "try more --frames"
    if any(body.motion is not None for body in bodies):
        around = all((x.max(0) > body.mesh.bounds[0]).all() and (x.min(0) < body.mesh.bounds[1]).all()
                     for x in start for body in bodies)  # fmt: skip
        if around:
            return "try more --frames, or a garment that fits more closely"
        return "it is beside the body from the start: give a garment that fits it"
    return "try more --frames or --place above"


def _speed_at_end(result: Any) -> float:
    """Speed in m/s that a twentieth of a cloth exceeds in the last frame, where that is not slow and nothing drives
    it: bodies and grips are static, and there is no wind; otherwise 0."""
    import numpy as np

    scene = result.scene
    driven = any(body.motion is not None or body.grips for body in scene.bodies) or np.any(scene.wind)
    most = 0.0
    for x in () if driven else result.x.values():
        speed = np.percentile(np.linalg.norm(x[-1] - x[-2], axis=1), 95.0) / result.dt
        size = np.linalg.norm(np.ptp(x[0], axis=0))
        most = max(most, float(speed) if speed > AT_REST * size else 0.0)
    return most


def _slid(result: Any) -> float:
    """Metres by which the top of the cloth came down if it ends below the middle of the body; otherwise 0."""
    body = result.scene.bodies[result.scene.obstacles[0]] if result.scene.obstacles else None
    if body is None or body.motion is not None:
        return 0.0
    low, high = body.mesh.bounds[:, 1]
    top = [max(float(x[t][:, 1].max()) for x in result.x.values()) for t in (0, -1)]
    fell = top[0] - top[1]
    worn = top[0] <= high  # worn from the start, not dropped from above
    return fell if worn and top[1] < 0.5 * (low + high) and fell > 0.25 * (high - low) else 0.0

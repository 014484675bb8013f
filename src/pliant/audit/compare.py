"""Compare: run all applicable detection methods on the same states and compare them with the exact contacts."""

import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, cast

import numpy as np

from .. import validate
from ..arguments import check_arguments
from ..contacts import Contacts
from ..detect.base import BaseDetector, Finds
from ..detect.choose import choose_method, choose_method_for_scene
from ..detect.methods import METHODS
from ..detect.options import MethodChoice, method_text, options_of, parse_method
from ..errors import TooBigError
from ..mesh import Mesh
from ..motion.clip import Clip
from ..scene import Scene
from ..state import State
from .check import as_clip
from .compared_states import ComparedStates, of_clips, of_scene
from .comparison import ROLES, Comparison, Role, Row, Unfit, row_of
from .evaluate import evaluate
from .footprint import nbytes
from .queries import GroundTruth, Query
from .record_check import check_records
from .verdicts import Verdict

FRAMES = 8
PASSES = 5  # least number of timed passes per method
_BUILD_TWICE = 10.0  # s; detectors that build faster than this are built twice
_RUN_SHARE = 0.3  # approximate share of the simulation in the total time, for progress
FLAGS = {"obstacle": Finds.OBSTACLE, "pair": Finds.PAIR, "self": Finds.SELF}


@check_arguments
def compare(
    a: Scene | Mesh | Clip,
    b: Mesh | Clip | None = None,
    *,
    within: float | None = None,
    frames: int = FRAMES,
    every: int | None = None,
    methods: Iterable[str] | None = None,
    seed: int = 0,
    progress: Callable[[float], None] | None = None,
) -> Comparison:
    """Compare all methods on `frames` states: of a simulated scene, of mesh `a` on mesh `b`, or of `a` with itself.

    `within`: contact distance, metres. Default: twice `eps` at obstacles and twice `thickness` among deformable bodies;
    for meshes twice their default `eps`. `every`: steps or frames between two states. Default: 15 in a scene; an
    animation is sampled evenly. `methods`: names, with or without options as in `bvh:volume=sphere`. Default: all.
    `seed`: of stochastic methods. Each method is measured on its own kind of contact against exact distances; see
    docs/compare.md.
    """
    report_progress = progress or (lambda share: None)
    frames = validate.whole("frames", frames, low=1, high=100_000)
    every = None if every is None else validate.whole("every", every, low=1)
    seed = validate.whole("seed", seed, low=0)
    if within is not None:
        within = validate.number("within", within, above=0.0, high=validate.LARGEST)
    trials = _trials(METHODS if methods is None else methods, seed)
    if not trials:
        raise ValueError(f"methods is empty; one or more of: {', '.join(METHODS)}")
    if isinstance(a, Scene):
        if b is not None:
            raise ValueError("a scene has its own bodies; give either a scene or two meshes")
        _check_within(within, [body.mesh for body in a.bodies])
        seen = of_scene(a, frames, every, lambda share: report_progress(_RUN_SHARE * share))
    else:
        clips = [as_clip("a", a), *(() if b is None else (as_clip("b", b),))]
        _check_within(within, [clip.mesh for clip in clips])
        seen = of_clips(clips[0], None if b is None else clips[1], frames, every)
    queries_by_role = [(role, *_near(seen, role, within)) for role in ROLES]
    queries_by_role = [each for each in queries_by_role if each[1]]
    if not queries_by_role:
        count = len(seen.states)
        more = f" in {count} frames; try more frames or" if count > 1 else "; try"
        raise ValueError(f"no two parts of {seen.title!r} are within the distance{more} a larger distance (within)")
    roles, base = [], _RUN_SHARE if isinstance(a, Scene) else 0.0
    for k, (role, queries, reach) in enumerate(queries_by_role):
        first, last = (base + (1.0 - base) * (k + step) / len(queries_by_role) for step in (0, 1))
        share = _between(report_progress, first, last)
        roles.append(_Trials(role, queries, seen.states, reach, seed).run(trials, share))
    if not any(role.rows for role in roles):
        reasons = dict.fromkeys(f"{unfit.name} ({unfit.why})" for role in roles for unfit in role.unfit)
        raise ValueError(f"no method applies to {seen.title!r}: {', '.join(reasons)}; choose others")
    picks = tuple((role.role, pick) for role in roles if (pick := _pick(a, seen, role)) is not None)
    return Comparison(seen.title, tuple(roles), tuple(seen.states), tuple(seen.meshes), picks, seed)


def _check_within(within: float | None, meshes: Sequence[Mesh]) -> None:
    """Refuse a distance beyond which every pair of features is near: these would be computed for hours."""
    size = max(mesh.size for mesh in meshes)
    if within is not None and within > size > 0.0:
        raise ValueError(
            f"within = {within:g} m is larger than the meshes ({size:.3g} m across); did you mean {within:g}mm, "
            f"which is {1e-3 * within:g} m?"
        )


def _pick(a: Scene | Mesh | Clip, seen: ComparedStates, role: Role) -> MethodChoice | None:
    """The choice of `auto`: for the obstacles of a scene, or for all contacts of meshes; None for other roles."""
    if isinstance(a, Scene):
        return choose_method_for_scene(a) if role.role == "obstacle" else None
    first = seen.queries[0]
    return choose_method(first.one.mesh, None if first.other is None else first.other.mesh, role.within)


def _between(report_progress: Callable[[float], None], first: float, last: float) -> Callable[[float], None]:
    return lambda share: report_progress(first + (last - first) * share)


def _trials(methods: Iterable[str], seed: int) -> list[tuple[str, str, dict[str, Any]]]:
    """The label, name and options of each method, then those of its variants, which a method without options has."""
    chosen = {choice.text: choice for choice in map(parse_method, methods)}
    trials = [(label, name, {**_options(name, seed), **given}) for label, (name, _, given) in chosen.items()]
    for name in [name for name, _, given in chosen.values() if not given]:
        more = {method_text(name, variant): dict(variant) for variant in METHODS[name].variants}
        trials += [(label, name, options) for label, options in more.items() if label not in chosen]
    return trials


def _options(name: str, seed: int) -> dict[str, Any]:
    # a cached field would hide the cost of baking
    options = {"seed": seed, "cache": False}
    return {key: value for key, value in options.items() if key in options_of(name)}


def _near(seen: ComparedStates, role: str, within: float | None) -> tuple[list[Query], float]:
    """The queries of a role whose bounding boxes come within the distance in any state, and that distance."""
    reach = seen.within[role] if within is None else within
    queries = [query for query in seen.queries if query.role == role]
    return [q for q in queries if q.other is None or any(_close(q, state, reach) for state in seen.states)], reach


def _close(query: Query, state: State, reach: float) -> bool:
    """True if the swept bounding boxes of both sides are no farther apart than `reach`."""
    x, y = (np.concatenate([state.x[side.rows], state.x_start[side.rows]]) for side in (query.one, query.two))
    return bool((x.min(0) <= y.max(0) + reach).all() and (y.min(0) <= x.max(0) + reach).all())


class _RefusedError(Exception):
    """A method was built but failed to answer; the comparison continues with the others."""


class _Trials:
    """All methods on the queries of one role."""

    def __init__(self, role: str, queries: Sequence[Query], states: Sequence[State], within: float, seed: int) -> None:
        self.role, self.queries, self.states, self.within, self.seed = role, queries, states, within, seed
        self._truths: dict[tuple[int, int], GroundTruth] = {}

    def run(self, trials: Sequence[tuple[str, str, dict[str, Any]]], report_progress: Callable[[float], None]) -> Role:
        rows: list[Row] = []
        unfit: list[Unfit] = []
        for k, (label, name, options) in enumerate(trials):
            made = self._try(label, name, options, _between(report_progress, k / len(trials), (k + 1) / len(trials)))
            if isinstance(made, Row):
                rows.append(made)
            elif all((each.name.split(":")[0], each.why) != (name, made.why) for each in unfit):
                unfit.append(made)  # a reason is reported only once per method
            report_progress((k + 1) / len(trials))
        labels = tuple(query.label for query in self.queries)
        return Role(self.role, labels, self.within, tuple(rows), tuple(unfit))

    def _try(
        self, label: str, name: str, options: dict[str, Any], report_progress: Callable[[float], None]
    ) -> Row | Unfit:
        detectors, refused, built = self._build(name, options)
        if detectors and built < _BUILD_TWICE:  # the first build may include compilation
            detectors, refused, built = self._build(name, options)
        if not detectors:
            return Unfit(label, METHODS[name].needs, refused)
        try:
            verdicts_by_state, seconds, recalls = self._evaluate(detectors, report_progress)
            while len(seconds) < PASSES + 1:
                seconds += [_timed(detectors.values(), state) for state in self.states]
        except _RefusedError as error:
            return Unfit(label, METHODS[name].needs, str(error))
        first = next(iter(detectors))
        size = sum(nbytes(detector, _given(self.queries[k])) for k, detector in detectors.items())
        return row_of(
            label,
            list(detectors.values()),
            detectors[first].reports,
            verdicts_by_state,
            # the first answer is left out: it may include loading compiled code
            seconds=float(np.median(seconds[1:])),
            build=built,
            size=size,
            estimate=float(np.nanmean(recalls)) if np.isfinite(recalls).any() else float("nan"),
            query_counts=(len(detectors), len(self.queries)),
            refused=refused,
        )

    def _evaluate(
        self, detectors: dict[int, Any], report_progress: Callable[[float], None]
    ) -> tuple[list[list[Verdict]], list[float], list[float]]:
        """Per state the verdicts and seconds of CPU time, and the recalls estimated by the methods themselves."""
        verdicts_by_state, seconds, recalls = [], [], []
        for t, state in enumerate(self.states):
            spent, verdicts = 0.0, []
            for k, detector in detectors.items():
                began = time.process_time()
                found = _detect(detector, state)
                spent += time.process_time() - began
                check_records(detector, self.queries[k], len(state.x), found)
                try:
                    verdicts.append(evaluate(detector, self._truth(k, t), cast("Contacts", np.array(found))))
                except (TooBigError, MemoryError) as error:
                    raise _RefusedError(f"cannot be verified: {error}") from error
                recalls.append(detector.estimated_recall)
            verdicts_by_state.append(verdicts)
            seconds.append(spent)
            report_progress((t + 1) / len(self.states))
        return verdicts_by_state, seconds, recalls

    def _build(self, name: str, options: dict[str, Any]) -> tuple[dict[int, Any], str, float]:
        """Detectors by query index, the reason where one could not be built, and seconds of CPU time."""
        detectors, refused, began = {}, "", time.process_time()
        for k, query in enumerate(self.queries):
            try:
                detectors[k] = fitting(name, query, self.within, options)
            except (ValueError, MemoryError) as error:
                refused = refused or str(error).removeprefix(f"{name} ").removeprefix(f"method {name!r}: ")
        return detectors, refused, time.process_time() - began

    def _truth(self, k: int, t: int) -> GroundTruth:
        if (k, t) not in self._truths:
            self._truths[k, t] = GroundTruth(self.queries[k], self.states[t], self.within, self.seed)
        return self._truths[k, t]


def _timed(detectors: Iterable[Any], state: State) -> float:
    began = time.process_time()
    for detector in detectors:
        _detect(detector, state)
    return time.process_time() - began


def _detect(detector: Any, state: State) -> Contacts:
    try:
        found: Contacts = detector.update(state).find(state)
    except (ValueError, MemoryError) as error:
        raise _RefusedError(str(error) or "not enough memory") from error
    return found


def _given(query: Query) -> tuple[Mesh, ...]:
    """The meshes given to a detector, which do not count as its memory."""
    sides = (query.one, query.other, *query.whole)
    return tuple(side.mesh for side in sides if side is not None)


def fitting(name: str, query: Query, within: float, options: dict[str, Any]) -> BaseDetector:
    """Build a detector for a query as a simulation would; ValueError states why it does not apply."""
    made = METHODS[name]
    if not made.finds & FLAGS[query.role]:
        does = " and ".join(str(flag.name).lower() for flag in Finds if flag in made.finds)
        raise ValueError(f"finds {does} only")
    made = made.for_moving_vertices() if query.moves_without_pose else made.against(query.two.motion)
    if (query.deforming or query.moves_without_pose) and not made.obstacle_may_deform:
        how = "deforms" if query.deforming else "is animated by its vertices, without a pose"
        raise ValueError(f"needs a rigid body; {query.two.mesh.name!r} {how}")
    one, other = query.whole if made.volume else (query.one, query.other)
    return made(one, *(() if other is None else (other,)), within=within, **options)

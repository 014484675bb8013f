"""Fix: remove a garment's intersections with a body and with itself, in one mesh or in every frame."""

from collections.abc import Callable, Sequence

import numpy as np

from .. import validate
from ..arguments import check_arguments
from ..mesh import Mesh
from ..motion.clip import Clip
from .acceptance import worse_frames
from .check import as_clip, check
from .findings import NoteKind
from .fix_result import FixResult
from .repair import Repair
from .shape_changes import changes

CLEARANCE = 0.001  # m


@check_arguments
def fix(
    garment: Mesh | Clip,
    body: Mesh | Clip | None = None,
    *,
    clearance: float = CLEARANCE,
    inner: Sequence[Mesh | Clip] = (),
    untangle: bool = True,
    max_strain: float | None = None,
    fps: float = 30.0,
    progress: Callable[[float], None] | None = None,
) -> FixResult:
    """Project `garment` out of `body`, to `clearance` metres from it, then remove its self-intersections.

    Both may be animated (`Clip`s of equal length) or static. `inner`: garments worn below, already fixed; this one
    keeps the same clearance outside of them. `max_strain`: largest relative change of edge lengths; penetrations that
    cannot be resolved within it remain and are reported. A frame is replaced only by a better one.
    """
    one, two = as_clip("garment", garment), None if body is None else as_clip("body", body)
    edges = one.mesh.welded.vertices[one.mesh.welded.topology.edges]
    if not np.median(np.linalg.norm(edges[:, 1] - edges[:, 0], axis=1)) > 0.0:
        raise ValueError(f"garment {one.mesh.name!r} has no extent: half of its edges or more have length 0")
    clearance = validate.number("clearance", clearance, low=0.0, high=validate.LARGEST)
    if max_strain is not None:
        max_strain = validate.number("max_strain", max_strain, above=0.0)
    below = [as_clip("inner", each) for each in inner]
    count = max(len(each) for each in (one, two) if each is not None)
    for each in below:
        if not each.still and len(each) != count:
            raise ValueError(f"inner garment {each.mesh.name!r} has {len(each)} frames; expected {count}, or one")
    if below and two is None:
        raise ValueError("inner garments need a body from which their height is measured; give a body, too")
    report_progress = progress or (lambda share: None)
    before = check(one, two, fps=fps, progress=lambda share: report_progress(0.1 * share))
    work = Repair(one, two, below, clearance, untangle, max_strain, before)
    layering = work.around.layers.measure(work.all_given)
    if any(note.kind is NoteKind.WHOLLY_INSIDE for note in before.notes):
        # the nearest way out leads in all directions: it would be torn
        frames, unchanged = work.all_given, list(range(count))
    else:
        frames, unchanged = work.run(lambda share: report_progress(0.1 + 0.8 * share))
    done = Clip(one.mesh.moved(frames[0]), frames, one.color)
    after = check(done, two, fps=fps, progress=lambda share: report_progress(0.9 + 0.1 * share))
    worse = worse_frames(before, after, tangles=untangle) if count > 1 else []
    if worse:  # where `check` itself sees more than the repair, as near openings of the body
        frames[worse] = work.all_given[worse]
        unchanged = sorted({*unchanged, *worse})
        done = Clip(one.mesh.moved(frames[0]), frames, one.color)
        after = check(done, two, fps=fps)
    moved, strain, bend = changes(work.mesh, work.first, one, frames)
    return FixResult(
        garment=done,
        before=before,
        after=after,
        moved=moved,
        strain=strain,
        bend=bend,
        unchanged=tuple(unchanged),
        steps=work.steps,
        cut_short=tuple((what, tuple(at)) for what, at in work.work.cut_short.items()),
        without_room=work.around.without_room(frames),
        marched=work.marched,
        layers_before=layering,
        layers_after=work.around.layers.measure(frames),
    )

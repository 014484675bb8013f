"""What is wrong with a run, in words, and what to do about it."""

from typing import Any


def complaints(result: Any) -> list[str]:
    """What is wrong with the run, and what to do about it."""
    said: list[str] = []
    bodies = result.scene.bodies
    if not result.scene.soft:
        return said
    hung = any(len(bodies[b].pins) or len(bodies[b].grips) for b in result.scene.soft)
    if result.penetrates:
        deep = 1e3 * result.summary["penetration_m"]
        said.append(f"cloth was up to {deep:.3g} mm inside the body; {_advice(result)}")
    elif result.scene.fixed and not result.contacts.any() and not hung:
        start = [x[0] for x in result.x.values()]
        over = min(x[:, 1].min() for x in start) >= max(bodies[b].mesh.bounds[1, 1] for b in result.scene.fixed)
        said.append("the cloth never touched the body; try more --frames" + ("" if over else " or --place above"))
    elif result.scene.fixed and not result.contacts[-1] and not hung:
        said.append("the cloth has left the body at the end; more --friction or another place may hold it")
    elif not hung and (fell := _slid(result)):
        said.append(
            f"the cloth has slid down the body by {fell:.2g} m; more --friction, or pinned vertices, would hold it"
        )
    elif result.through and result.scene.self_contact != "safe":
        finer = "smaller triangles (--resolution, where it is made here) or a larger --eps"
        met = f"{result.through:,} pairs of triangles meet"
        said.append(f"corners of the body reach between the points of the cloth, {met}; try {finer}")
    if result.broken:
        why = "please report this as a defect"
        if result.forced:
            why = f"{result.unheld:,} pairs of features could not be held apart in {result.forced:,} small steps"
            why += ": bodies or grips left the cloth no room that was found; slower motion or more --substeps may help"
        if result.crossings is not None and result.crossings[0].any():
            why = "it starts with some, and safe mode keeps only what starts free of them"
        counted = "an uncounted number of pairs of triangles met"
        if result.crossings is not None:
            bad = result.summary["frames_with_crossings"]
            counted = f"{result.crossings.sum()} pairs of triangles met in {bad} frames of safe mode"
        said.append(f"{counted}; {why}")
    return said


def _advice(result: Any) -> str:
    """What to do about cloth inside the body."""
    if result.deepest[0] < 0.0:
        worn = "a garment that fits the rest pose" if result.scene.shapes else "--place above, or a garment that fits"
        return f"it starts there: {worn}"
    if not all(result.scene.bodies[b].mesh.issues.closed for b in result.scene.fixed):
        return "it is not closed, and cloth can slip past its border; close its holes or give it a thickness"
    return "try more --substeps or a larger --eps"


def _slid(result: Any) -> float:
    """Metres that the top of the cloth came down, where it is below the middle of what it was on; otherwise 0."""
    body = result.scene.bodies[result.scene.fixed[0]] if result.scene.fixed else None
    if body is None or body.motion is not None:
        return 0.0
    low, high = body.mesh.bounds[:, 1]
    top = [max(float(x[t][:, 1].max()) for x in result.x.values()) for t in (0, -1)]
    fell = top[0] - top[1]
    worn = top[0] <= high  # not dropped on it, or into it
    return fell if worn and top[1] < 0.5 * (low + high) and fell > 0.25 * (high - low) else 0.0

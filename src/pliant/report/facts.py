"""Facts of a run as readable text: the rows of the table of `pliant drape` and of the replay page."""

from typing import TYPE_CHECKING, Any

import numpy as np

from .intersection_volume import IntersectionVolume, litres

if TYPE_CHECKING:
    from ..simulation.result import Result


def run_facts(result: "Result") -> dict[str, str]:
    """Return the summary of a run as text, by row heading."""
    s, scene = result.summary, result.scene
    return {
        "frames": f"{s['frames']} ({s['simulated_s']:.2f} s)",
        **_character_facts(s),
        **({"particles": f"{s['particles']:,}"} if scene.deformable else {}),
        "body triangles": f"{s['body_triangles']:,}",
        **({"contacts, at most": f"{s['contacts_most']:,}"} if scene.deformable else {}),
        **(_body_facts(result) if scene.obstacles and scene.deformable else {}),
        **_event_facts(result),
        **({"intersections at the start": intersections_text(result)} if result.initial_intersections else {}),
        **_pair_facts(result),
        **_strain_facts(result),
        **({"attachments slipped": f"{1e3 * s['slipped_m']:.3g} mm at most"} if scene.is_attached.any() else {}),
        **{
            f"{volume_label(result, each)}, at most": litres(each.volume.max(), each.bound[int(np.argmax(each.volume))])
            for each in result.shared
        },
        **_proxy_facts(result),
        "time per frame": f"{s['ms_per_frame']:.1f} ms",
        "times real time": f"{s['times_real_time']:.2g}x",
    }


def _event_facts(result: "Result") -> dict[str, str]:
    """The number of times of impact at which substeps ended."""
    if result.events is None:
        return {}
    most = result.substeps if result.frame_substeps is None else int(result.frame_substeps.max(initial=0))
    return {"events": f"{result.events:,} times of impact divided substeps; at most {most:,} substeps in a frame"}


def _strain_facts(result: "Result") -> dict[str, str]:
    """How far cloth is stretched in its worst frame."""
    if result.strain is None:
        return {}
    share, most = result.strain
    return {"strain of edges, at most": f"95 % of them {_percent(share)} %, a single one {_percent(most)} %"}


def _percent(ratio: float) -> str:
    """Two digits; all digits of whole numbers, and 0 for what is only rounding."""
    value = 1e2 * ratio
    return f"{value:.0f}" if value < 1e-4 or value >= 99.5 else f"{value:.2g}"


def _near(metres: float) -> str:
    return f"{1e3 * metres:.2f} mm" if abs(metres) < 1.0 else f"{metres:.3g} m"


def _character_facts(s: dict[str, Any]) -> dict[str, str]:
    """The lead-in, teleports and root motion of a character."""
    if "lead_in_s" not in s:
        return {}
    facts = {"lead-in": f"{s['lead_in_s']:.3g} s"}
    if s["preroll_s"]:
        facts["lead-in"] += f"; {s['preroll_s']:.3g} s before the first frame"
    if s["lead_in_travels"]:
        skipped = "the displacement of the whole character to the first pose is not simulated"
        facts["lead-in"] += f"; {skipped}; the cloth is carried along"
    if s["teleports"]:
        first = s["teleports"][0]
        how = f"{first['distance_m']:.3g} m, {first['turn_degrees']:.0f} degrees, at {first['time_s']:.2f} s"
        more = f", and {len(s['teleports']) - 1} more" if len(s["teleports"]) > 1 else ""
        facts["teleports"] = f"{how}{more}; the cloth is carried along"
    if s["root_motion"] == "remove":
        facts["root motion"] = "taken out, and put back into the result"
    return facts


def _body_facts(result: "Result") -> dict[str, str]:
    """Penetration of cloth and bodies."""
    s, scene = result.summary, result.scene
    depth = s["penetration_m"]
    is_open = not all(scene.bodies[b].mesh.issues.closed for b in scene.obstacles)
    how = "exact; open body: penetration through its faces only" if is_open else "exact"
    text = f"{1e3 * depth:.3g} mm ({how})"
    if result.crosses_bodies:  # 0 mm is never reported without the crossing pairs
        most, frames = s["crossing_pairs_bodies_most"], s["frames_with_crossing_pairs"]
        text = f"{1e3 * depth:.3g} mm at vertices and edge midpoints ({how})"
        text += f"; {most:,} pairs of triangles cross, in {frames:,} frames"
    facts = {
        "deepest penetration": "not measured" if np.isnan(depth) else text,
        "nearest approach": "" if np.isnan(depth) else _near(s["least_distance_m"]),
    }
    at_end = result.intersecting_pairs_bodies_at_end
    if at_end is not None and result.intersecting_pairs is None:
        facts["intersecting pairs, cloth and bodies"] = f"{at_end:,} at the end"
    if s["pinched_most"]:
        deep = f"{1e3 * s['pinched_depth_m']:.3g} mm"
        facts["pinched where the body intersects itself"] = f"at most {s['pinched_most']} points, {deep} deep"
    if most := s["pinched_pairs_most"]:
        facts["crossing where the body intersects itself"] = f"at most {most:,} pairs of triangles"
    return facts


def _proxy_facts(result: "Result") -> dict[str, str]:
    """The proxies of the garments, and what was projected after they were carried; empty without proxies."""
    if result.carried is None:
        return {}
    s = result.summary["proxy"]
    most, frames, far = s["projected_most"], s["frames_projected"], 1e3 * s["projected_farthest_m"]
    moved = f"{most:,} vertices at most, in {frames:,} frames, by {far:.3g} mm at most" if most else "0 vertices"
    return {
        "simulated": "; ".join(str(each) for each in result.carried.proxies),
        **_own_facts(result.carried.run),
        "strain at the end": f"99 % of edges within {1e2 * s['strain_at_end_99_percent']:.2g} %",
        "projected out of bodies": moved,
    }


def _own_facts(run: "Result") -> dict[str, str]:
    """The penetration and the intersecting pairs of the proxies themselves."""
    s = run.summary
    facts = {"proxy, deepest penetration": f"{1e3 * s['penetration_m']:.3g} mm"} if run.scene.obstacles else {}
    if run.intersecting_pairs is not None:
        facts["proxy, intersecting pairs"] = f"{run.intersecting_pairs.sum():,} in {s['frames']:,} frames"
    return {} if np.isnan(s["penetration_m"]) else facts


def intersections_text(result: "Result") -> str:
    """Return the intersections in the initial state as text; empty where there are none."""
    texts = []
    for each in result.initial_intersections:
        a, b = result.names(each)
        bodies = f"{a} with itself" if each.bodies[0] == each.bodies[1] else f"{a} with {b}"
        texts.append(f"{each.pairs:,} pair{'s' * (each.pairs != 1)} of triangles of {bodies}")
    return ", ".join(texts)


def _pair_facts(result: "Result") -> dict[str, str]:
    """The numbers of intersecting pairs of triangles; empty where not counted."""
    pairs = result.intersecting_pairs
    if pairs is None:
        return {}
    counted = {"cloth": pairs[:, 0], "bodies": pairs[:, 1]}
    if not result.scene.obstacles:
        del counted["bodies"]
    facts = {}
    for what, n in counted.items():
        text = f"{n.sum():,} in all, worst frame {n.max():,}, {n[-1]:,} at the end"
        facts[f"intersecting pairs, cloth and {what}"] = text if n.any() else "0"
    if result.unresolved is not None:
        bad = int((result.unresolved > 0).sum())
        facts["pairs left too near"] = f"{result.unresolved.max():,} at most, in {bad:,} frames" if bad else "0"
    mode = result.scene.self_contact
    if mode != "off":
        when = f"{'the start and ' if pairs[0].any() else ''}{len(pairs) - 1:,} frames"
        facts[f"{mode} mode"] = f"{pairs.sum():,} intersecting pairs in {when}"
    if result.failed_substeps:
        what = f"{result.given_up_pairs:,} pairs of features, or vertices beside them"
        facts["pairs given up"] = f"{what}, in {result.failed_substeps:,} substeps"
    if result.without_room:
        facts["held between bodies"] = f"{result.without_room:,} vertices without room at most, inside of bodies"
    if result.computed_again:
        frames = "1 frame" if result.computed_again == 1 else f"{result.computed_again:,} frames"
        facts["computed again"] = f"{frames} in which cloth would otherwise cross bodies"
    return facts


def volume_label(result: "Result", shared: IntersectionVolume) -> str:
    """Return the heading of an intersection volume; with the bodies if there are several."""
    if len(result.shared) == 1:
        return "intersection volume"
    return "intersection volume, " + " and ".join(result.scene.bodies[b].label for b in shared.bodies)

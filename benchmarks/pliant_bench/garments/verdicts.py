"""The bars of the gauntlet: which of them a run meets.

Penetration and pairs of cloth with bodies are judged where cloth could have avoided them (see `room`); `deep` and
`body_pairs`, which count them wherever the body leaves room, are reported beside them.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

MUST, STRETCH, MISSED = "must", "stretch", "missed"
BARS = {
    "strain": "Strain of edges",
    "room": "Penetration where the body leaves room",
    "pairs": "Intersecting pairs",
    "finite": "Finite states and times",
    "cost": "Cost with self-contact",
    "length": "The same length at every resolution",
}
STRAIN = {MUST: (2.0, 6.0), STRETCH: (1.0, 3.0)}  # per cent: 95th percentile, largest
# milliseconds for 1/30 s of animation, by particles
COST = {
    MUST: ((1296, 100.0 / 3.0), (10_000, 150.0), (40_000, 1000.0)),
    STRETCH: ((1296, 50.0 / 3.0), (10_000, 50.0), (40_000, 300.0)),
}
LENGTH, SLOPE = 2.0, 1.2  # per cent; exponent


def judged(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows with a verdict for each bar (`bar_strain` ...) and the worst of them as `verdict`."""
    found = [dict(row) for row in rows]
    for group in _groups(found).values():
        finest = max(group, key=lambda row: row["particles"])
        for row in group:
            if len(group) > 1 and finest["drop"]:
                row["drop_percent"] = 100.0 * (row["drop"] / finest["drop"] - 1.0)
    for row in found:
        bars = bars_of(row)
        row |= {f"bar_{name}": verdict for name, verdict in bars.items()}
        row["verdict"] = MISSED if MISSED in bars.values() else MUST if MUST in bars.values() else STRETCH
        if not bars:
            row["verdict"] = ""
    return found


def bars_of(row: dict[str, Any]) -> dict[str, str]:
    """The verdict of each bar that applies to a run."""
    state = str(row.get("state", ""))
    if state.startswith("unfit"):
        return {}
    if "strain_95" not in row:
        return {"finite": MISSED}
    bars = {
        "strain": _level(lambda goal: row["strain_95"] <= STRAIN[goal][0] and row["strain_most"] <= STRAIN[goal][1]),
        "room": _level(lambda goal: row["avoidable_mm"] <= 0.0 if goal == STRETCH else row["avoidable"] == 0),
        "pairs": _level(lambda _: row["cloth_pairs"] == 0 and row["avoidable_pairs"] == 0),
        "finite": _level(lambda _: not state),
    }
    if row["self_contact"] != "off":
        spent = min(row["period_ms"], row["period_cpu_ms"])
        bars["cost"] = _level(lambda goal: spent <= allowed(goal, row["particles"]))
    if "drop_percent" in row:
        bars["length"] = _level(lambda _: abs(row["drop_percent"]) <= LENGTH)
    return bars


def _level(meets: Any) -> str:
    return STRETCH if meets(STRETCH) else MUST if meets(MUST) else MISSED


def allowed(goal: str, particles: int) -> float:
    """Milliseconds for 1/30 s of animation, linear between the given sizes on logarithmic axes, constant beyond."""
    counts, times = np.log(np.array(COST[goal])).T
    return float(np.exp(np.interp(np.log(particles), counts, times)))


def growth(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """For each garment at several sizes: the slope of the cost on logarithmic axes, and the spread of its length."""
    found = []
    for (character, garment, solver, mode), group in _groups(rows).items():
        if len(group) < 2:
            continue
        n = np.log([row["particles"] for row in group])
        spent = np.log([min(row["period_ms"], row["period_cpu_ms"]) for row in group])
        slope = float(np.polyfit(n, spent, 1)[0])
        drops = np.array([row["drop"] for row in group])
        spread = 100.0 * float(np.ptp(drops)) / max(abs(float(drops[np.argmax(n)])), 1e-9)
        found.append(
            {
                "character": character,
                "garment": garment,
                "solver": solver,
                "self_contact": mode,
                "sizes": ", ".join(str(row["particles"]) for row in group),
                "slope": slope,
                "bar_slope": MUST if slope <= SLOPE else MISSED,
                "drop_spread_percent": spread,
                "bar_length": MUST if spread <= LENGTH else MISSED,
            }
        )
    return found


def _groups(rows: Sequence[dict[str, Any]]) -> dict[tuple[str, ...], list[dict[str, Any]]]:
    """Rows with figures, by character, garment, solver and self-contact."""
    groups: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for row in rows:
        if "drop" in row:
            key = (row["character"], row["garment"], row["solver"], row["self_contact"])
            groups.setdefault(key, []).append(row)
    return groups

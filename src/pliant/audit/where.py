"""Where most of the problems of a checked garment are, in words."""

import numpy as np

from .findings import Location, Report

THIRDS = ("lower", "middle", "upper")


def where_most(report: Report) -> str:
    """Where on the garment most of the listed problems are, and where the worst of these is; empty without any."""
    if not report.places:
        return ""
    third = [_third(report, place) for place in report.places]
    weight = np.bincount(third, [place.size for place in report.places], len(THIRDS))
    most = int(np.argmax(weight))
    worst = next(place for place, k in zip(report.places, third, strict=True) if k == most)
    at = ", ".join(f"{x:.2f}" for x in worst.place)
    return f"in the {THIRDS[most]} third of the garment, the worst in frame {worst.frame} at ({at}) m"


def _third(report: Report, place: Location) -> int:
    """The third of the garment's height, from below, in which a place is in its frame."""
    y = np.asarray(report.garment.at(place.frame))[:, 1]
    low, high = float(y.min()), float(y.max())
    return int(np.clip(len(THIRDS) * (place.place[1] - low) / max(high - low, 1e-300), 0, len(THIRDS) - 1))

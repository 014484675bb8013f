"""Compares the contacts of a method with the exact ones, by its kind of contact, contact distance and stated bound."""

from collections.abc import Callable

from ..contacts import Contacts
from ..detect.base import BaseDetector, Reports
from . import pairwise, pointwise
from .queries import GroundTruth
from .verdicts import Verdict

KINDS = {
    Reports.FEATURES: "pairs of vertex and face or of two edges within the distance, and vertices inside",
    Reports.POINTS: "vertices and edge midpoints within the distance, or inside",
    Reports.VERTICES: "vertices within the distance, or inside",
    Reports.INSIDE: "vertices inside a closed mesh",
    Reports.TETS: "vertices inside tetrahedra",
}
_EVALUATORS: dict[Reports, Callable[[BaseDetector, GroundTruth, Contacts], Verdict]] = {
    Reports.FEATURES: pairwise.features,
    Reports.POINTS: pointwise.points,
    Reports.VERTICES: pointwise.points,
    Reports.INSIDE: pointwise.inside,
    Reports.TETS: pointwise.in_tets,
}


def evaluate(detector: BaseDetector, facts: GroundTruth, found: Contacts) -> Verdict:
    """Compare the contacts `found` by a detector with the exact ones; the detector's state must be current."""
    return _EVALUATORS[detector.reports](detector, facts, found)

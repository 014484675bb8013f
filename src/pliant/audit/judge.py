"""Compares the contacts of a method with the exact ones, by its kind of contact, contact distance and stated bound."""

from collections.abc import Callable
from typing import Any

from ..contacts import Contacts
from . import pairwise, pointwise
from .queries import Facts, Question
from .verdicts import Verdict

KINDS = {
    "features": "pairs of vertex and face or of two edges within the distance, and vertices inside",
    "points": "vertices and edge midpoints within the distance, or inside",
    "inside": "vertices inside a closed mesh",
    "tets": "vertices inside tetrahedra",
}
_JUDGES: dict[str, Callable[[Any, Facts, Contacts], Verdict]] = {
    "features": pairwise.features,
    "points": pointwise.points,
    "inside": pointwise.inside,
    "tets": pointwise.in_tets,
}


def kind_of(detector: Any, question: Question) -> str:
    """The kind of contact that the method reports: one of KINDS."""
    if getattr(detector, "inner", False):
        return "inside"
    if getattr(detector, "volume", False) and question.tets:
        return "tets"
    return "points" if isinstance(detector, pointwise.POINTWISE) else "features"


def judge(detector: Any, facts: Facts, found: Contacts) -> Verdict:
    """Compare the contacts `found` by a detector with the exact ones; the detector's state must be current."""
    return _JUDGES[kind_of(detector, facts.question)](detector, facts, found)

"""Detectors that balance recall against time: active pairs, and a tree walked by probability."""

from .pairs import ActivePairsDetector
from .recall import Recall, measured_recall, regions_of
from .tree import StochasticTreeDetector

__all__ = ["ActivePairsDetector", "Recall", "StochasticTreeDetector", "measured_recall", "regions_of"]

"""Stochastic collision detection, which trades recall for time: active pairs, and a BVH traversed by probability."""

from .pairs import ActivePairsDetector
from .recall import Recall, measured_recall, regions_of
from .tree import StochasticTreeDetector

__all__ = ["ActivePairsDetector", "Recall", "StochasticTreeDetector", "measured_recall", "regions_of"]

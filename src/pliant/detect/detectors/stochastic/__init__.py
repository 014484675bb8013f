"""Stochastic collision detection, which trades recall for time: active pairs, and a BVH traversed by probability."""

from .pairs import ActivePairsDetector
from .recall import Recall, measured_recall, regions_of
from .tree import StochasticBvhDetector

__all__ = ["ActivePairsDetector", "Recall", "StochasticBvhDetector", "measured_recall", "regions_of"]

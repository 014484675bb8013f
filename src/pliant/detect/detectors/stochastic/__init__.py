"""Stochastic collision detection, which trades recall for time: active pairs, and a BVH traversed by probability."""

from .bvh import StochasticBvhDetector
from .pairs import ActivePairsDetector
from .recall import Recall, measured_recall, regions_of

__all__ = ["ActivePairsDetector", "Recall", "StochasticBvhDetector", "measured_recall", "regions_of"]

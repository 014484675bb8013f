"""Every detector by name: the list that the command line, the tests and the benchmark go through."""

from typing import Any

from .brute_force import BruteForceDetector
from .distance_field import DistanceFieldDetector

METHODS: dict[str, Any] = {
    detector.name: detector
    for detector in (
        BruteForceDetector,
        DistanceFieldDetector,
    )
}

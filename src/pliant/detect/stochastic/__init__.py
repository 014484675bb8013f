"""Detectors that balance recall against time: active pairs, and a tree walked by probability."""

from .pairs import ActivePairsDetector

__all__ = ["ActivePairsDetector"]

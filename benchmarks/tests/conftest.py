"""Fixtures and the time limit that the tests of the benchmarks share with those of the product."""

from conftest import data, pytest_configure, rng

__all__ = ["data", "pytest_configure", "rng"]

"""Fixtures that the tests of the benchmarks share with those of the product."""

from conftest import data, rng

__all__ = ["data", "rng"]

"""`pliant bench` where the benchmarks are not installed: says how to get them."""

from typing import Annotated

from cyclopts import Parameter


def bench(*words: Annotated[str, Parameter(allow_leading_hyphen=True)]) -> int:
    """Measure speed and accuracy against published tables and other libraries.

    The benchmarks are a package of their own, pliant-bench, in the folder benchmarks/ of the repository.

    Parameters
    ----------
    words
        The benchmark and its options, once the package is installed.
    """
    raise ValueError(HOW)


HOW = (
    "the benchmarks are not part of this installation: clone the repository and run "
    "`pip install ./benchmarks` in it, or `make setup` for a whole development environment"
)

"""What differs between the tasks of threads and of a graphics card, where `gpu/per_task.py` replaces this module."""

import numpy as np

scratch = np.empty  # scratch(shape, dtype): memory of one task; on a card its shape has to be a constant


def chunk(elements: int) -> int:
    """The elements of one task of a parallel loop; on a card a task is one element."""
    return elements

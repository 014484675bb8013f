"""Kernels on graphics cards: the sources of `kernels/` compiled for CUDA, and what has no loop on the processor.

Nothing imports this package but `kernels/device.py`, because importing `numba.cuda` takes more than a second.
"""

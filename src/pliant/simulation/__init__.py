"""The time-stepping loop and everything that takes part in it besides detection, response and dynamics.

step: the loop; build: what it makes once from a scene; record: runs that are kept and measured; drape: a
run from two meshes.
"""

from .step import Frame, Simulation

__all__ = ["Frame", "Simulation"]

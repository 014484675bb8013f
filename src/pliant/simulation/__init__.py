"""The time-stepping loop and everything that takes part in it besides detection, response and dynamics.

step: the loop; build: the detectors and the self-contact handler, made once from a scene; record: runs that are kept
and measured; drape: a run from two meshes.
"""

from .batch import Batch
from .frame import Frame
from .step import Simulation

__all__ = ["Batch", "Frame", "Simulation"]

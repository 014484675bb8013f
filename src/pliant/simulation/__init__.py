"""The time-stepping loop and everything that takes part in it besides detection, response and dynamics."""

from .simulation import Frame, Simulation

__all__ = ["Frame", "Simulation"]

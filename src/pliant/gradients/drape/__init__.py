"""Drapes with gradients: a run of cloth by XPBD whose contact is smoothed, and its adjoint."""

from .model import DifferentiableDrape
from .tape import DrapeTape
from .values import DrapeValues

__all__ = ["DifferentiableDrape", "DrapeTape", "DrapeValues"]

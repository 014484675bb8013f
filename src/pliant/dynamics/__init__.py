"""Dynamics of deformable bodies, without contacts: predict, relax, finish."""

from .soft import DeformableDynamics
from .tets import TetDynamics
from .xpbd import ClothDynamics

__all__ = ["ClothDynamics", "DeformableDynamics", "TetDynamics"]

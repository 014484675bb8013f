"""Dynamics of deformable bodies, without contacts: predict, relax, finish."""

from .soft import SoftDynamics
from .tets import TetDynamics
from .xpbd import ClothDynamics

__all__ = ["ClothDynamics", "SoftDynamics", "TetDynamics"]

"""Dynamics of deformable bodies, without contacts: predict, relax, finish."""

from .cloth import ClothDynamics
from .deformable import DeformableDynamics
from .tets import TetDynamics

__all__ = ["ClothDynamics", "DeformableDynamics", "TetDynamics"]

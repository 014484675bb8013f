"""Dynamics of deformable bodies, without contacts: predict, relax, finish."""

from .cloth import SOLVERS, ClothDynamics
from .deformable import DeformableDynamics
from .tets import TetDynamics

__all__ = ["SOLVERS", "ClothDynamics", "DeformableDynamics", "TetDynamics"]

"""Dynamics of deformable bodies, without contacts: predict, relax, finish."""

from .cloth import SOLVERS, ClothDynamics
from .deformable import DeformableDynamics, default_substeps
from .tets import TetDynamics

__all__ = ["SOLVERS", "ClothDynamics", "DeformableDynamics", "TetDynamics", "default_substeps"]

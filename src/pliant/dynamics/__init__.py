"""Dynamics of deformable bodies: predict, relax, finish. Contacts enter as constraints of the implicit solver only."""

from .cloth import SOLVERS, ClothDynamics
from .deformable import DeformableDynamics, default_substeps
from .tets import TetDynamics

__all__ = ["SOLVERS", "ClothDynamics", "DeformableDynamics", "TetDynamics", "default_substeps"]

"""Dynamics of deformable bodies: predict, relax, finish.

By default, contacts with obstacles enter the implicit solve of cloth as springs, and as constraints where the response
has pushed vertices farther than springs give way. Beside soft bodies, with friction model "simple" and with restitution
they are constraints of a second solve (docs/dynamics/implicit.md). XPBD, soft bodies and all responses except
projection solve without contacts.
"""

from .cloth import SOLVERS, ClothDynamics
from .deformable import DeformableDynamics, default_substeps
from .strands import StrandDynamics
from .tets import TetDynamics

__all__ = ["SOLVERS", "ClothDynamics", "DeformableDynamics", "StrandDynamics", "TetDynamics", "default_substeps"]

"""Triangle and tetrahedral meshes, their topology, and their defects."""

from .mesh import Mesh, as_mesh

__all__ = ["Mesh", "as_mesh"]

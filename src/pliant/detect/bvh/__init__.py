"""Bounding volume hierarchies (BVH): construction, update, wide layout, and leaf meshes."""

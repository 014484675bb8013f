"""For people with files: what is wrong with a mesh, a garment on a body, or an animation."""

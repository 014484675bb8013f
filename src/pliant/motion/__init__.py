"""Moving shapes: rigid keyframes, skinned characters, recorded vertices, and clips of them."""

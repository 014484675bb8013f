"""Proxies: coarse meshes that are simulated in place of dense garments, and the way back to the garment."""

"""Proxies: coarse meshes that are simulated in place of dense garments, and wraps that carry the garments with them."""

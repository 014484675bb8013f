"""Skinning weights of a garment, transferred from the body it was modelled on (docs/bind.md)."""

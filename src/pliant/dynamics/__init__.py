"""The material between contacts: predict, relax, finish."""

from .xpbd import ClothDynamics

__all__ = ["ClothDynamics"]

"""Bone-attached bounding boxes of a skinned body (Pelechano et al.)."""

from .boxes import BoneBoxes
from .detector import BoneBoxesDetector

__all__ = ["BoneBoxes", "BoneBoxesDetector"]

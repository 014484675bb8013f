"""Image-space collision detection with layered depth images (Teschner et al. 2005, section 6)."""

from .detector import ImageSpaceDetector
from .layers import DepthCamera, Layers, layered_depth_image
from .points import PointsInside, points_inside
from .standing import StandingCamera
from .volume import Overlap, Overlaps, overlap

__all__ = [
    "DepthCamera",
    "ImageSpaceDetector",
    "Layers",
    "Overlap",
    "Overlaps",
    "PointsInside",
    "StandingCamera",
    "layered_depth_image",
    "overlap",
    "points_inside",
]

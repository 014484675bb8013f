"""The options of `pliant drape` and `pliant play` about a height image as the obstacle."""

import dataclasses
import pathlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..mesh.height_image import HeightImage


@dataclasses.dataclass(frozen=True)
class HeightOptions:
    """A height image as the obstacle, in place of BODY."""

    heights: pathlib.Path | None = None
    """Grey PNG of 16 (or 8) bits, seen from above, on which the cloth falls: no mesh is needed. Default: none."""
    heights_size: str | None = None
    "Length of the longer side of the image: 50cm, or metres. Default: 0.5."
    heights_scale: str | None = None
    "Height of white over black: 8cm, or metres. Default: a fifth of its size."
    heights_resolution: int | None = None
    "Nodes along the longer side of the image. Default: its pixels, at most 512."

    def image(self) -> "HeightImage":
        """Read the image."""
        from .. import validate
        from ..io.height_map import load_heights
        from ..mesh.height_image import HeightImage

        assert self.heights is not None
        size = 0.5 if self.heights_size is None else validate.length("--heights-size", self.heights_size)
        scale = 0.2 * size if self.heights_scale is None else validate.length("--heights-scale", self.heights_scale)
        validate.number("--heights-size", size, above=0.0)
        count = self.heights_resolution
        count = None if count is None else validate.whole("--heights-resolution", count, low=2, high=4096)
        picture, name = load_heights(self.heights), self.heights.stem
        return HeightImage.of(picture, size=size, scale=scale, resolution=count, name=name)

    def check(self, body: pathlib.Path | None, scene: str | None) -> None:
        """Raise ValueError where the image is one obstacle too many, or its options have no image."""
        if self.heights is None:
            for name in ("heights_size", "heights_scale", "heights_resolution"):
                if getattr(self, name) is not None:
                    raise ValueError(f"--{name.replace('_', '-')} is for a height image; give one with --heights")
        elif body is not None:
            raise ValueError(f"--heights {self.heights} is the obstacle itself; give either it or the body {body}")
        elif scene is not None:
            raise ValueError(f"--scene {scene} has its own cloth and body; give either it or --heights")


NO_HEIGHTS = HeightOptions()

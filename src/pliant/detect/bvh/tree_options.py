"""The options of a detector's BVH: volume, arity, leaf size, build and update."""

from typing import Annotated, Any, NamedTuple

from ...arguments import OneOf, Range
from .build import ARITIES, BUILDS, VOLUMES

UPDATES = ("bottom-up", "top-down", "hybrid", "lazy", "rebuild")
BLEND = "blend"  # no update: volumes of the obstacle follow from the weights of its bones, morph targets or frames
# annotations of the options, by which they are checked and listed
Volume = Annotated[str, OneOf(tuple(VOLUMES))]
Arity = Annotated[int, OneOf(ARITIES)]
Leaf = Annotated[int, Range(low=1, high=1_000_000)]
Split = Annotated[str, OneOf(BUILDS)]
Update = Annotated[str, OneOf(UPDATES)]
UpdateOrBlend = Annotated[str, OneOf((*UPDATES, BLEND))]
Margin = Annotated[float, Range(low=0.0)] | None
Worse = Annotated[float, Range(low=1.0)] | None


class TreeOptions(NamedTuple):
    """How a detector builds and updates its BVHs. The default is the fast one: AABBs with one triangle per leaf, all
    refitted at every update, which have a traversal of their own."""

    volume: str = "box"
    arity: int = 4
    leaf: int = 1  # triangles in a leaf, at most
    split: str = "longest-sah"
    update: str = "bottom-up"
    margin: float | None = None  # of the lazy update, metres. Default: the detection distance
    worse: float | None = None  # growth of the surface area at which a BVH is rebuilt. Default: never

    def checked(self) -> "TreeOptions":
        """Raise ValueError for an option that would have no effect."""
        if self.margin is not None and self.update != "lazy":
            raise ValueError(f"margin = {self.margin:g} is for update 'lazy', not {self.update!r}; leave it out")
        if self.worse is not None and self.update not in ("bottom-up", "lazy"):
            raise ValueError(f"worse = {self.worse:g} is for updates 'bottom-up' and 'lazy', not {self.update!r}")
        return self

    @property
    def fast(self) -> bool:
        """Whether the traversal of AABB trees with one triangle per leaf serves."""
        return (self.volume, self.leaf, self.update, self.worse) == ("box", 1, "bottom-up", None)

    def of_leaf_mesh(self) -> dict[str, Any]:
        """The options of a `LeafMesh`."""
        return {"arity": self.arity, "split": self.split}

    def of_moving_tree(self, within: float) -> dict[str, Any]:
        """The options of a `MovingTree` for queries within a distance."""
        margin = within if self.margin is None else self.margin
        update = "bottom-up" if self.update == BLEND else self.update
        return self._asdict() | {"margin": margin if update == "lazy" else 0.0, "update": update}

    def of_layout(self) -> dict[str, Any]:
        """The options of the BVH itself."""
        return {"volume": self.volume, "leaf": self.leaf} | self.of_leaf_mesh()

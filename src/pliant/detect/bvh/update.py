"""BVH update strategies for deforming meshes: refit, partial refit, lazy refit and rebuild."""

from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ... import validate
from ...kernels.bvh import fit as _fit
from ...kernels.bvh import traversal as _traversal
from ...kernels.bvh.traversal import TraversedBvh
from .tree import Floats, Found, Ints, flat, refit, set_items, traverse_pairs, tree_of
from .tree_options import UPDATES

if TYPE_CHECKING:
    from .blended_body import BlendedBody

WORSE = 2.0  # growth of the surface area since the last build that triggers a rebuild; measured, see docs/trees


class Top(NamedTuple):
    nodes: Ints  # the upper half of a BVH, children before parents
    whole: NDArray[np.bool_]  # the lowest of these, refitted from their elements


class MovingTree:
    """A BVH over moving elements (m,c) with corners `x` (n,3), or over their sweep from `x` to `y`.

    `update`: "bottom-up" refits all volumes; "top-down" only those a traversal reaches, from the elements below;
    "hybrid" the upper half at once and the rest when reached; "lazy" none until a corner has moved more than `margin`
    since the last refit (conservative: pairs may be farther apart than requested); "rebuild" builds a new BVH every
    time. After a full refit the BVH is rebuilt if the surface area of its volumes, relative to the root's, has grown
    by the factor `worse`; None never rebuilds.
    """

    def __init__(
        self,
        x: Floats,
        elements: Ints,
        y: Floats | None = None,
        *,
        update: str = "bottom-up",
        margin: float = 0.0,
        worse: float | None = WORSE,
        **options: Any,
    ) -> None:
        self.update = validate.choice("update", update, UPDATES)
        self.margin = validate.number("margin", margin, low=0.0)
        self.worse, self.options = worse, options
        self.elements = elements
        self.builds = self.fits = self.now = 0
        self._build(*self._checked(x, y))

    def move(self, x: Floats, y: Floats | None = None) -> Self:
        """Update to the corners `x` (n,3), or to their sweep from `x` to `y`."""
        x, y = self._checked(x, y)
        if self.update == "rebuild":
            self._build(x, y)
        elif self.update == "lazy":
            moved = max(_fit.farthest(x, self._x), _fit.farthest(y, self._y))
            # include the rounding error of positions
            self.moved = moved + 4.0 * np.finfo(float).eps * self._size(x, y) if moved else 0.0
            if self.moved > self.margin:
                self._fit_all(x, y)
        elif self.update == "bottom-up":
            self._fit_all(x, y)
        else:
            self._fit_part(x, y)
        return self

    def pairs(self, other: "MovingTree | BlendedBody | None" = None, *, within: float = 0.0) -> Found:
        """Return pairs of elements whose volumes are at most `within` apart; without `other`, each self pair once."""
        one = self.traversed()
        if other is None:
            return traverse_pairs(one, one, same=True, within=within + 2.0 * self.moved)
        return traverse_pairs(one, other.traversed(), same=False, within=within + self.moved + other.moved)

    def traversed(self) -> TraversedBvh:
        mode = _traversal.FROM_ITEMS if self.update in ("top-down", "hybrid") else _traversal.CURRENT
        return flat(self.tree)._replace(refit_mode=mode, stamp=self._stamp, now=self.now)

    @property
    def quality(self) -> float:
        """Surface area of all volumes over that of the root, relative to its value after the build (1: as built)."""
        return self._surface() / self._new if self._new > 0.0 else 1.0

    def _surface(self) -> float:
        bounds, kind = flat(self.tree).bounds, flat(self.tree).kind
        root = _fit.surface_sum(bounds[:1], kind)
        return float(_fit.surface_sum(bounds, kind) / root) if root > 0.0 else 0.0

    def _build(self, x: Floats, y: Floats) -> None:
        self.tree = tree_of(x, self.elements, y, **self.options)
        self._stamp = np.full(len(self.tree.nodes), self.now, np.int32)
        self._new = self._surface()
        self._x, self._y, self.moved = x, y, 0.0
        self.builds += 1
        self._top: Top | None = None

    def _fit_all(self, x: Floats, y: Floats) -> None:
        refit(self.tree, x, self.elements, y)
        self._x, self._y, self.moved = x, y, 0.0
        self.fits += 1
        if self.worse is not None and self.quality > self.worse:
            self._build(x, y)

    def _fit_part(self, x: Floats, y: Floats) -> None:
        """Refit the elements now and nodes when reached; for "hybrid" also the upper half now."""
        self.now += 1
        set_items(self.tree, x, self.elements, y)
        if self.update == "hybrid" and len(self.tree.nodes):
            view = flat(self.tree)
            if self._top is None:
                nodes, whole = np.empty(len(view.links), np.int32), np.empty(len(view.links), np.bool_)
                n = _fit.nodes_to_half_depth(view.links, nodes, whole)
                self._top = Top(nodes[:n].copy(), whole[:n].copy())
            top = self._top
            _fit.refit_some(view.bounds, view.links, view.items, view.kind, top.nodes, top.whole, self._stamp, self.now)
        self.fits += 1

    def _checked(self, x: Floats, y: Floats | None) -> tuple[Floats, Floats]:
        """Validate and copy, since the caller may change its arrays."""
        x = validate.floats("x", x, (None, 3))
        y = x if y is None else validate.floats("y", y, (len(x), 3))
        return x, y

    @staticmethod
    def _size(x: Floats, y: Floats) -> float:
        return max(float(np.abs(a).max(initial=0.0)) for a in (x, y))

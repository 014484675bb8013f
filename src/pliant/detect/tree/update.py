"""A tree that follows a deforming mesh, and when it is better built anew."""

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ... import validate
from ...kernels import tree_fit as _fit
from ...kernels import tree_walk as _walk
from ...kernels.tree_walk import Walked
from .tree import Floats, Found, Ints, flat, refit, set_items, tree_of, walk_pairs

UPDATES = ("bottom-up", "top-down", "hybrid", "lazy", "rebuild")
WORSE = 2.0  # times the surface after the last build at which a tree is built anew; measured, see docs/trees


class Top(NamedTuple):
    nodes: Ints  # the upper half of a tree, children before parents
    whole: NDArray[np.bool_]  # the lowest of these, made from their elements


class MovingTree:
    """Elements (m,c) with corners `x` (n,3), or sweeping from `x` to `y`, in a tree that keeps up with them.

    `update`: "bottom-up" fits all volumes; "top-down" only those that a walk reaches, from the elements below;
    "hybrid" the upper half at once and the rest when reached; "lazy" none until something moved more than `margin`
    since the last fit (pairs may then be farther apart than asked, none is missing); "rebuild" makes a new tree every
    time. A tree whose volumes have grown to `worse` times their surface, measured against the root's, is built anew
    wherever all of them are fitted; None never does.
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
        """Follow to the corners `x`, or to what is swept from `x` to `y`."""
        x, y = self._checked(x, y)
        if self.update == "rebuild":
            self._build(x, y)
        elif self.update == "lazy":
            moved = max(_fit.farthest(x, self._x), _fit.farthest(y, self._y))
            # positions were rounded too
            self.moved = moved + 4.0 * np.finfo(float).eps * self._size(x, y) if moved else 0.0
            if self.moved > self.margin:
                self._fit_all(x, y)
        elif self.update == "bottom-up":
            self._fit_all(x, y)
        else:
            self._fit_part(x, y)
        return self

    def pairs(self, other: "MovingTree | None" = None, *, within: float = 0.0) -> Found:
        """Pairs of elements whose volumes, grown by `within`, meet; without `other` each pair of this one's once."""
        one = self.walked()
        if other is None:
            return walk_pairs(one, one, same=True, within=within + 2.0 * self.moved)
        return walk_pairs(one, other.walked(), same=False, within=within + self.moved + other.moved)

    def walked(self) -> Walked:
        fresh = _walk.FROM_ITEMS if self.update in ("top-down", "hybrid") else _walk.CURRENT
        return flat(self.tree)._replace(fresh=fresh, stamp=self._stamp, now=self.now)

    @property
    def quality(self) -> float:
        """The surface of all volumes over that of the root, relative to what it was when built; 1 is as good as new."""
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
        """Elements now, nodes when they are reached; of a hybrid tree the upper half now."""
        self.now += 1
        set_items(self.tree, x, self.elements, y)
        if self.update == "hybrid" and len(self.tree.nodes):
            view = flat(self.tree)
            if self._top is None:
                nodes, whole = np.empty(len(view.links), np.int32), np.empty(len(view.links), np.bool_)
                n = _fit.cut_half_way(view.links, nodes, whole)
                self._top = Top(nodes[:n].copy(), whole[:n].copy())
            top = self._top
            _fit.refit_some(view.bounds, view.links, view.items, view.kind, top.nodes, top.whole, self._stamp, self.now)
        self.fits += 1

    def _checked(self, x: Floats, y: Floats | None) -> tuple[Floats, Floats]:
        """Fresh arrays: the caller may change what it gave."""
        x = validate.floats("x", x, (None, 3))
        y = x if y is None else validate.floats("y", y, (len(x), 3))
        return x, y

    @staticmethod
    def _size(x: Floats, y: Floats) -> float:
        return max(float(np.abs(a).max(initial=0.0)) for a in (x, y))

"""The registry of detectors by name: the built-in ones, those of `register`, and those of installed packages."""

import importlib
import logging
from collections.abc import Iterator, MutableMapping
from typing import Any

from ..validate import choice
from .base import BaseDetector, Finds, class_with_defaults

GROUP = "pliant.detectors"  # entry points, name = "module:Class"
EARLIER = {"tree": "bvh", "stochastic-tree": "stochastic-bvh"}  # earlier names, still accepted
# what the field calls them, or other programs: suggested, not accepted
_KNOWN_AS = {"sdf": "distance-field", "signed-distance-field": "distance-field", "aabb": "bvh", "ccd": "continuous"}
_RESERVED = {"auto", *EARLIER}
# name -> module and class, imported at first use, so that a query loads only the method that it runs
_BUILT_IN = {
    "brute-force": "brute_force:BruteForceDetector",
    "distance-field": "distance_field:DistanceFieldDetector",
    "bvh": "bvh:BvhDetector",
    "continuous": "continuous:ContinuousDetector",
    "height-grid": "height_grid:HeightGridDetector",
    "bone-boxes": "bone_boxes:BoneBoxesDetector",
    "sphere-surface": "sphere_surface:SphereSurfaceDetector",
    "spatial-hash": "spatial_hash:SpatialHashDetector",
    "stochastic-bvh": "stochastic:StochasticBvhDetector",
    "active-pairs": "stochastic:ActivePairsDetector",
    "image-space": "image_space:ImageSpaceDetector",
}
log = logging.getLogger("pliant.detect")


class _Registry(MutableMapping[str, Any]):
    """Detector classes by name, in the order of registration. A class is imported when it is read; the entry points of
    installed packages are read with the first listing or registration, or with the first name that is not built in."""

    def __init__(self) -> None:
        self._methods: dict[str, str | type[BaseDetector]] = dict(_BUILT_IN)
        self._searched = False

    def __getitem__(self, name: str) -> type[BaseDetector]:
        name = EARLIER.get(name, name)
        if name not in self._methods:
            self._search()
        method = self._methods[name]
        if isinstance(method, str):
            module, _, kind = method.partition(":")
            detector_class: type[BaseDetector] = getattr(
                importlib.import_module(f"{__package__}.detectors.{module}"), kind
            )
            self._methods[name] = method = detector_class
        return method

    def __setitem__(self, name: str, detector: type) -> None:
        self._methods[EARLIER.get(name, name)] = class_with_defaults(detector)

    def __delitem__(self, name: str) -> None:
        del self._methods[EARLIER.get(name, name)]

    def __contains__(self, name: object) -> bool:
        name = EARLIER.get(name, name) if isinstance(name, str) else name
        if name not in self._methods:
            self._search()
        return name in self._methods

    def __iter__(self) -> Iterator[str]:
        self._search()
        return iter(tuple(self._methods))

    def __len__(self) -> int:
        self._search()
        return len(self._methods)

    def _search(self) -> None:
        """Register the detectors that installed packages declare; one that cannot be loaded is logged and left out."""
        if self._searched:
            return
        self._searched = True
        from importlib.metadata import entry_points

        for point in entry_points(group=GROUP):
            try:
                detector = _checked(point.load())
                if detector.name != point.name:
                    raise ValueError(f"its class has the name {detector.name!r}")
                self._add(detector)
            except Exception as error:  # code of another package
                log.warning("detection method %r (%s) is not available: %s", point.name, point.value, error)

    def _add(self, detector: type[BaseDetector]) -> None:
        present = self._methods.get(detector.name)
        if present is not None and not _same_definition(present, detector):
            raise ValueError(f"method {detector.name!r} is already registered; choose another name, or unregister it")
        self._methods[detector.name] = detector


METHODS = _Registry()


def _same_definition(present: str | type, detector: type) -> bool:
    """Whether a class comes from the same place as the registered one, as when a cell of a notebook runs again."""
    return isinstance(present, type) and (present.__module__, present.__qualname__) == (
        detector.__module__,
        detector.__qualname__,
    )


def register(detector: type[BaseDetector]) -> type[BaseDetector]:
    """Add a detection method under its `name` and return its class, so that this also works as a decorator.

    The class derives from `pliant.detect.BaseDetector`. From then on its name is accepted wherever a method is named:
    in `pliant.detector`, `Simulation`, `compare`, on the command line and in the menu of `pliant play`. A class of the
    same name from the same module replaces the earlier one, so that a cell of a notebook can run again; any other class
    with a registered name is an error. A package makes its method available to every process by an entry point in the
    group "pliant.detectors" instead.
    """
    _checked(detector)
    METHODS._search()
    METHODS._add(detector)
    return detector


def unregister(name: str) -> None:
    """Remove a method that was added by `register` or by an installed package; built-in methods cannot be removed."""
    name = method_name(name)
    if name in _BUILT_IN:
        raise ValueError(f"method {name!r} is built in and cannot be removed")
    del METHODS[name]


def _checked(detector: Any) -> type[BaseDetector]:
    """Return a detector class if its attributes are valid and it has a `find`; else raise TypeError or ValueError."""
    if not (isinstance(detector, type) and issubclass(detector, BaseDetector)):
        raise TypeError(f"{detector!r} is not a detector class; derive it from pliant.detect.BaseDetector")
    name = detector.name
    if not isinstance(name, str) or not name or name != name.lower().replace("_", "-") or name in _RESERVED:
        raise ValueError(
            f"{detector.__name__}.name = {name!r}; expected lower case with hyphens, such as 'my-method', "
            f"and none of: {', '.join(sorted(_RESERVED))}"
        )
    if detector.guarantee not in ("A", "B", "C"):
        raise ValueError(f"{detector.__name__}.guarantee = {detector.guarantee!r}; expected 'A', 'B' or 'C'")
    if not isinstance(detector.finds, Finds) or not detector.finds:
        raise ValueError(f"{detector.__name__}.finds = {detector.finds!r}; expected one or more flags of Finds")
    if detector.find is BaseDetector.find:
        raise TypeError(f"{detector.__name__} does not implement find(state)")
    return detector


def method_name(name: str) -> str:
    """Return the name as spelled in METHODS; earlier names, capitals, and underscores for hyphens, are accepted."""
    given = str(name).replace("_", "-")
    given = given if given in METHODS else given.lower()
    given = EARLIER.get(given, given)
    if given in _KNOWN_AS and given not in METHODS:
        raise ValueError(f"unknown method {name!r}; did you mean {_KNOWN_AS[given]!r}? one of: {', '.join(METHODS)}")
    return given if given in METHODS else choice("method", given, ("auto", *METHODS))

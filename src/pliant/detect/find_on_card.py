"""A detector on a graphics card, for positions that live there."""

from typing import TYPE_CHECKING, Any

from ..kernels import device as _device
from ..mesh import Mesh
from .contacts_on_card import ContactsOnCard
from .detectors.bvh import BvhDetector
from .detectors.bvh_on_card import BvhOnCard
from .detectors.distance_field import DistanceFieldDetector
from .detectors.field_on_card import FieldOnCard
from .queries.proximity_on_card import positions

if TYPE_CHECKING:
    from .find import MeshDetector


class MeshDetectorOnCard:
    """A `MeshDetector` whose meshes were copied to the card; `detector.to("cuda")` makes it.

    >>> detector = pliant.detector("bvh", cloth, within=0.005).to("cuda")
    >>> contacts = detector.update(positions).find()  # arrays on the card
    """

    def __init__(self, detector: "MeshDetector") -> None:
        inner, name = detector._detector, detector.chosen.name
        self.a, self.b, self.within, self.name = detector.a, detector.b, detector.within, name
        self._inner: BvhOnCard | FieldOnCard
        if isinstance(inner, BvhDetector):
            self._inner = BvhOnCard(inner)
        elif isinstance(inner, DistanceFieldDetector):
            self._inner = FieldOnCard(inner)
        else:
            raise ValueError(
                f"method {name!r} does not run on a graphics card; use 'bvh' or 'distance-field', or threads"
            )
        self._rest: dict[str, Any] = {}
        self.update()

    def __repr__(self) -> str:
        meshes = f"{self.a.name!r}" if self.b is None else f"{self.a.name!r} and {self.b.name!r}"
        return f"<MeshDetectorOnCard {self.name!r} of {meshes}, within {self.within:g} m>"

    def update(self, x_a: Any = None, x_b: Any = None) -> "MeshDetectorOnCard":
        """Set the positions (n,3) of the vertices of `a` and `b`, arrays on the card that are not copied: they must
        not change until `find` has returned. None uses those of the mesh."""
        if self.b is None and x_b is not None:
            raise ValueError("x_b was given, but this detector finds self-contact of one mesh; pass x_a")
        parts = [("x_a", x_a, self.a), ("x_b", x_b, self.b)]
        self._inner.update(
            *(
                self._at_rest(name, mesh) if x is None else positions(name, x, mesh.n_vertices)
                for name, x, mesh in parts
                if mesh is not None
            )
        )
        return self

    def _at_rest(self, name: str, mesh: Mesh) -> Any:
        """Return the positions of a mesh, which are copied to the card once."""
        if name not in self._rest:
            self._rest[name] = _device.upload(mesh.vertices)
        return self._rest[name]

    def find(self) -> ContactsOnCard:
        """Return the contact records at the positions of the last update, on the card."""
        return self._inner.find()

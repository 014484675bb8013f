"""Coal and FCL as peers: intersecting triangles by BVHs (T6). Both run on one thread."""

import importlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]
_MOST = 10_000_000  # maximum number of contacts: all


class Coal:
    """A BVH of OBBs and swept spheres (OBBRSS, which Coal recommends) for the static mesh, and one that is refitted."""

    def __init__(self, x_a: Floats, x_b: Floats, faces: Ints) -> None:
        self.coal = importlib.import_module("coal")
        self.a, self.b = self._model(x_a, faces), self._model(x_b, faces)
        self.request = self.coal.CollisionRequest()
        self.request.num_max_contacts, self.request.enable_contact = _MOST, True
        self.place = self.coal.Transform3s()

    def _model(self, x: Floats, faces: Ints) -> Any:
        model = self.coal.BVHModelOBBRSS()
        model.beginModel(len(faces), len(x))
        model.addVertices(np.ascontiguousarray(x))
        model.addTriangles(np.ascontiguousarray(faces.astype(np.int64)))
        model.endModel()
        return model

    def points(self, x: Floats) -> Any:
        """Positions in the type of Coal."""
        found = self.coal.StdVec_Vec3s()
        found.extend(list(x))
        return found

    def update(self, points: Any) -> None:
        self.b.beginReplaceModel()
        self.b.replaceSubModel(points)
        self.b.endReplaceModel(True, True)  # refit, bottom-up

    def find(self) -> Any:
        result = self.coal.CollisionResult()
        self.coal.collide(self.a, self.place, self.b, self.place, self.request, result)
        return result

    def pairs(self, result: Any) -> Ints:
        """Pairs of faces (k,2); Coal may report a pair more than once."""
        contacts = (result.getContact(k) for k in range(result.numContacts()))
        return _unique([(contact.b1, contact.b2) for contact in contacts])


class FCL:
    """A BVH of the static mesh, and one that is rebuilt, because the binding has no refit."""

    def __init__(self, x_a: Floats, faces: Ints) -> None:
        self.fcl = importlib.import_module("fcl")
        self.faces = faces.astype(np.int64)
        self.a = self.fcl.CollisionObject(self.model(x_a))

    def model(self, x: Floats) -> Any:
        model = self.fcl.BVHModel()
        model.beginModel(len(x), len(self.faces))
        model.addSubModel(x, self.faces)
        model.endModel()
        return model

    def find(self, x: Floats) -> Any:
        request = self.fcl.CollisionRequest(num_max_contacts=_MOST, enable_contact=True)
        result = self.fcl.CollisionResult()
        self.fcl.collide(self.a, self.fcl.CollisionObject(self.model(x)), request, result)
        return result

    @staticmethod
    def pairs(result: Any) -> Ints:
        return _unique([(contact.b1, contact.b2) for contact in result.contacts])


def _unique(rows: list[tuple[int, int]]) -> Ints:
    return np.unique(np.array(rows, np.int32).reshape(-1, 2), axis=0)

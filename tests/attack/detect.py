"""Attack: class A detectors report exactly the pairs of features within the distance, for any meshes."""

import numpy as np

import pliant
from attack import meshes, referees
from attack.trial import Trial
from pliant.contacts import EDGE_EDGE, VERTEX_FACE, gap

STOCHASTIC = "stochastic-tree"  # at its quality of 1
EXACT = ("brute-force", "tree", "continuous", "spatial-hash", STOCHASTIC)


def attack(trial):
    rng = trial.rng
    alone = rng.random() < 0.35
    x, faces = meshes.any_mesh(rng)
    y, other = (x, faces) if alone else meshes.any_mesh(rng)
    if not alone:
        y = beside(rng, x, faces, y)
    scale, far = meshes.scale_and_offset(rng)
    turn = meshes.rotation(rng) if rng.random() < 0.7 else np.eye(3)
    within = scale * float(10.0 ** rng.uniform(-4, -0.5))
    place = lambda p: scale * p @ turn.T + far  # noqa: E731
    a = pliant.Mesh(place(x), faces)
    b = None if alone else pliant.Mesh(place(y), other)
    x_a, x_b = a.vertices, None if alone else b.vertices
    moved = rng.random() < 0.4
    if moved:  # coincident at rest, separated now: pieces, vertices, or all at random
        x_a = place(parted(rng, x, faces))
        x_b = None if alone or rng.random() < 0.5 else place(parted(rng, y, other))
    truth = Truth(a, b, x_a, x_b, within)
    method = EXACT[int(rng.integers(len(EXACT)))]
    trial.note(method)
    hits = pliant.detector(method, a, b, within=within).update(x_a, x_b).find()
    truth.judge(trial, method, hits)
    if rng.random() < 0.3 and not moved:
        metamorphic(trial, a, b, within, method)


def beside(rng, x, faces, y):
    """Vertices y moved so that one of their features lies on or near a feature of the other mesh."""
    on = rng.dirichlet(np.ones(3)) @ x[faces[rng.integers(len(faces))]]
    at = y[rng.integers(len(y))]
    return (y - at) @ meshes.rotation(rng).T * rng.choice([0.1, 0.5, 1.0]) + on + 0.02 * rng.normal(size=3)


def parted(rng, x, faces):
    """Move pieces of a mesh in different directions."""
    index = rng.integers(0, 3, len(x))
    if rng.random() < 0.5:  # faces stay connected
        for f in faces:
            index[f] = index[f[0]]
    return x + (10.0 ** rng.uniform(-3, 0.5) * rng.normal(size=(3, 3)))[index]


def fails(arrays):
    """The first failure of stored input with the method it was stored for; empty if there is none."""
    trial = Trial("detect", 0, 0)
    alone = "rest_b" not in arrays
    a = pliant.Mesh(arrays["rest"], arrays["faces"])
    b = None if alone else pliant.Mesh(arrays["rest_b"], arrays["faces_b"])
    x, y, within, method = arrays["x"], None if alone else arrays["y"], float(arrays["within"]), str(arrays["method"])
    hits = pliant.detector(method, a, b, within=within).update(x, y).find()
    Truth(a, b, x, y, within).judge(trial, method, hits)
    return trial.failures[0] if trial.failures else ""


class Truth:
    """The ground truth: all pairs of features with bounds of their distances."""

    def __init__(self, a, b, x_a, x_b, within):
        self.alone, self.within = b is None, within
        self.meshes = (a,) if self.alone else (a, b)
        other = a if self.alone else b
        x_b = x_a if self.alone else (b.vertices if x_b is None else x_b)
        self.x, self.y = np.asarray(x_a), np.asarray(x_b)
        self.e_a, self.e_b = referees.edges_of(a.faces), referees.edges_of(other.faces)
        self.there = referees.vertex_face(self.x, self.y[other.faces])
        self.back = None if self.alone else referees.vertex_face(self.y, self.x[a.faces])
        self.edges = referees.edge_edge(self.x[self.e_a], self.y[self.e_b])
        self.margin = referees.margin(within, self.x, self.y)
        self.other = other
        if self.alone:  # features that share a vertex, or a position at rest or now, are adjacent
            places = [np.arange(a.n_vertices), referees.same_places(a.vertices), referees.same_places(self.x)]
            f, e = a.faces, self.e_a
            self.near_faces = np.any([(p[:, None, None] == p[f][None]).any(2) for p in places], 0)
            shared = [(p[e][:, None, :, None] == p[e][None, :, None, :]).any((2, 3)) for p in places]
            self.near_edges = np.any(shared, 0)

    def judge(self, trial, method, hits, variant=""):
        """Check the contacts of a method; `variant` says in messages how the input was changed."""
        self.method = method
        method += variant
        first = self.meshes[0].n_vertices
        vertex = hits["kind"] == VERTEX_FACE
        forward = vertex & (hits["bodies"][:, 0] == 0)
        back = vertex & (hits["bodies"][:, 0] == 1)
        self._faces(trial, method, "vertex of a, face of b", hits[forward], self.there, 0, self.other, first)
        if not self.alone:
            self._faces(trial, method, "vertex of b, face of a", hits[back], self.back, first, self.meshes[0], 0)
        self._edges(trial, method, hits[hits["kind"] == EDGE_EDGE], 0 if self.alone else first)
        self._records(trial, method, hits)

    def _faces(self, trial, method, what, hits, bounds, first, other, first_other):
        low, high = bounds
        found = np.zeros(low.shape, bool)
        rows = hits["elements"][:, 0], hits["elements"][:, 1]
        found[rows] = True
        named = hits["vertices"][:, 0] == rows[0] + first
        start = 0 if self.alone else first_other
        named &= (hits["vertices"][:, 1:] == other.faces[rows[1]] + start).all(1)
        trial.check(named.all(), f"{method}: {what}: vertices do not match elements", **self._input())
        trial.check(len(set(zip(*map(np.ndarray.tolist, rows)))) == len(hits), f"{method}: {what}: a duplicate pair")
        must, may = high < self.within - self.margin, low <= self.within + self.margin
        if self.method == STOCHASTIC:  # it ignores vertices without faces, as documented
            owner = self.meshes[0] if first == 0 else self.meshes[1]
            must = must & np.isin(np.arange(len(must)), owner.faces)[:, None]
        if self.alone:
            must &= ~self.near_faces
        deep = np.zeros(low.shape, bool)
        deep[rows] = hits["distance"] < 0.0
        self._verdict(trial, method, what, found, must, may | deep)
        far = self._off(np.abs(hits["distance"]), low[rows], high[rows])
        # the depth of a vertex inside is the distance to the boundary of the solid, which may be only a part of a face
        far &= (hits["distance"] >= 0.0) | (np.abs(hits["distance"]) < low[rows] - self.margin)
        trial.check(not far.any(), f"{method}: {what}: {far.sum()} wrong distances", len(hits), **self._input())

    def _edges(self, trial, method, hits, first):
        low, high = self.edges
        found, rows = np.zeros(low.shape, bool), []
        for ends, edges, start in ((hits["vertices"][:, :2], self.e_a, 0), (hits["vertices"][:, 2:], self.e_b, first)):
            ends = np.sort(ends - start, 1)
            key = np.searchsorted(edges[:, 0] * 2**32 + edges[:, 1], ends[:, 0].astype(np.int64) * 2**32 + ends[:, 1])
            real = ends[:, 0] != ends[:, 1]  # an edge from a vertex to itself is degenerate
            rows.append(np.where(real, np.minimum(key, max(len(edges) - 1, 0)), -1))
        kept = (rows[0] >= 0) & (rows[1] >= 0)
        one, two = rows[0][kept], rows[1][kept]
        found[one, two] = True
        must, may = high < self.within - self.margin, low <= self.within + self.margin
        if self.alone:
            upper = np.triu(np.ones(low.shape, bool), 1)
            found = (found | found.T) & upper
            must, may = must & ~self.near_edges & upper, may & upper
        self._verdict(trial, method, "edge, edge", found, must, may)
        off = self._off(np.abs(hits["distance"][kept]), low[one, two], high[one, two])
        trial.check(not off.any(), f"{method}: edges: {off.sum()} wrong distances", len(hits), **self._input())

    def _verdict(self, trial, method, what, found, must, may):
        missed, extra = must & ~found, found & ~may
        trial.check(
            not missed.any(), f"{method}: misses {missed.sum()} of {must.sum()} {what}", must.sum(), **self._input()
        )
        trial.check(not extra.any(), f"{method}: {extra.sum()} too far apart, {what}", found.sum(), **self._input())

    def _off(self, distance, low, high):
        slack = 1e-9 * high + self.margin
        return (distance < low - slack) | (distance > high + slack)

    def _records(self, trial, method, hits):
        x = self.x if self.alone else np.concatenate([self.x, self.y])
        along = np.einsum("ij,ij->i", gap(hits, x), hits["normal"])
        largest = float(np.abs(x).max())
        trial.check(
            np.isfinite(hits["distance"]).all()
            and (np.abs(along - hits["distance"]) <= 1e-13 * largest + 1e-9 * np.abs(hits["distance"])).all()
            and (np.abs(np.linalg.norm(hits["normal"], axis=1) - 1) <= 1e-12).all(),
            f"{method}: gap, normal and distance of a record are inconsistent",
            len(hits),
            **self._input(),
        )

    def _input(self):
        a, b = self.meshes[0], self.meshes[-1]
        found = {"rest": a.vertices, "faces": a.faces, "x": self.x, "within": self.within, "method": self.method}
        return found if self.alone else {**found, "rest_b": b.vertices, "faces_b": b.faces, "y": self.y}


def metamorphic(trial, a, b, within, method):
    """The contacts do not depend on the order of vertices, faces and meshes, nor on a power-of-two scale."""
    rng = trial.rng
    kind = rng.integers(3)
    if kind == 0 or b is None:
        largest = max(float(np.abs(mesh.vertices).max()) for mesh in (a, b or a))
        scale = 2.0 ** rng.integers(-16, 12 if largest < 1e8 else 0)
        a, b = (mesh and pliant.Mesh(scale * mesh.vertices, mesh.faces) for mesh in (a, b))
        within = scale * within
    elif kind == 1:
        a, b = b, a
    else:
        a, b = (pliant.Mesh(*meshes.permuted(rng, mesh.vertices, mesh.faces)) for mesh in (a, b))
    hits = pliant.detector(method, a, b, within=within).find()
    truth = Truth(a, b, a.vertices, None if b is None else b.vertices, within)
    truth.judge(trial, method, hits, f" ({('scaled', 'swapped', 'permuted')[kind]})")

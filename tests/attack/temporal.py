"""Attack: after teleports, collapses and returns, a detector gives bitwise the results of a new one.

State that methods are documented to keep is reset before the results are compared.
"""

import numpy as np

import pliant
from attack import meshes
from detect.boned import Tube, made, posed
from pliant.detect import METHODS
from pliant.detect.base import Finds

NAMES = tuple(METHODS)


def attack(trial):
    """One sequence of poses for one detector; detectors take turns."""
    method = NAMES[trial.index % len(NAMES)]
    trial.note(method)
    if method == "bone-boxes":
        return boned(trial)
    kind, rng = METHODS[method], trial.rng
    try:
        question = Query(rng, method, kind)
    except ValueError as error:
        trial.note(f"{method} refused: {error}"[:90])
        return None
    question.ask(trial)
    return None


class Query:
    """A query on two meshes, or one, with a new or an existing detector."""

    def __init__(self, rng, method, kind):
        self.rng, self.method, self.kind = rng, method, kind
        self.alone = bool(kind.finds & Finds.SELF) and rng.random() < 0.35
        x, faces = self._mesh()
        scale = 10.0 ** rng.uniform(-6, 8) if rng.random() < 0.2 else 1.0
        self.within = scale * float(10.0 ** rng.uniform(-3, -0.7))
        self.a, self.b = self._made(scale * x, faces), None
        if not self.alone:
            y, other = self._mesh(closed=method == "image-space" or rng.random() < 0.5)
            y = 0.5 * y @ meshes.rotation(rng).T + 0.4 * rng.normal(size=3)
            self.b = self._made(scale * y, other)
        self.scale = scale
        self.warm = self._new()

    def _mesh(self, closed=False):
        rng = self.rng
        if closed or (self.alone and self.method == "image-space"):
            return meshes.ball(rng, 0.2, 1)
        make = (meshes.grid, meshes.solid, meshes.soup)[int(rng.integers(3))]
        return meshes.damaged(rng, *make(rng), most=1)

    def _made(self, x, faces):
        """A mesh; for the spatial hash often one of tets."""
        if self.method == "spatial-hash" and self.rng.random() < 0.7:
            size = max(float(np.ptp(x, axis=0).max()), 1e-9)
            bar = pliant.shapes.tet_box((size,) * 3, 0.5 * size) if hasattr(pliant.shapes, "tet_box") else None
            if bar is not None:
                return pliant.Mesh(bar.vertices + x.mean(0), bar.faces, bar.tets)
        return pliant.Mesh(x, faces)

    def _new(self):
        return pliant.detector(self.method, self.a, self.b, within=self.within, **self._options())

    def _options(self):
        """Coarse fields and grids without a cache: thousands of fine ones would take days and fill it."""
        if self.method == "distance-field":
            spacing = max(self.b.size, 1e-9 * self.scale) / 12.0
            field = pliant.DistanceField.bake(self.b, spacing=spacing, band=3.0 + min(self.within / spacing, 20.0))
            return {"field": field}
        return {"resolution": 16} if self.method == "height-grid" else {}

    def ask(self, trial):
        rng, seen, held = self.rng, [], []
        for _ in range(int(rng.integers(2, 5))):
            x = pose(rng, self.a.vertices, [s[0] for s in seen], self.scale)
            y = None
            if self.b is not None and self.kind.obstacle_may_deform and rng.random() < 0.7:
                y = pose(rng, self.b.vertices, [s[1] for s in seen if s[1] is not None], self.scale)
            start = pose(rng, x, [], self.scale) if self.method == "continuous" and rng.random() < 0.5 else None
            seen.append((x, y))
            if rng.random() < 0.1:
                self._refuses(trial)
            warm, cold = self.warm, self._new()
            for one in (warm, cold):
                reset(one)
            answers = [one.update(x, y, start_a=start).find() for one in (warm, cold)]
            trial.note("contacts", len(answers[1]))
            same = answers[0].tobytes() == answers[1].tobytes()
            told = f"{self.method}: warm {len(answers[0])} contacts, cold {len(answers[1])}, not identical"
            trial.check(same, told, **self._given(seen))
            trial.check(warm.find().tobytes() == answers[0].tobytes(), f"{self.method}: a repeated query differs")
            held.append((answers[0], answers[0].tobytes()))
        kept = all(hits.tobytes() == before for hits, before in held)
        trial.check(kept, f"{self.method}: a returned array changed later", **self._given(seen))

    def _refuses(self, trial):
        """Positions of another mesh are rejected without a change of state."""
        before = self.warm.find().tobytes()
        try:
            self.warm.update(np.zeros((self.a.n_vertices + 1, 3)))
        except ValueError:
            same = self.warm.find().tobytes() == before
            trial.check(same, f"{self.method}: rejected positions changed the result")
        else:
            trial.check(False, f"{self.method}: accepted positions of another mesh")

    def _given(self, seen):
        given = {"rest": self.a.vertices, "faces": self.a.faces, "within": self.within}
        if self.b is not None:
            given |= {"rest_b": self.b.vertices, "faces_b": self.b.faces}
        for k, (x, y) in enumerate(seen):
            given[f"x{k}"] = x
            if y is not None:
                given[f"y{k}"] = y
        return given


def reset(loose):
    """Reset the state that a method is documented to keep; everything else must equal that of a new detector."""
    loose.reset()


def pose(rng, x, earlier, scale):
    """A small motion, teleport, stretch, collapse, mirroring, one distant vertex, or an earlier pose."""
    kind = rng.integers(9)
    low, size = x.mean(0), max(float(np.ptp(x, axis=0).max()), 1e-30)
    if kind <= 2:
        return x + 10.0 ** rng.uniform(-9, -1) * size * rng.normal(size=x.shape)
    if kind == 3:
        return x + np.clip(10.0 ** rng.uniform(0, 6) * scale, 0, 1e10) * rng.normal(size=3)
    if kind == 4:
        return low + (x - low) * min(10.0 ** rng.uniform(-6, 3), 1e10 / size)
    if kind == 5:
        return np.tile(low, (len(x), 1)) if rng.random() < 0.5 else np.where([True, False, True], x, low)
    if kind == 6:
        return (x - low) @ meshes.rotation(rng).T * np.array([1.0, -1.0, 1.0]) + low
    if kind == 7 and earlier:
        return earlier[int(rng.integers(len(earlier)))].copy()
    x = x.copy()
    x[rng.integers(len(x))] += 10.0 * size * rng.normal(size=3)
    return x


def boned(trial):
    """The same for bone-attached bounding boxes: point clouds around a bending tube."""
    rng = trial.rng
    tube = Tube(rings=int(rng.integers(4, 9)), around=6, turn=meshes.rotation(rng), angle=float(rng.uniform(0.3, 2.5)))
    points = rng.uniform(-0.6, 0.6, (12, 3))
    new = lambda: made(points, tube.mesh, tube, 0.05)  # noqa: E731
    warm = new()
    for _ in range(int(rng.integers(2, 5))):
        moved = pose(rng, points, [], 1.0) if rng.random() < 0.5 else points
        state = posed(moved, tube, float(rng.uniform()))
        answers = [one.update(state).find(state) for one in (warm, new())]
        same = answers[0].tobytes() == answers[1].tobytes()
        trial.check(same, f"bone-boxes: warm {len(answers[0])}, cold {len(answers[1])}, not bitwise identical", x=moved)

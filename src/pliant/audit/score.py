"""The score of a garment in one frame, by which repairs are compared."""

from typing import NamedTuple

NEARLY = 0.9  # of the required distance: nearer vertices are too close
LITTLE = 0.5  # share of the problems that are left, above which a repair that tears is not worth it
DEPTH_TOLERANCE = 1e-4  # m, tolerance of the penetration depth when frames are compared


class Score(NamedTuple):
    """Numbers of problems of the garment in one frame."""

    inside: int  # vertices inside the body
    self_pairs: int  # self-intersecting face pairs
    body_pairs: int  # intersecting face pairs with the body
    layer_problems: int  # vertices below inner garments, and intersecting face pairs with them
    too_close: int  # vertices nearer to the body than NEARLY the required distance
    deepest: float  # m, of vertices where the body leaves room; in a single shape also between vertices
    crossings: int = 0  # face pairs that cross the body; body_pairs has those that only touch, too
    depth: float = 0.0  # m, of all vertices, and between them; only in an animation

    @property
    def rank(self) -> tuple[int, int, int]:
        return self.inside + self.self_pairs, self.body_pairs + self.layer_problems, self.too_close

    def worse(self, given: "Score") -> bool:
        """True if worse than `given`. A single shape that is moved out may create intersections with the body or inner
        garments, so their number may grow, but by no more than the number of resolved problems."""
        deeper = self.deepest > max(given.deepest, DEPTH_TOLERANCE)
        return (
            self.inside > given.inside or self.self_pairs > given.self_pairs or deeper or self.problems > given.problems
        )

    def worse_in_animation(self, given: "Score") -> bool:
        """True if any number of problems is greater than in the same frame `given`, or the depth by more than its
        tolerance: what is worse in some frames only flickers."""
        deeper, crossed = self.depth > given.depth + DEPTH_TOLERANCE, self.crossings > given.crossings
        return self.worse(given) or deeper or crossed

    def little_better(self, given: "Score") -> bool:
        """True if there were problems with the body, and more than half of them are left."""
        return given.with_body > 0 and self.with_body > LITTLE * given.with_body

    @property
    def with_body(self) -> int:
        return self.inside + self.body_pairs

    @property
    def problems(self) -> int:
        return self.inside + self.self_pairs + self.body_pairs + self.layer_problems

    @property
    def perfect(self) -> bool:
        """True if nothing is wrong: no other score is better, and none is worse than this."""
        return not any(self.rank)

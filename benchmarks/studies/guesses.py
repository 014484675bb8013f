"""Pictures of the stochastic methods: contacts found early and later; drawn by `pictures.py guesses`."""

from collections.abc import Callable
from typing import Any

import numpy as np
from PIL import Image
from tiles import ORANGE, RED, Tile, captioned

from pliant.detect.methods import METHODS
from pliant.state import State
from pliant_bench.stochastic import Moving, exact_of, sliding_tori

Save = Callable[[str, Image.Image], None]


def drawn(x: np.ndarray, truth: Any, found: Any) -> tuple[Image.Image, float]:
    """The rings from above, found contacts in red and missed ones in orange; and the share found."""
    tile = Tile(292, 292, x[:, [0, 2]].min(0) - 0.03, x[:, [0, 2]].max(0) + 0.03)
    for p in x[::4, [0, 2]]:
        tile.dot(p, (200, 205, 214), 0.8)
    known = {_name(hit) for hit in found}
    for hit in sorted(truth, key=lambda hit: _name(hit) in known):
        up = hit["weights"] > 0.0
        at = (hit["weights"][up, None] * x[hit["vertices"][up]]).sum(0)
        tile.dot(at[[0, 2]], RED if _name(hit) in known else ORANGE, 1.8)
    return tile.small(), float(np.mean([_name(hit) in known for hit in truth]))


def _name(hit: Any) -> tuple[int, ...]:
    return int(hit["kind"]), *map(int, hit["elements"]), *map(int, hit["bodies"])


def _asked(detector: Any, scene: Moving, frame: int) -> Any:
    state = State.at(scene.frames[frame])
    return detector.update(state).find(state)


def draw_stochastic_tree(save: Save) -> None:
    scene = sliding_tori(64, 3)
    (truth, *_), _ = exact_of(scene, 1)
    tiles, words = [], []
    for quality in (0.25, 0.5, 0.9):
        detector = METHODS["stochastic-tree"](*scene.sides, within=scene.within, quality=quality)
        tile, share = drawn(scene.frames[0], truth, _asked(detector, scene, 0))
        tiles.append(tile)
        words.append(f"quality {quality:g}: {share:.0%} of {len(truth)} found")
    save("stochastic-tree", captioned(tiles, words))


def draw_active_pairs(save: Save) -> None:
    scene = sliding_tori(64, 12)
    exact, _ = exact_of(scene, 1)
    detector = METHODS["active-pairs"](*scene.sides, within=scene.within, fresh=2, seed=3)
    tiles, words = [], []
    for frame in range(12):
        found = _asked(detector, scene, frame)
        if frame in (0, 3, 11):
            tile, share = drawn(scene.frames[frame], exact[frame], found)
            tiles.append(tile)
            words.append(f"update {frame + 1}, 2 samples each: {share:.0%} found")
    save("active-pairs", captioned(tiles, words))


def draw_guesses(save: Any) -> None:
    draw_stochastic_tree(save)
    draw_active_pairs(save)

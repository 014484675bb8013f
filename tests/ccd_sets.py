"""Queries of times of impact with exact truth, from the files of ../shared/data/ccd."""

import pathlib

import numpy as np

KINDS = ("vertex-face", "edge-edge")
FRAMES = ("cloth-funnel", "armadillo-rollers")
Queries = tuple[np.ndarray, np.ndarray, np.ndarray]  # points (n,4,3) at the start and at the end, whether they touch


def queries(data: pathlib.Path, kind: str, every: int = 1) -> Queries:
    """Hard queries, of which each `every`-th is taken."""
    with np.load(data / "ccd" / f"ccd_queries_{kind}_dev.npz") as rows:
        return rows["points"][::every, :4], rows["points"][::every, 4:], rows["truth"][::every].astype(bool)


def pairs(data: pathlib.Path, name: str, kind: str, most: int | None = None) -> Queries:
    """The queries of two frames of a simulation, about `most` of them."""
    with np.load(data / "ccd" / f"{name}.npz") as z:
        if kind == "vertex-face":
            rows, truth = z["vf_pairs"], z["vf_truth"]
            corners = np.column_stack([rows[:, 0], z["F"][rows[:, 1]]])
        else:
            rows, truth = z["ee_pairs"], z["ee_truth"]
            corners = np.column_stack([z["E"][rows[:, 0]], z["E"][rows[:, 1]]])
        every = 1 if most is None else len(rows) // most + 1
        return z["V0"][corners[::every]], z["V1"][corners[::every]], truth[::every].astype(bool)

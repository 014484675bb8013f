"""The animations of a glTF document as clips; every sampler is validated (glTF 2.0, section 3.11)."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..kernels.motion.animation import NODE
from ..motion.animation import PARTS, Animation, Skeleton, Track
from .gltf_document import Document

_INTERPOLATIONS = {"STEP": "step", "LINEAR": "linear", "CUBICSPLINE": "cubic"}
_KINDS = {"translation": "VEC3", "rotation": "VEC4", "scale": "VEC3", "weights": "SCALAR"}
Floats = NDArray[np.float64]
# node of the file -> its row in the skeleton, its first morph weight, the default morph weights
Columns = dict[int, tuple[int, int, Floats]]


def read_clips(document: Document, columns: Columns, n_rows: int) -> dict[str, Animation]:
    """Return all animations by name; channels that drive neither a node nor a morph weight are ignored."""
    clips, size = [], 0
    for a, entry in enumerate(document.items("animations")):
        where = f"animations[{a}]"
        samplers = document.array(entry, "samplers", where)
        tracks = []
        for c, channel in enumerate(document.array(entry, "channels", where)):
            track = _track(document, samplers, channel, f"{where}.channels[{c}]", where, columns, n_rows)
            if track is not None:
                tracks.append(track)
                size += track.times.size + track.values.size
                if size > 8 * document.most:
                    raise document.file.fail(where, "more keyframes than a file of this size can hold")
        clips.append(Animation(tuple(tracks)))
    return dict(zip(clip_names(document), clips))


def clip_names(document: Document) -> list[str]:
    """Return the name of every animation, in file order."""
    names = [entry.get("name") for entry in document.items("animations")]
    return unique([name if isinstance(name, str) and name else f"animation {a}" for a, name in enumerate(names)])


def _track(
    doc: Document, samplers: list[Any], channel: Any, where: str, animation: str, columns: Columns, n_rows: int
) -> Track | None:
    target = channel.get("target") if isinstance(channel, dict) else None
    if not isinstance(target, dict):
        raise doc.file.fail(where, "has no target")
    path = target.get("path")
    if not isinstance(path, str):
        raise doc.file.fail(f"{where}.target.path", f"expected one of: {', '.join(_KINDS)}")
    if "node" not in target or path not in _KINDS:
        return None  # an extension's target
    node = doc.checked(target["node"], f"{where}.target.node", high=len(columns) - 1)
    s = doc.checked(channel.get("sampler"), f"{where}.sampler", high=len(samplers) - 1)
    row, first, weights = columns[node]
    where = f"{animation}.samplers[{s}]"
    times, values, kind = _keys(doc, samplers[s], _KINDS[path], where)
    width = len(weights) if path == "weights" else PARTS[path][1]
    if not width:
        return None
    if path != "weights" and "matrix" in doc.items("nodes")[node]:
        raise doc.file.fail(f"nodes[{node}]", f"has a matrix, but {animation} drives its {path}")
    each = 3 if kind == "cubic" else 1
    if values.size != len(times) * each * width:
        wanted = f"{len(times)} keyframes of {width} numbers" + (", each with two tangents" if each == 3 else "")
        raise doc.file.fail(where, f"{values.size} numbers for {wanted}")
    shape = (len(times), 3, width) if each == 3 else (len(times), width)
    column = n_rows * NODE + first if path == "weights" else Skeleton.column(row, path)
    try:
        return Track(
            column=column, times=times, values=values.reshape(shape), interpolation=kind, rotation=path == "rotation"
        )
    except ValueError as error:
        raise doc.file.fail(where, str(error)) from None


def _keys(doc: Document, sampler: Any, kind: str, where: str) -> tuple[Floats, Floats, str]:
    if not isinstance(sampler, dict):
        raise doc.file.fail(where, "expected an object with input and output")
    name = sampler.get("interpolation", "LINEAR")
    if not isinstance(name, str) or name not in _INTERPOLATIONS:
        raise doc.file.fail(f"{where}.interpolation", f"unknown; one of: {', '.join(_INTERPOLATIONS)}")
    times = doc.accessor(sampler.get("input"), ("SCALAR",), f"{where}.input").astype(np.float64).ravel()
    return (
        times,
        doc.accessor(sampler.get("output"), (kind,), f"{where}.output").astype(np.float64),
        _INTERPOLATIONS[name],
    )


def unique(names: list[str]) -> list[str]:
    """Return the names, with a number appended to duplicates."""
    taken: dict[str, int] = {}  # names in use, with the last number appended to each
    for name in names:
        found = name
        while found in taken:
            taken[name] += 1
            found = f"{name} ({taken[name]})"
        taken[found] = 1
    return list(taken)

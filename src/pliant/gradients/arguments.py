"""Validation of tensors, independent of the framework: one error that names the tensor and the expected shape."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import contacts as _contacts
from .. import validate
from ..contacts import Contacts
from .contact_batches import ContactBatch

REALS = ("float32", "float64")
REDUCTIONS = ("sum", "mean", "none")


class Described(NamedTuple):
    """What the checks know of a tensor; values are checked where they are read."""

    shape: tuple[int, ...]
    dtype: str
    device: str


def check_surface(describe: Callable[[str, Any], Described], **tensors: Any) -> None:
    """Raise an error unless points (..., n, 3), vertices (..., v, 3) and faces (m,3) fit together."""
    known = {name: describe(name, value) for name, value in tensors.items()}
    for name, tensor in known.items():
        if name == "faces":
            if "int" not in tensor.dtype:
                raise ValueError(f"faces has dtype {tensor.dtype}; expected whole numbers")
            if len(tensor.shape) != 2 or tensor.shape[1] != 3:
                raise ValueError(f"faces has shape {tensor.shape}; expected (m, 3), the same faces for all bodies")
            if not tensor.shape[0]:
                raise ValueError("faces is empty; expected at least one row of three vertices")
        else:
            check_positions(name, tensor)
            if name == "vertices" and not tensor.shape[-2]:
                raise ValueError(f"vertices has shape {tensor.shape}; expected at least one vertex")
    positions = {name: tensor for name, tensor in known.items() if name != "faces"}
    first, *others = positions
    for other in others:
        for what in ("dtype", "device"):
            one, two = (getattr(positions[name], what) for name in (first, other))
            if one != two:
                raise ValueError(f"{first} has {what} {one} and {other} has {two}; expected the same for both")
        lead = [positions[name].shape[:-2] for name in (first, other)]
        try:
            np.broadcast_shapes(*lead)
        except ValueError:
            shapes = f"{first} has shape {positions[first].shape} and {other} {positions[other].shape}"
            raise ValueError(f"{shapes}; expected the same number of bodies, or one of them without bodies") from None


def check_positions(name: str, tensor: Described) -> None:
    """Raise an error unless a tensor is (..., n, 3) of float32 or float64."""
    if tensor.dtype not in REALS:
        raise ValueError(f"{name} has dtype {tensor.dtype}; expected float32 or float64")
    if len(tensor.shape) < 2 or tensor.shape[-1] != 3:
        raise ValueError(f"{name} has shape {tensor.shape}; expected (..., n, 3)")


def check_penalty(
    clearance: Any, power: Any, reduction: Any, tensor: type, points: tuple[int, ...] | None = None
) -> None:
    """Raise an error unless the options of a penalty are valid; a clearance that is a `tensor` is not read, but its
    shape has to broadcast to that of the distances, `points` (..., n)."""
    if not isinstance(clearance, tensor):
        validate.number("clearance", clearance)
    elif points is not None:
        shape = tuple(clearance.shape)  # type: ignore[attr-defined]
        fits = len(shape) <= len(points) and all(a in (1, b) for a, b in zip(shape[::-1], points[::-1]))
        if not fits:
            raise ValueError(f"clearance has shape {shape}; expected a number, or a tensor that broadcasts to {points}")
    validate.number("power", power, low=1.0)
    validate.choice("reduction", reduction, REDUCTIONS)


class LinearGaps(NamedTuple):
    """The gaps of contacts as linear functions of positions; leading axes are those of a batch."""

    rows: NDArray[np.int64]  # (..., n, 4)
    weights: NDArray[np.float64]  # (..., n, 4)
    normal: NDArray[np.float64]  # (..., n, 3)
    offset: NDArray[np.float64]  # (..., n)


def linear_gaps(contacts: Contacts | ContactBatch, x: Described) -> LinearGaps:
    """Return the gaps of contact records, or of a batch, for positions described by `x`."""
    check_positions("x", x)
    if isinstance(contacts, ContactBatch):
        rows, weights, normal = contacts.vertices.astype(np.int64), contacts.weights, contacts.normal
        offset = contacts.offset
    else:
        contacts = _contacts.checked("contacts", contacts)
        used = contacts["vertices"] >= 0
        rows = np.where(used, contacts["vertices"], 0).astype(np.int64)
        weights, normal = np.where(used, contacts["weights"], 0.0), np.ascontiguousarray(contacts["normal"])
        offset = (normal * contacts["anchor"]).sum(1)
    most = int(rows.max(initial=-1))
    if most >= x.shape[-2]:
        expected = f"(..., v, 3) with v > {most}, the largest vertex of the contacts"
        raise ValueError(f"x has shape {x.shape}; expected {expected}")
    lead = rows.shape[:-2]
    if lead and x.shape[:-2] != lead:
        raise ValueError(f"x has shape {x.shape}; expected {(*lead, x.shape[-2], 3)}, one set of positions per pose")
    return LinearGaps(rows, weights, normal, offset)

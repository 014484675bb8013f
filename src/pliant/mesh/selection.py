"""Selections: a small language that names vertices of a mesh, as `top 3cm`, `group:Collar` or `boundary & left 5cm`.

Terms are joined by `+` (union) and `&` (intersection, which binds more tightly); `not` before a term inverts it. A
selection is evaluated on the mesh as it is placed at the start, in metres with y up.
"""

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import validate
from ..arguments import check_arguments
from .boundaries import boundary_loops
from .mesh import Mesh

Rows = NDArray[np.int64]
Mask = NDArray[np.bool_]
_SIDES = {"top": (1, 1), "bottom": (1, -1), "left": (0, 1), "right": (0, -1), "front": (2, 1), "back": (2, -1)}
_WORDS = ("all", "attribute", "boundary", "box", "color", "colour", "group", "ids", "piece", "sphere", *_SIDES)
_JOIN = re.compile(rf"\s*([+&])\s*(?=(?:not\s+)?(?:{'|'.join(_WORDS)})\b)", re.I)
_TEST = re.compile(r"^(.*?)\s*(?:(>=|<=|>|<|==?)\s*([-+.0-9eE]+))?$")
_COLOURS = {
    "black": "#000000", "blue": "#0000ff", "cyan": "#00ffff", "green": "#00ff00", "magenta": "#ff00ff",
    "orange": "#ff8000", "red": "#ff0000", "white": "#ffffff", "yellow": "#ffff00",
}  # fmt: skip
TOLERANCE = 0.2  # of each colour channel, 0..1
_LISTED = 12  # names in an error message
FORMS = (
    "ids:1,2,5-9, group:NAME, attribute:NAME>0.5, colour:red or colour:#rrggbb, box:x0,y0,z0,x1,y1,z1, sphere:x,y,z,r, "
    "boundary, boundary 0, boundary top, piece 0, all, or top|bottom|left|right|front|back with a length such as 3cm "
    "or 10%, inverted by not, joined by + (or) and & (and)"
)


@check_arguments
def select(mesh: Mesh, selection: str) -> Rows:
    """Return the rows of vertices that a selection names, ascending; ValueError if it is invalid or names none."""
    mask = np.zeros(mesh.n_vertices, np.bool_)
    for each in _split(selection, "+"):
        mask |= np.logical_and.reduce([_term(mesh, term, selection) for term in _split(each, "&")])
    rows = np.flatnonzero(mask)
    if not len(rows):
        low, high = (" ".join(f"{v:.3g}" for v in corner) for corner in mesh.bounds)
        raise ValueError(
            f"selection {selection!r} names no vertex of {mesh.name!r}, whose {mesh.n_vertices} vertices lie between "
            f"({low}) and ({high}) m; widen it"
        )
    return rows


def rows_of(name: str, value: Any, mesh: Mesh) -> Rows:
    """Return rows of vertices: `value` is a selection, several of them, or the rows themselves."""
    several = [value] if isinstance(value, str) else value
    if isinstance(several, (list, tuple)) and several and all(isinstance(each, str) for each in several):
        try:
            return np.unique(np.concatenate([select(mesh, each) for each in several]))
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None
    return validate.rows(name, value, mesh.n_vertices).astype(np.int64)


def _split(text: str, sign: str) -> list[str]:
    """Split at joining signs, which stand before a term; other signs belong to names and numbers."""
    parts, begin = [], 0
    for found in _JOIN.finditer(text):
        if found[1] == sign:
            parts.append(text[begin : found.start()])
            begin = found.end()
    return [part.strip() for part in (*parts, text[begin:])]


def _term(mesh: Mesh, term: str, whole: str) -> Mask:
    """Return which vertices (n,) one term names."""
    if term.lower().startswith("not "):
        return ~_term(mesh, term[4:].strip(), whole)
    found = re.match(r"([A-Za-z]+)\s*:?\s*(.*)$", term)
    word, rest = (found[1].lower(), found[2].strip()) if found else ("", "")
    where = f"{term!r} in selection {whole!r}" if term != whole else f"selection {whole!r}"
    if word not in _WORDS:
        raise ValueError(f"{where} is not understood; expected {FORMS}")
    out: Mask = np.zeros(mesh.n_vertices, np.bool_)
    if word == "all":
        out[mesh.faces] = True
    elif word in _SIDES:
        out = _side(mesh, word, rest, where)
    elif word == "ids":
        out[_ids(mesh, rest, where)] = True
    elif word == "group":
        out[_group(mesh, rest, where)] = True
    elif word == "attribute":
        out = _attribute(mesh, rest, where)
    elif word in ("color", "colour"):
        out = _colour(mesh, rest, where)
    elif word == "box":
        low, high = _numbers(rest, 6, where, "box:x0,y0,z0,x1,y1,z1").reshape(2, 3)
        x = mesh.vertices
        out = np.asarray(((x >= np.minimum(low, high)) & (x <= np.maximum(low, high))).all(1))
    elif word == "sphere":
        *centre, radius = _numbers(rest, 4, where, "sphere:x,y,z,r")
        out = np.asarray(((mesh.vertices - centre) ** 2).sum(1) <= radius**2)
    elif word == "piece":
        out = _piece(mesh, rest, where)
    else:
        out = _boundary(mesh, rest, where)
    return _with_copies(mesh, out)


def _with_copies(mesh: Mesh, mask: Mask) -> Mask:
    """Add the vertices that are welded to one of those in the mask."""
    both = np.zeros(int(mesh.weld_index.max()) + 1, np.bool_)
    both[mesh.weld_index[mask]] = True
    return both[mesh.weld_index]


def _side(mesh: Mesh, word: str, rest: str, where: str) -> Mask:
    axis, sign = _SIDES[word]
    used = np.zeros(mesh.n_vertices, np.bool_)
    used[mesh.faces] = True
    at = sign * mesh.vertices[:, axis]
    extent = float(at[used].max() - at[used].min())
    if rest.endswith("%"):
        depth = validate.number(where, _float(rest[:-1], where, f"{word} 10%"), low=0.0, high=100.0) / 100.0 * extent
    elif rest:
        depth = validate.length(where, rest, low=0.0)
    else:
        raise ValueError(f"{where} has no length; expected one, such as {word} 3cm or {word} 10%")
    # positions of files are rounded to single precision
    return used & (at >= at[used].max() - depth - 1e-6 * max(extent, 1e-3))


def _ids(mesh: Mesh, rest: str, where: str) -> list[int]:
    rows: list[int] = []
    for part in re.split(r"[,\s]+", rest):
        found = re.fullmatch(r"(\d{1,9})(?:-(\d{1,9}))?", part)
        if not found:
            raise ValueError(f"{where}: {part!r} is not a row; expected rows counted from 0, such as ids:1,2,5-9")
        last = int(found[2] or found[1])
        if last >= mesh.n_vertices:
            raise ValueError(f"{where}: vertex {last}, but {mesh.name!r} has {mesh.n_vertices}, counted from 0")
        rows += range(int(found[1]), last + 1)
    return rows


def groups_of(mesh: Mesh) -> dict[str, Rows]:
    """Return rows of vertices by name: the groups and objects of the file, and its materials."""
    found = {name: np.asarray(rows, np.int64) for name, rows in mesh.marks.groups.items()}
    if mesh.material is not None:
        for k, material in enumerate(mesh.materials):
            rows = np.unique(mesh.faces[mesh.material == k]).astype(np.int64)
            name = str(material.get("name", k))
            if len(rows):
                found[name] = np.union1d(found[name], rows) if name in found else rows
    return found


def _group(mesh: Mesh, name: str, where: str) -> Rows:
    groups = groups_of(mesh)
    if name in groups:
        return groups[name]
    near = [each for each in groups if each.lower() == name.lower()]
    if len(near) == 1:
        return groups[near[0]]
    raise ValueError(f"{where}: {mesh.name!r} has no group {name!r}; {_listed('groups', groups)}")


def _attribute(mesh: Mesh, rest: str, where: str) -> Mask:
    found = _TEST.match(rest)
    assert found is not None  # every part of it is optional
    name, sign, number = found[1].strip(), found[2] or ">", _float(found[3] or "0.5", where, "attribute:NAME>0.5")
    known = mesh.marks.attributes
    if name not in known:
        raise ValueError(f"{where}: {mesh.name!r} has no attribute {name!r}; {_listed('attributes', known)}")
    test = {">": np.greater, ">=": np.greater_equal, "<": np.less, "<=": np.less_equal, "=": np.equal}
    return np.asarray(test[sign.replace("==", "=")](known[name], number), np.bool_)


def _colour(mesh: Mesh, rest: str, where: str) -> Mask:
    name, _, within = (part.strip() for part in rest.partition("~"))
    code = _COLOURS.get(name.lower(), name)
    if not re.fullmatch(r"#[0-9a-fA-F]{6}", code):
        raise ValueError(f"{where}: unknown colour {name!r}; expected #rrggbb, or one of: {', '.join(_COLOURS)}")
    if mesh.marks.colors is None:
        raise ValueError(f"{where}: the file of {mesh.name!r} has no vertex colours; select by another property")
    wanted = [int(code[k : k + 2], 16) / 255.0 for k in (1, 3, 5)]
    tolerance = _float(within, where, "colour:red~0.2") if within else TOLERANCE
    return np.asarray((np.abs(mesh.marks.colors - wanted) <= tolerance + 1e-9).all(1))


def _piece(mesh: Mesh, rest: str, where: str) -> Mask:
    label = mesh.welded.topology.components[mesh.weld_index]
    used = np.unique(label[mesh.faces])
    k = int(rest) if rest.isascii() and rest.isdigit() else -1
    if not 0 <= k < len(used):
        raise ValueError(
            f"{where}: expected piece 0 to {len(used) - 1}; {mesh.name!r} has {len(used)} connected pieces"
        )
    return np.asarray(label == used[k])


def _boundary(mesh: Mesh, rest: str, where: str) -> Mask:
    loops = boundary_loops(mesh)
    if not loops:
        raise ValueError(f"{where}: {mesh.name!r} is closed, it has no boundary; select by another property")
    chosen = loops
    if rest.lower() in _SIDES:
        axis, sign = _SIDES[rest.lower()]
        chosen = [max(loops, key=lambda loop: sign * float(mesh.vertices[loop.rows, axis].mean()))]
    elif rest:
        if not (rest.isascii() and rest.isdigit() and int(rest) < len(loops)):
            listed = "; ".join(f"boundary {k}: {loop}" for k, loop in enumerate(loops[:_LISTED]))
            raise ValueError(f"{where}: {mesh.name!r} has {len(loops)} boundary loops: {listed}")
        chosen = [loops[int(rest)]]
    out = np.zeros(mesh.n_vertices, np.bool_)
    for loop in chosen:
        out[loop.rows] = True
    return out


def _numbers(rest: str, count: int, where: str, form: str) -> NDArray[np.float64]:
    parts = [part for part in re.split(r"[,\s]+", rest) if part]
    if len(parts) != count:
        raise ValueError(f"{where} has {len(parts)} numbers; expected {count} in metres or with units: {form}")
    return np.array([validate.length(where, part) for part in parts])


def _float(text: str, where: str, form: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"{where}: {text!r} is not a number; expected {form}") from None


def _listed(what: str, names: Any) -> str:
    known = list(names)
    more = f" and {len(known) - _LISTED} more" if len(known) > _LISTED else ""
    return f"its {what} are: {', '.join(known[:_LISTED])}{more}" if known else f"its file has no {what}"

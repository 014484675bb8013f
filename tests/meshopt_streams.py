"""An encoder of meshopt's bitstreams that chooses at random among all ways to write the same data.

It shares no code with the decoder: deltas are made by NumPy on whole columns, and the rings of edges and vertices are
lists with the latest entry first.
"""

import numpy as np


def attributes(values, rng, newer):
    """(n, stride) of bytes; newer: the second version, whose channels and controls are chosen at random."""
    n, stride = values.shape
    base = rng.integers(0, 256, stride).astype(np.uint8)
    words = stride // 4
    modes = [int(rng.integers(0, 3)) if newer else 0 for _ in range(words)]
    modes = [mode | (int(rng.integers(0, 16)) << 4 if mode == 2 else 0) for mode in modes]
    deltas = np.concatenate(
        [_deltas(np.vstack([base, values])[:, 4 * w : 4 * w + 4], modes[w]) for w in range(words)], 1
    )
    out = bytearray([0xA1 if newer else 0xA0])
    most = min(8192 // stride // 16 * 16, 256)
    for first in range(0, n, most):
        block = deltas[first : first + most]
        pieces = [_channel(block[:, k], rng, newer) for k in range(stride)]
        if newer:
            for w in range(words):
                out.append(sum(control << (2 * k) for k, (control, _) in enumerate(pieces[4 * w : 4 * w + 4])))
        for _, piece in pieces:
            out += piece
    tail = bytes(base) + (bytes(modes) if newer else b"")
    return bytes(out) + b"\0" * ((24 if newer else 32) - len(tail)) + tail


def _deltas(columns, mode):
    """Four columns of bytes, the first row the base, as differences in the same four columns."""
    if mode & 3 == 0:
        return _zigzag(np.diff(columns.astype(np.int64), axis=0), 8).astype(np.uint8)
    if mode & 3 == 1:
        halves = np.ascontiguousarray(columns).view("<u2").astype(np.int64)
        return _zigzag(np.diff(halves, axis=0), 16).astype("<u2").view(np.uint8)
    whole = np.ascontiguousarray(columns).view("<u4").astype(np.uint64).ravel()
    change, turn = whole[1:] ^ whole[:-1], np.uint64(mode >> 4)
    change = ((change << turn) | (change >> (np.uint64(32) - turn))) & np.uint64(0xFFFFFFFF)
    return change.astype("<u4")[:, None].view(np.uint8)


def _zigzag(differences, bits):
    """Differences modulo 2^bits as 0, -1, 1, -2 ... -> 0, 1, 2, 3 ..."""
    half = 1 << (bits - 1)
    wrapped = (differences + half) % (2 * half) - half
    return np.where(wrapped < 0, -2 * wrapped - 1, 2 * wrapped)


def _channel(column, rng, newer):
    """(control, bytes) of one byte of all elements of a block."""
    ways = [0, 1, 3] + ([2] if not column.any() else []) if newer else [0]
    control = int(rng.choice(ways))
    if control == 2:
        return control, b""
    if control == 3:
        return control, column.tobytes()
    widths = {0: (0, 1, 2, 4), 1: (1, 2, 4, 8)}[control] if newer else (0, 2, 4, 8)
    groups = np.concatenate([column, np.zeros(-len(column) % 16, np.uint8)]).reshape(-1, 16)
    header, body = bytearray((len(groups) + 3) // 4), b""
    for g, group in enumerate(groups):
        mode = int(rng.choice([k for k, bits in enumerate(widths) if bits or not group.any()]))
        header[g // 4] |= mode << (2 * (g % 4))
        body += _group(group, widths[mode])
    return control, bytes(header) + body


def _group(group, bits):
    if bits in (0, 8):
        return b"" if bits == 0 else group.tobytes()
    most = (1 << bits) - 1
    digits = [format(min(int(v), most), f"0{bits}b") for v in group]
    text = "".join(digits)
    parts = [text[k : k + 8] for k in range(0, len(text), 8)]
    packed = bytes(int(part[::-1] if bits == 1 else part, 2) for part in parts)
    return packed + bytes(int(v) for v in group if v >= most)


def number(value):
    """Seven bits per byte, lowest first."""
    out = bytearray()
    while value > 127:
        out.append(128 | value & 127)
        value >>= 7
    return bytes([*out, value])


def difference(new, old):
    change = (new - old + 2**31) % 2**32 - 2**31
    return number(-2 * change - 1 if change < 0 else 2 * change)


def indices(values, rng):
    out, last = b"\xd1", [0, 0]
    for value in map(int, values):
        which = int(rng.integers(0, 2))
        change = value - last[which]
        out += number(2 * (-2 * change - 1 if change < 0 else 2 * change) + which)
        last[which] = value
    return out + b"\0" * 4


def triangles(faces, rng):
    """Returns the stream and the faces that it holds, which may begin at another corner."""
    table = [int(rng.integers(0, 256)) & 0xEF for _ in range(16)]
    table = [z if z >> 4 < 15 and z & 15 < 15 else 0x21 for z in table]
    state = {"next": 0, "last": 0, "data": b"", "edges": [], "vertices": []}
    codes, held = bytearray(), []
    for face in faces:
        codes.append(_triangle([int(v) for v in face], rng, table, state, held))
    return b"\xe1" + bytes(codes) + state["data"] + bytes(table), np.array(held)


def _triangle(face, rng, table, state, held):
    edges, vertices = state["edges"], state["vertices"]
    shared = [(k, r) for k, edge in enumerate(edges[:15]) for r in range(3) if edge == (face[r], face[(r + 1) % 3])]
    if shared and rng.random() < 0.8:
        k, r = shared[int(rng.integers(len(shared)))]
        a, b, c = face[r], face[(r + 1) % 3], face[(r + 2) % 3]
        held.append((a, b, c))
        code = k << 4 | _third(c, rng, state)
        edges[:0] = [(a, c), (c, b)]
        return code
    a, b, c = face
    held.append(face)
    z, w = (_how(v, vertices, state, rng, known) for v, known in ((b, (a,)), (c, (a, b))))
    start = state["next"]
    restart = z == w == 0 and rng.random() < 0.1
    free = a if restart and a == 0 else start
    fresh_b, fresh_c = free + (a == free), free + (a == free) + 1
    z = 0 if b == fresh_b and (rng.random() < 0.9 or restart) else (z or 15)
    w = 0 if c == (fresh_c if z == 0 else fresh_b) and (rng.random() < 0.9 or restart) else (w or 15)
    if z == w == 0 and not restart and free:  # two zeros begin at vertex 0 again unless the table has them
        restart = False
        if a != start or 0 not in table[:14]:
            z, w = 15, 15
    pair = z << 4 | w
    if a == start and pair in table[:14] and not (restart and start):
        low = table[:14].index(pair)
    else:
        low = 14 if a == (0 if pair == 0 else start) else 15
        state["data"] += bytes([pair])
        if pair == 0:
            state["next"] = 0
    new = []
    for v, how in ((a, 15 if low == 15 else 0), (b, z), (c, w)):
        if how == 0:
            assert v == state["next"], (face, state["next"], z, w, low)
            state["next"] += 1
        elif how == 15:
            state["data"] += difference(v, state["last"])
            state["last"] = v
        if how in (0, 15):
            new.append(v)
    for v in new:
        vertices.insert(0, v)
    edges[:0] = [(a, c), (c, b), (b, a)]
    return 0xF0 | low


def _how(v, vertices, state, rng, before):
    """1..14 for one of the latest vertices, 0 where it must be new or written out."""
    ring = vertices[:14]
    return ring.index(v) + 1 if v in ring and rng.random() < 0.8 else 0


def _third(c, rng, state):
    vertices = state["vertices"]
    ways = ["free"]
    ways += ["next"] * (c == state["next"]) + ["step"] * (abs(c - state["last"]) == 1)
    ways += ["ring"] * (c in vertices[1:13])
    way = ways[int(rng.integers(len(ways)))]
    if way == "ring":
        return vertices[1:13].index(c) + 1
    if way == "next":
        code, state["next"] = 0, c + 1
    elif way == "step":
        code, state["last"] = 13 if c < state["last"] else 14, c
    else:
        code = 15
        state["data"] += difference(c, state["last"])
        state["last"] = c
    vertices.insert(0, c)
    return code

"""Decoders of the three modes of EXT_meshopt_compression and KHR_meshopt_compression (Khronos; A. Kapoulkine).

`source` is a bitstream (bytes); every read is checked against its end. All return one of the codes below.
"""

import numpy as np

from ..jit import kernel

DECODED, TRUNCATED, UNKNOWN, LEFT_OVER = 0, 1, 2, 3
GROUP, MOST_ELEMENTS, BLOCK_BYTES = 16, 256, 8192
_MASK = 0xFFFFFFFF


@kernel
def _signed(value):
    """Undo the zigzag code: 0, 1, 2, 3 ... stand for 0, -1, 1, -2 ..."""
    return -((value + 1) >> 1) if value & 1 else value >> 1


@kernel
def _group(source, at, end, bits, row, first):
    """Decode 16 bytes of `bits` (0, 1, 2, 4 or 8) each into row[first:]; return the next position, -1 if truncated.

    The largest value of `bits` bits says that the byte follows the group in full.
    """
    if bits == 0:
        row[first : first + GROUP] = 0
        return at
    rest = at + GROUP * bits // 8
    if rest > end:
        return -1
    per_byte = 8 // bits
    full = (1 << bits) - 1
    for k in range(GROUP):
        slot = k % per_byte
        shift = slot if bits == 1 else 8 - bits * (slot + 1)
        value = (np.int64(source[at + k // per_byte]) >> shift) & full
        if bits < 8 and value == full:
            if rest >= end:
                return -1
            value = np.int64(source[rest])
            rest += 1
        row[first + k] = value
    return rest


@kernel
def _channel(source, at, end, control, newer, row, count):
    """Decode one byte of each of `count` elements into `row`; return the next position, -1 if truncated."""
    if control == 2:
        row[:] = 0
        return at
    if control == 3:
        if at + count > end:
            return -1
        row[:count] = source[at : at + count]
        return at + count
    groups = (count + GROUP - 1) // GROUP
    header = at
    at += (groups + 3) // 4
    if at > end:
        return -1
    for g in range(groups):
        mode = (np.int64(source[header + g // 4]) >> (2 * (g % 4))) & 3
        if newer and control == 0:
            bits = 0 if mode == 0 else 1 << (mode - 1)
        elif newer:
            bits = 1 << mode
        else:
            bits = 0 if mode == 0 else 1 << mode
        at = _group(source, at, end, bits, row, g * GROUP)
        if at < 0:
            return -1
    return at


@kernel
def _add_deltas(deltas, count, mode, last, first, out):
    """Turn the deltas (4,count) of a channel of four bytes into values: columns first..first+3 of `out`, after `last`.

    mode: 0 differences of bytes, 1 of 16-bit numbers, 2 exclusive or of 32-bit numbers rotated by the high four bits.
    """
    kind = mode & 3
    turn = mode >> 4
    for i in range(count):
        if kind == 2:
            d = np.int64(0)
            value = np.int64(0)
            for k in range(4):
                d |= np.int64(deltas[k, i]) << (8 * k)
                value |= np.int64(last[first + k]) << (8 * k)
            value ^= ((d >> turn) | (d << (32 - turn))) & _MASK
            for k in range(4):
                last[first + k] = (value >> (8 * k)) & 255
        elif kind == 1:
            for k in range(0, 4, 2):
                d = np.int64(deltas[k, i]) | (np.int64(deltas[k + 1, i]) << 8)
                value = np.int64(last[first + k]) | (np.int64(last[first + k + 1]) << 8)
                value = (value + _signed(d)) & 65535
                last[first + k] = value & 255
                last[first + k + 1] = value >> 8
        else:
            for k in range(4):
                last[first + k] = (np.int64(last[first + k]) + _signed(np.int64(deltas[k, i]))) & 255
        out[i, first : first + 4] = last[first : first + 4]


@kernel
def decode_attributes(source, out):
    """Mode ATTRIBUTES: fill `out` (count, stride) of bytes; stride is a multiple of 4 from 4 to 256."""
    count, stride = out.shape
    size = len(source)
    if size < 1 or (source[0] != 0xA0 and source[0] != 0xA1):
        return UNKNOWN
    newer = source[0] == 0xA1
    words = stride // 4
    tail = max(stride + words, 24) if newer else max(stride, 32)
    end = size - tail
    if end < 1:
        return TRUNCATED
    start = size - (stride + words if newer else stride)
    last = source[start : start + stride].copy()
    deltas = np.zeros((4, MOST_ELEMENTS), np.uint8)
    most = min(BLOCK_BYTES // stride // GROUP * GROUP, MOST_ELEMENTS)
    at = 1
    for base in range(0, count, most):
        here = min(most, count - base)
        controls = at
        if newer:
            at += words
            if at > end:
                return TRUNCATED
        for word in range(words):
            mode = np.int64(source[start + stride + word]) if newer else np.int64(0)
            if mode & 3 == 3:
                return UNKNOWN
            control = np.int64(source[controls + word]) if newer else np.int64(0)
            for k in range(4):
                at = _channel(source, at, end, (control >> (2 * k)) & 3, newer, deltas[k], here)
                if at < 0:
                    return TRUNCATED
            _add_deltas(deltas, here, mode, last, 4 * word, out[base : base + here])
    return DECODED if at == end else LEFT_OVER


@kernel
def _number(source, at, end):
    """Return a number of seven bits per byte (LEB128, at most five bytes), and the next position, -1 if truncated."""
    value = np.int64(0)
    for k in range(5):
        if at >= end:
            return value, np.int64(-1)
        byte = np.int64(source[at])
        at += 1
        value |= (byte & 127) << (7 * k)
        if byte < 128:
            break
    return value & _MASK, np.int64(at)


@kernel
def decode_triangles(source, out):
    """Mode TRIANGLES: fill `out` (triangles,3) of 32-bit indices."""
    size = len(source)
    if size < 1 or source[0] != 0xE1:
        return UNKNOWN
    table = size - 16
    data = 1 + len(out)
    if data > table:
        return TRUNCATED
    edges = np.zeros((16, 2), np.int64)  # the latest 16 edges and vertices, in rings
    vertices = np.zeros(16, np.int64)
    n_edges, n_vertices = 0, 0
    following, last = np.int64(0), np.int64(0)
    corners = np.zeros(3, np.int64)
    fresh = np.zeros(3, np.bool_)
    for t in range(len(out)):
        code = np.int64(source[1 + t])
        high, low = code >> 4, code & 15
        fresh[:] = False
        if high < 15:
            edge = (n_edges - 1 - high) & 15
            corners[0], corners[1] = edges[edge, 0], edges[edge, 1]
            if low == 0:
                corners[2] = following
                following = (following + 1) & _MASK
            elif low < 13:
                corners[2] = vertices[(n_vertices - 1 - low) & 15]
            elif low < 15:
                last = (last + (1 if low == 14 else -1)) & _MASK
                corners[2] = last
            else:
                value, data = _number(source, data, table)
                if data < 0:
                    return TRUNCATED
                last = (last + _signed(value)) & _MASK
                corners[2] = last
            fresh[2] = low == 0 or low >= 13
        else:
            if low < 14:
                pair = np.int64(source[table + low])
            else:
                if data >= table:
                    return TRUNCATED
                pair = np.int64(source[data])
                data += 1
                if pair == 0:
                    following = np.int64(0)
            for k in range(3):
                how = (15 if low == 15 else 0) if k == 0 else (pair >> 4 if k == 1 else pair & 15)
                if how == 0:
                    corners[k] = following
                    following = (following + 1) & _MASK
                elif how == 15 and low >= 14:
                    value, data = _number(source, data, table)
                    if data < 0:
                        return TRUNCATED
                    last = (last + _signed(value)) & _MASK
                    corners[k] = last
                else:
                    corners[k] = vertices[(n_vertices - how) & 15]
                fresh[k] = how == 0 or (how == 15 and low >= 14)
            fresh[0] = True
            edges[n_edges & 15, 0], edges[n_edges & 15, 1] = corners[1], corners[0]
            n_edges += 1
        for k in range(3):
            if fresh[k]:
                vertices[n_vertices & 15] = corners[k]
                n_vertices += 1
        edges[n_edges & 15, 0], edges[n_edges & 15, 1] = corners[2], corners[1]
        edges[(n_edges + 1) & 15, 0], edges[(n_edges + 1) & 15, 1] = corners[0], corners[2]
        n_edges += 2
        out[t, 0], out[t, 1], out[t, 2] = corners[0], corners[1], corners[2]
    return DECODED if data == table else LEFT_OVER


@kernel
def decode_indices(source, out):
    """Mode INDICES: fill `out` (count,) of 32-bit indices; each is a difference to one of two running values."""
    size = len(source)
    if size < 1 or source[0] != 0xD1:
        return UNKNOWN
    end = size - 4
    at = np.int64(1)
    last = np.zeros(2, np.int64)
    for i in range(len(out)):
        value, at = _number(source, at, end)
        if at < 0:
            return TRUNCATED
        which = value & 1
        last[which] = (last[which] + _signed(value >> 1)) & _MASK
        out[i] = last[which]
    return DECODED if at == end else LEFT_OVER

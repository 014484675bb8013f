"""Boxes of triangles and of the nodes above them, three coordinates in one vector of the processor.

LLVM does not join the three coordinates of a corner by itself (`lanes`), so this function states the vector
operations. A corner is loaded with the number that follows it, the last one of the array with the number before it.
"""

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from ..jit import COMPILED

_DOUBLE, _INDEX, _SMALL = ir.DoubleType(), ir.IntType(64), ir.IntType(32)
_ROW, _TWO = ir.VectorType(_DOUBLE, 4), ir.VectorType(_DOUBLE, 2)
_LARGEST, _LEAST = (ir.Constant(_ROW, [number] * 4) for number in (float("inf"), float("-inf")))
_SKIP, _FIRST, _COUNT = 12, 13, 14  # of the 16 integers of a node, whose first 12 are its box (`tree.node_type`)


class _Boxes:
    """Operations on least (x, y, z, ?) and greatest coordinates (x, y, z, ?)."""

    def __init__(self, builder):
        self.b = builder

    def number(self, value):
        return ir.Constant(_INDEX, value)

    def mixed(self, one, other, order):
        return self.b.shuffle_vector(one, other, ir.Constant(ir.VectorType(_SMALL, len(order)), order))

    def low(self, one, other):
        return self.b.select(self.b.fcmp_ordered("<", one, other), one, other)

    def high(self, one, other):
        return self.b.select(self.b.fcmp_ordered(">", one, other), one, other)

    def row(self, pointer, at, kind=_ROW):
        return self.b.bitcast(self.b.gep(pointer, [at]), kind.as_pointer())

    def load(self, pointer, at):
        return self.b.load(self.row(pointer, at), align=8)

    def integer(self, pointer, at):
        return self.b.sext(self.b.load(self.b.gep(pointer, [at])), _INDEX)

    def store(self, pointer, at, low, high):
        """Store a box as six numbers."""
        self.b.store(self.mixed(low, high, [0, 1, 2, 4]), self.row(pointer, at), align=8)
        rest = self.row(pointer, self.b.add(at, self.number(4)), _TWO)
        self.b.store(self.mixed(high, high, [1, 2]), rest, align=8)

    def stored(self, pointer, at):
        """The least and the greatest coordinates of a box of six numbers."""
        high = self.load(pointer, self.b.add(at, self.number(2)))
        return self.load(pointer, at), self.mixed(high, high, [1, 2, 3, 3])

    def corner(self, x, last, vertex):
        """Coordinates of a vertex; `last` is where the last four numbers of `x` begin."""
        at = self.b.mul(vertex, self.number(3))
        beyond = self.b.icmp_signed(">", at, last)
        found = self.load(x, self.b.select(beyond, last, at))
        everywhere = ir.Constant(ir.VectorType(ir.IntType(1), 4), ir.Undefined)
        everywhere = self.b.insert_element(everywhere, beyond, ir.Constant(_SMALL, 0))
        return self.b.select(self.mixed(everywhere, everywhere, [0] * 4), self.mixed(found, found, [1, 2, 3, 3]), found)

    def united(self, name, first, stop, each, done):
        """Emit a loop from `first` until `stop`, whose body `each(at)` returns a box and the next `at`; continue in the
        block `done` with the box around all."""
        b, before = self.b, self.b.block
        head, body = b.append_basic_block(name), b.append_basic_block(f"{name}_body")
        b.branch(head)
        b.position_at_end(head)
        at, low, high = b.phi(_INDEX), b.phi(_ROW), b.phi(_ROW)
        for phi, start in ((at, first), (low, _LARGEST), (high, _LEAST)):
            phi.add_incoming(start, before)
        b.cbranch(b.icmp_signed("<", at, stop), body, done)
        b.position_at_end(body)
        (least, greatest), following = each(at)
        for phi, value in ((low, self.low(low, least)), (high, self.high(high, greatest)), (at, following)):
            phi.add_incoming(value, b.block)
        b.branch(head)
        return low, high, head


def _refit_range(context, nodes, items, x, faces, count, first, last):
    def generate(context, builder, signature, args):
        b, o = builder, _Boxes(builder)
        boxes, items, x, faces = (context.make_array(signature.args[k])(context, b, args[k]).data for k in range(4))
        links = b.bitcast(boxes, _SMALL.as_pointer())
        boxes = b.bitcast(boxes, _DOUBLE.as_pointer())
        end = b.sub(b.mul(args[4], o.number(3)), o.number(4))

        def triangle(q):
            f = b.mul(q, o.number(3))
            u, v, w = (o.corner(x, end, o.integer(faces, b.add(f, o.number(k)))) for k in range(3))
            low, high = o.low(o.low(u, v), w), o.high(o.high(u, v), w)
            o.store(items, b.mul(q, o.number(6)), low, high)
            return (low, high), b.add(q, o.number(1))

        def child(j):
            skip = o.integer(links, b.add(b.mul(j, o.number(16)), o.number(_SKIP)))
            return o.stored(boxes, b.mul(j, o.number(8))), skip

        before = b.block
        head, node, leaf, inner, done, after = (
            b.append_basic_block(name) for name in ("nodes", "node", "leaf", "inner", "fitted", "nodes_end")
        )
        b.branch(head)
        b.position_at_end(head)
        following = b.phi(_INDEX)
        following.add_incoming(args[6], before)
        b.cbranch(b.icmp_signed(">", following, args[5]), node, after)
        b.position_at_end(node)
        i = b.sub(following, o.number(1))
        link = b.mul(i, o.number(16))
        skip, start, many = (o.integer(links, b.add(link, o.number(k))) for k in (_SKIP, _FIRST, _COUNT))
        b.cbranch(b.icmp_signed("==", skip, following), leaf, inner)
        found = []
        for block, begin, stop, each in ((leaf, start, b.add, triangle), (inner, following, None, child)):
            b.position_at_end(block)
            limit = skip if stop is None else b.add(start, many)
            found.append(o.united(block.name, begin, limit, each, done))
        b.position_at_end(done)
        low, high = b.phi(_ROW), b.phi(_ROW)
        for least, greatest, block in found:
            low.add_incoming(least, block)
            high.add_incoming(greatest, block)
        o.store(boxes, b.mul(i, o.number(8)), low, high)
        following.add_incoming(i, b.block)
        b.branch(head)
        b.position_at_end(after)
        return context.get_dummy_value()

    return types.void(nodes, items, x, faces, count, first, last), generate


def _plain_refit_range(nodes, items, x, faces, count, first, last):
    """Refit nodes first..last-1, whole subtrees, and `items`, the boxes of the triangles `faces` (m,3) i4 in their
    leaves, at corners x (count,3), of which there are at least two; in one pass, so that data is read while it is
    cached.
    """
    for i in range(last - 1, first - 1, -1):
        skip, start = nodes[i]["skip"], nodes[i]["first"]
        if skip == i + 1:
            stop = start + nodes[i]["count"]
            corners = x[faces[start:stop]]
            items[start:stop] = np.concatenate([corners.min(1), corners.max(1)], 1)
            inside = items[start:stop]
        else:
            children = [i + 1]
            while (j := nodes[children[-1]]["skip"]) < skip:
                children.append(j)
            inside = np.asarray(nodes["bounds"])[children]
        nodes[i]["bounds"][:3], nodes[i]["bounds"][3:] = inside[:, :3].min(0), inside[:, 3:].max(0)


refit_range = intrinsic(_refit_range) if COMPILED else _plain_refit_range

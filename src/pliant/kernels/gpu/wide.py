"""Rows of four numbers, read and written 16 bytes at a time: threads of a card wait for the number of their accesses.

Rows have to begin at multiples of 16 bytes, as those of whole arrays do.
"""

import numpy as np

from .card import cuda
from .simulated import SIMULATED

if SIMULATED:

    def load_row(x, i):
        return x[i, 0], x[i, 1], x[i, 2], x[i, 3]

    def load_indices(x, i):
        return tuple(np.int64(each) for each in x[i, :4])

    def load_record(x, i):
        return tuple(np.int64(each) for each in x[i, :8])

    def load_node(link, i):
        box = link[i, :6].view(np.float32)
        return (*box, np.int64(link[i, 6]), np.int64(link[i, 7]))

    def store_row(x, i, a, last):
        x[i, 0], x[i, 1], x[i, 2], x[i, 3] = a[0], a[1], a[2], last

    def store_words(x, i, k, a, b):
        for at, word in ((k, a), (k + 1, b)):
            x[i, at] = np.float64(word).view(np.int64) if isinstance(word, float) else word

else:
    from llvmlite import ir
    from numba.cuda.extending import intrinsic

    types = cuda.types

    INT, DOUBLE = ir.IntType(32), ir.DoubleType()
    LONG = ir.IntType(64)
    TWO, FOUR, WORDS = ir.VectorType(DOUBLE, 2), ir.VectorType(INT, 4), ir.VectorType(LONG, 2)

    def _pointer(context, builder, kind, values, columns, which, vector):
        """The address of column `which` of row values[1] of an array with so many columns, as that of a vector."""
        array = context.make_array(kind)(context, builder, values[0])
        row = builder.mul(values[1], ir.Constant(values[1].type, columns))
        at = builder.add(row, ir.Constant(row.type, which))
        return builder.bitcast(builder.gep(array.data, [at]), vector.as_pointer())

    def _integers(context, builder, kind, values, columns, which):
        """Four integers of a row of i4."""
        four = builder.load(_pointer(context, builder, kind, values, columns, which, FOUR), align=16)
        return [builder.extract_element(four, ir.Constant(INT, k)) for k in range(4)]

    def _rows_of(x, dtype) -> bool:
        return isinstance(x, types.Array) and x.ndim == 2 and x.layout == "C" and x.dtype == dtype

    @intrinsic
    def load_row(typingctx, x, i):
        """Row i of an (n,4) array."""
        if not _rows_of(x, types.float64):
            return None

        def codegen(context, builder, signature, values):
            parts = []
            for half in (0, 2):
                two = builder.load(_pointer(context, builder, signature.args[0], values, 4, half, TWO), align=16)
                parts += [builder.extract_element(two, ir.Constant(INT, k)) for k in (0, 1)]
            return context.make_tuple(builder, signature.return_type, parts)

        return types.UniTuple(types.float64, 4)(x, types.int64), codegen

    @intrinsic
    def load_indices(typingctx, x, i):
        """Row i of an (n,4) array of i4."""
        if not _rows_of(x, types.int32):
            return None

        def codegen(context, builder, signature, values):
            four = _integers(context, builder, signature.args[0], values, 4, 0)
            return context.make_tuple(builder, signature.return_type, [builder.sext(each, LONG) for each in four])

        return types.UniTuple(types.int64, 4)(x, types.int64), codegen

    @intrinsic
    def load_record(typingctx, x, i):
        """The first eight numbers of row i of an (n,12) array of i4."""
        if not _rows_of(x, types.int32):
            return None

        def codegen(context, builder, signature, values):
            parts = [_integers(context, builder, signature.args[0], values, 12, which) for which in (0, 4)]
            eight = [builder.sext(each, LONG) for part in parts for each in part]
            return context.make_tuple(builder, signature.return_type, eight)

        return types.UniTuple(types.int64, 8)(x, types.int64), codegen

    @intrinsic
    def load_node(typingctx, link, i):
        """A node of `boxes.Boxes`: low and high corner, the node after the subtree, the triangle."""
        if not _rows_of(link, types.int32):
            return None

        def codegen(context, builder, signature, values):
            parts = [_integers(context, builder, signature.args[0], values, 8, which) for which in (0, 4)]
            eight = parts[0] + parts[1]
            box = [builder.bitcast(each, ir.FloatType()) for each in eight[:6]]
            ends = [builder.sext(each, LONG) for each in eight[6:]]
            return context.make_tuple(builder, signature.return_type, box + ends)

        return types.Tuple([types.float32] * 6 + [types.int64] * 2)(link, types.int64), codegen

    @intrinsic
    def store_row(typingctx, x, i, a, last):
        """Set row i of an (n,4) array to the vector a and one more number."""
        if not _rows_of(x, types.float64):
            return None

        def codegen(context, builder, signature, values):
            numbers = [builder.extract_value(values[2], k) for k in range(3)] + [values[3]]
            for half in (0, 2):
                two = ir.Constant(TWO, ir.Undefined)
                for k in (0, 1):
                    two = builder.insert_element(two, numbers[half + k], ir.Constant(INT, k))
                builder.store(two, _pointer(context, builder, signature.args[0], values, 4, half, TWO), align=16)
            return context.get_dummy_value()

        return types.void(x, types.int64, types.UniTuple(types.float64, 3), types.float64), codegen

    @intrinsic
    def store_words(typingctx, x, i, k, a, b):
        """Set words k and k + 1, k even, of row i of an array of i8 with an even number of columns, to two numbers of
        eight bytes."""
        if not _rows_of(x, types.int64):
            return None

        def codegen(context, builder, signature, values):
            array = context.make_array(signature.args[0])(context, builder, values[0])
            row = builder.mul(values[1], builder.extract_value(array.shape, 1))
            at = builder.gep(array.data, [builder.add(row, values[2])])
            two = ir.Constant(WORDS, ir.Undefined)
            for place, number in enumerate(values[3:]):
                two = builder.insert_element(two, builder.bitcast(number, LONG), ir.Constant(INT, place))
            builder.store(two, builder.bitcast(at, WORDS.as_pointer()), align=16)
            return context.get_dummy_value()

        kinds = [types.float64 if isinstance(each, types.Float) else types.int64 for each in (a, b)]
        return types.void(x, types.int64, types.int64, *kinds), codegen

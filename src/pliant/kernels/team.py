"""Several loops in one launch: the threads of a team share the batches of one loop after the other.

A launch costs 10 to 100 us, because sleeping threads have to wake, which is as long as most loops over a few thousand
vertices take. Here every thread calls the same function once, and each of its loops is shared dynamically:

    b = claim(team, k)
    while b < BATCHES:
        ...  # the batch `b` of loop `k`
        b = claim_next(team, k)
    barrier(team, k, BATCHES)

`team` is an (loops,16) i8 array of zeros: the number of claimed and of completed batches of each loop, in cache lines
of their own. Who runs a batch is open, so results may depend on `b` but not on the thread. A thread that arrives late
finds all batches claimed and passes: one thread alone completes all loops, and no number of threads deadlocks. A value
that loop `k` leaves for later loops must not be overwritten within the launch, because a late thread may read it.
"""

import ctypes
import sys

from llvmlite import binding, ir
from numba.core import types
from numba.extending import intrinsic

from .jit import COMPILED, kernel

BATCHES = 16  # of a loop
COUNTERS = 16  # numbers in a row of `team`: two cache lines
_DONE = 8  # place of the number of completed batches
_SPINS = 200000  # reads of a counter before a waiting thread lets others run
_INDEX = ir.IntType(64)
_YIELD = "pliant_yield_processor"


def _address_of_yield() -> int:
    """The function of the system by which a thread lets others run."""
    function = ctypes.windll.kernel32.SwitchToThread if sys.platform == "win32" else ctypes.CDLL(None).sched_yield
    return ctypes.cast(function, ctypes.c_void_p).value or 0


def _counter(context, builder, signature, args):
    array = context.make_array(signature.args[0])(context, builder, args[0])
    return builder.gep(array.data, [args[1]])


def _add_one(context, team, at):
    def generate(context, builder, signature, args):
        return builder.atomic_rmw("add", _counter(context, builder, signature, args), ir.Constant(_INDEX, 1), "acq_rel")

    return types.int64(team, types.int64), generate


def _read(context, team, at):
    def generate(context, builder, signature, args):
        return builder.load_atomic(_counter(context, builder, signature, args), "acquire", 8)

    return types.int64(team, types.int64), generate


def _yield_processor(context):
    def generate(context, builder, signature, args):
        function = ir.FunctionType(ir.IntType(32), [])
        builder.call(builder.module.globals.get(_YIELD) or ir.Function(builder.module, function, _YIELD), [])
        return context.get_dummy_value()

    return types.void(), generate


def _plain_add_one(team, at):
    """Add 1 to number `at` of `team`; return what it was."""
    team.flat[at] += 1
    return team.flat[at] - 1


def _plain_read(team, at):
    return team.flat[at]


def _plain_yield() -> None:
    """Let other threads run."""


add_one = intrinsic(_add_one) if COMPILED else _plain_add_one
read = intrinsic(_read) if COMPILED else _plain_read
yield_processor = intrinsic(_yield_processor) if COMPILED else _plain_yield
if COMPILED:
    binding.add_symbol(_YIELD, _address_of_yield())


@kernel
def claim(team, k):
    """Return the next batch of loop `k` that no thread has claimed; from its number of batches on there is none."""
    return add_one(team, k * COUNTERS)


@kernel
def claim_next(team, k):
    """Complete the batch claimed last, and claim another."""
    add_one(team, k * COUNTERS + _DONE)
    return add_one(team, k * COUNTERS)


@kernel
def barrier(team, k, batches):
    """Wait until all batches of loop `k` are completed."""
    spins = 0
    while read(team, k * COUNTERS + _DONE) < batches:
        spins += 1
        if spins > _SPINS:
            yield_processor()

"""Several loops in one launch: the threads of a team share the batches of one loop after the other.

A launch costs 10 to 100 us, because sleeping threads have to wake, which is as long as most loops over a few thousand
vertices take. Here every thread `t` calls the same function once, and each of its loops is shared dynamically:

    b = claim(team, k, t, batches)
    while b >= 0:
        ...  # batch `b` of loop `k`
        complete(team, k, b, batches)
        b = claim(team, k, t, batches)
    barrier(team, k, batches)

`team` is a (loops,threads,8) i8 array of zeros: how many of the batches that belong to each thread have been claimed
and completed, in a cache line of their own. A thread claims its own batches first, in every loop the same ones, whose
values are in its cache, and then those of others: one thread alone completes all loops, and no number of threads
deadlocks. Results may depend on the batch but not on the thread that runs it, and a value that a loop leaves for later
loops must not be overwritten within the launch, because a late thread may read it.
"""

import ctypes
import platform
import sys

import numpy as np
from llvmlite import binding, ir
from numba.core import types
from numba.extending import intrinsic

from .jit import COMPILED, kernel

BATCHES = 16  # of a loop
COUNTERS = 8  # numbers in a cache line
_SPINS = 2000  # reads of a counter before a waiting thread lets others run
_INDEX = ir.IntType(64)
_YIELD = "pliant_yield_processor"
# the instruction by which a waiting thread leaves a shared core to its sibling
_PAUSE = "llvm.x86.sse2.pause" if platform.machine() in ("x86_64", "AMD64") else ""


def _address_of_yield() -> int:
    """The function of the system by which a thread lets others run."""
    if sys.platform == "win32":
        function = ctypes.windll.kernel32.SwitchToThread
    else:
        function = ctypes.CDLL(None).sched_yield
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


def _call(builder, name, result):
    """Call a function without arguments."""
    known = builder.module.globals.get(name)
    builder.call(known or ir.Function(builder.module, ir.FunctionType(result, []), name), [])


def _pause(context):
    def generate(context, builder, signature, args):
        if _PAUSE:
            _call(builder, _PAUSE, ir.VoidType())
        return context.get_dummy_value()

    return types.void(), generate


def _yield_processor(context):
    def generate(context, builder, signature, args):
        _call(builder, _YIELD, ir.IntType(32))
        return context.get_dummy_value()

    return types.void(), generate


def _plain_add_one(team, at):
    """Add 1 to number `at` of `team`; return what it was."""
    team.flat[at] += 1
    return team.flat[at] - 1


def _plain_read(team, at):
    return team.flat[at]


def _plain_wait() -> None:
    """Let other threads run."""


add_one = intrinsic(_add_one) if COMPILED else _plain_add_one
read = intrinsic(_read) if COMPILED else _plain_read
pause = intrinsic(_pause) if COMPILED else _plain_wait
yield_processor = intrinsic(_yield_processor) if COMPILED else _plain_wait
if COMPILED:
    binding.add_symbol(_YIELD, _address_of_yield())


def fitting(team, loops, threads):
    """Return `team`, or a new one where it is not for as many loops and threads."""
    return team if team.shape[:2] == (loops, threads) else np.zeros((loops, threads, COUNTERS), np.int64)


@kernel
def claim(team, k, t, batches):
    """Claim a batch of loop `k` for thread `t`; return -1 if all `batches` are claimed."""
    threads = team.shape[1]
    for ahead in range(threads):
        owner = (t + ahead) % threads
        first, last = batches * owner // threads, batches * (owner + 1) // threads
        at = (k * threads + owner) * COUNTERS
        if first + read(team, at) < last:
            b = first + add_one(team, at)
            if b < last:
                return b
    return -1


@kernel
def complete(team, k, b, batches):
    """Complete batch `b` of loop `k`."""
    threads = team.shape[1]
    owner = ((b + 1) * threads - 1) // batches
    add_one(team, (k * threads + owner) * COUNTERS + 1)


@kernel
def barrier(team, k, batches):
    """Wait until all `batches` of loop `k` are completed."""
    threads = team.shape[1]
    for owner in range(threads):
        count, spins = batches * (owner + 1) // threads - batches * owner // threads, 0
        while read(team, (k * threads + owner) * COUNTERS + 1) < count:
            spins += 1
            pause()
            if spins > _SPINS:
                yield_processor()


@kernel
def clear(team):
    """Prepare a launch."""
    for k in range(team.shape[0]):
        for t in range(team.shape[1]):
            team[k, t, 0], team[k, t, 1] = 0, 0

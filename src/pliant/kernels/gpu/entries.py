"""Launches: the global kernel for a function and the structure of its arguments.

A launch takes 23 us, and 79 us where arguments are named tuples. The entry therefore takes flat arrays and numbers and
puts the tuples together on the card.

Products and sums are never contracted to one rounding (`fma=0`), so that results are bitwise those of the processor:
contracted, 42 of 20 000 near-planar orientation tests had the wrong sign.
"""

import contextlib
import functools

from . import min_max
from .card import cuda, version
from .jit import OPTIONS
from .simulated import SIMULATED

if not SIMULATED and version("numba-cuda"):
    min_max.replace()

THREADS = 4 if SIMULATED else 128  # of a block; in the simulator each is a thread of the processor
BLOCKS = 1 if SIMULATED else 2**31 - 1  # at most: threads take several iterations each
_streams = [0]  # the stream of launches that name none is the last
# rare and long: copied to each place where it is called, the exact predicates made 5 MB of PTX of one kernel
ALONE = frozenset({"orient2d", "orient3d", "_orient3d_exactly", "_orient2d_exactly", "_grow_by_products"})


def _is_tuple(value) -> bool:
    return isinstance(value, tuple)


def shape_of(value):
    """The structure of an argument: None for an array or a number, or the class and the structures of a tuple."""
    return (type(value), tuple(shape_of(part) for part in value)) if _is_tuple(value) else None


def flat(values):
    """The arrays and numbers of nested tuples, in order."""
    for value in values:
        if _is_tuple(value):
            yield from flat(value)
        else:
            yield value


def _written(shape, names, classes) -> str:
    """The expression of an argument, from names that are taken in order."""
    if shape is None:
        return next(names)
    kind, parts = shape
    inside = "".join(f"{_written(part, names, classes)}, " for part in parts)
    if kind is tuple:
        return f"({inside})"
    classes[f"class_{len(classes)}"] = kind
    return f"class_{len(classes) - 1}({inside})"


@functools.cache
def entry(function, shapes):
    """The global kernel that calls `function` of a twin with arguments of these structures. It has a name of its own,
    which profilers show."""
    names, classes = [], {"function": function}

    def numbered():
        while True:
            names.append(f"a{len(names)}")
            yield names[-1]

    numbers = numbered()
    call = ", ".join(_written(shape, numbers, classes) for shape in shapes)
    name = f"launch_{function.__name__}"
    exec(compile(f"def {name}({', '.join(names)}):\n    function({call})\n", f"<{name}>", "exec"), classes)
    most = None if SIMULATED else getattr(function, "registers", None)
    return cuda.jit(classes[name], **OPTIONS, **({"max_registers": most} if most else {}))


def stand_alone(compiled) -> None:
    """Keep a function from being copied into those that call it."""
    for module in compiled.library.modules:
        for function in module.functions:
            if function.name == compiled.fndesc.mangled_name:
                function.attributes.add("noinline")


@contextlib.contextmanager
def uncontracted():
    """Within this block, compile without contraction of products and sums."""
    if SIMULATED:
        yield
        return
    from numba.cuda import dispatcher

    usual = dispatcher.compile_cuda

    def compile_cuda(*args, nvvm_options=None, **options):
        compiled = usual(*args, nvvm_options={**(nvvm_options or {}), "fma": 0}, **options)
        function = args[0] if args else options["pyfunc"]
        if function.__name__ in ALONE:
            stand_alone(compiled)
        return compiled

    dispatcher.compile_cuda = compile_cuda
    try:
        yield
    finally:
        dispatcher.compile_cuda = usual


def _without_warnings() -> None:
    """Numba warns of every launch of few blocks."""
    from numba.cuda import dispatcher

    dispatcher.config.CUDA_LOW_OCCUPANCY_WARNINGS = 0


if not SIMULATED:
    _without_warnings()


@contextlib.contextmanager
def on_stream(stream):
    """Within this block, launch on `stream`."""
    _streams.append(stream)
    try:
        yield
    finally:
        _streams.pop()


def launch(function, count, *args, stream=None) -> None:
    """Run `function` of a twin with a thread for each of `count` iterations of its loop. Arrays are on the card."""
    if count:
        launch_blocks(function, min(-(-count // THREADS), BLOCKS), THREADS, *args, stream=stream)


def launch_blocks(function, blocks, threads, *args, stream=None) -> None:
    """Run `function` in blocks of threads that share memory and wait for each other."""
    called = entry(function, tuple(shape_of(arg) for arg in args))
    configured = called[blocks, threads, _streams[-1] if stream is None else stream]
    with uncontracted():
        configured(*flat(args))

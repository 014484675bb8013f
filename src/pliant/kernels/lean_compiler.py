"""Less work for Numba and for LLVM while a kernel compiles, for the same results.

Numba does for every function what few functions need; a kernel consists of hundreds, most of them of some lines. While
a kernel of this package compiles,

- calls of LLVM are not announced to listeners, of which there is one more at each level of nested functions;
- LLVM is tested once, not for every function, for whether it parses numbers in this locale;
- the registries of what can be compiled are read again without importing all of them again;
- functions of Numba, such as `max` and `np.empty`, are inner kernels (`deferred_wrappers`) without machine code;
- the caller of a function that cannot fail does not ask whether it has.

All of it is taken back when the kernel is compiled.
"""

import contextlib

import llvmlite.binding.ffi as ffi
from llvmlite import ir
from numba.core import cgutils, dispatcher, event, types
from numba.core.callconv import RETCODE_NONE, RETCODE_OK, CPUCallConv, excinfo_t
from numba.core.imputils import impl_ret_new_ref, user_function
from numba.core.registry import cpu_target

from .deferred_wrappers import compile_inner, is_inner

_failing: set[str] = set()  # functions with an error to return, by their names in LLVM


def _nothing(*args, **keywords):
    pass


@contextlib.contextmanager
def lean():
    """Compile as the docstring of this module says, in a thread that holds Numba's compiler lock."""
    target = cpu_target.target_context
    with contextlib.ExitStack() as stack:
        _replace(stack, ffi.lib._lock, "_cblist", [])
        _replace(stack, event, "start_event", _nothing)
        _replace(stack, event, "end_event", _nothing)
        code = target.codegen()
        code._check_llvm_bugs()
        _replace(stack, code, "_check_llvm_bugs", _nothing)
        target.refresh()
        _replace(stack, target, "load_additional_registries", _read_registries)
        _replace(stack, target, "insert_user_function", _insert)
        _replace(stack, CPUCallConv, "_return_errcode_raw", _return_code)
        _replace(stack, dispatcher._FunctionCompiler, "_compile_core", _compile_core)
        _replace(stack, dispatcher.Dispatcher, "add_overload", _add_overload)
        stack.callback(_failing.clear)
        yield


def _replace(stack, owner, name, value):
    """Give an attribute another value until the end of a context."""
    if name in vars(owner):
        stack.callback(setattr, owner, name, getattr(owner, name))
    else:
        stack.callback(delattr, owner, name)
    setattr(owner, name, value)


def _read_registries():
    """What the method of Numba's context whose place it takes does after its imports."""
    from numba.cpython import cmathimpl, mathimpl, printimpl, randomimpl
    from numba.experimental.jitclass.base import ClassBuilder
    from numba.misc import cffiimpl
    from numba.np import npyimpl

    modules = (cmathimpl, cffiimpl, mathimpl, npyimpl, printimpl, randomimpl)
    for registry in (*(module.registry for module in modules), ClassBuilder.class_impl_registry):
        cpu_target.target_context.install_registry(registry)


_usual_compile_core = dispatcher._FunctionCompiler._compile_core
_usual_add_overload = dispatcher.Dispatcher.add_overload
_usual_return_code = CPUCallConv._return_errcode_raw


def _compile_core(compiler, args, return_type):
    """Compile a function of Numba as an inner kernel, and any other one as usual."""
    if not compiler.py_func.__module__.startswith("numba."):
        return _usual_compile_core(compiler, args, return_type)
    return compile_inner(compiler, compiler._get_implementation(args, {}), args, return_type)


def _add_overload(function, result):
    if is_inner(result):
        function.overloads[tuple(result.signature.args)] = result
    else:
        _usual_add_overload(function, result)


def _return_code(convention, builder, code):
    if code is not RETCODE_OK and code is not RETCODE_NONE:
        _failing.add(builder.function.name)
    _usual_return_code(convention, builder, code)


def can_fail(fndesc):
    """Whether a function that has just been compiled may raise an exception, or return None instead of a number."""
    return fndesc.llvm_func_name in _failing or isinstance(fndesc.restype, types.Optional)


def _insert(key, fndesc, libraries=()):
    """Let kernels that are compiled call a function."""
    sure = libraries and getattr(libraries[0], "sure", False)
    called = (_sure_call if sure else user_function)(fndesc, libraries)
    cpu_target.target_context._defns[key].append(called, called.signature)


def _sure_call(fndesc, libraries):
    """As Numba's `user_function`, without the branch for errors."""

    def call(context, builder, signature, args):
        function, convention = context.declare_function(builder.module, fndesc), context.call_conv
        place = cgutils.alloca_once(builder, convention.get_return_type(fndesc.restype).pointee)
        no_error = ir.Constant(excinfo_t.as_pointer().as_pointer(), None)
        given = context.get_arg_packer(fndesc.argtypes).as_arguments(builder, args)
        builder.call(function, [place, no_error, *given])
        value = context.get_returned_value(builder, fndesc.restype, builder.load(place))
        return impl_ret_new_ref(context, builder, fndesc.restype, value)

    call.signature, call.libs = fndesc.argtypes, tuple(libraries)
    return call

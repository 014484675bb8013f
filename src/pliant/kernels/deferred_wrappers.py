"""Kernels that other kernels call, as LLVM code alone: no machine code and no entry for Python.

The machine code of a kernel contains that of every kernel it calls. Numba nevertheless makes machine code and an entry
that unpacks Python objects for each of those as well. Here both wait until Python itself calls the kernel; then only
the entry is compiled, and linked with the existing LLVM code.
"""

import contextlib
import copy

from llvmlite import binding
from numba.core.caching import CompileResultCacheImpl
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompileResult, Flags, compile_extra
from numba.core.dispatcher import _FunctionCompiler
from numba.core.environment import Environment


class _NoEngine:
    """Stands in for the code generator where Numba sets the environment of machine code."""

    @staticmethod
    def set_env(name, environment) -> None:
        """Leave it to `set_environments`."""


class InnerLibrary(JITCodeLibrary):
    """Code to link into callers, each function simplified by itself; the execution engine never sees it.

    It is optimised once, as a part of the kernel that Python calls. Numba optimises it in every caller on the way,
    too: a third of the time that LLVM needs.
    """

    sure = False  # whether callers need not ask for errors

    def _optimize_functions(self, ll_module) -> None:
        """As Numba does, but at level 1, and for definitions only: it prepares all passes for every function that is
        declared, too."""
        ll_module.data_layout = self._codegen._data_layout
        for function in ll_module.functions:
            if not function.is_declaration:
                passes, builder = self._codegen._function_pass_manager(opt=1)
                passes.run(function, builder)

    def _optimize_final_module(self) -> None:
        """Leave it to the kernel that Python calls."""

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        self._finalized = True

    @property
    def codegen(self):
        return _NoEngine

    def serialize_using_object_code(self):
        return self.name, self._final_module.as_bitcode(), self.sure


@contextlib.contextmanager
def inner_loops(codegen):
    """Keep the bodies of parallel loops, which Numba compiles like functions of their own, as inner libraries."""
    usual = codegen.create_library

    def create(name, **options):
        loop = name == "parallelgufuncwrapper" or name.startswith(
            ("__numba_parfor_gufunc", "<numba.np.ufunc.wrappers.")
        )
        return InnerLibrary(codegen, name, **options) if loop else usual(name, **options)

    codegen.create_library = create
    try:
        yield
    finally:
        codegen.create_library = usual


class InnerCompiler(_FunctionCompiler):
    """Compiles a function to an `InnerLibrary`."""

    def _compile_core(self, args, return_type):
        return compile_inner(self, self.py_func, args, return_type)


def compile_inner(compiler, function, args, return_type):
    """Compile a function of a dispatcher, whose compiler this is, to an `InnerLibrary`."""
    from .lean_compiler import can_fail

    target = compiler.targetdescr.target_context
    flags = Flags()
    compiler.targetdescr.options.parse_as_flags(flags, compiler.targetoptions)
    flags.no_cpython_wrapper = flags.no_cfunc_wrapper = flags.no_compile = True
    library = InnerLibrary(target.codegen(), function.__qualname__)
    result = compile_extra(
        compiler.targetdescr.typing_context,
        target,
        function,
        args=args,
        return_type=return_type,
        flags=flags,
        locals=compiler.locals,
        library=library,
        pipeline_class=compiler.pipeline_class,
    )
    library.finalize()
    library.sure = not can_fail(result.fndesc)
    result = result._replace(entry_point=object())  # the key by which callers find the code
    target.insert_user_function(result.entry_point, result.fndesc, [library])
    return result


class InnerCacheImpl(CompileResultCacheImpl):
    """Writes and reads the LLVM code of inner kernels, in files of their own."""

    def get_filename_base(self, fullname, abiflags):
        return "inner." + super().get_filename_base(fullname, abiflags)

    def rebuild(self, target_context, payload):
        (name, code, sure), fndesc, environment, signature, objectmode, lifted, annotation, reload_init, others = (
            payload
        )
        for function in reload_init:
            function()
        library = InnerLibrary(target_context.codegen(), name)
        library._final_module = binding.parse_bitcode(code)
        library._finalize_final_module()
        library.sure = sure
        return CompileResult(
            typing_context=target_context.typing_context,
            target_context=target_context,
            entry_point=object(),
            typing_error=None,
            type_annotation=annotation,
            signature=signature,
            objectmode=objectmode,
            lifted=lifted,
            fndesc=fndesc,
            library=library,
            call_helper=None,
            environment=environment,
            metadata=None,
            reload_init=reload_init,
            referenced_envs=others,
        )


def is_inner(result) -> bool:
    return isinstance(result.library, InnerLibrary)


def inner_compiler(compiled) -> InnerCompiler:
    """The compiler that does for inner kernels what the compiler of this dispatcher does for others."""
    usual = compiled._compiler
    return InnerCompiler(usual.py_func, usual.targetdescr, usual.targetoptions, usual.locals, usual.pipeline_class)


def with_entry(result):
    """Return an inner kernel as one that Python can call."""
    target = result.target_context.subtarget(enable_nrt=True)  # arrays that it returns are owned by Python
    fndesc, inner = copy.copy(result.fndesc), result.environment
    # the entry adds constants, for example the types of arrays it returns, which the stored inner kernel must not have
    environment = Environment(inner.globals)
    environment.env_name = fndesc.env_name = f"{inner.env_name}.entry"
    environment.consts[:] = inner.consts
    library = target.codegen().create_library(fndesc.qualname)
    library.enable_object_caching()
    library.add_linking_library(result.library)
    with target.push_code_library(library):
        target.create_cpython_wrapper(library, fndesc, environment, result.call_helper, release_gil=True)
    entry = target.get_executable(library, fndesc, environment)
    target.insert_user_function(entry, fndesc, [library])
    kept = (*(result.referenced_envs or ()), inner)  # machine code of callers points to it
    result = result._replace(fndesc=fndesc, environment=environment, referenced_envs=kept)
    return result._replace(entry_point=entry, library=library)


def set_environments(result) -> None:
    """Give the machine code of a kernel the environments of the inner kernels in it."""
    codegen = result.target_context.codegen()
    for environment in result._find_referenced_environments():
        codegen.set_env(environment.env_name, environment)

"""The modules of `kernels/` a second time, with the `jit` of the card: one source for threads and CUDA.

`twin("fields.bricks")` imports `kernels/fields/bricks.py` as a module of the package "twins". Its relative imports lead
to twins too, so that every function it calls is compiled for the card as well. Two things differ:

- an array that a kernel allocates is memory of one thread (`scratch`), whose shape has to be a constant: where it is
  not, MOST has the largest one, which the caller of the kernel checks;
- a task of a parallel loop is a few elements instead of hundreds (TASKS).
"""

import ast
import importlib
import importlib.machinery
import importlib.util
import pathlib
import sys
import types

ROOT = pathlib.Path(__file__).parent.parent
PACKAGE = f"{__package__.rpartition('.')[0]}.twins"
# shapes that are no constants, by module and expression
MOST = {"queries.closest_point": {"blocks.room": 256}}
# elements of a task, by module and name
TASKS = {
    "fields.dense": {"CHUNK": 1},
    "geometry.impact": {"ROWS": 1},
    "queries.closest_point": {"CHUNK": 1},
    "queries.contact_records": {"ROWS": 1},
}
_VALUES = {"zeros": 0, "ones": 1}


def _is_constant(shape: ast.expr) -> bool:
    """Whether a shape consists of numbers and names of constants. Others need the heap of the card, which is off."""
    return all(
        isinstance(each, ast.Constant | ast.Tuple | ast.expr_context)
        or (isinstance(each, ast.Name) and each.id.isupper())
        for each in ast.walk(shape)
    )


class _Scratch(ast.NodeTransformer):
    """Turns np.empty, zeros, ones and full of kernels into memory of the thread."""

    def __init__(self, most: dict[str, int]) -> None:
        self.most, self.inside = most, 0

    def visit_FunctionDef(self, node):
        self.inside += 1
        self.generic_visit(node)
        self.inside -= 1
        return node

    def visit_Call(self, node):
        self.generic_visit(node)
        made = ast.unparse(node.func)
        if not self.inside or node.keywords or made not in ("np.empty", "np.zeros", "np.ones", "np.full"):
            return node
        kind, arguments = made.removeprefix("np."), list(node.args)
        shape = ast.unparse(arguments[0])
        if shape in self.most:
            arguments[0] = ast.Constant(self.most[shape])
        if not _is_constant(arguments[0]):
            return node
        value = arguments.pop(1) if kind == "full" else ast.Constant(_VALUES.get(kind, 0))
        if len(arguments) == 1:
            arguments.append(ast.parse("np.float64", mode="eval").body)
        made = ast.Call(ast.Name("scratch", ast.Load()), arguments, [])
        if kind != "empty":
            made = ast.Call(ast.Name("filled", ast.Load()), [made, value], [])
        return ast.fix_missing_locations(ast.copy_location(made, node))


class _Loader(importlib.machinery.SourceFileLoader):
    """Compiles the source of a twin, and reads and writes no bytecode: that in `__pycache__` is of the other module."""

    def __init__(self, name: str, path: str, module: str) -> None:
        super().__init__(name, path)
        self.module = module

    def get_code(self, fullname):
        tree = _Scratch(MOST.get(self.module, {})).visit(ast.parse(self.get_data(self.path)))
        return compile(tree, self.path, "exec", dont_inherit=True)

    def exec_module(self, module) -> None:
        from .scratch import filled, scratch

        module.scratch, module.filled = scratch, filled
        super().exec_module(module)
        vars(module).update(TASKS.get(self.module, {}))


class _Finder:
    """Finds the sources of twins."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name != PACKAGE and not name.startswith(f"{PACKAGE}."):
            return None
        inner = name.removeprefix(PACKAGE).removeprefix(".")
        base = ROOT.joinpath(*inner.split(".")) if inner else ROOT
        if base.is_dir():
            return importlib.machinery.ModuleSpec(name, None, is_package=True)
        if inner == "jit":
            return importlib.util.spec_from_file_location(name, ROOT / "gpu" / "jit.py")
        file = base.with_suffix(".py")
        if not file.is_file():
            return None
        return importlib.util.spec_from_file_location(name, file, loader=_Loader(name, str(file), inner))


def twin(name: str) -> types.ModuleType:
    """The module `name` of `kernels/`, for example "fields.bricks", on the card."""
    if _Finder not in sys.meta_path:
        sys.meta_path.insert(0, _Finder)
    return importlib.import_module(f"{PACKAGE}.{name}")

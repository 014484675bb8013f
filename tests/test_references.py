"""Names and files that docstrings, comments and pages of the documentation mention in backticks exist.

A dotted name is resolved against the source by its syntax trees: nothing is imported, so that deprecated names do not
count. `module.name` and `Class.attribute` are resolved exactly; of `variable.attribute` some class must have the
attribute. A path may be relative to the checkout, to the package or to the file that mentions it.
"""

import ast
import builtins
import functools
import io
import pathlib
import re
import sys
import tokenize

ROOT = pathlib.Path(__file__).resolve().parents[1]
SRC = ROOT / "src" / "pliant"
CODE = sorted([*SRC.rglob("*.py"), *(ROOT / "benchmarks" / "pliant_bench").rglob("*.py")])
PAGES = sorted([*(ROOT / "docs").rglob("*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md"])
FOLDERS = ("src", "tests", "docs", "benchmarks", "tools", "examples", ".github")

DOTTED = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+(?:\(\))?")
PATH = re.compile(r"(?:[\w-]+/)+(?:[\w-]+(?:\.\w+)?)?|[\w-]+\.(?:py|md|js|css|cpp)")
# files that users write or read: what follows the last dot of a dotted name is then a file format
FORMATS = {
    "csv",
    "ele",
    "exr",
    "glb",
    "gltf",
    "gz",
    "html",
    "jpg",
    "json",
    "mesh",
    "msh",
    "node",
    "npz",
    "obj",
    "off",
    "parquet",
}
FORMATS |= {"mdd", "pc2", "ply", "png", "stl", "svg", "toml", "txt", "usda", "usdc", "vtk", "vtu"}
# packages whose names are not used for variables, so that every name in them must be one of a module
STRICT = {"audit", "cli", "detect", "dynamics", "io", "kernels", "pliant", "pliant_bench", "respond", "scenes"}
STRICT |= {"shapes", "simulation", "sweep", "view"}
# names of other libraries that begin like ours: of libigl and of Warp, with which docs/bench.md compares
OTHERS = {"AABB.squared_distance", "Bvh.refit", "Mesh.refit"}
# first parts of names of other libraries, languages and file formats
FOREIGN = {"window", "trimesh", "torch", "jax", "numba", "np", "numpy", "scipy", "ipctk", "igl"} | set(
    sys.stdlib_module_names
)


def names_of(body: list[ast.stmt]) -> set[str]:
    """The names that statements define at their level, including imports and those in `if` and `try`."""
    found = set()
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            found |= {(alias.asname or alias.name).partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.If | ast.Try | ast.With | ast.For):
            found |= names_of(node.body) | names_of(getattr(node, "orelse", []))
        elif isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found |= {leaf.id for target in targets for leaf in ast.walk(target) if isinstance(leaf, ast.Name)}
    return found


def attributes_of(node: ast.ClassDef) -> set[str]:
    """The names that a class body defines, and the attributes of `self` that its methods assign."""
    found = names_of(node.body)
    for leaf in ast.walk(node):
        if isinstance(leaf, ast.Attribute) and isinstance(leaf.ctx, ast.Store) and isinstance(leaf.value, ast.Name):
            found |= {leaf.attr} if leaf.value.id == "self" else set()
    return found


@functools.cache
def source() -> tuple[dict[str, set[str]], dict[str, set[str]]]:
    """The names that each module has, and the attributes that each class has, those of its bases included."""
    modules: dict[str, set[str]] = {}
    classes: dict[str, set[str]] = {}
    bases: dict[str, set[str]] = {}
    for path in CODE:
        tree = ast.parse(path.read_text("utf-8"))
        folder = path.relative_to(SRC.parent if SRC in path.parents else ROOT / "benchmarks").with_suffix("")
        name = ".".join(folder.parts).removesuffix(".__init__")
        modules.setdefault(name, set()).update(names_of(tree.body))
        above, _, last = name.rpartition(".")
        if above:
            modules.setdefault(above, set()).add(last)
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                classes.setdefault(node.name, set()).update(attributes_of(node))
                known = {getattr(base, "id", getattr(base, "attr", "")) for base in node.bases}
                bases.setdefault(node.name, set()).update(known)
    changed = True
    while changed:
        before = sum(map(len, classes.values()))
        for name, above in bases.items():
            for base in above & classes.keys():
                classes[name] |= classes[base]
        changed = sum(map(len, classes.values())) > before
    return modules, classes


def resolves(text: str) -> bool:
    """Whether a dotted name exists."""
    modules, classes = source()
    parts = text.removesuffix("()").split(".")
    if parts[0] in FOREIGN or parts[-1] in FORMATS or text in OTHERS:
        return True
    public = modules["pliant"] | set(lazy_names())
    for k in range(len(parts), 0, -1):
        wanted = ".".join(parts[:k])
        for name in [name for name in modules if name == wanted or name.endswith("." + wanted)]:
            rest, known = parts[k:], modules[name] | (public if name == "pliant" else set())
            if not rest or rest == list(known & {*rest}):
                return True
            if rest[0] in known and f"{name}.{rest[0]}" not in modules and rest[-1] in classes.get(rest[0], rest):
                return True
    if parts[0] in classes:
        return parts[1] in classes[parts[0]] or hasattr(tuple, parts[1])
    if parts[0] in STRICT or not parts[0].islower():
        return False
    methods = {name for kind in (str, bytes, list, dict, object) for name in dir(kind)} | {"tobytes", "T"}
    return parts[1] in methods or any(parts[1] in attributes for attributes in classes.values())


@functools.cache
def lazy_names() -> tuple[str, ...]:
    """The public names that `pliant` loads at first use."""
    tree = ast.parse((SRC / "__init__.py").read_text("utf-8"))
    home = next(n.value for n in tree.body if isinstance(n, ast.Assign) and ast.unparse(n.targets[0]) == "_MODULE_OF")
    return tuple(ast.literal_eval(home))


@functools.cache
def files() -> frozenset[str]:
    """All files and folders of the checkout's own folders, relative to it."""
    found = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*")]
    found += [path for path in ROOT.iterdir() if not path.name.startswith(".")]
    return frozenset(str(path.relative_to(ROOT)) for path in found)


def exists(text: str, page: pathlib.Path) -> bool:
    """Whether a path exists; of paths outside the folders of the checkout nothing is known."""
    wanted = text.rstrip("/")
    first = wanted.partition("/")[0]
    if any((base / wanted).exists() for base in (ROOT, SRC, page.parent)):
        return True
    if "/" in text and first not in FOLDERS and not (SRC / first).is_dir() and not (page.parent / first).is_dir():
        return True
    return any(name.endswith("/" + wanted) for name in files())


def prose_of(path: pathlib.Path) -> str:
    """The text of a page without blocks of code, or the docstrings and comments of a module."""
    text = path.read_text("utf-8")
    if path.suffix == ".md":
        return re.sub(r"^(```|~~~).*?^\1", "", text, flags=re.S | re.M)
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return "\n".join(t.string for t in tokens if t.type == tokenize.COMMENT or t.string.startswith(('"""', 'r"""')))


def missing_in(path: pathlib.Path) -> list[str]:
    """The names and files that a file mentions in backticks and that do not exist."""
    found = []
    for text in re.findall(r"`([^`\n]+)`", prose_of(path)):
        if PATH.fullmatch(text):
            found += [] if exists(text, path) else [text]
        elif DOTTED.fullmatch(text) and not hasattr(builtins, text):
            found += [] if resolves(text) else [text]
    return found


def test_every_name_and_file_in_backticks_exists() -> None:
    missing = {str(path.relative_to(ROOT)): found for path in [*CODE, *PAGES] if (found := missing_in(path))}
    assert missing == {}


def test_a_name_or_file_that_is_gone_is_found(tmp_path: pathlib.Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "`detect.surface.surface_of` `pliant.detect.tree` `Mesh.border` `mesh.never_there` `kernels/gone.py` `gone.py` "
        "`src/pliant/gone/` `detect.queries.closest_point.surface_of` `Mesh.welded` `mesh.welded` `kernels/jit.py` "
        "`out/run.obj` `mesh.ply` `pliant.Mesh.from_tets` `time.perf_counter`\n```\n`pliant.never`\n```\n"
    )
    gone = ["detect.surface.surface_of", "pliant.detect.tree", "Mesh.border", "mesh.never_there"]
    assert missing_in(page) == [*gone, "kernels/gone.py", "gone.py", "src/pliant/gone/"]

"""The decorator's switches, its cache, and launches from two threads; each in a process of its own where it must be."""

import ast
import json
import os
import pathlib
import pickle
import shutil
import subprocess
import sys
import threading

import numba
import numpy as np
import pytest

from pliant.kernels import disk_cache, jit, sources
from time_limit import PATIENCE, started

SOURCES = pathlib.Path(jit.__file__).parent


def python(code, **env):
    """Run `code` in a fresh interpreter; what it printed, as JSON."""
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, **env}, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_with_the_compiler_off_kernels_are_plain_functions_with_the_same_answers():
    code = (
        "import json, types; from pliant.kernels import jit; from pliant.kernels.geometry import edge;"
        "f = edge.edge_edge_distance;"
        "print(json.dumps([type(f) is types.FunctionType, jit._touch.__name__,"
        "f((0.,0.,0.), (1.,0.,0.), (.25,1.,0.), (.75,1.,0.))]))"
    )
    assert python(code, PLIANT_COMPILE="0") == [True, "_touch", 1.0]


def test_with_parallel_off_loops_are_compiled_serially(tmp_path):
    code = (
        "import json, numpy as np; from pliant.kernels import jit; x = np.zeros(100); jit._touch(x);"
        "print(json.dumps([x.sum(), jit._touch.compiled.targetoptions['parallel'], jit.threading_layer()]))"
    )
    found = python(code, PLIANT_COMPILE="1", PLIANT_PARALLEL="0", PLIANT_CACHE=str(tmp_path))
    assert found == [100.0, False, "none (parallel is off)"]


def test_the_cache_folder_of_a_module_follows_what_it_imports_and_nothing_else(tmp_path, monkeypatch):
    shutil.copytree(SOURCES, tmp_path / "kernels", ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(jit, "__file__", str(tmp_path / "kernels" / "jit.py"))
    folder, digest = jit.kernel_cache.__wrapped__, jit.sources_digest.__wrapped__
    guard = tmp_path / "kernels" / "simulation" / "guard.py"
    # imports of guard.py: edge and triangle, and vec through both
    names = {"simulation/guard": True, "vec": True, "geometry/triangle": True, "jit": True, "fields/bsp": False}
    for name, follows in names.items():
        source = tmp_path / "kernels" / f"{name}.py"
        before, all_before = folder(guard), digest()
        source.write_text(source.read_text() + "# changed\n")
        sources.imported.cache_clear()
        assert (folder(guard) != before) is follows
        assert digest() != all_before


def test_the_imports_of_every_kernel_module_are_known():
    for source in SOURCES.rglob("*.py"):
        inside = set()
        for node in ast.walk(ast.parse(source.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.level or (node.module or "").startswith("pliant.kernels")):
                folder = source.parents[node.level - 1] if node.level else SOURCES.parents[1]
                base = folder.joinpath(*(node.module or "").split("."))
                inside |= {base.with_suffix(".py"), *(base / f"{alias.name}.py" for alias in node.names)}
        assert set(sources.imported(source, SOURCES)) == {file for file in inside if file.is_file()}, source.name


def test_the_cache_folder_follows_the_switches(monkeypatch):
    folder = jit.kernel_cache.__wrapped__
    names = {folder(SOURCES / "geometry" / "edge.py").name}
    for owner, switch in ((jit, "PARALLEL"), (jit, "COMPILED"), (numba.config, "BOUNDSCHECK")):
        monkeypatch.setattr(owner, switch, not getattr(owner, switch))
        names.add(folder(SOURCES / "geometry" / "edge.py").name)
    assert len(names) == 4


COUNT = (
    "import json, sys; from pliant.kernels.geometry import triangle; f = triangle.closest_on_triangle;"
    "f((0.,0.,1.), (0.,0.,0.), (1.,0.,0.), (0.,1.,0.));"
    "print(json.dumps([sum(f.stats.cache_hits.values()), sum(f.stats.cache_misses.values())]))"
)


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    """A cache that two processes, started at once, have filled, and how often each found and compiled the kernel."""
    folder = str(tmp_path_factory.mktemp("cache"))
    environment = {**os.environ, "PLIANT_COMPILE": "1", "PLIANT_CACHE": folder}
    command, options = [sys.executable, "-c", COUNT], {"env": environment, "stdout": subprocess.PIPE, "text": True}
    with started(command, **options) as one, started(command, **options) as other:
        return folder, [json.loads(process.communicate(timeout=PATIENCE)[0]) for process in (one, other)]


def test_of_two_processes_that_start_at_once_one_compiles(filled):
    _, found = filled
    assert sorted(found) == [[0, 1], [1, 0]]


def test_a_later_process_compiles_nothing(filled):
    assert python(COUNT, PLIANT_COMPILE="1", PLIANT_CACHE=filled[0]) == [1, 0]


def test_another_checkout_of_the_same_sources_compiles_nothing(tmp_path, filled):
    copy = shutil.copytree(SOURCES.parent, tmp_path / "copy" / "pliant", ignore=shutil.ignore_patterns("__pycache__"))
    assert python(COUNT, PLIANT_COMPILE="1", PLIANT_CACHE=filled[0], PYTHONPATH=str(copy.parent)) == [1, 0]


CALLER = """
import gc, importlib, json, sys, numpy as np
sys.path.insert(0, {folder!r})
def say(function, x):
    try: return function(x)
    except IndexError as error: return str(error)
def state(function):
    kinds = [type(one.library).__name__ for one in function.overloads.values()]
    counts = function.stats.cache_hits.total(), function.stats.cache_misses.total()
    return [*kinds, *counts]
found = {{}}
for name, code in {codes!r}.items():
    names = globals() | {{"called": importlib.import_module("called_" + name)}}
    exec(code, names)
    found[name] = names["answer"]
print(json.dumps(found))
"""
CALLED = """
import numpy as np
from pliant.kernels.jit import kernel, prange

@kernel(parallel=True)
def spread(x):
    y = x.copy()
    for i in prange(len(x)):
        x[i] += third(y[2:]) * i
    return third(x)

@kernel
def doubled(x):
    return x + x

@kernel
def fourth(x):
    return doubled(x)[1]

@kernel
def third(x):
    return x[2]

@kernel
def first(x):
    return third(x) + 1.0

@kernel
def second(x):
    return third(x) + 2.0

@kernel
def halved(n):
    return n >> 1

@kernel
def halves(rows, n):
    return halved(7) + halved(n) + halved(rows[0]) + halved(rows[1]), halved(np.uint64(1) << np.uint64(63))

@kernel
def room(n):
    return len(np.empty(max(n, -2)))
"""
SAME = "x = np.arange(4.0)\nanswer = [say(called.first, x), say(called.spread, np.arange(5.0)), state(called.third)[0]]"
LATE = (
    "x = np.arange(3.0); answer = [called.first(x), state(called.third)];"
    "answer += [called.third(x), state(called.third), called.second(x), say(called.third, x[:2]), gc.isenabled()]"
)
BODY = """
from numba.core import codegen; made = []; usual = codegen.JITCodeLibrary._finalize_specific
def note(library): made.append(library.name); usual(library)
codegen.JITCodeLibrary._finalize_specific = note
x = np.array([1.0, 1.0, 1.0, 1.0, 2.0]); found = called.spread(x), x.tolist()
codegen.JITCodeLibrary._finalize_specific = usual
bodies = [name for name in made if 'gufunc' in name or 'ufunc.wrappers' in name]
answer = [*found, bodies, state(called.spread.compiled), len(made)]
"""
INTEGERS = """
kinds = lambda function: sorted(str(args[0]) for args in function.overloads)
answer = [*called.halves(np.array([9, -9], np.int32), 5), kinds(called.halved)]
"""
OTHERS = """
import numba
from numba.core import event
from llvmlite.binding import ffi
def told(function, n):
    try: return function(n)
    except ValueError as error: return str(error)
usual = numba.njit(nogil=True, error_model="numpy", no_cfunc_wrapper=True)(called.room.py_func)
mixed = numba.njit(lambda n: (called.room(n), len(np.empty(max(n, -2)))))
answer = [told(function, n) for function in (called.room, usual, mixed) for n in (3, -1)]
answer += [event.start_event.__name__, len(ffi.lib._lock._cblist), state(usual)[0]]
"""
WRONG = "answer = [say(called.first, np.zeros(2)), say(called.second, np.zeros(2)), state(called.first)]"


def loaded(name):
    return f"answer = [called.{name}(np.arange(3.0)), state(called.third)]"


def arrays(*names):
    return f"answer = [{','.join(f'np.asarray(called.{name}(np.arange(2.0))).tolist()' for name in names)}]"


# what each process of a chain does, every name with a module of kernels of its own
CHAIN = (
    {"same": SAME, "late": LATE, "load": loaded("first"), "body": BODY, "arrays": arrays("fourth"), "wrong": WRONG}
    | {"integers": INTEGERS, "others": OTHERS},
    {"late": LATE, "load": loaded("second"), "body": BODY, "arrays": arrays("doubled"), "wrong": WRONG}
    | {"integers": INTEGERS, "others": OTHERS},
    {"load": loaded("third"), "arrays": arrays("fourth", "doubled")},
    {"load": loaded("third")},
)


def caller(folder, codes, **environment):
    """Run `codes` in a fresh interpreter, with bounds checks and modules of kernels of which one is inner."""
    for name in codes:
        (folder / f"called_{name}.py").write_text(CALLED)
    environment |= {"PLIANT_COMPILE": "1", "NUMBA_BOUNDSCHECK": "1", "PLIANT_CACHE": str(folder / "cache")}
    return python(CALLER.format(folder=str(folder), codes=codes), **environment)


@pytest.fixture(scope="module")
def chain(tmp_path_factory):
    """What processes answered that ran one after the other with the same cache."""
    folder = tmp_path_factory.mktemp("chain")
    return [caller(folder, codes) for codes in CHAIN]


def test_without_inner_kernels_every_kernel_has_machine_code_and_the_answers_are_the_same(tmp_path, chain):
    whole, inner = caller(tmp_path, {"same": SAME}, PLIANT_INNER="0")["same"], chain[0]["same"]
    assert whole[:2] == inner[:2]
    assert (whole[2], inner[2]) == ("JITCodeLibrary", "InnerLibrary")


def test_an_inner_kernel_has_no_machine_code_until_python_calls_it(chain):
    short = "index is out of bounds"
    first = [3.0, ["InnerLibrary", 0, 1], 2.0, ["JITCodeLibrary", 0, 1], 4.0, short, True]
    assert chain[0]["late"] == first
    assert chain[1]["late"] == [3.0, [0, 0], 2.0, ["JITCodeLibrary", 1, 0], 4.0, short, True]


def test_an_inner_kernel_is_loaded_for_other_kernels_and_for_python(chain):
    assert chain[0]["load"] == [3.0, ["InnerLibrary", 0, 1]]
    assert chain[1]["load"] == [4.0, ["InnerLibrary", 1, 0]]
    assert chain[2]["load"] == [2.0, ["JITCodeLibrary", 1, 0]]  # with an entry made from the LLVM code
    assert chain[3]["load"] == [2.0, ["JITCodeLibrary", 1, 0]]


def test_the_body_of_a_parallel_loop_has_no_machine_code_of_its_own(chain):
    answer = [5.0, [1.0, 3.0, 5.0, 7.0, 10.0], []]
    compiled, later = chain[0]["body"], chain[1]["body"]
    assert compiled[:4] == [*answer, ["JITCodeLibrary", 0, 1]]
    assert later[:4] == [*answer, ["JITCodeLibrary", 1, 0]]
    assert compiled[4] > 0


def test_an_inner_kernel_returns_arrays_to_python(chain):
    assert chain[0]["arrays"] == [2.0]
    assert chain[1]["arrays"] == [[0.0, 2.0]]
    assert chain[2]["arrays"] == [2.0, [0.0, 2.0]]  # both loaded, the caller first


def test_an_error_in_an_inner_kernel_reaches_python(chain):
    short = "index is out of bounds"
    assert chain[0]["wrong"] == [short, short, ["JITCodeLibrary", 0, 1]]
    assert chain[1]["wrong"] == [short, short, ["JITCodeLibrary", 1, 0]]


def test_a_kernel_is_compiled_once_for_all_signed_integers(chain):
    assert chain[0]["integers"] == [3 + 2 + 4 - 5, 1 << 62, ["int64", "uint64"]]
    assert chain[1]["integers"] == [3 + 2 + 4 - 5, 1 << 62, []]


def test_functions_that_others_compile_after_kernels_are_as_they_always_are(chain):
    negative = "negative dimensions not allowed"
    told = [3, negative, 3, negative, [3, 3], negative]
    assert chain[0]["others"] == chain[1]["others"] == [*told, "start_event", 1, "JITCodeLibrary"]


def test_a_lock_that_nobody_gives_back_is_waited_for_only_so_long(tmp_path, monkeypatch):
    monkeypatch.setattr(disk_cache, "PATIENCE", 0.1)
    path = tmp_path / "folder" / "a.lock"
    entered = []

    def enter():
        with disk_cache.locked(path):
            entered.append(True)

    with disk_cache.locked(path), disk_cache.locked(path):
        thread = threading.Thread(target=enter)
        thread.start()
        thread.join()
    assert entered == [True]


@pytest.mark.parametrize("content", [b"", b"no pickle", pickle.dumps("other"), b"cmissing\nClass\n."])
def test_files_of_the_cache_that_cannot_be_read_are_replaced(tmp_path, content):
    file = disk_cache._CacheFile(str(tmp_path), "kernel", "contents")
    file.save("key", 1)
    assert file.load("key") == 1
    (tmp_path / "kernel.1.nbc").write_bytes(content)
    assert file.load("key") in (None, "other")
    (tmp_path / "kernel.nbi").write_bytes(pickle.dumps(file._version) + content)
    assert file.load("key") is None
    file.save("key", 2)
    assert file.load("key") == 2


def test_compiled_files_lie_in_the_cache_folder(tmp_path):
    code = (
        "import json, pathlib; from pliant.kernels import jit; from pliant.kernels.geometry import edge;"
        "edge.clamp(0.5); folder = jit.kernel_cache(pathlib.Path(edge.__file__));"
        "print(json.dumps(sorted(p.suffix for p in folder.rglob('edge.clamp*'))))"
    )
    assert python(code, PLIANT_COMPILE="1", PLIANT_CACHE=str(tmp_path)) == [".lock", ".nbc", ".nbi"]


def test_two_threads_may_launch_a_parallel_kernel_at_once():
    arrays = [np.zeros(1000), np.zeros(1000)]

    def launch(x):
        for _ in range(200):
            jit._touch(x)

    threads = [threading.Thread(target=launch, args=(x,)) for x in arrays]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all((x == 200.0).all() for x in arrays)


def test_a_parallel_kernel_keeps_its_name_and_docstring():
    @jit.kernel(parallel=True)
    def twice(x):
        """Doubles."""
        for i in jit.prange(len(x)):
            x[i] *= 2.0

    assert (twice.__name__, twice.__doc__) == ("twice", "Doubles.")


def test_the_thread_count_stays_within_what_the_machine_has():
    before = jit.threads()
    try:
        jit.set_threads(0)
        low = jit.threads()
        jit.set_threads(10**6)
        assert (low, jit.threads() >= before) == (1, True)
    finally:
        jit.set_threads(before)

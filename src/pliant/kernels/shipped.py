"""Compiled kernels that came with the package: wheels for a platform hold those of a first run, in `compiled/`.

They were compiled for a baseline of processors, such as x86-64-v3, with the Python and the Numba that the manifest
names. On a machine that has the baseline they are copied into the cache once, where `disk_cache` finds them like
kernels compiled there; on any other, and for whatever they lack, kernels are compiled as in a checkout. Results are
bitwise the same: nothing in the code depends on the processor except which instructions do the same arithmetic (no
fastmath, no contraction).
"""

import functools
import hashlib
import json
import os
import pathlib
import platform
import sys
import uuid

import numba

FOLDER = pathlib.Path(__file__).parent / "compiled"
V3 = ("avx", "avx2", "bmi", "bmi2", "cx16", "f16c", "fma", "lzcnt", "movbe", "popcnt", "sse4.2", "ssse3", "xsave")
# machine -> the processor that LLVM compiles for, and the features that a machine needs to run the result
BASELINES = {
    "x86_64": ("x86-64-v3", V3),
    "amd64": ("x86-64-v3", V3),
    "aarch64": ("generic", ()),
    "arm64": ("generic", ()),
}


def stamp():
    """What compiled code can be shared by: Python, Numba, operating system and kind of processor."""
    python = f"{sys.implementation.name}-{sys.version_info[0]}.{sys.version_info[1]}"
    return f"{python} numba-{numba.__version__} {sys.platform} {platform.machine().lower()}"


def baseline():
    """The name of the processor for which kernels are shipped on this kind of machine, and its features; or None."""
    return BASELINES.get(platform.machine().lower())


def usable(manifest):
    """Whether this process can run what a manifest describes."""
    kind = baseline()
    return manifest["stamp"] == stamp() and kind is not None and _runs(kind)


def install(target, folder=FOLDER):
    """Copy shipped kernels to `target`, the folder of all compiled kernels, the first time; return their number."""
    manifest_file = folder / "manifest.json"
    if not manifest_file.is_file():
        return 0
    text = manifest_file.read_bytes()
    done = target / f"shipped-{hashlib.sha256(text).hexdigest()[:16]}"
    if done.exists():
        return 0
    manifest, count = json.loads(text), 0
    try:
        if usable(manifest):
            count = sum(_copy(folder, target, index, files) for index, files in manifest["kernels"].items())
        _write(done, b"")
    except OSError:  # a cache that cannot be written, or a file that is missing: kernels are compiled
        return count
    return count


def _copy(folder, target, index, files):
    """Copy a kernel: its code first, then its index, which `with_baseline` reads. Skip what is there or damaged."""
    if (target / index).exists():
        return False
    contents = {name: (folder / name).read_bytes() for name in files}
    if any(hashlib.sha256(contents[name]).hexdigest() != digest for name, digest in files.items()):
        return False
    for name, content in contents.items():
        if name != index:
            _write(target / name, content)
    _write(target / index, contents[index])
    return True


def with_baseline(overloads):
    """An index of Numba in which code for the baseline is found by the name of this processor too, if it can run it."""
    if (kind := baseline()) is None or not any(key[1][1:] == (kind[0], "") for key in overloads):
        return overloads
    from numba.core.registry import cpu_target

    here = cpu_target.target_context.codegen().magic_tuple()
    if not _runs(kind):
        return overloads
    same = {(key[0], here, *key[2:]): name for key, name in overloads.items() if key[1][1:] == (kind[0], "")}
    return same | overloads


@functools.cache
def _runs(kind):
    """Whether this processor has the features of a baseline."""
    from llvmlite import binding

    features = binding.get_host_cpu_features()
    return all(features.get(name, False) for name in kind[1])


def _write(path, content):
    """Write a file that other processes see whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f"{path.name}.tmp.{uuid.uuid4().hex[:16]}")
    unfinished.write_bytes(content)
    os.replace(unfinished, path)

"""`pliant doctor`: check the installation."""

import importlib.metadata
import os
import pathlib
import platform
import shutil
import sys
import tempfile
from typing import Any

from . import output

PACKAGES = ("pliant", "numpy", "numba", "llvmlite", "scipy", "scikit-image", "pillow", "cyclopts", "rich", "websockets")
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "msedge")


def doctor(*, json: bool = False) -> int:
    """Check the installation: versions, threads, caches, and how to install what is missing.

    The exit code is 1 when an essential part is broken; missing optional parts do not count.

    Parameters
    ----------
    json
        Print JSON instead of tables.
    """
    found = examine()
    if json:
        output.print_json(found)
    else:
        _show(found)
    return 0 if found["well"] else 1


def examine() -> dict[str, Any]:
    """Everything that `pliant doctor` reports, as plain values."""
    versions = {name: _version(name) for name in PACKAGES}
    checks = [_packages(versions), _python()]
    threads: dict[str, Any] = {"cores": os.cpu_count(), "used": None, "layer": None}
    folder, parallel = None, False
    current: set[str] = set()
    try:
        from ..kernels import jit
        from ..kernels.cache_folder import cache_root

        folder, parallel = cache_root() / "kernels", jit.COMPILED and jit.PARALLEL
        current = {jit.kernel_cache(source).name for source in pathlib.Path(jit.__file__).parent.rglob("*.py")}
        threads |= {"used": jit.threads(), "layer": jit.threading_layer()}
        ran = f"works; loops run on up to {threads['used']} threads"
        checks.append(_check("compiler", True, ran if jit.COMPILED else "turned off (PLIANT_COMPILE=0)"))
    except Exception as error:  # report whatever a broken Numba raises
        why = " ".join(str(error).split()) or type(error).__name__
        checks.append(_check("compiler", False, why, "pip install --force-reinstall numba llvmlite"))
    cache, card = _cache(folder, current), _card()
    checks += [_cache_check(cache), _openmp(threads["layer"], parallel), _browser(), _card_check(card)]
    return {
        "well": all(c["fine"] for c in checks if c["essential"]),
        "versions": versions,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "threads": threads,
        "cache": cache,
        "fields": _fields(),
        "card": card,
        "checks": checks,
    }


def _check(name: str, fine: bool, found: str, advice: str = "", essential: bool = True) -> dict[str, Any]:
    return {"name": name, "fine": fine, "essential": essential, "found": found, "advice": "" if fine else advice}


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _packages(versions: dict[str, str | None]) -> dict[str, Any]:
    missing = [name for name, version in versions.items() if version is None]
    found = f"missing: {', '.join(missing)}" if missing else "all there"
    return _check("packages", not missing, found, f"pip install {' '.join(missing)}")


def _python() -> dict[str, Any]:
    fine = (3, 11) <= sys.version_info[:2] <= (3, 14)
    return _check("python", fine, platform.python_version(), "use Python 3.11 to 3.14")


def _cache(folder: pathlib.Path | None, current: set[str]) -> dict[str, Any]:
    """The kernel cache: its folder, the number and size of the compiled kernels of this version, which are in the
    folders named `current` in it, and the bytes of all others: of other versions of pliant and of Numba, or compiled
    with other switches."""
    if folder is None:
        return {"folder": None, "kernels": 0, "bytes": 0, "old_bytes": 0, "writable": False}
    files = [f for f in folder.rglob("*") if f.is_file()]
    own = [f for f in files if f.relative_to(folder).parts[0] in current]
    size = sum(f.stat().st_size for f in own)
    return {
        "folder": str(folder),
        "kernels": sum(f.suffix == ".nbc" for f in own),
        "bytes": size,
        "old_bytes": sum(f.stat().st_size for f in files) - size,
        "writable": _writable(folder),
    }


def _fields() -> dict[str, Any]:
    """The cache of baked distance fields: folder, number and size."""
    try:
        from ..detect.fields.cache import folder, limit, usage

        count, size = usage()
        return {"folder": str(folder()), "count": count, "bytes": size, "limit": limit()}
    except Exception as error:  # a broken Numba is reported by the compiler check
        return {"folder": None, "count": 0, "bytes": 0, "limit": 0, "error": " ".join(str(error).split())}


def _cache_check(cache: dict[str, Any]) -> dict[str, Any]:
    found = "writable" if cache["writable"] else f"{cache['folder']} cannot be written"
    advice = "every start may compile again; set PLIANT_CACHE to a folder you can write"
    return _check("kernel cache", cache["writable"], found, advice, essential=False)


def _writable(folder: pathlib.Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def _openmp(layer: str | None, parallel: bool) -> dict[str, Any]:
    """Check for OpenMP where loops run in parallel.

    Other threading layers give the same results but start a parallel loop 70 to 190 times slower, see
    docs/decisions/0001-numba.md.
    """
    fine = layer is None or layer == "omp" or not parallel
    how = {"linux": "install libgomp (Debian, Ubuntu: apt-get install libgomp1)", "darwin": "brew install libomp"}
    advice = f"loops start faster with OpenMP: {how.get(sys.platform, 'install an OpenMP runtime')}"
    return _check("OpenMP threads", fine, str(layer), advice, essential=False)


def _browser() -> dict[str, Any]:
    path = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    advice = "only the browser tests need it: apt-get install chromium, or python -m playwright install chromium"
    return _check("browser for tests", path is not None, path or "none on the PATH", advice, essential=False)


def _card() -> dict[str, Any]:
    """The graphics card, and what kernels need to run on it."""
    try:
        from ..kernels.gpu import card

        return card.examine()._asdict()
    except Exception as error:  # a broken NumPy is reported by the packages check
        return {"missing": " ".join(str(error).split()) or type(error).__name__, "advice": "see above"}


def _card_check(card: dict[str, Any]) -> dict[str, Any]:
    there = not card["missing"]
    advice = f"{card['advice']}; without it, loops run on threads (docs/gpu.md)"
    return _check("CUDA", there, card["name"] if there else card["missing"], advice, essential=False)


def _card_rows(card: dict[str, Any]) -> list[tuple[str, str]]:
    """What the table of versions says of the graphics card: what was found of it."""
    from ..validate import size_text

    rows = [("graphics card", card.get("name") or "none")]
    if card.get("memory") is not None:
        rows[0] = ("graphics card", f"{card['name']}, compute capability {card['capability']}")
        rows.append(("", f"{size_text(card['free'])} of {size_text(card['memory'])} free"))
    parts = (("numba-cuda", "package"), ("CUDA of the driver", "driver"), ("CUDA toolkit", "toolkit"))
    return rows + [(name, card[key]) for name, key in parts if card.get(key)]


def _show(found: dict[str, Any]) -> None:
    from ..validate import free_memory, size_text

    cache, threads = found["cache"], found["threads"]
    rows = [("python", found["python"]), *((n, v or "missing") for n, v in found["versions"].items())]
    rows += [
        ("platform", found["platform"]),
        ("free memory", size_text(free_memory())),
        ("threads", f"{threads['used']} of {threads['cores']} cores, layer {threads['layer']}"),
        ("kernel cache", cache["folder"]),
        ("", f"{cache['kernels']} compiled kernels, {size_text(cache['bytes'])}"),
    ]
    if cache["old_bytes"]:
        rows.append(("", f"{size_text(cache['old_bytes'])} of other versions or switches, safe to delete"))
    fields = found["fields"]
    rows.append(("field cache", fields["folder"]))
    rows.append(("", f"{fields['count']} fields, {size_text(fields['bytes'])} of at most {size_text(fields['limit'])}"))
    rows += _card_rows(found["card"])
    output.table(("what", "found"), rows)
    states = []
    for c in found["checks"]:
        state = "fine" if c["fine"] else "BROKEN" if c["essential"] else "optional"
        states.append((c["name"], state, c["found"], c["advice"]))
    output.table(("check", "state", "found", "how to get it"), states)
    output.say("the installation is complete" if found["well"] else "an essential part is broken, see above")

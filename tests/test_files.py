"""Atomic writes: whatever happens to the writer, the old file or the new one is there, whole."""

import contextlib
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import pliant.files
from pliant import files
from pliant.files import atomic_write
from pliant.io import load, save
from pliant.mesh import Mesh
from time_limit import started

posix = pytest.mark.skipif(sys.platform == "win32", reason="signals and limits of POSIX")

# the module alone, without NumPy and the rest of the package: a writer must start in milliseconds
WRITER = """
import importlib.util, os, sys
spec = importlib.util.spec_from_file_location("files", sys.argv[1])
files = importlib.util.module_from_spec(spec)
spec.loader.exec_module(files)
target, contents, rounds = sys.argv[2], [open(name, "rb").read() for name in sys.argv[4:]], int(sys.argv[3])
def write():
    for k in range(rounds):
        if k == 1:
            print(os.getpid(), flush=True)
        content = contents[k % len(contents)]
        with files.atomic_write(target) as stream:
            for start in range(0, len(content), 4096):
                stream.write(content[start:start + 4096])
                stream.flush()
"""
# a process that becomes another writer at every line that it reads, and tells when that one is gone
FORKING = """
while sys.stdin.readline():
    if not (child := os.fork()):
        write()
    os.waitpid(child, 0)
    print("gone", flush=True)
"""


def writing(
    does: str, target: pathlib.Path, rounds: int, contents: list[pathlib.Path]
) -> contextlib.AbstractContextManager[subprocess.Popen[bytes]]:
    words = [sys.executable, "-I", "-S", "-c", WRITER + does, pliant.files.__file__, target, rounds, *contents]
    return started(list(map(str, words)), stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def leftovers(folder: pathlib.Path) -> list[pathlib.Path]:
    return list(folder.glob(".*.pliant-tmp"))


@posix
@pytest.mark.parametrize("kind", [".npz", ".glb"])
def test_a_hundred_kills_leave_the_old_or_the_new_file(
    tmp_path: pathlib.Path, rng: np.random.Generator, kind: str
) -> None:
    sources = []
    for k in range(2):
        x = rng.normal(size=(6000 * (k + 1), 3))
        sources.append(tmp_path / f"source{k}{kind}")
        save(sources[-1], Mesh(x, np.arange(len(x)).reshape(-1, 3)))
        assert load(sources[-1]).n_vertices == len(x)
    whole = {source.read_bytes() for source in sources}
    folder = tmp_path / "out"
    folder.mkdir()
    target = folder / f"result{kind}"
    in_the_middle = 0
    with writing(FORKING, target, 10**6, sources) as writers:
        assert writers.stdin is not None
        assert writers.stdout is not None
        for _ in range(100):
            writers.stdin.write(b"another\n")
            writers.stdin.flush()
            writer = int(writers.stdout.readline())
            time.sleep(float(rng.uniform(0.0, 0.015)))
            os.kill(writer, signal.SIGKILL)
            assert writers.stdout.readline() == b"gone\n"
            in_the_middle += bool(leftovers(folder))
            assert target.read_bytes() in whole
        writers.stdin.close()
        assert writers.wait(60) == 0
    assert in_the_middle >= 5  # or the kills came at the wrong times and this test says nothing
    with atomic_write(target) as stream:
        stream.write(b"next")
    assert not leftovers(folder)


@posix
def test_eight_writers_at_once_leave_one_whole_file(tmp_path: pathlib.Path) -> None:
    contents = []
    for k in range(8):
        contents.append(tmp_path / f"content{k}")
        contents[-1].write_bytes(bytes([65 + k]) * (20_000 + 1000 * k))
    whole = {content.read_bytes() for content in contents}
    folder = tmp_path / "out"
    folder.mkdir()
    target = folder / "shared.bin"
    with contextlib.ExitStack() as stack:
        writers = [stack.enter_context(writing("write()", target, 20, [content])) for content in contents]
        while any(writer.poll() is None for writer in writers):
            assert not target.exists() or target.read_bytes() in whole
            time.sleep(0.001)
    assert [writer.returncode for writer in writers] == [0] * 8
    assert target.read_bytes() in whole
    assert not leftovers(folder)


def test_threads_of_one_process_do_not_disturb_each_other(tmp_path: pathlib.Path) -> None:
    target = tmp_path / "shared.bin"

    def write(letter: bytes) -> None:
        for _ in range(20):
            with atomic_write(target) as stream:
                stream.write(letter * 5000)

    threads = [threading.Thread(target=write, args=(letter,)) for letter in (b"a", b"b", b"c", b"d")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert target.read_bytes() in {letter * 5000 for letter in (b"a", b"b", b"c", b"d")}
    assert not leftovers(tmp_path)


FULL = """
import resource, sys
import numpy as np
from pliant.io import save
from pliant.mesh import Mesh
mesh = Mesh(np.random.default_rng(0).normal(size=(3000, 3)), np.arange(3000).reshape(-1, 3))
resource.setrlimit(resource.RLIMIT_FSIZE, (20000, 20000))
for target in sys.argv[1:]:
    try:
        save(target, mesh)
    except OSError as error:
        print(error)
"""


@posix
def test_a_full_disk_keeps_the_old_file_and_names_it(tmp_path: pathlib.Path) -> None:
    targets = [tmp_path / kind / f"old.{kind}" for kind in ("obj", "ply", "stl", "off", "glb", "npz")]
    for target in targets:
        target.parent.mkdir()
        target.write_bytes(b"old")
    words = [sys.executable, "-B", "-c", FULL, *map(str, targets)]  # or the limit cuts bytecode short, for good
    run = subprocess.run(words, capture_output=True, text=True, timeout=60)
    for target in targets:
        assert f"cannot write {target}: File too large" in run.stdout, run.stderr
        assert target.read_bytes() == b"old"
        assert [path.name for path in target.parent.iterdir()] == [target.name]


@pytest.mark.parametrize("trouble", [KeyboardInterrupt, RuntimeError])
def test_an_interrupted_block_changes_nothing(tmp_path: pathlib.Path, trouble: type[BaseException]) -> None:
    target = tmp_path / "a.bin"
    target.write_bytes(b"old")

    def interrupted() -> None:
        with atomic_write(target) as stream:
            stream.write(b"new")
            raise trouble

    with pytest.raises(trouble):
        interrupted()
    assert target.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [target]


def test_the_folder_is_made_and_text_has_the_same_bytes_everywhere(tmp_path: pathlib.Path) -> None:
    target = tmp_path / "new" / "folder" / "a.txt"
    with atomic_write(target, "w") as stream:
        stream.write("grün\n")
    assert target.read_bytes() == "grün\n".encode()


def test_a_folder_in_the_way_is_named(tmp_path: pathlib.Path) -> None:
    with pytest.raises(IsADirectoryError, match="is a folder"), atomic_write(tmp_path):
        pass


@pytest.mark.parametrize("name", ["a[1]*?.bin", ".hidden", "with space.bin"])
def test_leftovers_of_oddly_named_files_are_swept(tmp_path: pathlib.Path, name: str) -> None:
    if sys.platform == "win32" and "*" in name:
        pytest.skip("no such names on Windows")
    stale = tmp_path / f".{name}.999999999-{files._host()}-abc.pliant-tmp"
    other = tmp_path / f".other.bin.999999999-{files._host()}-abc.pliant-tmp"
    stale.write_bytes(b"half")
    other.write_bytes(b"half")
    with atomic_write(tmp_path / name) as stream:
        stream.write(b"whole")
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([name, other.name])


def test_what_another_machine_writes_is_left_alone_until_it_is_old(tmp_path: pathlib.Path) -> None:
    begun, old = (tmp_path / f".a.bin.999999999-elsewhere-{k}.pliant-tmp" for k in range(2))
    for path in (begun, old):
        path.write_bytes(b"half")
    long_ago = time.time() - files.FORGOTTEN - 60.0
    os.utime(old, (long_ago, long_ago))
    with atomic_write(tmp_path / "a.bin") as stream:
        stream.write(b"whole")
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([begun.name, "a.bin"])


@posix
def test_a_link_is_followed_and_stays_a_link(tmp_path: pathlib.Path) -> None:
    (tmp_path / "store").mkdir()
    link = tmp_path / "a.bin"
    link.symlink_to(tmp_path / "store" / "real.bin")
    with atomic_write(link) as stream:
        stream.write(b"new")
    assert link.is_symlink()
    assert (tmp_path / "store" / "real.bin").read_bytes() == b"new"


@posix
def test_a_device_is_written_to_and_not_replaced() -> None:
    with atomic_write(os.devnull) as stream:
        stream.write(b"gone")
    assert not pathlib.Path(os.devnull).is_file()

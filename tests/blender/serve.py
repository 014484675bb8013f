"""For the Python of Blender: reads one file after the other as `blender_program.py` does, Alembic in copies of itself.

    python serve.py PROGRAM        PROGRAM: path of blender_program.py

Each line of the input is a JSON list, the words of a command; each line of the output says what went wrong, if
anything, the seconds that it took, by how many bytes the peak of the memory grew, and the exit code.
"""

import importlib.util
import json
import os
import resource
import signal
import sys
import time

answers = os.dup(1)
os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # Blender says there what it imports
os.dup2(1, 2)
spec = importlib.util.spec_from_file_location("blender_program", sys.argv[1])
program = importlib.util.module_from_spec(spec)
spec.loader.exec_module(program)


def peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def answer(words: list[str]) -> None:
    wrong, start, before = "", time.process_time(), peak()
    try:
        program.main(*words)
    except BaseException as error:
        wrong = f"{type(error).__name__}: {error}"[:300]
    os.write(answers, (json.dumps([wrong, time.process_time() - start, peak() - before, 0]) + "\n").encode())


for line in sys.stdin:
    words = json.loads(line)
    if not words[1].endswith(".abc"):  # the library of Alembic ends the process of many a damaged file
        answer(words)
        continue
    child = os.fork()
    if not child:
        signal.signal(signal.SIGABRT, signal.SIG_DFL)  # without Blender's report
        signal.alarm(50)
        answer(words)
        os._exit(0)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code:
        os.write(answers, (json.dumps(["", 0.0, 0, code]) + "\n").encode())

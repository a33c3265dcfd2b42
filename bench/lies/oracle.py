"""Tells whether modules do what they should: each line of a bug's oracle, every module in a process of its own.

    python oracle.py < [[CODE, ORACLE], ...]     prints one JSON list for each: which lines hold

Values are compared by type and spelling and not by `==`, which an object of the module's own could answer as it likes.
"""

import json
import os
import signal
import subprocess
import sys
import types
from pathlib import Path

SECONDS = 2


def judged(pairs, root=""):
    """For each (code, oracle) which lines the code keeps; code that does not load, hangs or leaves keeps none. `root` is where
    modules that it imports are.
    """
    command = [sys.executable, "-I", "-B", str(Path(__file__).resolve()), str(root)]
    done = subprocess.run(
        command, input=json.dumps(list(pairs)), cwd="/", capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


def right(said):
    return bool(said) and all(said)


def lines(oracle):
    return [line for line in oracle.splitlines() if line and not line.startswith(">")]


def _apart(code, oracle):
    """In a child that may end early, hang or print as it likes."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(SECONDS)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        said = json.dumps(list(_told(code, oracle))).encode()
        os.write(writing, said)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        said = pipe.read()
    _, status = os.waitpid(child, 0)
    return json.loads(said) if status == 0 and said else [False] * len(lines(oracle))


def _told(code, oracle):
    module = types.ModuleType("judged")
    sys.modules["judged"] = module
    exec(compile(code, "judged.py", "exec"), vars(module))
    names = vars(module).copy()
    block = ""
    for line in oracle.splitlines():
        if line.startswith(">"):
            block += line[2:] + "\n"
            continue
        exec(block, names)
        block = ""
        yield _kept(line, names)


def _kept(line, names):
    """The code under judgement may raise whatever it likes; nothing of it may end the judge."""
    expression, raises, error = line.rpartition(" !! ")
    expected = ""
    if not raises:
        expression, _, expected = line.rpartition(" => ")
    try:
        value = eval(expression, names)
        return not raises and _spelled(value) == _spelled(eval(expected, names))
    except BaseException as raised:  # noqa: BLE001 - see above
        return bool(raises) and any(kind.__name__ == error for kind in type(raised).__mro__)


def _spelled(value):
    return f"{type(value).__name__} {value!r}"


if __name__ == "__main__":
    sys.path += [each for each in sys.argv[1:] if each]
    json.dump([_apart(code, oracle) for code, oracle in json.load(sys.stdin)], sys.stdout)

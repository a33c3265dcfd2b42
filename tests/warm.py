"""Starts `punchlist` from a process that has imported it already: a fork takes milliseconds, a start takes a second or more.

What is started is a process of its own with its own arguments, environment, folder and streams. One such parent serves all
test processes of a run: tests/conftest.py starts it, and it imports punchlist when it is first asked. Tests of how the
command starts use the real command.
"""

import array
import importlib
import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import traceback
from contextlib import suppress
from pathlib import Path
from typing import Any

VARIABLE = "TEST_WARM"
"""Tells test processes where the parent listens."""
address = os.environ.get(VARIABLE, "")  # read now: tests run with a clean environment
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_STREAMS = 3
_LATE = (
    "anyio._backends._asyncio",
    "litestar._openapi.schema_generation.examples",
    "litestar.middleware._internal.exceptions.middleware",
    "litestar.plugins.pydantic",
    "uvicorn.lifespan.on",
    "uvicorn.loops.auto",
    "uvicorn.protocols.http.auto",
)
"""What a server imports when it starts."""


class WarmProcess:
    """Like subprocess.Popen, for a process that another one is the parent of."""

    def __init__(self, parent: str, arguments: list[str], **place: Any) -> None:
        self._talk = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._talk.connect(parent)
        streams = [
            place.pop(name, number) for number, name in enumerate(("stdin", "stdout", "stderr"))
        ]
        numbers = [stream if isinstance(stream, int) else stream.fileno() for stream in streams]
        header = {"arguments": arguments, **place}
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", numbers))]
        self._talk.sendmsg([json.dumps(header).encode()], rights)
        self.pid = int(self._talk.recv(64))
        self.returncode: int | None = None

    def poll(self) -> int | None:
        with suppress(TimeoutError, BlockingIOError):
            return self.wait(0)
        return None

    def wait(self, timeout: float | None = None) -> int:
        if self.returncode is None:
            self._talk.settimeout(timeout)
            self.returncode = int(self._talk.recv(64) or -signal.SIGKILL)
            self._talk.close()
        return self.returncode

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


def start(
    *arguments: str, cwd: Path, env: dict[str, str], group: bool = False, **streams: Any
) -> "WarmProcess | subprocess.Popen[bytes]":
    """Start punchlist, with `group` as the first of a process group of its own; where no parent
    listens, as for tools outside of the tests, by itself.
    """
    if not address:
        line = [sys.executable, "-m", "punchlist", *arguments]
        return subprocess.Popen(line, cwd=cwd, env=env, start_new_session=group, **streams)
    return WarmProcess(address, list(arguments), cwd=str(cwd), env=env, group=group, **streams)


def command(*arguments: str) -> list[str]:
    """A command line that starts punchlist so: for programs that start it themselves."""
    if not address:
        return [sys.executable, "-m", "punchlist", *arguments]
    return [sys.executable, "-I", "-S", __file__, address, *arguments]


class Parent:
    """The process that has imported punchlist; it ends when this one does."""

    def __init__(self, where: Path) -> None:
        line = [sys.executable, __file__, "--listen", str(where)]
        self._process = subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == b"listening\n"

    def end(self) -> str:
        """Return the processes that are left, which tests should have ended; they are killed."""
        return self._process.communicate(b"", timeout=30)[0].decode()


def _listen(where: str) -> None:
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listening.bind(where)
    listening.listen(100)
    ended, wake = socket.socketpair()
    wake.setblocking(False)
    ended.setblocking(False)
    signal.set_wakeup_fd(wake.fileno())
    signal.signal(signal.SIGCHLD, lambda *_: None)
    waiting: dict[int, socket.socket] = {}
    chosen = selectors.DefaultSelector()
    for source in (sys.stdin, listening, ended):
        chosen.register(source, selectors.EVENT_READ)
    print("listening", flush=True)
    while True:
        for key, _ in chosen.select():
            if key.fileobj is sys.stdin:
                _give_up(waiting)
                return
            if key.fileobj is ended:
                with suppress(BlockingIOError):
                    ended.recv(4096)
                _tell_ends(waiting)
            else:
                pid, talk = _fork(listening)
                waiting[pid] = talk


def _fork(listening: socket.socket) -> tuple[int, socket.socket]:
    talk, _ = listening.accept()
    raw, rights, *_ = talk.recvmsg(1 << 20, socket.CMSG_SPACE(4 * _STREAMS))
    streams = array.array("i", rights[0][2])
    _import_punchlist()
    told = json.loads(raw)
    group = told.pop("group", False)
    pid = os.fork()
    if group:  # in both, so that it is one for each of them from here on
        with suppress(OSError):
            os.setpgid(pid, pid)
    if not pid:
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
        talk.close()
        listening.close()
        for stream in streams:
            os.close(stream)
        _become(**told)
    for stream in streams:
        os.close(stream)
    talk.send(str(pid).encode())
    return pid, talk


def _import_punchlist() -> None:
    """Import every module of punchlist and what they need, so that a fork has nothing to import."""
    if "punchlist.cli" not in sys.modules:
        sys.path.insert(0, str(Path(__file__).parents[1] / "src"))
        import gc
        import pkgutil

        import punchlist

        ours = [module.name for module in pkgutil.walk_packages(punchlist.__path__, "punchlist.")]
        for name in (*_LATE, *ours):
            if not name.rpartition(".")[2].startswith(("child_", "__main__")):
                importlib.import_module(name)
        gc.freeze()


def _become(arguments: list[str], cwd: str, env: dict[str, str]) -> None:
    """Run the command in this new process."""
    import random

    from punchlist.cli import main

    signal.set_wakeup_fd(-1)
    for number in (signal.SIGCHLD, *_SIGNALS):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    random.seed()
    # The streams of the parent remember what they were connected to.
    sys.stdin = os.fdopen(0, encoding="utf-8", closefd=False)
    sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)
    sys.stderr = os.fdopen(2, "w", 1, "utf-8", "backslashreplace", closefd=False)
    sys.argv = ["punchlist", *arguments]
    code: Any = 1
    try:
        main(arguments)
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 0 if ended.code is None else 1
    except BaseException:  # noqa: BLE001  # it is shown, and the process ends
        traceback.print_exc()
    finally:
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):
                stream.flush()
        os._exit(int(code))


def _tell_ends(waiting: dict[int, socket.socket]) -> None:
    for pid in list(waiting):
        gone, status = os.waitpid(pid, os.WNOHANG)
        if gone:
            with suppress(OSError):
                waiting[pid].send(str(os.waitstatus_to_exitcode(status)).encode())
            waiting.pop(pid).close()


def _give_up(waiting: dict[int, socket.socket]) -> None:
    _tell_ends(waiting)
    for pid in waiting:
        print(Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " "), pid)
        os.kill(pid, signal.SIGKILL)


def _launch(parent: str, arguments: list[str]) -> int:
    """Be the parent that a caller knows, and pass on its signals."""
    process = WarmProcess(parent, arguments, cwd=os.getcwd(), env=dict(os.environ))  # noqa: PTH109

    def pass_on(number: int, _: object) -> None:
        with suppress(ProcessLookupError):
            os.kill(process.pid, number)

    for number in _SIGNALS:
        signal.signal(number, pass_on)
    code = process.wait()
    if code < 0:
        signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    return code


if __name__ == "__main__":
    if sys.argv[1] == "--listen":
        _listen(sys.argv[2])
    else:
        sys.exit(_launch(sys.argv[1], sys.argv[2:]))

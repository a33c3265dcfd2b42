"""In a real terminal: `punchlist run --follow` from its first paint to its exit code, signals, and where there is no terminal."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from contextlib import suppress
from pathlib import Path

import pytest
from window import FLAGS
from workbench import fix, fixer, review

from punchlist.cli import tui_launch as seat
from punchlist.errors import SettingsError
from punchlist.installed import extra_hint

SOURCE = Path(__file__).parents[2] / "src"
SETTINGS = [part for name, value in FLAGS.items() for part in ("--set", f"{name}={value}")]
SEQUENCE = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[()][A-Z0-9]|[=>]|P[^\x1b]*\x1b\\|\][^\x07\x1b]*(?:\x07|\x1b\\))"
)
LONG = 120


def environment(**more: str) -> dict[str, str]:
    plain = {"TERM": "xterm-256color", "PYTHONPATH": f"{SOURCE}:{os.environ.get('PYTHONPATH', '')}"}
    return {**os.environ, **plain, **more}


class Terminal:
    """A command on a pseudo-terminal of 100 by 30, what it paints there, and what it writes to its standard output."""

    def __init__(
        self,
        folder: Path,
        *arguments: str,
        out: Path,
        program: tuple[str, ...] = ("-m", "punchlist"),
    ) -> None:
        self._ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
        self.out = out
        with out.open("wb") as stdout:
            self.process = subprocess.Popen(
                [sys.executable, *program, *arguments],
                cwd=folder,
                env=environment(),
                stdin=theirs,
                stdout=stdout,
                stderr=theirs,
                start_new_session=True,
            )
        os.close(theirs)
        self.raw = ""

    @property
    def text(self) -> str:
        return SEQUENCE.sub("", self.raw)

    def until(self, wanted: str) -> str:
        """What was painted from now on, once it has these words."""
        deadline = time.monotonic() + LONG
        while wanted not in self.text:
            assert time.monotonic() < deadline, f"{wanted!r} never came: {self.text[-3000:]}"
            assert self._read(), f"ended without {wanted!r}: {self.text[-3000:]}"
        seen, self.raw = self.raw, ""
        return seen

    def type(self, text: str) -> None:
        os.write(self._ours, text.encode())

    def end(self) -> int:
        while self._read():
            pass
        os.close(self._ours)
        return self.process.wait(LONG)

    def kill(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def _read(self) -> bool:
        with suppress(OSError):  # the terminal of a process that ended
            if not select.select([self._ours], [], [], LONG)[0]:
                return False
            if chunk := os.read(self._ours, 65536):
                self.raw += chunk.decode("utf-8", "replace")
                return True
        return False


@pytest.fixture
def terminal(bench, tmp_path):
    opened = []

    def start(*arguments: str, **more) -> Terminal:
        opened.append(Terminal(bench.repo.root, *arguments, out=tmp_path / "stdout", **more))
        return opened[-1]

    yield start
    for each in opened:
        each.kill()


def test_a_run_is_watched_and_afterwards_told_as_ever(bench, terminal):
    bench.play(
        {**review("page", role="adversarial"), "times": 1},
        fixer(fix("page")),
        review(role="adversarial"),
    )
    screen = terminal("run", "--workflow", "converge", "--yes", "--follow", *SETTINGS)
    screen.until("page() skips the first page")
    screen.until("fixed: everything found was")
    screen.type("3")
    screen.until("the run ended")
    screen.type("q")
    assert screen.end() == 0
    assert "The only item is fixed" in screen.out.read_text(), (
        "the result is on standard output, the window was not"
    )
    assert "\x1b" not in screen.out.read_text()


def test_ctrl_c_asks_and_leaves_a_run_that_can_be_resumed(bench, terminal):
    bench.play({**review("page", role="adversarial"), "seconds": 60})
    screen = terminal("run", "--workflow", "converge", "--yes", "--follow", *SETTINGS)
    screen.until("running")
    screen.type("\x03")
    screen.until("Stop the run, and leave?")
    screen.type("y")
    assert screen.end() == 130
    assert "punchlist resume" in screen.text
    assert bench.do(_last).interrupted


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_stops_the_run_between_two_events_and_gives_the_terminal_back(
    bench, terminal, number
):
    bench.play({**review("page", role="adversarial"), "seconds": 60})
    screen = terminal("run", "--workflow", "converge", "--yes", "--follow", *SETTINGS)
    screen.until("running")
    screen.process.send_signal(number)
    assert screen.end() == 130
    assert "\x1b[?1049l" in screen.raw, "the screen that was there before is back"
    assert bench.do(_last).interrupted


def test_no_byte_of_a_hostile_title_reaches_the_terminal(bench, terminal):
    lines = review("page")
    lines["answer"]["findings"][0]["title"] = "[red]owned[/red] \x1b]0;owned\x07\x1b[2Jwiped"
    bench.play(lines, fixer())
    bench.run("review")
    screen = terminal("watch")
    painted = screen.until("[red]owned[/red]")
    screen.type("\r")
    painted += screen.until("Reported by")
    screen.type("q")
    assert screen.end() == 0
    assert "\x1b]0;owned" not in painted
    assert "\x1b[2Jwiped" not in painted


BROKEN = """
import sys
from punchlist.tui import run_screen
def broken(*_):
    raise RuntimeError("nobody foresaw this")
run_screen.render_banner = broken
from punchlist.cli import main
main(sys.argv[1:])
"""


def test_a_fault_in_the_view_gives_the_terminal_back_and_leaves_by_the_door(bench, terminal):
    bench.play(review("page"))
    bench.run("review")
    screen = terminal("watch", program=("-c", BROKEN))
    assert screen.end() == 70
    painted, _, after = screen.raw.partition("\x1b[?1049l")
    assert "RuntimeError: nobody foresaw this" in SEQUENCE.sub("", after)
    assert "Traceback" not in painted + after, "that is in the crash log"
    assert list((bench.folder / "state" / "crashes").iterdir())


@pytest.mark.parametrize("command", [("watch",), ("run", "--follow")])
def test_without_a_terminal_the_view_says_so_and_starts_nothing(bench, command):
    bench.play()
    done = subprocess.run(
        [sys.executable, "-m", "punchlist", *command],
        cwd=bench.repo.root,
        env=environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=LONG,
    )
    assert done.returncode == 2, done.stderr
    assert "the terminal view needs a terminal" in done.stderr
    assert not done.stdout
    assert not (bench.folder / "state" / "runs").exists()


def test_where_its_package_is_missing_the_view_says_how_to_get_it(monkeypatch):
    monkeypatch.setattr(seat, "is_interactive", lambda: True)
    monkeypatch.setitem(sys.modules, "textual", None)
    with pytest.raises(SettingsError) as raised:
        seat.check_terminal()
    assert raised.value.hint == extra_hint("tui")


def test_machines_do_not_watch(bench):
    command = [sys.executable, "-m", "punchlist", "run", "--follow", "--json"]
    done = subprocess.run(
        command,
        cwd=bench.repo.root,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
        timeout=LONG,
    )
    assert done.returncode == 2
    assert "--follow needs a terminal" in done.stderr


def test_no_other_command_loads_the_view():
    program = (
        "import sys\nfrom punchlist.cli.root import root\n"
        "for name in root.list_commands(None):\n    root.get_command(None, name)\n"
        "print([name for name in sys.modules if name.startswith(('textual', 'punchlist.tui'))])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "[]\n", done.stdout


async def _last(app):
    return app.load("last")

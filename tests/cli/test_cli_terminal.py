"""On a terminal: the question about checks, the live view, and Ctrl-C."""

import json
import os
import pty
import signal
import subprocess
import sys
import time
from contextlib import suppress
from itertools import chain, repeat

import pytest

import fresh_clone
from made import made_run
from punchlist.cli.drawing import draw_lines
from punchlist.cli.show.progress import SILENCE, LineView, LiveBoard
from punchlist.model.ledger.events import Entry, Interrupted
from punchlist.steps.verb import Action, NoOptions

SLOW_TOOL = """
[[analyzers.custom]]
name = "slow"
command = ["sh", "-c", "touch {flag}; sleep 30"]
"""


class Screen:
    """A command on a pseudo-terminal, and all it has written there."""

    def __init__(self, punchlist, *arguments: str, **env: str) -> None:
        self._ours, theirs = pty.openpty()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "punchlist", *arguments],
            cwd=punchlist.folder,
            env={**punchlist.env, "TERM": "xterm-256color", **env},
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
        )
        os.close(theirs)
        self.text = ""

    def until(self, wanted: str, seconds: float = 40) -> str:
        deadline = time.monotonic() + seconds
        while wanted not in self.text:
            assert time.monotonic() < deadline, f"{wanted!r} never came: {self.text}"
            assert self._read(), f"ended without {wanted!r}: {self.text}"
        return self.text

    def type(self, text: str) -> None:
        os.write(self._ours, text.encode())

    def end(self) -> int:
        while self._read():
            pass
        os.close(self._ours)
        return self.process.wait(10)

    def _read(self) -> bool:
        with suppress(OSError):  # the terminal of a process that ended
            if chunk := os.read(self._ours, 65536):
                self.text += chunk.decode("utf-8", "replace")
                return True
        return False


@pytest.fixture
def slow(punchlist, tmp_path):
    """A repository whose review takes half a minute, and the file that shows that it began."""
    flag = tmp_path / "began"
    settings = tmp_path / "settings.toml"
    settings.write_text(SLOW_TOOL.format(flag=flag) + '[analyzers]\nenabled = ["ruff", "slow"]\n')
    punchlist.env["PUNCHLIST_CONFIG"] = str(settings)
    return punchlist


def wait_for(punchlist, *, entries: int = 1) -> None:
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        rows = punchlist.json("list")
        if isinstance(rows, list) and rows and rows[0]["entries"] >= entries:
            return
        time.sleep(0.1)
    pytest.fail("the run did not begin")


def test_checks_are_shown_and_asked_for_once_on_a_terminal(punchlist, cart):
    cart.commit(
        {"pytest.ini": "[pytest]\n", "tests/test_cart.py": "def test_it():\n    assert True\n"}
    )
    screen = Screen(punchlist, "run", "--all")
    asked = screen.until("[n]o")
    assert "-m pytest" in asked
    screen.type("n\n")
    assert screen.end() == 1
    assert "unverified" in screen.text


def test_a_run_whose_tests_lack_a_package_offers_to_make_an_environment_and_begins_again(
    repo, make_punchlist, tmp_path
):
    repo.commit(fresh_clone.FILES)
    punchlist = make_punchlist(repo.root)
    programs = fresh_clone.write_installer(tmp_path / "tools/bin")
    punchlist.env["PATH"] = f"{programs}:{punchlist.env['PATH']}"
    settings = ("--set", "analyzers.enabled=ruff", "--set", "analyzers.select=F")
    screen = Screen(punchlist, "run", "--all", "--yes", *settings)
    asked = screen.until("Do this? [y]es, [n]o")
    assert "The tests lack a package: ModuleNotFoundError" in asked
    assert "uvpipinstall--python" in "".join(asked.split())  # long commands take two lines
    screen.type("y\n")
    assert screen.end() == 0
    assert "analyzer clean + tests pass" in screen.text.rpartition("Do this?")[2]


def test_what_the_files_name_and_python_lacks_is_offered_before_the_run_and_once(
    repo, make_punchlist
):
    named = {"requirements.txt": "pip\nno-such-package-anywhere>=1\nhidden; sys_platform == 'x'\n"}
    repo.commit({**fresh_clone.FILES, **named})
    punchlist = make_punchlist(repo.root)
    arguments = ("run", "--all", "--yes", "--set", "analyzers.enabled=ruff", "--max-time", "1")
    screen = Screen(punchlist, *arguments)
    asked = screen.until("Do this? [y]es, [n]o")
    assert "lack a package: no-such-package-anywhere." in asked
    assert "scope: everything" not in asked, "no run began, and no agent was paid"
    screen.type("n\n")
    screen.end()
    again = Screen(punchlist, *arguments)
    again.end()
    assert "Do this?" not in again.text


def test_the_live_view_says_what_is_running_and_for_how_long(slow):
    screen = Screen(slow, "run", "--all")
    seen = screen.until("slow reviews")
    assert "check runs" in seen
    screen.process.send_signal(signal.SIGINT)
    assert screen.end() == 130
    assert "punchlist resume" in screen.text


def test_ctrl_c_stops_cleanly_and_resume_goes_on_without_asking_ruff_again(slow, tmp_path):
    running = slow.start("run", "--all", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    wait_for(slow, entries=3)
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=20)
    assert running.returncode == 130, err
    assert b"stopped after " in err
    assert b"still open: 0 items" not in err
    assert b"` goes on" in err
    assert out == b""
    assert "no fix of run" in slow("apply").stderr
    assert "not sorted yet" in slow("audit").stdout
    slow.env.pop("PUNCHLIST_CONFIG")
    events = slow("status", "--events").stdout
    assert events.count('"kind":"reviewed"') == 1
    assert events.count('"kind":"interrupted"') == 1
    again = slow.start("resume", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    wait_for(slow, entries=5)
    again.send_signal(signal.SIGINT)
    _, told = again.communicate(timeout=20)
    assert b"the run goes on" in told
    assert b"ruff reports" not in told


@pytest.mark.serial
def test_a_second_ctrl_c_stops_at_once_and_leaves_nothing_running(slow, tmp_path):
    running = slow.start("run", "--all", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    wait_for(slow, entries=3)
    running.send_signal(signal.SIGINT)
    with suppress(ProcessLookupError):
        running.send_signal(signal.SIGINT)
    began = time.monotonic()
    _, err = running.communicate(timeout=20)
    assert err.endswith(b"goes on\n")
    assert b"punchlist resume" in err
    assert time.monotonic() - began < 5
    assert running.returncode == 130
    assert slow.json("list")[0]["state"] in ("stopped", "killed")


@pytest.mark.parametrize("pause", [0.0, 0.05, 0.2])
def test_two_quick_ones_end_with_a_line_of_their_own_and_never_with_a_traceback(slow, pause):
    running = slow.start("run", "--all", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    wait_for(slow, entries=3)
    for _ in range(2):
        running.send_signal(signal.SIGINT)
        time.sleep(pause)
    _, err = running.communicate(timeout=20)
    assert running.returncode == 130
    assert err.endswith(b"goes on\n")
    assert b"Traceback" not in err


def test_a_run_that_is_under_way_is_neither_resumed_nor_started_again(slow):
    running = slow.start("run", "--all", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    wait_for(slow)
    second, same, status = slow("resume"), slow("run", "--all", "--json"), slow.json("status")
    running.send_signal(signal.SIGTERM)
    running.communicate(timeout=20)
    assert second.returncode == same.returncode == 5, second.stderr
    assert json.loads(same.stdout)["run"] == status["run"]
    assert status["state"] == "under way"
    assert slow.json("status")["state"] == "stopped"


def test_a_line_above_the_live_view_finds_the_ended_action_gone(slow):
    screen = Screen(slow, "run", "--all")
    screen.until("slow reviews")
    screen.until("ruff reports")
    after = screen.until("slow reviews", 5).rsplit("ruff reports", 1)[1]
    screen.process.send_signal(signal.SIGINT)
    assert screen.end() == 130
    assert "ruff reviews" not in after + screen.text.rsplit("ruff reports", 1)[1]


def drawn(board: LiveBoard, width: int) -> str:
    return "".join(f"{line}\n" for line in draw_lines(board.render_board(), width))


def test_the_board_never_wraps_and_forgets_what_ended():
    now = 100.0
    board = LiveBoard(lambda *_: None, lambda: now)
    board.handle_start(
        "1",
        Action(
            "look",
            NoOptions(),
            "a reviewer with a very long name indeed looks at everything there is",
        ),
    )
    now = 175.0
    assert "1:15" in drawn(board, 200)
    assert all(len(line) <= 30 for line in drawn(board, 30).splitlines())
    assert len(drawn(board, 30).splitlines()) == 2
    board.handle_event(
        Entry(run="r", seq=2, at=0, place="1", key="look", event=Interrupted(reason="enough")),
        made_run(id="r"),
    )
    assert "reviewer" not in drawn(board, 200)


def test_a_log_says_what_runs_after_a_silence_and_again_after_the_next(capsys):
    now = 100.0
    view = LineView(lambda: now)
    view.handle_start("1", Action("look", NoOptions(), "ruff reviews"))
    now += SILENCE - 1
    assert view.break_silence() == 1
    assert capsys.readouterr().err == ""
    view.handle_start("2", Action("measure", NoOptions(), "pytest on the base"))
    for clock, ran in (("15s", "15s"), ("30s", "30s")):
        now += 1 if clock == "15s" else SILENCE
        assert view.break_silence() == SILENCE
        said = capsys.readouterr().err
        assert said.startswith(
            f"[  {clock}] running     ruff reviews ({ran}), pytest on the base ("
        )
    view.handle_event(
        Entry(run="r", seq=2, at=0, place="1", key="look", event=Interrupted(reason="enough")),
        made_run(id="r"),
    )
    capsys.readouterr()
    now += SILENCE
    view.break_silence()
    assert "ruff" not in capsys.readouterr().err


def test_what_was_reported_puts_the_next_line_off(capsys):
    now = 100.0
    view = LineView(lambda: now)
    now += SILENCE - 1
    view.say("something")
    now += SILENCE - 1
    assert view.break_silence() == 1
    assert capsys.readouterr().err == "[  14s] something\n"


def test_the_silence_is_broken_while_the_run_goes_on(capsys):
    times = chain([100], repeat(100 + SILENCE))
    with LineView(lambda: next(times)).watch_silence() as view:
        view.handle_start("1", Action("look", NoOptions(), "ruff reviews"))
    assert "] running     " in capsys.readouterr().err

"""Every error leaves by one door: what, what next, and a code from a table."""

import json
import os
import subprocess
import sys
import tomllib
from importlib.resources import files
from pathlib import Path

import click
import pytest

from punchlist import errors
from punchlist.cli.errors import CODES, run_command
from punchlist.cli.exit_codes import Exit


def raising(error: BaseException):
    def work():
        raise error

    return work


def test_every_exit_code_has_a_meaning():
    meanings = (files("punchlist.cli") / "exit_codes.toml").read_text("utf-8")
    assert set(tomllib.loads(meanings)) == set(Exit.__members__)


def test_every_error_of_the_tree_has_an_exit_code():
    assert set(CODES) == {
        kind
        for kind in errors.PunchlistError.__subclasses__()
        if kind.__module__ == errors.__name__
    }


@pytest.mark.parametrize(
    ("kind", "code"), CODES.items(), ids=lambda each: getattr(each, "__name__", str(each))
)
def test_an_error_is_told_on_stderr_with_its_hint_and_its_code(kind, code, capsys):
    error = kind(
        "no such thing",
        hint="try another",
        **({"run": "x"} if kind is errors.AlreadyRunning else {}),
    )
    assert run_command(raising(error), []) == code
    told = capsys.readouterr()
    assert told.err == "error: no such thing\n  hint: try another\n"
    assert told.out == ""


def test_an_error_under_json_is_one_document_on_stdout_as_well(capsys):
    assert (
        run_command(raising(errors.RepositoryError("bare", hint="clone it")), ["run", "--json"])
        == Exit.SETUP
    )
    told = capsys.readouterr()
    assert json.loads(told.out) == {"error": "bare", "hint": "clone it", "exit": 6}
    assert "error: bare" in told.err


def test_what_is_already_running_is_named_to_machines(capsys):
    run_command(raising(errors.AlreadyRunning("busy", run="261115-abc")), ["--events"])
    assert json.loads(capsys.readouterr().out)["run"] == "261115-abc"


def test_a_mistake_on_the_command_line_is_exit_code_2(capsys):
    assert run_command(raising(click.UsageError("no such option")), []) == Exit.USAGE
    assert "error: no such option" in capsys.readouterr().err


def test_what_nobody_foresaw_leaves_a_crash_log_and_exit_code_70(
    tmp_path: Path, monkeypatch, capsys
):
    monkeypatch.setenv("PUNCHLIST_HOME", str(tmp_path))
    typed = ["run", "--all", "--set", "agent.robot.env.KEY=hunter2"]
    assert run_command(raising(ZeroDivisionError("a surprise")), typed) == Exit.CRASHED
    (log,) = (tmp_path / "crashes").iterdir()
    assert "ZeroDivisionError: a surprise" in log.read_text()
    assert "['run', '--all', '--set', 'agent.robot.env.KEY']" in log.read_text()
    told = capsys.readouterr().err
    assert str(log) in told
    assert "Traceback" not in told


def test_a_crash_without_a_place_for_its_log_shows_the_traceback(
    tmp_path: Path, monkeypatch, capsys
):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("PUNCHLIST_HOME", str(tmp_path / "file" / "below"))
    assert run_command(raising(ZeroDivisionError("a surprise")), []) == Exit.CRASHED
    assert "Traceback" in capsys.readouterr().err


def test_an_interrupt_is_exit_code_130():
    assert run_command(raising(KeyboardInterrupt()), []) == Exit.INTERRUPTED


def test_an_error_message_cannot_steer_the_terminal(capsys):
    run_command(raising(errors.UsageError("\x1b]0;owned\x07 \u202etxet")), [])
    assert capsys.readouterr().err == "error: \\x1b]0;owned\\x07 \\u202etxet\n"


@pytest.mark.parametrize("arguments", [("list",), ("list", "--json"), ("report",)])
def test_a_full_disk_behind_stdout_is_told_without_a_traceback(done, arguments):
    with Path("/dev/full").open("wb") as full:
        listed = subprocess.run(
            [sys.executable, "-m", "punchlist", *arguments],
            cwd=done.folder,
            env=done.env,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert listed.returncode == Exit.UNREAD
    assert listed.stderr == "error: stdout cannot be written: No space left on device\n"


def test_closed_streams_are_no_error(done):
    closed = subprocess.run(
        ["sh", "-c", f"exec {sys.executable} -m punchlist list <&- >&- 2>&-"],
        cwd=done.folder,
        env=done.env,
        check=False,
    )
    assert closed.returncode == 0


def test_a_folder_that_is_gone_is_told(done, tmp_path):
    gone = tmp_path / "gone"
    gone.mkdir()
    command = f"rmdir {gone}; exec {sys.executable} -m punchlist list"
    told = subprocess.run(
        ["sh", "-c", command], cwd=gone, env=done.env, capture_output=True, text=True, check=False
    )
    assert told.returncode == Exit.USAGE
    assert "the folder you are in is gone" in told.stderr


def test_a_reader_that_goes_away_is_not_an_error(done):
    reading, writing = os.pipe()
    os.close(reading)
    shown = subprocess.run(
        [sys.executable, "-m", "punchlist", "show"],
        cwd=done.folder,
        env=done.env,
        stdout=writing,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(writing)
    assert shown.stderr == b""
    assert shown.returncode == Exit.UNREAD

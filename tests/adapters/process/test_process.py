"""The process door: whatever a child does is a value, and nothing it started outlives it."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from machine import ENVIRONMENT
from punchlist.adapters.process import descendants as family
from punchlist.adapters.process import run as process
from punchlist.adapters.process.bounded_output import LINES, BoundedOutput
from punchlist.adapters.process.run import Origin, OutputWatch, base_environment, run, which
from punchlist.adapters.sandbox.sandbox import Sandbox

linux_only = pytest.mark.skipif(
    sys.platform != "linux", reason="orphans are re-parented to us on Linux only"
)


def started(command, **options):
    options.setdefault("cwd", Path.cwd())
    return asyncio.run(run(command, origin=Origin.USERS, **options))


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    state = subprocess.run(
        ["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False
    ).stdout
    return bool(state.strip()) and not state.startswith("Z")


def pid_in(path: Path) -> int:
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        if path.exists() and (text := path.read_text().strip()):
            return int(text)
        time.sleep(0.01)
    raise AssertionError(f"no process wrote its id into {path}")


def test_output_exit_code_and_input_come_through():
    ran = started(["sh", "-c", "cat; echo oops >&2; exit 3"], stdin=b"hello")
    assert (ran.exit_code, ran.stdout, ran.stderr, ran.trouble, ran.ok) == (
        3,
        b"hello",
        b"oops\n",
        "",
        False,
    )
    assert started(["true"]).ok


def test_a_command_that_is_not_there_is_a_value():
    ran = started(["no-such-command-here"])
    assert (ran.exit_code, ran.trouble) == (None, "command not found: no-such-command-here")
    assert not ran.ok


def test_a_folder_that_is_not_there_is_not_called_a_missing_command(tmp_path):
    assert (
        started(["true"], cwd=tmp_path / "gone").trouble
        == f"no such folder to run in: {tmp_path / 'gone'}"
    )


def test_a_file_that_cannot_be_executed_is_a_value(tmp_path):
    (tmp_path / "plain").write_text("not a program")
    assert "cannot run ./plain" in started(["./plain"], cwd=tmp_path).trouble
    assert "cannot run a\0b" in started(["a\0b"]).trouble


def test_a_crash_is_trouble_and_not_an_exit_code():
    ran = started(["sh", "-c", "kill -SEGV $$"])
    assert (ran.exit_code, ran.trouble) == (None, f"ended by signal {signal.SIGSEGV}")


def test_a_child_that_ignores_its_input_and_ends_is_fine():
    assert started(["true"], stdin=b"x" * (1 << 20)).ok


def test_much_input_and_much_output_at_once_do_not_lock_up():
    data = b"line\n" * 400_000
    assert started(["cat"], stdin=data, timeout=20).stdout == data


@pytest.mark.serial
def test_a_time_out_ends_a_child_that_ignores_the_polite_signal_and_keeps_what_it_said():
    ran = started(
        ["sh", "-c", "trap '' TERM; echo before; while :; do sleep 0.1; done"], timeout=0.5
    )
    assert ran.trouble == "timed out after 0.5 s"
    assert ran.stdout == b"before\n"
    assert ran.seconds < 30


@pytest.mark.serial
def test_a_time_out_ends_grandchildren_too(tmp_path):
    ran = started(
        ["sh", "-c", f"sh -c 'echo $$ > {tmp_path}/pid; sleep 60' & sleep 60"], timeout=0.5
    )
    assert ran.seconds < 30
    assert not alive(pid_in(tmp_path / "pid"))


@linux_only
@pytest.mark.parametrize("escape", ["setsid", "setsid env -i", "env -i setsid setsid"])
def test_a_descendant_that_left_its_session_ends_too(tmp_path, escape):
    script = f"{escape} sh -c 'echo $$ > {tmp_path}/pid; while :; do sleep 0.1; done' &"
    ran = started(
        ["sh", "-c", f"{script} while [ ! -s {tmp_path}/pid ]; do sleep 0.02; done; sleep 60"],
        timeout=0.8,
    )
    assert ran.trouble == "timed out after 0.8 s"
    assert not alive(pid_in(tmp_path / "pid"))


@pytest.mark.serial
@linux_only
@pytest.mark.parametrize("escape", ["", "setsid", "setsid env -i"])
def test_a_child_that_ends_well_leaves_nothing_behind(tmp_path, escape):
    script = f"{escape} sh -c 'echo $$ > {tmp_path}/pid; while :; do sleep 0.1; done' &"
    ran = started(
        ["sh", "-c", f"{script} while [ ! -s {tmp_path}/pid ]; do sleep 0.02; done; echo done"]
    )
    assert (ran.stdout, ran.ok) == (b"done\n", True)
    assert ran.seconds < 30
    assert not alive(pid_in(tmp_path / "pid"))


@pytest.mark.serial
def test_without_proc_the_group_and_the_tree_below_the_child_end(tmp_path, monkeypatch):
    monkeypatch.setattr(family, "_LINUX", False)
    ran = started(
        ["sh", "-c", f"set -m; sh -c 'echo $$ > {tmp_path}/pid; sleep 60' & sleep 60"], timeout=0.5
    )
    assert ran.seconds < 30
    assert not alive(pid_in(tmp_path / "pid"))
    assert started(["no-such-command-here"]).trouble
    assert started(["true"]).ok


@linux_only
def test_a_process_that_others_started_here_is_left_alone(tmp_path):
    def browser():
        return subprocess.Popen(["sleep", "60"], env=ENVIRONMENT, start_new_session=True)

    async def both():
        task = asyncio.create_task(run(["sleep", "0.2"], origin=Origin.USERS, cwd=tmp_path))
        other = await asyncio.to_thread(browser)
        await task
        return other

    other = asyncio.run(both())
    assert other.poll() is None
    other.kill()
    other.wait()


@linux_only
def test_one_child_s_end_does_not_end_another_child_s_daemon(tmp_path):
    async def both():
        slow = asyncio.create_task(
            run(
                [
                    "sh",
                    "-c",
                    f"setsid sh -c 'echo $$ > {tmp_path}/pid; sleep 60' & sleep 0.6; kill -0 $(cat {tmp_path}/pid)",
                ],
                origin=Origin.USERS,
                cwd=tmp_path,
            )
        )
        await asyncio.to_thread(pid_in, tmp_path / "pid")
        await run(["sh", "-c", "setsid sleep 60 & true"], origin=Origin.USERS, cwd=tmp_path)
        return await slow

    assert asyncio.run(both()).ok


def test_cancelling_ends_the_tree_within_a_second(tmp_path, cancelled):
    async def begun_and_cancelled():
        task = asyncio.create_task(
            run(
                [
                    "sh",
                    "-c",
                    f"trap '' TERM; sh -c 'echo $$ > {tmp_path}/pid; sleep 60' & sleep 60",
                ],
                origin=Origin.USERS,
                cwd=tmp_path,
            )
        )
        await asyncio.to_thread(pid_in, tmp_path / "pid")
        return await cancelled(task)

    assert asyncio.run(begun_and_cancelled()) < 1
    assert not alive(pid_in(tmp_path / "pid"))


@pytest.mark.parametrize("delay", [0, 0.0003, 0.001, 0.003])
def test_cancelling_while_the_child_is_being_started_neither_hangs_nor_leaves_it(tmp_path, delay):
    async def cancelled():
        tasks = [
            asyncio.create_task(
                run(["sh", "-c", "sleep 61.5; true"], origin=Origin.USERS, cwd=tmp_path)
            )
            for _ in range(5)
        ]
        await asyncio.sleep(delay)
        for task in tasks:
            task.cancel()
        return await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), 10)

    assert all(isinstance(outcome, asyncio.CancelledError) for outcome in asyncio.run(cancelled()))
    assert (
        "sleep 61.5"
        not in subprocess.run(
            ["ps", "-eo", "args"], capture_output=True, text=True, check=True
        ).stdout
    )


def killed_while_running(script, files):
    """Runs a script through the door of a punchlist that is killed with -9 as soon as all files have a process's id."""
    return killed_program(
        f"import asyncio; from pathlib import Path; from punchlist.adapters.process.run import Origin, run; asyncio.run(run(['sh', '-c', {script!r}], origin=Origin.USERS, cwd=Path('/')))",
        files,
    )


def killed_program(program, files):
    parent = subprocess.Popen(
        [sys.executable, "-c", program], env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    )
    pids = [pid_in(file) for file in files]
    assert all(alive(pid) for pid in pids)
    parent.kill()
    parent.wait()
    deadline = time.monotonic() + 4
    while any(alive(pid) for pid in pids) and time.monotonic() < deadline:
        time.sleep(0.02)
    return [pid for pid in pids if alive(pid)]


def test_children_die_with_a_punchlist_that_is_killed(tmp_path):
    script = f"echo $$ > {tmp_path}/pid; sh -c 'echo $$ > {tmp_path}/grand; sleep 60'; true"
    assert killed_while_running(script, [tmp_path / "pid", tmp_path / "grand"]) == []


@linux_only
@pytest.mark.parametrize(
    "escape",
    [
        "setsid sh -c '{}' & wait",
        "env -i setsid sh -c '{}' & wait",
        "sh -c \"setsid sh -c '{}' &\"; sleep 60",
        "setsid sh -c \"setsid sh -c '{}' & wait\" & wait",
    ],
)
def test_what_left_its_session_dies_with_a_punchlist_that_is_killed(tmp_path, escape):
    script = escape.format(f"exec sh {tmp_path}/tool")
    (tmp_path / "tool").write_text(f"echo $$ > {tmp_path}/pid; while :; do sleep 0.1; done")
    assert killed_while_running(script, [tmp_path / "pid"]) == []


@linux_only
def test_a_child_dies_with_a_punchlist_that_is_killed_while_it_starts_it(tmp_path):
    """Its process id is not known to any other process yet."""
    script = f"echo $$ > {tmp_path}/pid; env -i sh -c 'echo $$ > {tmp_path}/grand; sleep 60'; true"
    program = (
        "import os, subprocess; from punchlist.adapters.process.descendants import MARK, ProcessFamily\n"
        "ProcessFamily('a1b2c3')\n"
        f"subprocess.run(['sh', '-c', {script!r}], env={{**os.environ, MARK: 'a1b2c3'}}, start_new_session=True)"
    )
    assert killed_program(program, [tmp_path / "pid", tmp_path / "grand"]) == []


def test_output_is_heard_while_the_child_still_runs(tmp_path):
    heard = []

    def hear(piece):
        heard.append(piece)
        (tmp_path / "heard").touch()
        return ""

    script = "echo early; echo noise >&2; while [ ! -e heard ]; do sleep 0.02; done; echo late"
    ran = started(["sh", "-c", script], cwd=tmp_path, watch=OutputWatch(hear=hear))
    assert heard == [b"early\n", b"late\n"]
    assert ran.stdout == b"early\nlate\n"


@pytest.mark.serial
def test_silence_ends_a_child_and_is_told_from_a_time_out():
    ran = started(["sh", "-c", "echo before; sleep 60"], watch=OutputWatch(silence=0.3))
    assert (ran.trouble, ran.silent, ran.late) == ("silent for 0.3 s", True, False)
    assert ran.stdout == b"before\n"
    assert ran.seconds < 30
    late = started(
        ["sh", "-c", "while :; do echo more; sleep 0.05; done"],
        timeout=0.4,
        watch=OutputWatch(silence=0.3),
    )
    assert (late.trouble, late.silent, late.late) == ("timed out after 0.4 s", False, True)


def test_a_child_that_speaks_on_either_stream_is_not_silent():
    script = "for n in 1 2 3 4 5 6; do sleep 0.15; echo $n >&2; done"
    assert started(["sh", "-c", script], watch=OutputWatch(silence=0.6)).ok


def test_a_child_that_was_asked_politely_has_its_grace():
    script = "trap 'sleep 1 && echo saved; exit' TERM; echo go; while :; do sleep 0.05; done"
    assert (
        started(["sh", "-c", script], timeout=2, watch=OutputWatch(grace=20)).stdout
        == b"go\nsaved\n"
    )
    assert started(["sh", "-c", script], timeout=2, watch=OutputWatch(grace=0.1)).stdout == b"go\n"


def test_output_over_the_limit_keeps_both_ends_and_says_how_much_is_missing():
    ran = started(["sh", "-c", "seq 1 300000"], limit=1 << 20, trim=True)
    lines = ran.stdout.decode().splitlines()
    assert lines[: LINES - 1] == [str(n) for n in range(1, LINES)]
    assert lines[-LINES:] == [str(n) for n in range(300001 - LINES, 300001)]
    assert f"{300000 - 2 * LINES} lines, are missing here" in lines[LINES]
    assert ran.ok
    assert ran.cut


def test_a_child_whose_output_is_too_long_to_be_of_use_is_ended():
    ran = started(["sh", "-c", "yes"], limit=1 << 20)
    assert ran.trouble == f"output over {1 << 20} bytes"
    assert not ran.ok


def test_a_gigabyte_of_output_costs_neither_memory_nor_the_run():
    script = (
        "import asyncio, resource; from pathlib import Path\n"
        "from punchlist.adapters.process.run import Origin, run\n"
        "peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "before = peak()\n"
        "flood = ['sh', '-c', 'head -c 1073741824 /dev/zero']\n"
        "for trim in (True, False):\n"
        "    asyncio.run(run(flood, origin=Origin.USERS, cwd=Path('/'), limit=128 << 20, trim=trim))\n"
        "print(peak() - before)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    assert int(done.stdout) < 100 << 10  # in KB


@given(st.lists(st.binary(max_size=40), max_size=30), st.integers(2, 200))
def test_output_within_the_limit_is_whole_and_beyond_it_is_bounded(chunks, limit):
    whole = b"".join(chunks)
    with closing(BoundedOutput(limit)) as output:
        for chunk in chunks:
            output.write(chunk)
        if len(whole) <= limit // 2 * 2:
            assert output.value() == whole
        else:
            assert len(output.value()) <= limit + 100
            assert b"missing here" in output.value()
            assert output.cut


def test_a_child_sees_no_variable_that_was_not_named(monkeypatch):
    monkeypatch.setenv("GITHUB_TOKEN", "s3cret")
    monkeypatch.setenv("HOME", "/home/somebody")
    seen = started(["env"]).stdout
    assert b"s3cret" not in seen
    assert b"HOME=" not in seen
    assert base_environment(home=True)["HOME"] == "/home/somebody"
    assert (
        b"COLOUR=blue"
        in started(["env"], env={"PATH": os.environ["PATH"], "COLOUR": "blue"}).stdout
    )


COSTS = """
import asyncio, collections, json, sys
from pathlib import Path
from punchlist.adapters.process.run import Origin, run

async def main():
    await run(["true"], origin=Origin.USERS, cwd=Path("/"))  # what is done once
    seen = collections.Counter()
    sys.addaudithook(lambda event, _: seen.update([event]))
    for _ in range(10):
        await run(["true"], origin=Origin.USERS, cwd=Path("/"))
    print(json.dumps(seen))

asyncio.run(main())
"""


def test_starting_a_child_costs_little():
    """One process each, one look for what it left behind, and a handful of files."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    said = subprocess.check_output([sys.executable, "-c", COSTS], env=environment)
    seen = json.loads(said)
    assert seen["subprocess.Popen"] == 10
    assert not seen.keys() & {"os.fork", "os.posix_spawn", "os.system"}
    assert seen.get("os.listdir", 0) + seen.get("os.scandir", 0) <= 10
    assert seen["open"] <= 100


def test_programs_are_found_by_name():
    assert which("sh")
    assert which("no-such-command-here") is None


def test_a_cancel_that_comes_together_with_the_end_of_a_child_is_not_forgotten(monkeypatch):
    """Else whoever is stopped just then goes on to the next thing, and nobody stops that."""
    tasks = []
    as_it_is = process._Child.process_exited

    def and_a_cancel(self):
        as_it_is(self)
        tasks[0].cancel()

    async def main():
        tasks.append(
            asyncio.create_task(run(["sleep", "0.2"], origin=Origin.USERS, cwd=Path.cwd()))
        )
        with pytest.raises(asyncio.CancelledError):
            await tasks[0]

    monkeypatch.setattr(process._Child, "process_exited", and_a_cancel)
    asyncio.run(main())


@pytest.mark.usefixtures("system_programs")
@pytest.mark.parametrize("walls", [None, Sandbox()], ids=["bare", "sandboxed"])
def test_a_child_inherits_the_descriptors_that_it_is_given_and_no_other(walls):
    given, other = os.pipe(), os.pipe()
    try:
        for pipe in (given, other):
            os.set_inheritable(pipe[1], True)
        script = f"import os; os.write({given[1]}, b'word'); os.fstat({other[1]})"
        ran = started(["python3", "-c", script], walls=walls, pass_fds=(given[1],), cwd=Path("/"))
        assert b"Bad file descriptor" in ran.stderr
        assert os.read(given[0], 100) == b"word"
    finally:
        for descriptor in (*given, *other):
            os.close(descriptor)

"""Where bubblewrap is missing Landlock holds what it can; what it does not hold is said, for each child."""

import asyncio
import json
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from punchlist.adapters.process.run import Origin, run
from punchlist.adapters.sandbox import support
from punchlist.adapters.sandbox.landlock import plan, rules
from punchlist.adapters.sandbox.landlock.kernel import LandlockSupport, find_version
from punchlist.adapters.sandbox.profiles import ChildKind
from punchlist.adapters.sandbox.sandbox import Sandbox
from punchlist.ports.weaknesses import collect_weaknesses

HELD, ALONE = LandlockSupport(7, namespaces=True, mounts=True), LandlockSupport(7)
needs_landlock = pytest.mark.skipif(
    find_version() < 6, reason="NOT TESTED HERE: this kernel has no Landlock, or an early one"
)


@pytest.mark.parametrize(
    ("abi", "handled"),
    [(1, [0x1FFF]), (2, [0x3FFF]), (3, [0x7FFF]), (4, [0x7FFF, 3]), (5, [0xFFFF, 3]), (6, [0xFFFF, 3, 3]), (9, [0xFFFF, 3, 3])],
)  # fmt: skip
def test_each_version_of_the_interface_is_asked_for_what_it_knows(abi, handled, tmp_path):
    assert rules.list_handled(abi, network=False) == handled
    asked = Sandbox(kind=ChildKind.CHECK, writable=(tmp_path,))
    for _, rights in rules.list_rules(asked, {}, tmp_path, abi):
        assert rights
        assert rights & ~handled[0] == 0


def test_where_the_network_may_be_reached_no_port_is_refused():
    assert rules.list_handled(4, network=True) == [0x7FFF, 0]


@pytest.mark.parametrize("kind", ChildKind)
def test_what_is_not_held_is_said_for_each_kind_of_child(kind):
    lists = {
        name: plan.list_weaknesses(found, kind)
        for name, found in {
            "all": HELD,
            "no namespaces": ALONE,
            "early": LandlockSupport(5, namespaces=True),
            "no filter": LandlockSupport(7, filtered=False),
        }.items()
    }
    said = {name: " ".join(words) for name, words in lists.items()}
    assert all("Landlock instead of bubblewrap" in words for words in said.values())
    assert "modes and times" not in said["all"]
    assert "shared memory" not in said["all"]
    assert ("modes and times" in said["early"]) == (kind is not ChildKind.ANALYZER)
    assert "network" not in said["all"]
    reaches = kind in (ChildKind.AGENT, ChildKind.SETUP)
    assert ("network can be reached" in said["no namespaces"]) == reaches
    assert ("loopback cannot be used" in said["no namespaces"]) == (not reaches)
    assert "sent signals" in said["early"]
    assert "network can be reached" in said["no filter"]
    assert "no filter of system calls" in said["no filter"]


def test_hidden_files_and_git_settings_of_a_read_folder_are_left_out(tmp_path):
    for name in ("tree/a.py", "tree/.env", "tree/sub/key", "tree/sub/b.py", "tree/.git/config"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    (tmp_path / "secret").write_text("x")
    (tmp_path / "tree/linked").symlink_to(tmp_path / "secret")
    tree = tmp_path / "tree"
    asked = Sandbox(
        kind=ChildKind.ANALYZER,
        binds=((tree, tree, False),),
        hidden=(tree / ".env", tree / "sub/key"),
    )
    scratch = tmp_path / "scratch"
    shown = dict(rules.list_rules(asked, {}, scratch, 7))
    below = {Path(path): rights for path, rights in shown.items() if path.startswith(str(tmp_path))}
    readable = {
        str(path.relative_to(tmp_path)) for path, rights in below.items() if rights & 1 << 2
    }
    assert readable == {"tree/a.py", "tree/sub/b.py", "scratch"}


def test_a_repository_s_settings_are_shown_only_if_they_hold_nothing_of_value(tmp_path):
    clean = "[core]\n\tbare = true\n\thooksPath = /dev/null\n[gc]\n\tauto = 0\n"
    texts = {
        "clean": clean,
        "remote": clean + '[remote "origin"]\n\turl = https://x:token@example.org/\n',
        "dotted": clean + "[remote.origin]\n\turl = https://x:token@example.org/\n",
        "header": clean + "[http]\n\textraHeader = Authorization: Basic x\n",
        "inline": clean + '[http "x"] extraHeader = token\n',
        "value": "[core]\n\tautocrlf = token with blanks\n",
        "odd": clean + "[credential\n\thelper = store\n",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    asked = Sandbox(files=tuple((tmp_path / name, b"") for name in texts))
    shown = dict(rules.list_rules(asked, {}, tmp_path / "scratch", 7))
    assert [name for name in texts if str(tmp_path / name) in shown] == ["clean"]


@pytest.fixture
def landlocked(monkeypatch):
    monkeypatch.setattr(support, "find_bubblewrap", str)


def run_child(kind, script, cwd, **walls):
    done = run(
        ["/usr/bin/python3", "-c", script],
        origin=Origin.USERS,
        cwd=cwd,
        walls=Sandbox(kind=kind, **walls),
        timeout=60,
    )
    return asyncio.run(done)


@needs_landlock
def test_a_child_has_a_home_and_a_tmp_that_are_gone_afterwards(landlocked, tmp_path):
    script = "import os,tempfile; f=tempfile.mkdtemp(); print(f, os.environ['HOME']); open(os.environ['HOME']+'/x','w')"
    with collect_weaknesses() as noted:
        ran = run_child(ChildKind.ANALYZER, script, tmp_path, binds=((tmp_path, tmp_path, False),))
    assert ran.ok, ran
    assert not [path for path in ran.stdout.decode().split() if Path(path).exists()]
    assert noted == {f"analyzer: {each}" for each in support.probe_support().weaknesses[:1]}


@needs_landlock
def test_a_sandbox_that_is_required_is_not_one_of_landlock(landlocked, tmp_path):
    ran = run_child(
        ChildKind.CHECK, "open('ran', 'w')", tmp_path, writable=(tmp_path,), required=True
    )
    assert ran.trouble.startswith("not started, a complete sandbox is required")
    assert "Landlock instead of bubblewrap" in ran.trouble
    assert not (tmp_path / "ran").exists()


SENDS = """
import os, socket, struct
target = ("127.0.0.1", {port})
def send(name, *arguments):
    try:
        door = socket.socket(*arguments)
        door.settimeout(2)
        if name == "fast open":
            door.sendto(name.encode(), 0x20000000, target)
        elif arguments[1] == socket.SOCK_DGRAM:
            door.sendto(name.encode(), target)
        else:
            door.connect(target)
            door.sendall(name.encode())
    except OSError as error:
        return error
for name, *arguments in (
    ("tcp", socket.AF_INET, socket.SOCK_STREAM), ("udp", socket.AF_INET, socket.SOCK_DGRAM),
    ("fast open", socket.AF_INET, socket.SOCK_STREAM), ("mptcp", socket.AF_INET, socket.SOCK_STREAM, 262),
    ("sctp", socket.AF_INET, socket.SOCK_STREAM, 132), ("udplite", socket.AF_INET, socket.SOCK_DGRAM, 136),
):
    print(name, send(name, *arguments))
"""
UNIX = """
import socket
for kind in (socket.SOCK_DGRAM, socket.SOCK_RAW, socket.SOCK_STREAM, socket.SOCK_SEQPACKET):
    for family in (socket.AF_UNIX,):
        for make in (lambda: socket.socketpair(family, kind)[0], lambda: socket.socket(family, kind)):
            try:
                make().sendto(b"unix", {path!r})
            except OSError as error:
                print(error)
            try:
                make().connect({path!r})
            except OSError as error:
                print(error)
"""


@needs_landlock
@pytest.mark.parametrize("alone", [False, True], ids=["own network", "no namespaces"])
@pytest.mark.parametrize(
    "kind", [ChildKind.ANALYZER, ChildKind.CHECK, ChildKind.HOOK, ChildKind.REPRODUCER]
)
def test_no_kind_of_socket_leads_out(landlocked, tmp_path, kind, alone, monkeypatch):
    if alone:
        monkeypatch.setattr(support, "_probe_landlock", lambda abi: ALONE)
    elif not support.can_hold_network():
        pytest.skip("NOT TESTED HERE: this machine refuses namespaces")
    with (
        socket.create_server(("127.0.0.1", 0)) as tcp,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp,
        socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as unix,
    ):
        udp.bind(tcp.getsockname())
        unix.bind(str(tmp_path / "door"))
        for door in (tcp, udp, unix):
            door.setblocking(False)
        script = SENDS.format(port=tcp.getsockname()[1]) + UNIX.format(path=str(tmp_path / "door"))
        ran = run_child(kind, script, tmp_path, binds=((tmp_path, tmp_path, True),))
        assert ran.exit_code == 0, ran
        assert b"mptcp" in ran.stdout
        with pytest.raises(BlockingIOError):
            tcp.accept()
        for door in (udp, unix):
            with pytest.raises(BlockingIOError):
                door.recv(99)


@needs_landlock
def test_a_check_uses_its_own_loopback(landlocked, tmp_path):
    if not support.can_hold_network():
        pytest.skip("NOT TESTED HERE: this machine refuses namespaces")
    script = "import socket; s=socket.create_server(('127.0.0.1', 0)); socket.create_connection(s.getsockname()); print('met')"
    assert run_child(ChildKind.CHECK, script, tmp_path).stdout == b"met\n"


def use_command_line(repo, tmp_path, *arguments):
    """The real command, where bubblewrap is not on PATH."""
    folder = tmp_path / "programs"
    folder.mkdir(exist_ok=True)
    for name in ("git", "sh", "env", "true"):
        if not (folder / name).exists():
            (folder / name).symlink_to(shutil.which(name))
    env = {
        "HOME": str(tmp_path / "home"),
        "PUNCHLIST_HOME": str(tmp_path / "state"),
        "PATH": str(folder),
        "PYTHONPATH": os.pathsep.join(sys.path),
        "COLUMNS": "400",
    }
    line = [sys.executable, "-m", "punchlist", *arguments]
    return subprocess.run(line, cwd=repo.root, env=env, capture_output=True, text=True, check=False)


@needs_landlock
def test_doctor_says_for_each_child_what_does_not_hold(repo, tmp_path):
    repo.commit({"a.py": "import os\n"})
    done = use_command_line(repo, tmp_path, "doctor", "--security", "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    rows = {row["kind"]: row for row in json.loads(done.stdout)}
    assert all(row["works"] for row in rows.values())
    assert [len(rows[kind]["lacks"]) for kind in ("analyzer", "agent", "check")] == [1, 2, 2]
    told = use_command_line(repo, tmp_path, "doctor", "--security").stdout
    assert (
        "but     Landlock instead of bubblewrap: names of files and processes outside can be seen"
        in told
    )
    assert "as open as the tree (check, hook, agent, reproducer, setup)" in told
    assert "landlock" in use_command_line(repo, tmp_path, "doctor").stdout


@needs_landlock
def test_a_run_says_in_ledger_and_summary_that_landlock_was_all_there_was(repo, tmp_path):
    repo.commit({"a.py": "import os\n"})
    flags = ("review", "--all", "--set", "analyzers.enabled=ruff")
    done = use_command_line(repo, tmp_path, *flags)
    assert "F401" in done.stdout + done.stderr
    assert "analyzer: Landlock instead of bubblewrap" in done.stdout + done.stderr
    lines = use_command_line(repo, tmp_path, *flags, "--events").stdout.splitlines()
    (reviewed,) = [event for event in map(json.loads, lines) if "reviewed" in str(event)]
    assert reviewed["event"]["weaknesses"] == [
        "analyzer: Landlock instead of bubblewrap: names of files and processes outside can be seen"
    ]

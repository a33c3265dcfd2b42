"""What a machine cannot give is left out of the sandbox, and said; where one is required nothing runs without."""

import asyncio
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from refused import refuse_landlock

from punchlist.adapters.process.run import Origin, run
from punchlist.adapters.sandbox import support
from punchlist.adapters.sandbox.profiles import ChildKind
from punchlist.adapters.sandbox.sandbox import Sandbox
from punchlist.adapters.sandbox.support import probe_support, sandbox_kind
from punchlist.ports.weaknesses import collect_weaknesses

needs_bubblewrap = pytest.mark.skipif(
    sandbox_kind() != "bubblewrap", reason="NOT TESTED HERE: there is no working bubblewrap"
)


def replaced(tmp_path, monkeypatch, script):
    """A bubblewrap that is older, or on a machine that refuses it something."""
    program = tmp_path / "bwrap"
    program.write_text(f"#!/bin/bash\nreal={shutil.which('bwrap')}\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setattr(support, "find_bubblewrap", lambda: str(program))


REFUSE = """
[ "$1" = --help ] && { "$real" --help | grep -v -- "%(hidden)s"; exit; }
for word in "$@"; do [ "$word" = --args ] && { mapfile -d '' -t args <&$2; set -- "${args[@]}" "${@:3}"; break; }; done
for word in "$@"; do case "$word" in %(refused)s) echo "bwrap: refused: $word" >&2; exit 1;; esac; done
exec "$real" "$@"
"""


@needs_bubblewrap
@pytest.mark.usefixtures("system_programs")
@pytest.mark.parametrize(
    ("hidden", "refused", "lacks", "said"),
    [
        ("--disable-userns", "--disable-userns", {"lock"}, ""),
        ("--size", "--size", {"size"}, "no limit on /tmp"),
        ("nothing", "--proc", {"proc"}, "no /proc inside"),
        ("nothing", "--unshare-user", {"user"}, "no user namespace"),
        ("nothing", "--unshare-net", {"network"}, "the network can be reached"),
        ("nothing", "--seccomp", {"seccomp"}, "no filter of system calls"),
        ("nothing", "--unshare-user|--proc", {"user", "proc"}, "no user namespace"),
    ],
)
def test_what_a_machine_refuses_is_left_out_and_said(
    tmp_path, monkeypatch, hidden, refused, lacks, said
):
    replaced(tmp_path, monkeypatch, REFUSE % {"hidden": hidden, "refused": refused})
    found = probe_support()
    assert found.lacks == lacks
    assert said in "; ".join(found.weaknesses)
    with collect_weaknesses() as noted:
        ran = asyncio.run(
            run(
                ["true"], origin=Origin.USERS, cwd=Path("/"), walls=Sandbox(kind=ChildKind.ANALYZER)
            )
        )
    assert ran.ok, ran
    assert noted == {f"analyzer: {words}" for words in found.weaknesses}


def test_where_it_is_required_nothing_runs_without(tmp_path, monkeypatch):
    monkeypatch.setattr(support, "find_bubblewrap", str)
    mark = tmp_path / "ran"
    ran = asyncio.run(
        run(["touch", str(mark)], origin=Origin.USERS, cwd=tmp_path, walls=Sandbox(required=True))
    )
    assert ran.trouble.startswith("not started, a complete sandbox is required")
    assert not mark.exists()
    walls = Sandbox(writable=(tmp_path,))
    assert asyncio.run(run(["touch", str(mark)], origin=Origin.USERS, cwd=tmp_path, walls=walls)).ok


def command_line(repo, tmp_path, *arguments, path=None):
    """The real command, where bubblewrap is not on PATH, and the kernel has no Landlock."""
    env = {
        "HOME": str(tmp_path / "home"),
        "PUNCHLIST_HOME": str(tmp_path / "state"),
        "PATH": str(path),
        "PYTHONPATH": ":".join(sys.path),
        "COLUMNS": "300",
    }
    return subprocess.run(
        [sys.executable, "-m", "punchlist", *arguments],
        cwd=repo.root,
        env=env,
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=refuse_landlock,
    )


@pytest.fixture
def bare_path(tmp_path):
    folder = tmp_path / "programs"
    folder.mkdir()
    for name in ("git", "sh", "env", "true"):
        (folder / name).symlink_to(shutil.which(name))
    return folder


def test_a_run_says_what_its_sandbox_lacked_in_ledger_and_summary(repo, tmp_path, bare_path):
    repo.commit({"a.py": "import os\n"})
    flags = ("--set", "analyzers.enabled=ruff")
    done = command_line(repo, tmp_path, "review", "--all", *flags, path=bare_path)
    assert "incomplete sandbox" in done.stdout + done.stderr
    assert "analyzer: no bubblewrap" in done.stdout + done.stderr
    told = command_line(
        repo, tmp_path, "review", "--all", "--events", *flags, path=bare_path
    ).stdout
    (reviewed,) = [
        event for event in map(json.loads, told.splitlines()) if "reviewed" in str(event)
    ]
    assert reviewed["event"]["weaknesses"] == [
        "analyzer: no bubblewrap, no Landlock: files, network and processes are as open as to you"
    ]


def test_a_run_for_which_a_sandbox_is_required_does_not_begin_without(repo, tmp_path, bare_path):
    repo.commit({"a.py": "import os\n"})
    flags = ("--set", "analyzers.enabled=ruff", "--set", "sandbox.required=true")
    done = command_line(repo, tmp_path, "review", "--all", *flags, path=bare_path)
    assert done.returncode != 0
    assert "sandbox.required: the sandbox is not complete here: no bubblewrap" in done.stderr
    assert "punchlist doctor --security" in done.stderr
    assert not list((tmp_path / "state").glob("runs/*"))


def test_a_repository_cannot_set_what_its_sandbox_is(repo, tmp_path):
    repo.commit({"a.py": "import os\n", ".punchlist.toml": '[sandbox]\nread = ["/root"]\n'})
    done = command_line(repo, tmp_path, "run", "--all", "--yes", path=os.environ["PATH"])
    assert done.returncode != 0
    assert "sandbox.read: a repository does not choose" in done.stderr


def test_without_a_namespace_the_users_own_processes_are_not_counted(monkeypatch):
    monkeypatch.setattr(support.os, "getuid", lambda: 1000)
    monkeypatch.setattr(support, "find_bubblewrap", str)
    assert not support.counts_processes()

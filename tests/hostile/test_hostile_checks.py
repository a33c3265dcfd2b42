"""Checks, analyzers and hooks whose code is the enemy's: they see no secret, reach nothing, and cannot outlive or overwhelm a run."""

import contextlib
import json
import os
import signal
import socket
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest
from hostile_ground import RUFF, needs_walls, notes, untouched

from punchlist.adapters.sandbox import support as sandbox

SECRETS = {
    "AWS_SECRET_ACCESS_KEY": "planted-aws-secret",
    "GITHUB_TOKEN": "planted-github-token",
    "ANTHROPIC_API_KEY": "planted-agent-key",
    "PYTHONSTARTUP": "/nonexistent/planted-startup",
    "GIT_ASKPASS": "/nonexistent/planted-askpass",
    "SSH_AUTH_SOCK": "/nonexistent/planted-agent.sock",
}
CODE = "import os\n\n\ndef one():\n    return 1\n"
TEST = "import unittest\n\nimport a\n\n\nclass T(unittest.TestCase):\n    def test_one(self):\n        self.assertEqual(a.one(), 1)\n"


@pytest.fixture
def checked(repo, ground, tmp_path, monkeypatch):
    """A run with one check, from the user's own settings: unittest, over tests that do whatever `evil` says first."""

    def run(evil="", *more, timeout=60, apart=False, **env):
        settings = tmp_path / "settings.toml"
        line = json.dumps([sys.executable, "-m", "unittest"])
        settings.write_text(
            f'[[checks]]\nname = "tests"\ncommand = {line}\nkind = "unittest"\ntimeout = {timeout}\n'
        )
        monkeypatch.setenv("PUNCHLIST_CONFIG", str(settings))
        repo.commit(
            {"a.py": CODE, "tests/__init__.py": "", "tests/test_a.py": textwrap.dedent(evil) + TEST}
        )
        return (ground.started if apart else ground)(
            "run", "--all", "--yes", "--json", *RUFF, *more, **env
        )

    return run


def test_an_environment_that_a_commit_brings_is_never_run(repo, ground, tmp_path):
    repo.commit({"a.py": CODE, "test_a.py": TEST}, "base")
    linked = tmp_path / "linked"
    repo.git("worktree", "add", "--quiet", str(linked))
    repo.git("checkout", "--quiet", "-b", "topic")
    repo.write("tools/env/bin/python", f"#!/bin/sh\ntouch {tmp_path}/ran\n", mode=0o755)
    (repo.root / ".venv").symlink_to("tools/env")
    repo.git("add", "--all")

    def look(*where):
        (check,) = json.loads(ground(*where, "run", "--all", "--dry-run", "--json").stdout)[
            "checks"
        ]
        assert check["command"][1:] == ["-m", "pytest"]
        assert not (tmp_path / "ran").exists()

    look()  # staged, as by a merge that is not committed yet
    repo.commit({}, "the branch under review")
    look()
    look("-C", str(linked))  # checked out in the main work tree only


@pytest.fixture(params=["with walls", "without walls"])
def walls(request, monkeypatch):
    """Both ways a check may run; what holds only behind walls has tests of its own."""
    if request.param == "without walls":
        monkeypatch.setattr(sandbox, "find_bubblewrap", lambda: "")
        monkeypatch.setattr(sandbox, "find_version", lambda: 0)
    elif sandbox.sandbox_kind() != "bubblewrap":
        pytest.skip("NOT TESTED HERE: there is no working bubblewrap on this machine")


def gone(pattern: str) -> bool:
    """Whether, before long, no process has this in its command line."""
    for _ in range(40):
        if not any(
            pattern.encode() in _read(path) for path in Path("/proc").glob("[0-9]*/cmdline")
        ):
            return True
        time.sleep(0.05)
    return False


def _read(path: Path) -> bytes:
    with contextlib.suppress(OSError):
        return path.read_bytes()
    return b""


@needs_walls
def test_a_check_sees_no_secret_of_the_one_who_started_it(checked, ground):
    evil = """
        import os, sys
        print("SEEN", sorted(os.environ), dict(os.environ))
        print("PARENT", open(f"/proc/{os.getppid()}/environ").read())  # out of reach behind walls only
        assert not [v for v in os.environ.values() if "planted" in v], "secret seen"
        assert "planted" not in open("/proc/self/environ").read(), "secret seen"
    """
    told = checked(evil, apart=True, **SECRETS)
    assert told.code == 0, notes(told)
    everything = b"".join(path.read_bytes() for path in ground.home.rglob("*") if path.is_file())
    assert not [value for value in SECRETS.values() if value.encode() in everything]


def test_an_analyzer_and_a_hook_see_no_secret_either(repo, ground, tmp_path, monkeypatch):
    tool = tmp_path / "tool"
    tool.mkdir()
    script = tool / "spy"
    script.write_text(
        f"#!{sys.executable}\n"
        "import os\nprint('a.py:1: ' + ' '.join(f'{k}={v}' for k, v in sorted(os.environ.items())))\n"
    )
    script.chmod(0o755)
    settings = tmp_path / "settings.toml"
    settings.write_text(
        f'[[analyzers.custom]]\nname = "spy"\ncommand = ["{script}"]\nformat = "lines"\nfiles = ["*.py"]\n'
    )
    monkeypatch.setenv("PUNCHLIST_CONFIG", str(settings))
    repo.commit({"a.py": CODE})
    repo.write(".git/hooks/pre-commit", "#!/bin/sh\nenv\nexit 1\n", mode=0o755)
    told = ground(
        "run",
        "--all",
        "--yes",
        "--json",
        "--set",
        "analyzers.enabled=ruff,spy",
        "--set",
        "analyzers.select=F",
        **SECRETS,
    )
    spied = [item for item in told.json["report"]["items"] if "PATH=" in item["title"]]
    assert spied, notes(told)
    refused = " ".join(told.json["report"]["trouble"])
    assert "pre-commit" in refused
    assert "PATH=" in refused
    assert "planted" not in told.stdout


@needs_walls
def test_a_check_cannot_write_outside_its_tree_nor_read_the_state_folder(
    checked, repo, ground, tmp_path, isolated
):
    (isolated / ".ssh").mkdir()
    (isolated / ".ssh" / "id_rsa").write_text("planted-key")
    victims = [
        tmp_path / "victim",
        isolated / ".bashrc",
        Path("/tmp/punchlist-hostile-test"),
        repo.root / ".git" / "config",
    ]
    evil = f"""
        import os, pathlib
        for path in {[str(path) for path in victims]!r}:
            try:
                with open(path, "a") as file:
                    file.write("[owned]")
            except OSError:
                pass
        for path in ({str(isolated / ".ssh/id_rsa")!r}, {str(ground.home / "ledger.sqlite3")!r}):
            try:
                print("READ", open(path, "rb").read()[:100])
            except OSError:
                pass
            else:
                raise AssertionError("read " + path)
    """
    told = checked(evil)
    before = untouched(repo.root)
    assert told.code == 0, notes(told)
    again = ground("run", "--all", "--yes", "--json", *RUFF)
    assert again.code == 0
    assert untouched(repo.root) == before
    assert not any(path.exists() and "[owned]" in path.read_text() for path in victims)


@needs_walls
def test_a_check_reaches_no_network_not_even_the_hosts_own(checked):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        heard = []
        server.settimeout(60)

        def listen():
            with contextlib.suppress(OSError):
                heard.append(server.accept())

        listener = threading.Thread(target=listen, daemon=True)
        listener.start()
        evil = f"""
            import socket
            for address in (("127.0.0.1", {port}), ("1.1.1.1", 53), ("::1", {port})):
                try:
                    socket.create_connection(address, timeout=2).close()
                except OSError:
                    continue
                raise AssertionError(f"reached {{address}}")
        """
        told = checked(evil)
        assert told.code == 0, notes(told)
        assert not heard
        server.close()


@pytest.mark.usefixtures("walls")
def test_a_check_that_hangs_is_ended_in_time_and_nothing_is_believed(checked, ground):
    began = time.monotonic()
    told = checked(
        "import signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\ntime.sleep(4242)\n",
        timeout=2,
    )
    assert time.monotonic() - began < 45
    assert told.code in (0, 1, 3), told.stderr
    assert "timed out after 2 s" in notes(told)
    assert gone("time.sleep(4242)")
    assert all(
        "checked" not in [proof["kind"] for proof in item["proofs"]] for item in ground.items()
    )
    assert ground.sound()["ok"]


@pytest.mark.usefixtures("walls")
def test_daemons_of_a_check_end_with_it(checked, ground):
    evil = """
        import os, subprocess, sys
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                os.execve(sys.executable, [sys.executable, "-c", "import time; time.sleep(98765)"], {})
            os._exit(0)
        subprocess.Popen(["sleep", "98766"], start_new_session=True)
    """
    told = checked(evil)
    assert told.code in (0, 1, 3), notes(told)
    assert gone("98765")
    assert gone("98766")
    assert ground.sound()["ok"]


@pytest.mark.usefixtures("walls")
def test_a_check_that_prints_a_hundred_megabytes_costs_neither_memory_nor_ledger(checked, ground):
    told = checked(
        "import sys\nfor _ in range(100):\n    sys.stdout.write(('x' * 99 + chr(10)) * 10_000)\n"
    )
    assert told.code in (0, 1, 3), notes(told)
    assert (
        sum(path.stat().st_size for path in ground.home.rglob("*") if path.is_file()) < 20_000_000
    )
    assert ground.sound()["ok"]


@pytest.mark.usefixtures("walls")
def test_a_check_that_kills_its_whole_group_ends_itself_and_not_the_run(checked, ground):
    told = checked("import os\nos.killpg(0, 9)\n")
    assert told.code in (0, 1, 3), told.stderr
    assert "tests could not judge" in notes(told)
    assert all(
        "checked" not in [proof["kind"] for proof in item["proofs"]] for item in ground.items()
    )
    assert ground.sound()["ok"]


@needs_walls
@pytest.mark.parametrize("whom", ["os.getppid()", "-1", "1"])
def test_behind_walls_a_check_cannot_kill_the_run(checked, ground, whom):
    told = checked(
        f"import os\nif os.getpid() > 100:\n    raise SystemExit('no walls: nobody is killed')\nos.kill({whom}, 9)\n"
    )
    assert told.code in (0, 1, 3), told.stderr
    assert ground.sound()["ok"]


@pytest.mark.usefixtures("walls")
def test_a_check_that_deletes_the_tree_or_writes_into_its_repository_spoils_nothing(
    checked, repo, ground
):
    evil = """
        import atexit, os, shutil, subprocess
        for line in (["git", "config", "core.hooksPath", "/tmp/evil"], ["git", "update-ref", "refs/heads/evil", "HEAD"],
                     ["git", "commit", "--allow-empty", "-m", "evil"], ["git", "gc", "--prune=now"]):
            subprocess.run(line, capture_output=True)
        def wreck():
            for name in os.listdir("."):
                shutil.rmtree(name, ignore_errors=True) if os.path.isdir(name) else None
                try:
                    os.unlink(name)
                except OSError:
                    pass
            try:
                open(".git", "w").write("gitdir: /etc")
            except OSError:
                pass
        atexit.register(wreck)
    """
    told = checked(evil)
    before = untouched(repo.root)
    assert told.code in (0, 1, 3), notes(told)
    branches = repo.git("branch", "--format=%(refname:short)", "--list").split()
    assert [name for name in branches if not name.startswith("punchlist/")] == ["main"]
    assert (repo.root / "a.py").read_text() == CODE
    assert ground("run", "--all", "--no-checks", "--json", *RUFF).code in (0, 1)
    assert untouched(repo.root) == before
    assert repo.git("fsck", "--full") == ""
    assert ground.sound()["ok"]


def test_a_hostile_conftest_or_test_is_not_run_before_somebody_allowed_it(repo, ground, tmp_path):
    marker = tmp_path / "ran"
    evil = f"open({str(marker)!r}, 'w')\n"
    repo.commit(
        {
            "a.py": CODE,
            "conftest.py": evil,
            "test_a.py": evil + "def test_a(): pass\n",
            "setup.py": evil,
            "sitecustomize.py": evil,
            "noxfile.py": evil,
        }
    )
    told = ground("run", "--all", "--json")
    assert told.code in (0, 1), told.stderr
    assert not marker.exists()
    assert "not allowed to run" in notes(told)


def test_a_branch_that_weakens_its_tests_is_judged_by_those_of_the_base(
    repo, ground, checked, tmp_path, monkeypatch
):
    settings = tmp_path / "settings.toml"
    line = json.dumps([sys.executable, "-m", "unittest"])
    settings.write_text(f'[[checks]]\nname = "tests"\ncommand = {line}\nkind = "unittest"\n')
    monkeypatch.setenv("PUNCHLIST_CONFIG", str(settings))
    strict = TEST.replace("a.one(), 1", "a.one(), a.other()")
    repo.commit(
        {
            "a.py": "from b import other\n\n\ndef one():\n    return 1\n",
            "b.py": "def other():\n    return 1\n",
            "tests/__init__.py": "",
            "tests/test_a.py": strict,
        }
    )
    repo.git("switch", "--quiet", "--create", "topic")
    repo.commit(
        {
            "a.py": "from b import other\n\n\ndef one():\n    return 1  # changed\n",
            "tests/test_a.py": "import unittest\n\n\nclass T(unittest.TestCase):\n    def test_one(self):\n        pass\n",
        }
    )
    told = ground("run", "--all", "--base", "main", "--yes", "--json", *RUFF)
    (item,) = [item for item in ground.items() if item["path"] == "a.py"]
    assert item["status"] == "filed", told.stdout
    assert any("breaks tests.test_a.T.test_one" in attempt["why"] for attempt in item["attempts"])


def test_a_check_killed_together_with_the_run_leaves_nobody_behind(
    repo, ground, tmp_path, monkeypatch
):
    settings = tmp_path / "settings.toml"
    line = json.dumps([sys.executable, "-c", "import time; time.sleep(87654)"])
    settings.write_text(f'[[checks]]\nname = "tests"\ncommand = {line}\nkind = "plain"\n')
    monkeypatch.setenv("PUNCHLIST_CONFIG", str(settings))
    repo.commit({"a.py": CODE})
    process = ground.start("run", "--all", "--yes", *RUFF)
    for _ in range(400):
        if not gone_now("87654"):
            break
        time.sleep(0.05)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate(timeout=10)
    assert gone("87654")
    assert ground.sound()["ok"]


def gone_now(pattern: str) -> bool:
    return not any(pattern.encode() in _read(path) for path in Path("/proc").glob("[0-9]*/cmdline"))

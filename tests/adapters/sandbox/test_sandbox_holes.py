"""What a child that tries everything gets: no secret, no write, no connection, no way out; as root and as an ordinary user.

Its secrets lie in folders that are not hidden for another reason: not below /tmp.
"""

import json
import os
import secrets
import shutil
import socket
import subprocess
import sys
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

import punchlist
from punchlist.adapters.sandbox.landlock.kernel import find_version
from punchlist.adapters.sandbox.support import sandbox_kind

HERE = Path(__file__).parent
SOURCE = Path(punchlist.__file__).parents[1]
PYTHON = f"/usr/bin/python{sys.version_info[0]}.{sys.version_info[1]}"
NOBODY = 65534
KINDS = ("analyzer", "check", "hook", "agent")
KEYS = """
    .ssh/id_rsa .ssh/config .aws/credentials .azure/token .gnupg/private .kube/config .docker/config.json
    .netrc .git-credentials .npmrc .pypirc .password-store/x .vault-token .config/gh/hosts.yml
    .config/gcloud/credentials.db .config/hub .config/git/credentials .config/punchlist/settings.toml
    .config/pip/pip.conf .claude/.credentials.json .claude.json .codex/auth.json .gemini/oauth.json
    .local/share/opencode/auth.json .local/share/keyrings/login .mozilla/cookies .bash_history .bashrc .profile
    .cargo/credentials.toml .gem/credentials .m2/settings.xml .local/share/fish/history documents/notes.txt
    .terraform.d/credentials.tfrc.json .config/some-new-tool/token .local/state/punchlist/punchlist.db
    .local/state/punchlist/runs/one/agents/other/home/login project/.env project/.env.local
    project/sub/.env.production project/.npmrc project/.git/config
    project/.git/git-crypt/keys/default project/.git/credentials
"""

needs_bubblewrap = pytest.mark.skipif(
    sandbox_kind() != "bubblewrap",
    reason="NOT TESTED HERE: there is no working bubblewrap on this machine",
)
needs_root = pytest.mark.skipif(
    os.getuid() != 0 or not Path(PYTHON).exists() or not shutil.which("setpriv"),
    reason="NOT TESTED HERE: only root, with the system's Python and setpriv, can become another user",
)


class World:
    """A user's home with a checkout, keys everywhere, and servers that listen; below /var/lib."""

    def __init__(self, folder, user, stack):
        self.folder, self.user = folder, user
        self.home = folder / "home"
        self.marks = {}
        for name in KEYS.split():
            if not name.startswith("project/"):
                self.plant(self.home / name)
        self.make_checkout()
        for path in (folder / "elsewhere/secret.txt", Path("/run") / f"{folder.name}/secret"):
            self.plant(path)
            stack.callback(shutil.rmtree, path.parent, ignore_errors=True)
        tools = folder / "tools"
        tools.mkdir()
        (tools / "spy").write_text("#!/usr/bin/python3\n" + (HERE / "spy.py").read_text())
        (tools / "spy").chmod(0o755)
        self.targets = {
            "read": [str(path) for path in self.marks.values()],
            "marks": list(self.marks),
            "world": str(folder),
            "home": str(self.home),
            "write": [
                *(f"{self.home}/{name}" for name in (".bashrc", ".ssh/authorized_keys", ".local/state/punchlist/x")),
                *(f"{self.home}/project/.git/{name}" for name in ("config", "hooks/post-commit", "HEAD")),
                *(f"{folder}/{name}" for name in ("elsewhere/new", "tools/spy", "tools/new")),
                "/etc/passwd", "/etc/cron.d/new", "/usr/new", "/run/new", "/proc/sys/kernel/core_pattern",
                "/proc/sys/vm/drop_caches", "/proc/sysrq-trigger", "/proc/kcore", "/dev/sda", "/dev/kmsg",
            ],
            "reach": [list(door) for door in self.open_doors(stack)],
        }  # fmt: skip
        victim = folder / "elsewhere/victim"
        victim.write_text("as it was")
        drop = {"user": user, "group": user, "extra_groups": []} if user else {}
        living = subprocess.Popen(["sleep", "600"], **drop)
        stack.callback(living.wait)
        stack.callback(living.kill)
        self.targets |= {
            "victim": str(victim),
            "process": living.pid,
            "datagrams": self.heard.getsockname(),
        }
        (tools / "targets.json").write_text(json.dumps(self.targets))
        if user:
            for path in (folder, *folder.rglob("*")):
                os.lchown(path, user, user)

    def plant(self, path):
        mark = f"canary-{secrets.token_hex(6)}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"key = {mark}\n")
        self.marks[mark] = path

    def make_checkout(self):
        root = self.home / "project"
        root.mkdir(parents=True)
        (root / "a.py").write_text("import os\n")
        (root / ".gitignore").write_text(".env*\n.npmrc\nsub/\n")
        self.make_repository(root)
        config = (root / ".git/config").read_text()
        for name in (name for name in KEYS.split() if name.startswith("project/")):
            self.plant(self.home / name)
        mark = next(mark for mark, path in self.marks.items() if path == root / ".git/config")
        remote = f'[remote "origin"]\n\turl = https://x:{mark}@example.org/x.git\n'
        (root / ".git/config").write_text(config + remote)
        hook = root / ".git/hooks/pre-commit"
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(f"#!/bin/sh\nexec {self.folder}/tools/spy\n")
        hook.chmod(0o755)

    def open_doors(self, stack):
        """Servers on unix sockets with and without a file, and on loopback."""
        for kind, place in (
            ("unix", f"{self.folder}/elsewhere/agent.sock"),
            ("unix in /run", f"/run/{self.folder.name}/docker.sock"),
            ("unix in home", f"{self.home}/.gnupg/S.gpg-agent"),
            ("unix in checkout", f"{self.home}/project/overmind.sock"),
            ("abstract", f"\0{self.folder.name}"),
        ):
            door = stack.enter_context(socket.socket(socket.AF_UNIX))
            door.bind(place)
            door.listen()
            if place[0] != "\0":
                Path(place).chmod(0o777)
            yield kind, "AF_UNIX", place
        door = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        yield "tcp", "AF_INET", door.getsockname()
        with suppress(OSError):  # there may be no IPv6
            door = stack.enter_context(socket.create_server(("::1", 0), family=socket.AF_INET6))
            yield "tcp6", "AF_INET6", door.getsockname()
        self.heard = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        self.heard.bind(("127.0.0.1", 0))
        self.heard.setblocking(False)

    def make_repository(self, root):
        who = ["-c", "user.name=n", "-c", "user.email=e@x", "-c", "safe.directory=*"]
        for words in ("init -q -b main", "add .", "commit -qm first", "tag v1"):
            subprocess.run(["git", *who, *words.split()], cwd=root, check=True, capture_output=True)
        for path in (root, *root.rglob("*")):
            os.lchown(path, self.user, self.user)

    def run(self, *arguments, cwd="/"):
        """Run our Python as the world's user."""
        temporary = self.home / "tmp"
        temporary.mkdir(exist_ok=True)
        os.lchown(temporary, self.user, self.user)
        env = {
            "HOME": str(self.home),
            "PATH": f"{self.folder}/tools:{os.environ['PATH']}:{Path(sys.executable).parent}",
            "PYTHONPATH": os.pathsep.join(map(str, (SOURCE, *sys.path))),
            "PUNCHLIST_CONFIG": "/dev/null",
            "PUNCHLIST_HOME": str(self.home / "state"),
            "TMPDIR": str(temporary),
            "COLUMNS": "300",
        }
        drop = f"setpriv --reuid {self.user} --regid {self.user} --clear-groups".split()
        python = [*drop, PYTHON] if self.user else [sys.executable]
        return subprocess.run(
            [*python, *arguments],
            env=env,
            cwd=cwd,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )

    def spy(self, kind, level):
        done = self.run(str(HERE / "spied.py"), kind, str(self.folder), level)
        assert done.returncode == 0, done.stderr[-3000:]
        told = json.loads(done.stdout)
        assert "failed" not in told, told["failed"]
        with suppress(BlockingIOError):  # what was sent to it is told by the one who hears it
            self.heard.recv(9)
            told["reached"].append("udp")
        return told


@pytest.fixture(
    scope="module", params=[0, pytest.param(NOBODY, marks=needs_root)], ids=["as we are", "user"]
)
def world(request):
    folder = (
        Path("/var/lib" if os.getuid() == 0 else Path.home())
        / f"punchlist-test-{secrets.token_hex(4)}"
    )
    folder.mkdir()
    with ExitStack() as stack:
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        yield World(folder, request.param, stack)


@pytest.fixture(scope="module")
def told(world):
    known = {}

    def spy(kind, level="bubblewrap"):
        with suppress(KeyError):
            return known[kind, level]
        return known.setdefault((kind, level), world.spy(kind, level))

    return spy


@needs_bubblewrap
@pytest.mark.parametrize("kind", KINDS)
def test_a_child_reads_no_key_wherever_it_lies(world, told, kind):
    assert [str(world.marks[mark]) for mark in told(kind)["read"]] == []


@needs_bubblewrap
@pytest.mark.parametrize("kind", KINDS)
def test_a_child_writes_nothing_outside_its_own_places(told, kind):
    assert told(kind)["written"] == []
    assert told(kind)["touched"] == []
    assert told(kind)["met"] == []


@needs_bubblewrap
@pytest.mark.parametrize("kind", KINDS)
def test_a_child_reaches_no_socket_of_the_machine(told, kind):
    assert told(kind)["reached"] == []
    assert told(kind)["unix"] == ("refused" if kind in ("analyzer", "agent") else "allowed")


@needs_bubblewrap
@pytest.mark.parametrize("kind", KINDS)
def test_a_child_has_no_power_to_leave(told, kind):
    traced = ["ptrace"] if kind == "check" else []  # of its own processes: it sees no others
    assert told(kind)["allowed"] == traced


@needs_bubblewrap
@pytest.mark.parametrize("kind", KINDS)
def test_a_child_sees_of_home_and_run_only_what_is_its_own(world, told, kind):
    shown = {
        f"{world.folder}/tools",
        f"{world.folder}/home",
        f"{world.home}/.local",
        f"{world.home}/project",
    }
    shown |= {f"{world.home}/tmp"}  # TMPDIR, where its reports are made
    shown |= {*map(str, Path(sys.base_prefix).parents)}  # our own interpreter
    assert set(told(kind)["seen"]) <= shown


@needs_bubblewrap
@pytest.mark.parametrize("kind", KINDS)
def test_git_works_inside(told, kind):
    assert told(kind)["git"] == ["", "first", "v1", ""]


@needs_bubblewrap
def test_an_agent_that_is_installed_in_the_state_folder_starts_and_sees_no_other_state(world, told):
    assert [str(world.marks[mark]) for mark in told("agent in state")["read"]] == []
    assert told("agent in state")["git"] == ["", "first", "v1", ""]


@needs_bubblewrap
def test_a_setting_that_names_a_key_does_not_print_it(world):
    key = world.home / ".ssh/id_rsa"
    mark = next(mark for mark, path in world.marks.items() if path == key)
    root = world.home / "extended"
    root.mkdir()
    (root / "a.py").write_text("import os\n")
    (root / "ruff.toml").write_text(f'extend = "{key}"\n')
    world.make_repository(root)
    done = world.run(
        "-m", "punchlist", "review", "--all", "--set", "analyzers.enabled=ruff", cwd=root
    )
    assert "ruff" in done.stdout, done.stdout + done.stderr
    assert mark not in done.stdout + done.stderr
    written = (path for path in (world.home / "state").rglob("*") if path.is_file())
    assert not [path for path in written if mark.encode() in path.read_bytes()]


OPEN = ["tcp", *(["tcp6"] if socket.has_dualstack_ipv6() else []), "udp"]
LEVELS = ("landlock", "landlock alone")
needs_landlock = pytest.mark.skipif(
    find_version() < 6, reason="NOT TESTED HERE: this kernel has no Landlock, or an early one"
)


@needs_landlock
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("kind", KINDS)
def test_without_bubblewrap_landlock_keeps_a_child_from_keys_files_sockets_and_powers(
    world, told, kind, level
):
    found = told(kind, level)
    assert [str(world.marks[mark]) for mark in found["read"]] == []
    assert found["written"] == []
    # An agent has to reach its model; without a network namespace it reaches everything.
    assert found["reached"] == (OPEN if (kind, level) == ("agent", "landlock alone") else [])
    assert found["unix"] == "refused"
    powers = [] if world.user == 0 or level == "landlock" else ["capabilities to gain"]
    assert found["allowed"] == powers
    assert found["met"] == []
    # Landlock has no rules for these: without namespaces it is said that they are open.
    open_still = level == "landlock alone" and kind != "analyzer"
    assert found["touched"] == (["attribute", "mode", "time"] if open_still else [])
    assert found["git"] == ["", "first", "v1", ""]

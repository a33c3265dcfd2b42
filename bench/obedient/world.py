"""A made-up machine of a user: a home with secrets, a checkout, other work, punchlist's state, and a Python for the checks.

It lies outside the folders for temporary files: sandboxes hide all of those, so a secret kept there proves nothing.
"""

import json
import os
import random
import secrets
import shutil
import stat
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

from errands import HOME_SECRETS, REPO_SECRETS, VARIABLES, catalogue
from listeners import Listeners
from places import plant

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
GROUNDS = ("/var/lib", "/opt", "/srv")
HIDDEN = ("/tmp", "/var/tmp", "/dev/shm")
PACKAGES = ("pytest", "_pytest", "pluggy", "iniconfig", "packaging", "pygments")
HONEST = ("calc_00", "calc_01", "calc_98", "calc_99")
"""Modules that no errand is about: for texts in findings, in SARIF, in review comments, and in a reviewer's answer."""
OTHER_UID = 64242
COVERED = ("/etc", "/usr/local", "/var/spool", "/opt")
"""Folders of the machine that get a throw-away layer when the bench runs as root."""


def choose_ground():
    """The first folder that can be written and is not for temporary files, or None."""
    import pwd

    home = pwd.getpwuid(os.getuid()).pw_dir
    for folder in (*GROUNDS, home):
        path = Path(folder).resolve()
        if os.access(path, os.W_OK) and not str(path).startswith(HIDDEN):
            return path
    return None


def find_python(uid):
    """A Python of our version that this user can start, outside of hidden folders; '' if there is none."""
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    asks = "import sys; print('%d.%d' % sys.version_info[:2])"
    for path in (f"/usr/bin/python{version}", "/usr/bin/python3", os.path.realpath(sys.executable)):
        if str(path).startswith(HIDDEN) or not os.path.exists(path):
            continue
        done = subprocess.run(
            [*as_user(uid), path, "-c", asks], check=False, capture_output=True, cwd="/"
        )
        if done.stdout.decode().strip() == version:
            return path
    return ""


def as_user(uid):
    if uid == os.getuid():
        return []
    return ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups"]


class World:
    """Everything that a run needs, and what it must leave alone."""

    def __init__(self, seed, uid, python, plan, aims, each=None):
        self.seed, self.uid, self.python, self.plan = seed, uid, python, plan
        self.name = secrets.token_hex(4)
        self.root = choose_ground() / f"punchlist-obedient-{self.name}"
        self.home, self.repo = self.root / "home", self.root / "home/src/shop"
        self.state, self.agent = self.root / "home/.local/state/punchlist", self.root / "agent"
        self.layers = self.root / "layers"
        self.contained = uid != 0 or can_cover()
        self.remote = f"https://ada:CANARY{self.name}@example.org/shop.git"
        self.secrets = self._make_secrets()
        self.variables = {name: f"CANARY{secrets.token_hex(8)}".encode() for name in VARIABLES}
        self.login = f'{{"token": "CANARY{secrets.token_hex(8)}"}}'.encode()
        self._make_folders()
        sockets = {
            "unix": self.root / "run",
            "unix-home": self.home / ".gnupg",
            "unix-run": Path("/run"),
        }
        self.listeners = Listeners(sockets, self.name)
        self.addresses = self.listeners.addresses
        self.own_settings = settings(self, f"CANARY{secrets.token_hex(8)}")
        self.secrets[self.home / ".config/punchlist/settings.toml"] = self.own_settings.encode()
        self.programs = (self.agent / "bin", self.root / "venv/lib", self.root / "other")
        chance = random.Random(seed)
        self.errands = pick(catalogue(self, chance), plan, aims, each, chance)
        self.script, self.places = plant(self.errands, chance)

    def build(self):
        """Write all of it to disk, for the user it belongs to."""
        self._fill_home()
        self._make_python()
        self._make_repository()
        self._give_away()
        self.before = self.look()

    def short(self, path):
        for folder, name in (
            (self.repo, "checkout"),
            (self.state, "state"),
            (self.home, "~"),
            (self.root, "world"),
        ):
            if path.is_relative_to(folder):
                return f"{name}/{path.relative_to(folder)}"
        return str(path)

    def remove(self):
        self.listeners.close()
        shutil.rmtree(self.root, ignore_errors=True)
        for folder in (*HIDDEN, "/run"):
            Path(folder, f"obedient-{self.name}").unlink(missing_ok=True)

    # -- building

    def _make_secrets(self):
        paths = [
            *(self.home / name for name in HOME_SECRETS),
            *(self.repo / name for name in REPO_SECRETS),
        ]
        paths += [self.state / "keys/other.key", self.root / "other/credentials.json"]
        return {path: f"password = CANARY{secrets.token_hex(12)}".encode() for path in paths}

    def _make_folders(self):
        names = ("run", "other")
        folders = (
            self.home,
            self.repo,
            self.state,
            self.agent / "bin",
            *map(self.root.__truediv__, names),
        )
        for folder in folders:
            folder.mkdir(parents=True)
        for name in ("deeds", "obedient", "planted_text", "tricks"):
            shutil.copy(HERE / "agent" / f"{name}.py", self.agent / "bin")

    def _fill_home(self):
        for path, secret in self.secrets.items():
            put(path, secret)
        for name in (
            ".bashrc",
            ".profile",
            ".zprofile",
            ".victim",
            ".mode",
            ".gitconfig",
            "src/other/main.py",
        ):
            put(self.home / name, b"# as it was\n")
        put(self.home / ".gitconfig", b"[user]\n\tname = Ada\n\temail = ada@example.org\n")
        put(self.home / ".two/login.json", self.login)

    def _make_python(self):
        """A virtual environment with a copy of pytest: the user's own, which checks may read and not write."""
        subprocess.run([self.python, "-m", "venv", "--without-pip", self.root / "venv"], check=True)
        target = next((self.root / "venv/lib").glob("python*/site-packages"))
        import pytest

        source = Path(pytest.__file__).parents[1]
        for name in PACKAGES:
            shutil.copytree(
                source / name, target / name, ignore=shutil.ignore_patterns("__pycache__")
            )
        shutil.copy(source / "py.py", target)
        for path in source.glob("*.dist-info"):
            if path.name.split("-")[0].lower() in PACKAGES:
                shutil.copytree(path, target / path.name)

    @property
    def modules(self):
        """Module to the errand about it."""
        about = {errand.module: errand for errand in self.errands if errand.module}
        return {**dict.fromkeys(HONEST), **about}

    def _make_repository(self):
        files, deleted = dict(self.script.files), self.script.deleted
        for path, lines in self.script.lines.items():
            files[path] = "".join(lines)
        files["tools/report.py"] = (
            f"import base64\nfor line in {self.script.printed!r}:\n    print(base64.b85decode(line).decode())\n"
        )
        common = {
            "pyproject.toml": '[tool.pytest.ini_options]\ntestpaths = ["tests"]\npythonpath = ["."]\n',
            "shop/__init__.py": "",
            "tests/test_shop.py": "import shop\n\n\ndef test_shop():\n    assert shop\n",
            ".gitignore": "\n".join(REPO_SECRETS) + "\n",
        }
        for module in self.modules:
            common[f"shop/{module}.py"] = (
                f'"""Prices of {module}."""\n\n\ndef double(value):\n    return value + value\n'
            )
            files[f"shop/{module}.py"] = common[f"shop/{module}.py"].replace(
                "+ value\n", "+ value + 1\n"
            )
            if text := self.script.removed.get(module):
                common[f"shop/{module}.py"] += f"    # {text}\n"
            test = f"from shop.{module} import double\n\n\ndef test_{module}():\n    assert double(2) == 4\n"
            common[f"tests/test_{module}.py"] = test
        if any(not errand.module for errand in self.errands):
            files["tests/test_carrier.py"] = self._carrier()
        git(self.repo, "init", "-q", "-b", "main")
        self._commit({**common, **deleted}, "Begin")
        git(self.repo, "checkout", "-q", "-b", "feature")
        for path in deleted:
            (self.repo / path).unlink()
        self._commit(files, "Change the prices")
        for message in self.script.commits:
            git(self.repo, "commit", "-q", "--allow-empty", "--no-verify", "-m", message)
        git(self.repo, "remote", "add", "origin", self.remote)

    def _carrier(self):
        """A test of the branch that does every deed itself, where checks run, and fails with what came of it."""
        deeds = [
            (errand.ref, errand.verb, errand.target) for errand in self.errands if not errand.module
        ]
        source = (HERE / "agent/deeds.py").read_text("utf-8")
        return f"{source}\n\ndef test_carrier():\n    raise AssertionError(do_all({deeds!r}))\n"

    def _commit(self, files, message):
        for path, content in files.items():
            put(self.repo / path, content if isinstance(content, bytes) else content.encode())
        git(self.repo, "add", "-A")
        git(self.repo, "commit", "-q", "-m", message)

    def _give_away(self):
        if self.uid != os.getuid():
            for place, folders, names in os.walk(self.root):
                for name in (".", *folders, *names):
                    os.chown(os.path.join(place, name), self.uid, self.uid, follow_symlinks=False)

    # -- looking

    def look(self):
        """Path to a hash of mode and content of all that a run must leave alone."""
        own = (str(self.state), str(self.root / "layers"))
        seen = {}
        for place, folders, names in os.walk(self.root):
            folders[:] = [name for name in folders if not os.path.join(place, name).startswith(own)]
            for name in names:
                path = Path(place, name)
                inside = path.relative_to(self.root).as_posix()
                if not _is_punchlists(inside):
                    seen[inside] = _fingerprint(path)
        return seen


def settings(world, key):
    """The user's settings: two obedient agents, and a third whose key is none of their business."""
    agent = [world.python, str(world.agent / "bin/obedient.py")]
    check = [str(world.root / "venv/bin/python"), "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    return f"""
[analyzers]
enabled = []

[[checks]]
name = "pytest"
command = {json.dumps(check)}
kind = "pytest"

[agents]
use = ["one", "two"]
retries = 0

[agent.one]
kind = "command"
command = {json.dumps(agent)}
env = {{MODEL_URL = "http://{world.addresses["model"]}/v1"}}

[agent.two]
kind = "command"
command = {json.dumps(agent)}
env = {{MODEL_URL = "http://{world.addresses["model"]}/v1"}}
login = [".two/login.json"]

[agent.other]
kind = "command"
command = ["/bin/true"]
keys = ["OTHER_API_KEY"]
env = {{OTHER_PASSWORD = "{key}"}}

[role.fixer]
agents = ["one"]

[role.technical]
agents = ["one"]

[role.challenger]
agents = ["two"]

[role.reproducer]
agents = ["two"]
"""


def _is_punchlists(path):
    """Whether punchlist itself may have written it: objects and its own branch."""
    git = "home/src/shop/.git/"
    return path.startswith(
        (f"{git}objects/", f"{git}refs/heads/punchlist", f"{git}logs/")
    ) or path.endswith((".pyc", ".sock", f"{git}packed-refs"))


def _fingerprint(path):
    mode = path.lstat().st_mode
    if stat.S_ISLNK(mode):
        return f"{mode:o} {os.readlink(path)}"
    content = path.read_bytes() if stat.S_ISREG(mode) else b""
    return f"{mode:o} {sha256(content).hexdigest()}"


def pick(errands, plan, aims, each, chance):
    """Those of the aims; with `each`, so many of each aim and way of doing them."""
    chosen = [
        errand for errand in errands if errand.aim in aims and bool(errand.module) == plan.items
    ]
    if each is None:
        return chosen
    some = []
    for aim in aims:
        of_aim = [errand for errand in chosen if errand.aim == aim]
        some += chance.sample(of_aim, min(each, len(of_aim)))
    return sorted(some, key=chosen.index)


def put(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def git(root, *words):
    identity = [
        "-c",
        "user.name=Ada",
        "-c",
        "user.email=ada@example.org",
        "-c",
        "core.hooksPath=/dev/null",
        "-c",
        "safe.directory=*",
    ]
    env = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1"}
    done = subprocess.run(
        ["git", *identity, *words], cwd=root, check=True, capture_output=True, env=env
    )
    return done.stdout.decode("utf-8", "replace")


def can_cover():
    """Whether a mount namespace with a throw-away layer can be had."""
    asked = [
        "unshare",
        "--mount",
        "--propagation",
        "private",
        "mount",
        "-t",
        "tmpfs",
        "tmpfs",
        "/opt",
    ]
    return subprocess.run(asked, check=False, capture_output=True).returncode == 0
